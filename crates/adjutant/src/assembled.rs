//! A tree of agents that is put together, and what has to be let go of after it.

use std::{path::PathBuf, sync::Arc};

use adjutant_core::{Ending, Rulebook, SessionId, Stay};
use adjutant_engine::{Root, Session};
#[cfg(feature = "mcp")]
use adjutant_tools::mcp::Mcp;
use adjutant_tools::sandbox::Seals;
use serde_json::Value;

#[cfg(feature = "mcp")]
use crate::servers::Servers;
use crate::{
    CliError,
    agents::Lead,
    assembly::{Kit, Outfit, open, tools},
    authority::{check_rules, grant},
    child_model,
    config::{self, Config},
    error::Kind,
    git,
    programs::Program,
    running::Running,
    source::Source,
};

/// What a tree is made of, checked.
pub(crate) struct Makings<'a> {
    pub(crate) config: &'a Config,
    pub(crate) source: &'a Source,
    pub(crate) kit: &'a Kit,
    /// The named agent that the root is.
    pub(crate) lead: Option<Lead>,
    pub(crate) model: String,
    pub(crate) directory: PathBuf,
    pub(crate) task: String,
    pub(crate) schema: Option<Arc<Value>>,
    pub(crate) programs: Vec<Program>,
    #[cfg(feature = "mcp")]
    pub(crate) servers: Servers,
    pub(crate) rulebook: Arc<dyn Rulebook>,
}

/// A tree in which nothing runs yet.
pub(crate) struct Assembled<'a> {
    pub(crate) session: Session,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
    config: &'a Config,
    root: Root,
    task: String,
    held: Held,
}

/// What is held while a tree is at work.
pub(crate) struct Held {
    #[cfg(feature = "mcp")]
    mcp: Option<Mcp>,
    work: Result<Option<git::Work>, String>,
    running: Option<Running>,
}

impl<'a> Assembled<'a> {
    /// Puts a tree together.
    pub(crate) async fn new(makings: Makings<'a>) -> Result<Self, CliError> {
        let Makings { config, source, kit, lead, model, directory, task, schema, .. } = makings;
        let files = Arc::default();
        let tools = tools(config, &files, kit);
        check_rules(&config.rules, &tools)?;
        // Of what is played, only what was used is there.
        let doubt = match source {
            Source::Played(_) => None,
            Source::Given(_) | Source::Asked(_) | Source::Recorded(..) => {
                child_model::check(config, &*source.models(), &model)?
            }
        };
        let grant = grant(config, &directory, &makings.programs, lead.as_ref());
        let held = makings.programs.iter().flat_map(|program| program.protected(&directory));
        let seals = Arc::new(Seals::of(held));
        #[cfg(feature = "mcp")]
        let (mcp, tools, warnings) = {
            let mut tools = tools;
            let around = (&*directory, config.program.as_deref(), Arc::clone(&seals));
            let (mcp, warnings) = makings.servers.start(&mut tools, &grant, around).await?;
            (mcp, tools, warnings)
        };
        #[cfg(not(feature = "mcp"))]
        let warnings: Vec<String> = Vec::new();
        let warnings = doubt.into_iter().chain(warnings).collect();
        let work = git::Work::new(config, &directory, &task).await;
        let kept = work.as_ref().ok().and_then(Option::as_ref);
        let outfit = Outfit { tools, rulebook: makings.rulebook, files, seals, work: kept };
        let session = open(config, source, outfit)?;
        let system = match &lead {
            Some(lead) => lead.instructions(&grant, &directory).await?,
            None => config.instructions.clone(),
        };
        let definition = lead.as_ref().map(|lead| &lead.definition);
        let root = Root {
            model,
            system: system.into(),
            schema,
            grant,
            allowance: config.allowance,
            workdir: directory,
            stay: Stay::UntilDone,
            agent: definition.map(|it| it.name.clone()),
            manner: definition.map(|it| it.manner.clone()).unwrap_or_default(),
        };
        let held = Held {
            #[cfg(feature = "mcp")]
            mcp,
            work,
            running: None,
        };
        Ok(Self { session, warnings, config, root, task, held })
    }

    /// Puts the root to work.
    pub(crate) async fn begin(self) -> Result<Held, CliError> {
        let Self { session, config, root, task, held, .. } = self;
        let begun = session.begin(root, task).await;
        begun.map_err(|refusal| CliError::new(Kind::Usage, refusal.to_string()))?;
        // Keeps `adjutant undo` from a session while it is at work. Where that cannot be written
        // down, the journal cannot be written either, and tells of it.
        let running = match config.journal {
            config::Journal::Memory => None,
            config::Journal::File => {
                Running::take(&config.journal_path, session.id()).ok().flatten()
            }
        };
        Ok(Held { running, ..held })
    }
}

impl Held {
    /// Lets go of it all when the root has ended, if it has, and returns what a person should
    /// know.
    pub(crate) async fn let_go(self, session: SessionId, ending: Option<Ending>) -> Vec<String> {
        let mut lines = Vec::new();
        #[cfg(feature = "mcp")]
        if let Some(mcp) = self.mcp {
            lines.extend(mcp.end().await.into_iter().map(|why| format!("warning: {why}")));
        }
        match self.work {
            Ok(Some(work)) => {
                lines.extend(work.end(session, ending == Some(Ending::Completed)).await);
            }
            Ok(None) => {}
            Err(why) => lines.push(format!("warning: git keeps nothing of the work: {why}")),
        }
        drop(self.running);
        lines
    }
}
