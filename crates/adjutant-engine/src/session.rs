//! What a front end holds: a way to send and a way to watch.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use adjutant_core::{
    Address, AgentPath, Allowance, Bus, Chosen, Command, Detail, Errand, EventKind, Grant, History,
    Hooks, Journal, JournalError, Manner, Models, Order, Purse, Refusal, Report, Rulebook, Seq,
    SessionId, Stay, Tool, Vault, When, Workshop,
};
use futures_util::{StreamExt as _, future::BoxFuture, stream::BoxStream};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    Events, Settings,
    clock::Clock,
    desk::Desk,
    kit::Kit,
    life::{self, Birth},
    memory::Memory,
    notes::Board,
    pace::Pace,
    places::Places,
    roster::{Entry, Roster},
    seat::Identity,
    standing::Standing,
    start,
    toolset::ToolSet,
};

/// What a session is made of, chosen by the composition root.
pub struct Parts {
    /// Where models are found.
    pub models: Arc<dyn Models>,
    /// What can be done.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What remembers.
    pub journal: Arc<dyn Journal>,
    /// What keeps the contents of files that change.
    pub vault: Arc<dyn Vault>,
    /// What remembers a person's rules for good.
    pub rulebook: Arc<dyn Rulebook>,
    /// What a person wants done on certain occasions.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// What opens places where agents work alone.
    pub workshop: Option<Arc<dyn Workshop>>,
    /// What moves. The journal publishes on the same one.
    pub bus: Arc<dyn Bus>,
    /// Limits and habits.
    pub settings: Settings,
}

/// Who the root is.
pub struct Root {
    /// The model it runs on.
    pub model: String,
    /// Its system prompt.
    pub system: Arc<str>,
    /// The JSON Schema its answer has to fit.
    pub schema: Option<Arc<Value>>,
    /// What it may do.
    pub grant: Grant,
    /// What it may spend.
    pub allowance: Allowance,
    /// Where relative paths start.
    pub workdir: PathBuf,
    /// When it leaves.
    pub stay: Stay,
    /// The named agent it is.
    pub agent: Option<String>,
    /// How it is to work.
    pub manner: Manner,
}

/// A command did not reach its agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotSent(pub String);

/// Comes when the journal has kept what was written.
pub(crate) type Written = BoxFuture<'static, Result<Seq, JournalError>>;

/// What all agents of a session share.
pub(crate) struct Shared {
    pub(crate) id: SessionId,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) vault: Arc<dyn Vault>,
    pub(crate) standing: Standing,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    pub(crate) workshop: Option<Arc<dyn Workshop>>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) settings: Settings,
    pub(crate) desk: Desk,
    pub(crate) roster: Roster,
    pub(crate) board: Board,
    pub(crate) memory: Memory,
    /// Places for agents at work.
    pub(crate) agents: Arc<Semaphore>,
    /// Places for running calls.
    pub(crate) ops: Arc<Semaphore>,
    /// Places for model calls, by provider.
    paces: Mutex<HashMap<Arc<str>, Arc<Pace>>>,
    pub(crate) unanswered: AtomicBool,
    /// What kept the root's end out of the journal.
    pub(crate) lost: watch::Sender<Option<JournalError>>,
}

impl Shared {
    /// Keeps events of an agent, all or none, then shows them.
    pub(crate) async fn record(
        &self,
        identity: &Identity,
        kinds: Vec<EventKind>,
    ) -> Result<(), JournalError> {
        if kinds.is_empty() {
            return Ok(());
        }
        self.write(identity, kinds).await.map(|_| ())
    }

    /// Hands events to the journal at once, in the order of the calls, whether or not
    /// anybody waits for the result.
    pub(crate) fn write(&self, identity: &Identity, kinds: Vec<EventKind>) -> Written {
        let batch = kinds.into_iter().map(|kind| identity.event(kind)).collect();
        self.journal.append(self.id, batch)
    }

    /// Returns how fast a provider may be asked.
    pub(crate) fn pace(&self, provider: &Arc<str>) -> Arc<Pace> {
        let mut paces = self.paces.lock().unwrap_or_else(PoisonError::into_inner);
        let pace = paces.entry(Arc::clone(provider));
        Arc::clone(pace.or_insert_with(|| Arc::new(Pace::new(self.settings.max_model_calls))))
    }

    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered.load(Relaxed)
    }
}

/// Makes places that are held as values and given back by drop.
pub(crate) fn places(count: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)))
}

/// A tree of agents, seen from above. Clones see the same tree.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

impl Session {
    /// Opens a new session, of which the journal knows nothing. Nothing runs yet, so
    /// nothing is missed by watching.
    pub fn open(id: SessionId, parts: Parts) -> Self {
        let Parts { models, tools, journal, vault, rulebook, hooks, workshop, .. } = parts;
        let Parts { bus, settings, .. } = parts;
        Self(Arc::new(Shared {
            id,
            models,
            tools,
            journal,
            vault,
            standing: Standing::new(rulebook),
            hooks,
            workshop,
            bus,
            desk: Desk::default(),
            roster: Roster::default(),
            board: Board::default(),
            memory: Memory::default(),
            agents: places(settings.max_concurrent_agents),
            ops: places(settings.max_concurrent_ops),
            paces: Mutex::default(),
            unanswered: AtomicBool::new(false),
            lost: watch::Sender::new(None),
            settings,
        }))
    }

    /// Returns the session's name.
    pub fn id(&self) -> SessionId {
        self.0.id
    }

    /// Puts the root to work. Its end is an event.
    pub async fn begin(&self, root: Root, task: String) -> Result<(), Refusal> {
        let Root { model, system, schema, grant, allowance, workdir, stay, agent, manner } = root;
        if task.trim().is_empty() {
            return Err(Refusal::NoTask);
        }
        if self.0.roster.find(&AgentPath::root()).is_some() {
            return Err(Refusal::Begun);
        }
        let model = self.0.models.find(&model);
        let model = model.map_err(|error| Refusal::NoModel(error.to_string()))?;
        let name = "root".to_owned();
        let order = Order { name, task, schema, stay, agent, manner, ..Order::default() };
        let purse = Purse::open(AgentPath::root(), allowance);
        let answer = start::owed(&order, &purse, &*model)?;
        let birth = Birth {
            shared: Arc::clone(&self.0),
            path: AgentPath::root(),
            id: None,
            born: 0,
            call: None,
            kit: Kit {
                model,
                chosen: Chosen::Named,
                instructions: system,
                answer,
                tools: Arc::new(ToolSet::of(&self.0.tools, &grant, &order)),
                grant,
                workdir: workdir.into(),
            },
            purse,
            clock: Clock::start(allowance.time()),
            cancel: CancellationToken::new(),
            bench: None,
            places: Places::default(),
            parent: None,
        };
        let listening = self.0.bus.listen(self.address(AgentPath::root()));
        life::launch(birth, order, History::default(), Vec::new());
        let root = self.0.roster.find(&AgentPath::root());
        if let Some(root) = root {
            tokio::spawn(route(Arc::clone(&self.0), root, listening));
        }
        Ok(())
    }

    /// Sends a command to any agent of the tree, and waits until it is taken or refused.
    pub async fn send(&self, to: &AgentPath, command: Command) -> Result<(), NotSent> {
        let sent = self.0.bus.send(self.address(to.clone()), command).await;
        sent.map_err(|error| match self.0.roster.find(to) {
            // Nobody listens any more once the root is gone.
            Some(entry) if entry.state().is_final() => NotSent(ended(&entry)),
            _ => NotSent(error.to_string()),
        })
    }

    /// Watches the whole tree: first what came after a position, then what comes.
    pub fn events(&self, after: Seq) -> Events {
        self.events_in(Detail::Fragments, after)
    }

    /// Returns what happens after a position, in as much detail as is wanted.
    pub fn events_in(&self, detail: Detail, after: Seq) -> Events {
        let Shared { journal, bus, id, lost, .. } = &*self.0;
        let watch = bus.watch(*id, detail);
        Events::open(Arc::clone(journal), *id, after, watch, lost.subscribe())
    }

    /// Waits for the root's end and returns what came of it, if that is all there is to tell:
    /// of questions nobody was there to answer, the events tell.
    pub async fn report(&self) -> Result<Option<Report>, JournalError> {
        let Some(root) = self.0.roster.find(&AgentPath::root()) else { return Ok(None) };
        let report = root.ended().await;
        if let Some(error) = &*self.0.lost.borrow() {
            return Err(error.clone());
        }
        Ok((!self.0.is_unanswered()).then_some(report))
    }

    /// Waits until the root is gone. A session that has not begun has no end.
    pub async fn ended(&self) {
        match self.0.roster.find(&AgentPath::root()) {
            Some(root) => drop(root.ended().await),
            None => std::future::pending().await,
        }
    }

    /// Says that somebody is there to answer, for as long as the result lives.
    pub fn attend(&self) -> Attendance {
        self.0.desk.come();
        Attendance(Arc::clone(&self.0))
    }

    fn address(&self, path: AgentPath) -> Address {
        Address { session: self.0.id, path }
    }
}

/// Somebody is there to answer, for as long as this lives.
pub struct Attendance(Arc<Shared>);

impl Drop for Attendance {
    fn drop(&mut self) {
        self.0.desk.leave();
    }
}

/// Brings commands to the agents they are for, until the root is gone.
async fn route(shared: Arc<Shared>, root: Arc<Entry>, mut commands: BoxStream<'static, Errand>) {
    let mut end = std::pin::pin!(root.ended());
    loop {
        let next = tokio::select! {
            next = commands.next() => next,
            _ = &mut end => None,
        };
        let Some(errand) = next else { return };
        let obeyed = shared.obey(&errand.to, errand.command.clone()).await;
        errand.answer(obeyed);
    }
}

fn ended(entry: &Entry) -> String {
    format!("`{}` has ended ({})", entry.identity.path, entry.state().name())
}

impl Shared {
    async fn obey(&self, path: &AgentPath, command: Command) -> Result<(), String> {
        let entry = self.roster.find(path).ok_or_else(|| format!("there is no agent `{path}`"))?;
        if entry.state().is_final() {
            return Err(ended(&entry));
        }
        let mailed = match command {
            Command::Say { text } => self.mail(&entry, None, text, When::Queue).await,
            Command::Steer { text } => self.mail(&entry, None, text, When::Steer).await,
            Command::Answer { question, answer } => {
                return self.desk.answer(question, path, answer);
            }
            Command::Cancel => {
                entry.cancel.cancel();
                return Ok(());
            }
        };
        mailed.map_err(|refusal| refusal.to_string())
    }
}
