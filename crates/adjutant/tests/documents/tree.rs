//! A tree under a preset, followed and answered from Rust.

use std::sync::{Arc, Mutex};

use adjutant::{
    Surroundings,
    config::{Config, Flag},
    core::{
        Access, AgentPath, Charter, Definitions, Delta, Event, EventKind, Grant, Message, Mode,
        Model, ModelError, ModelInfo, NoRulebook, Outcome, Request, SessionId, Stay, ToolResult,
        ToolSpec, WireLog,
    },
    engine::{Attendance, Events, Parts, Root, Seen, Session},
};
use adjutant_models::{Catalogue, Pace, Scripted, script::Script};
use adjutant_store::{LocalBus, MemoryJournal, MemoryVault};
use futures_util::{StreamExt as _, stream::BoxStream};
use tempfile::TempDir;

/// A model that says what a script says and remembers what it was asked.
pub(crate) struct Overheard {
    script: Scripted,
    asked: Mutex<Vec<Asked>>,
}

/// What an agent asked its model.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) agent: AgentPath,
    pub(crate) system: String,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) tools: Vec<Arc<ToolSpec>>,
}

impl Asked {
    pub(crate) fn offer(&self, tool: &str) -> Option<&ToolSpec> {
        self.tools.iter().map(|spec| &**spec).find(|spec| spec.name == tool)
    }
}

impl Model for Overheard {
    fn info(&self) -> &ModelInfo {
        self.script.info()
    }

    fn stream(
        &self,
        request: Request<'_>,
        wire: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.asked.lock().unwrap().push(Asked {
            agent: request.agent.clone(),
            system: request.system.to_owned(),
            messages: request.messages.to_vec(),
            tools: request.tools.to_vec(),
        });
        self.script.stream(request, wire)
    }
}

/// What a tree is made of.
pub(crate) struct Plan {
    pub(crate) preset: &'static str,
    pub(crate) flags: &'static [(&'static str, &'static str)],
    pub(crate) definitions: Option<Arc<dyn Definitions>>,
    pub(crate) script: Script,
}

/// A tree at work, with somebody there.
pub(crate) struct Tree {
    pub(crate) session: Session,
    pub(crate) seen: Vec<Arc<Event>>,
    model: Arc<Overheard>,
    events: Events,
    _there: Attendance,
    _directory: TempDir,
}

impl Plan {
    pub(crate) async fn begin(self) -> Tree {
        let directory = TempDir::new().unwrap();
        let workdir = directory.path().canonicalize().unwrap();
        let flag = |(key, value): (&str, &str)| {
            let (key, value) = (key.to_owned(), value.to_owned());
            Flag { flag: "-c", key, value }
        };
        let flags = [("preset", self.preset)].into_iter().chain(self.flags.iter().copied());
        let flags: Vec<_> = flags.map(flag).collect();
        let config = Config::load(&Surroundings::bare(workdir.clone()), &workdir, &flags).unwrap();
        let model =
            Arc::new(Overheard { script: Scripted::new(self.script), asked: Mutex::default() });
        let bus = Arc::new(LocalBus::default());
        let tools = adjutant_tools::all(&adjutant_tools::Settings {
            delegation: config.delegation.clone(),
            definitions: self.definitions,
            ..adjutant_tools::Settings::default()
        });
        let parts = Parts {
            models: Arc::new(Catalogue::new(Pace::Prompt).with("test", Arc::clone(&model) as _)),
            tools,
            journal: Arc::new(MemoryJournal::new(Arc::clone(&bus) as _)),
            vault: Arc::new(MemoryVault::default()),
            rulebook: Arc::new(NoRulebook),
            hooks: None,
            workshop: None,
            bus,
            settings: config.settings.clone(),
        };
        let session = Session::open(SessionId::from(uuid::Uuid::now_v7()), parts);
        let (events, there) = (session.events(0), session.attend());
        session.begin(root(&config, workdir), "go".to_owned()).await.unwrap();
        let seen = Vec::new();
        Tree { session, seen, model, events, _there: there, _directory: directory }
    }
}

#[expect(clippy::disallowed_methods, reason = "tests mint authority")]
fn root(config: &Config, workdir: std::path::PathBuf) -> Root {
    let grant = Grant::mint(Charter {
        mode: Mode::Auto,
        rules: Vec::new(),
        access: Access::Inherit,
        scope: vec![workdir.clone()],
        protected: Vec::new(),
        shown: Vec::new(),
        depth: config.max_depth,
    });
    Root {
        model: "test".to_owned(),
        system: "You are the root.".into(),
        schema: None,
        grant,
        allowance: config.allowance,
        workdir,
        stay: Stay::UntilDone,
        agent: None,
        manner: adjutant::core::Manner::default(),
    }
}

impl Tree {
    /// Follows the events up to one of an agent.
    pub(crate) async fn until(
        &mut self,
        agent: &str,
        want: impl Fn(&EventKind) -> bool,
    ) -> Arc<Event> {
        while let Some(next) = self.events.next().await {
            let Seen::Event(event) = next.unwrap() else { continue };
            self.seen.push(Arc::clone(&event));
            if event.path.as_str() == agent && want(&event.kind) {
                return event;
            }
        }
        panic!("`{agent}` did nothing of the kind: {:#?}", self.seen)
    }

    /// Follows the events up to the end.
    pub(crate) async fn end(&mut self) -> Outcome {
        let is_end = |kind: &EventKind| matches!(kind, EventKind::Finished { .. });
        let event = self.until("root", is_end).await;
        let EventKind::Finished { outcome, .. } = &event.kind else { unreachable!() };
        Outcome::clone(outcome)
    }

    /// Returns an agent's events among those seen.
    pub(crate) fn at(&self, agent: &str) -> impl Iterator<Item = &EventKind> {
        self.seen.iter().filter(move |event| event.path.as_str() == agent).map(|event| &event.kind)
    }

    /// Returns the results an agent got from its calls.
    pub(crate) fn results(&self, agent: &str) -> Vec<ToolResult> {
        let results = self.at(agent).filter_map(|kind| match kind {
            EventKind::Said { message } => match &**message {
                Message::Tools { results } => Some(results.clone()),
                Message::User { .. } | Message::Assistant { .. } => None,
            },
            _ => None,
        });
        results.flatten().collect()
    }

    /// Returns what an agent asked its model, in its first turn.
    pub(crate) fn asked(&self, agent: &str) -> Asked {
        let asked = self.model.asked.lock().unwrap();
        asked.iter().find(|asked| asked.agent.as_str() == agent).unwrap().clone()
    }
}
