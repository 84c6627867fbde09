//! A tree of agents that is put together, and what has to be let go of after it.

use std::{path::PathBuf, sync::Arc};

use adjutant_core::{Ending, Manner, Rulebook, SessionId, Stay, Tool};
use adjutant_engine::{Root, Session};
#[cfg(feature = "mcp")]
use adjutant_tools::mcp::Mcp;
use adjutant_tools::{Files, sandbox::Seals};
use serde_json::Value;

#[cfg(feature = "mcp")]
use crate::servers::Servers;
use crate::{
    CliError,
    agents::{BETWEEN, Lead},
    artifacts,
    assembly::{Kit, Outfit, open, tools},
    authority::{check_rules, grant},
    child_model,
    config::{self, Config},
    error::Kind,
    git,
    memory::Keeping,
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
    pub(crate) manner: Manner,
    pub(crate) programs: Vec<Program>,
    #[cfg(feature = "mcp")]
    pub(crate) servers: Servers,
    pub(crate) rulebook: Arc<dyn Rulebook>,
    /// What writes down what agents are to remember.
    pub(crate) memory: Option<Keeping>,
    /// Which session it is to be.
    pub(crate) session: SessionId,
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
    memory: Option<Keeping>,
    running: Option<Running>,
}

/// What can be known of a tree before anything is started.
pub(crate) struct Groundwork {
    /// The tools, but for those of servers.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) files: Arc<Files>,
    pub(crate) root: Root,
    /// What a person should know.
    pub(crate) warnings: Vec<String>,
}

impl Makings<'_> {
    /// Finds out all that can be known before anything is started.
    pub(crate) async fn ground(&mut self) -> Result<Groundwork, CliError> {
        let Self { config, source, kit, lead, model, directory, .. } = self;
        let files = Arc::default();
        let tools = tools(config, &files, kit);
        check_rules(&config.rules, &tools)?;
        if let Some(lead) = lead {
            lead.check_tools(&tools)?;
        }
        // Of what is played, only what was used is there.
        let warning = match source {
            Source::Played(_) => None,
            Source::Given(_) | Source::Asked(_) | Source::Recorded(..) => {
                child_model::check(config, &*source.models(), model)?
            }
        };
        // What is handed back to an agent is there for it to read.
        let handed = artifacts::usual(config.data.as_deref(), self.session);
        let grant = grant(config, directory, &self.programs, lead.as_ref(), handed);
        let system = match lead {
            Some(lead) => lead.instructions(&grant, directory).await?,
            None => instructions(config, kit),
        };
        let root = Root {
            model: model.clone(),
            system: system.into(),
            schema: self.schema.clone(),
            grant,
            allowance: config.allowance,
            workdir: directory.clone(),
            stay: Stay::UntilDone,
            agent: lead.as_ref().map(|lead| lead.definition.name.clone()),
            manner: self.manner.clone(),
        };
        Ok(Groundwork { tools, files, root, warnings: warning.into_iter().collect() })
    }
}

/// Returns what a root without a name is told.
fn instructions(config: &Config, kit: &Kit) -> String {
    let parts = [Some(&config.instructions), kit.guidance.as_ref()];
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.cloned().collect::<Vec<_>>().join(BETWEEN)
}

impl<'a> Assembled<'a> {
    /// Puts a tree together.
    pub(crate) async fn new(makings: Makings<'a>) -> Result<Self, CliError> {
        let mut makings = makings;
        let Groundwork { tools, files, root, warnings } = makings.ground().await?;
        let Makings { config, source, directory, task, programs, .. } = makings;
        let held = programs.iter().flat_map(|program| program.protected(&directory));
        let seals = Arc::new(Seals::of(held));
        #[cfg(feature = "mcp")]
        let (mcp, tools, warnings) = {
            let mut tools = tools;
            let around = (&*directory, config.program.as_deref(), Arc::clone(&seals));
            let (mcp, more) = makings.servers.start(&mut tools, &root.grant, around).await?;
            (mcp, tools, warnings.into_iter().chain(more).collect())
        };
        let work = git::Work::new(config, &directory, &task).await;
        let kept = work.as_ref().ok().and_then(Option::as_ref);
        let (memory, rulebook) = (makings.memory, makings.rulebook);
        let (kept_memory, id) = (memory.as_ref(), makings.session);
        let outfit =
            Outfit { tools, rulebook, files, seals, work: kept, memory: kept_memory, session: id };
        let session = open(config, source, outfit)?;
        let held = Held {
            #[cfg(feature = "mcp")]
            mcp,
            work,
            memory,
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
    pub(crate) async fn let_go(self, session: &Session, ending: Option<Ending>) -> Vec<String> {
        // Its end is seen before whoever follows it has kept what there is to keep.
        session.ended().await;
        let mut lines = Vec::new();
        #[cfg(feature = "mcp")]
        if let Some(mcp) = self.mcp {
            lines.extend(mcp.end().await.into_iter().map(|why| format!("warning: {why}")));
        }
        match self.work {
            Ok(Some(work)) => {
                lines.extend(work.end(session.id(), ending == Some(Ending::Completed)).await);
            }
            Ok(None) => {}
            Err(why) => lines.push(format!("warning: git keeps nothing of the work: {why}")),
        }
        lines.extend(self.memory.iter().flat_map(Keeping::end));
        drop(self.running);
        lines
    }
}
