//! `adjutant run --dry-run`: a run whose models only listen.
//!
//! The tree is a real one, so what is shown is what would be sent: of each agent the first request
//! is kept and answered with a call of every agent that it may call. Nothing is sent, started or
//! written.

mod listener;
mod report;
mod text;

use std::{
    io::{self, Write as _},
    sync::Arc,
};

use adjutant_core::{
    Caller, Definitions, Detail, Event, Isolation, Listed, NoRulebook, Order, Rules, SessionId,
};
use adjutant_engine::{Breaker, Seen, Session};
use adjutant_models::Pace;
use futures_util::{StreamExt as _, future::BoxFuture};
use tokio::runtime::Builder;
use uuid::Uuid;

use self::{
    listener::{Heard, Listeners},
    report::{Material, Places, Report, Top},
};
use crate::{
    CliError, ExitCode,
    agents::Agents,
    assembled::{Groundwork, Makings},
    assembly::{Kit, Outfit, open},
    authority::doubts,
    cast::Cast,
    config::{Config, Journal},
    error::Kind,
    prepared::{Output, Prepared},
    source::{Source, Tape},
};

/// Shows what a run would send.
pub(crate) fn dry_run(prepared: Prepared) -> Result<ExitCode, CliError> {
    let output = prepared.output;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(look(prepared))?;
    let mut stdout = io::stdout().lock();
    match output {
        Output::Json => {
            serde_json::to_writer_pretty(&mut stdout, &report).map_err(io::Error::from)?;
            writeln!(stdout)?;
        }
        Output::Answer | Output::Events => text::write(&report, &mut stdout)?,
    }
    Ok(ExitCode::Completed)
}

async fn look(prepared: Prepared) -> Result<Report, CliError> {
    let Prepared { config, choice, directory, prompt, cast, schema, .. } = prepared;
    let mut warnings: Vec<_> = doubts(&config).into_iter().chain(cast.warnings.clone()).collect();
    let rules = config.rules.clone();
    let id = SessionId::from(Uuid::now_v7());
    let definitions = Arc::new(InPlace(Arc::clone(&cast.agents)));
    let kit = cast.add_to(Kit { definitions: Some(definitions), ..Kit::default() }, &config, id);
    let Cast { agents, lead, manner, .. } = cast;
    let config = harmless(config);
    let source = Source::new(Tape::None, &directory, &config.providers, Pace::Prompt);
    let root = lead.as_ref().map(|lead| lead.definition.name.clone()).unwrap_or_default();
    let heard = Arc::new(Heard::new(root));
    let listeners = Listeners { models: source.models(), heard: Arc::clone(&heard) };
    let source = Source::Given(Arc::new(listeners));
    let mut makings = Makings {
        config: &config,
        source: &source,
        kit: &kit,
        lead,
        model: choice.model,
        directory,
        task: prompt.clone(),
        schema,
        manner,
        programs: prepared.programs,
        #[cfg(feature = "mcp")]
        servers: prepared.servers,
        rulebook: Arc::new(NoRulebook),
        memory: None,
        session: id,
    };
    let Groundwork { tools, files, root, warnings: more } = makings.ground().await?;
    warnings.extend(more);
    #[cfg(feature = "mcp")]
    let (tools, servers) = {
        let theirs = makings.servers.stand_ins(&root.grant)?;
        warnings.extend(theirs.warnings);
        (tools.into_iter().chain(theirs.tools).collect(), theirs.names)
    };
    #[cfg(not(feature = "mcp"))]
    let servers = Vec::new();
    let (rulebook, seals) = (Arc::new(NoRulebook), Arc::default());
    let outfit = Outfit { tools, rulebook, files, seals, work: None, memory: None, session: id };
    let session = open(&config, &source, outfit)?;
    let own = makings.lead.as_ref().map(|lead| lead.definition.rules.clone());
    let top = Top {
        rules: rules.into_iter().chain(own).fold(Rules::default(), join),
        budget: root.allowance,
        depth: root.grant.depth(),
        scope: root.grant.scope().to_vec(),
        servers,
    };
    let begun = session.begin(root, prompt).await;
    begun.map_err(|refusal| CliError::new(Kind::Usage, refusal.to_string()))?;
    let events = events(&session).await?;
    let places = Places { agents: &agents, artifacts: &kit.artifacts, session: id };
    let material = Material::new(&events, heard.sent(), places);
    Report::new(top, warnings, &material)
}

/// Returns the configuration of a run that leaves nothing behind, and that is not held up by what
/// a real one would be that calls so many agents at once.
fn harmless(mut config: Config) -> Config {
    config.journal = Journal::Memory;
    config.data = None;
    config.hooks.clear();
    config.settings.breaker = Breaker::default();
    config.settings.max_concurrent_agents = usize::MAX;
    config.settings.max_children_per_agent = usize::MAX;
    config
}

/// Adds the rules of one layer to those below it.
fn join(mut below: Rules, layer: Rules) -> Rules {
    let Rules { allow, ask, deny, only } = layer;
    below.allow.extend(allow);
    below.ask.extend(ask);
    below.deny.extend(deny);
    below.only.extend(only);
    below
}

async fn events(session: &Session) -> Result<Vec<Arc<Event>>, CliError> {
    session.ended().await;
    let mut seen = session.events_in(Detail::Kept, 0);
    let mut events = Vec::new();
    while let Some(seen) = seen.next().await {
        let seen = seen.map_err(|error| CliError::new(Kind::Internal, error.to_string()))?;
        if let Seen::Event(event) = seen {
            events.push(event);
        }
    }
    Ok(events)
}

/// The named agents, all of which work where their callers do: a place of their own would have to
/// be made.
struct InPlace(Arc<Agents>);

impl Definitions for InPlace {
    fn callable(&self, caller: Option<&str>) -> Vec<Listed> {
        self.0.callable(caller)
    }

    fn order<'a>(
        &'a self,
        caller: Caller<'a>,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Order, String>> {
        Box::pin(async move {
            let order = self.0.order(caller, name).await?;
            Ok(Order { isolation: Isolation::Shared, ..order })
        })
    }
}
