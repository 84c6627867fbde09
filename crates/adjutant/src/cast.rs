//! The named agents of a tree, and who its root is among them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Manner, SessionId};

use crate::{
    CliError, Surroundings,
    agents::{Agents, Lead},
    arguments::{AgentArguments, TapeArguments},
    artifacts,
    assembly::{Kit, environment},
    config::{Config, Written},
    memory::{self, Keeping},
    parameters::Parameters,
    prompt::Piped,
    secrets::Secrets,
};

/// What is asked for of named agents.
pub(crate) struct Casting<'a> {
    pub(crate) named: &'a AgentArguments,
    pub(crate) tape: &'a TapeArguments,
    pub(crate) artifacts: Option<&'a Path>,
    pub(crate) parameters: &'a [(String, String)],
    /// Which tools there are.
    pub(crate) kit: &'a Kit,
}

/// The named agents of a tree, and who its root is among them.
pub(crate) struct Cast {
    pub(crate) agents: Arc<Agents>,
    pub(crate) lead: Option<Lead>,
    /// How the root works.
    pub(crate) manner: Manner,
    /// Where a person wants files to be handed back.
    pub(crate) artifacts: Option<PathBuf>,
    /// Where the root works.
    pub(crate) directory: PathBuf,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
}

impl Casting<'_> {
    /// Reads the files there are, and has that of the root narrow what the configuration gives.
    pub(crate) fn cast(
        &self,
        around: &Surroundings,
        directory: PathBuf,
        (config, written): (&mut Config, &Written),
    ) -> Result<Cast, CliError> {
        let mut agents = Agents::find(self.named, around, &directory)?;
        if !config.agents_md {
            agents.told.forget_guidance();
        }
        if written.is_flagged("model") {
            agents.library.forget_named_models();
        }
        // What is played was said by whatever model there was.
        if self.tape.replay.is_none() {
            agents.library.forget_models(&config.providers);
        }
        agents.forget_tools(config, self.kit);
        agents.shelf.tape = memory::Tape::of(self.tape);
        let artifacts = artifacts::prepare(self.artifacts, around, &mut agents.library)?;
        let agents = Arc::new(agents);
        let mut lead = agents.lead(self.named.agent.as_deref(), &around.directory)?;
        let parameters = Parameters::of(self.parameters, lead.as_ref())?;
        let mut warnings = agents.doubts(lead.as_ref(), config);
        warnings.extend(agents.told.warnings(&directory));
        let directory = match &mut lead {
            Some(lead) => {
                lead.fill(&parameters.values)?;
                warnings.extend(lead.forget_model(&config.providers));
                warnings.extend(lead.forget_isolation());
                let own = lead.settle(config, written)?;
                warnings.extend(lead.check_callable(config)?);
                own.unwrap_or(directory)
            }
            None => directory,
        };
        if let Some(place) = &artifacts {
            artifacts::check(place, &directory)?;
        }
        let manner = lead.as_ref().map(|lead| lead.definition.manner.clone()).unwrap_or_default();
        let manner = parameters.manner(manner);
        Ok(Cast { agents, lead, manner, artifacts, directory, warnings })
    }
}

impl Cast {
    /// Adds what a session has because of them.
    pub(crate) fn add_to(&self, kit: Kit, config: &Config, session: SessionId) -> Kit {
        let Self { agents, artifacts, directory, .. } = self;
        let definitions = kit.definitions.clone().or_else(|| Some(Arc::clone(agents) as _));
        let data = config.data.as_deref();
        let artifacts = artifacts::settings(agents, artifacts.clone(), data, session);
        Kit { definitions, artifacts, ..agents.told.add_to(kit, directory) }
    }

    /// Returns what writes down what they are to remember.
    pub(crate) fn keeping(&self, config: &Config, piped: Option<Piped>) -> Keeping {
        let secrets = Secrets::new(&config.providers, &environment(config));
        Keeping::new(Arc::clone(&self.agents), secrets, piped)
    }
}
