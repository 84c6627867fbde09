//! A tree to test with. Time is paused in these tests, so an hour of waiting for what
//! never comes takes no time.

use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use adjutant_core::{
    Access, AgentPath, Allowance, Answer, Bus, Charter, Command, Delegation, Delta, Effect, Event,
    EventKind, Grant, Held, Hooks, Host, Journal, Manner, Message, Mode, Model, ModelError,
    ModelInfo, NoRulebook, Origin, Outcome, Price, QuestionId, Receipt, Refusal, Request, Rules,
    SessionId, Tool, ToolError, ToolSpec, WireLog, Workshop,
};
use adjutant_engine::{Attendance, Events, Parts, Root, Seen, Session, Settings};
use adjutant_models::{Catalogue, Pace, Scripted, script::Script};
use adjutant_store::{LocalBus, MemoryJournal, MemoryVault};
use adjutant_tools::DelegationSettings;
use futures_util::{StreamExt as _, future::BoxFuture, stream::BoxStream};
use serde_json::{Value, json};
use tokio::time::timeout;

pub(crate) use adjutant_models::script::{Reply, call};

const PATIENCE: Duration = Duration::from_secs(3600);

pub(crate) fn path(text: &str) -> AgentPath {
    text.parse().unwrap()
}

pub(crate) fn count(count: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(count)
}

/// Calls `sub_agent`.
pub(crate) fn sub(id: &str, prompt: &str) -> adjutant_models::script::Call {
    call(id, "sub_agent", json!({ "prompt": prompt }))
}

/// Calls `agent_spawn`.
pub(crate) fn spawn(id: &str, prompt: &str) -> adjutant_models::script::Call {
    call(id, "agent_spawn", json!({ "prompt": prompt }))
}

/// A tree being set up.
pub(crate) struct Plan {
    script: Script,
    mode: Mode,
    rules: Rules,
    depth: u8,
    workdir: PathBuf,
    allowance: Allowance,
    settings: Settings,
    stay: adjutant_core::Stay,
    schema: Option<Value>,
    manner: Manner,
    tools: Vec<Arc<dyn Tool>>,
    models: Vec<(&'static str, Arc<dyn Model>)>,
    hooks: Option<Arc<dyn Hooks>>,
    workshop: Option<Arc<dyn Workshop>>,
    bus: LocalBus,
    journal: Box<MakeJournal>,
}

type MakeJournal = dyn Fn(Arc<dyn Bus>) -> Arc<dyn Journal> + Send;

/// A tree at work.
pub(crate) struct Tree {
    pub(crate) session: Session,
    pub(crate) model: Arc<Scripted>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) seen: Vec<Arc<Event>>,
    events: Events,
}

impl Plan {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            script,
            mode: Mode::Auto,
            rules: Rules::default(),
            depth: 3,
            workdir: std::env::current_dir().unwrap(),
            allowance: Allowance::default(),
            settings: Settings::default(),
            stay: adjutant_core::Stay::UntilDone,
            schema: None,
            manner: Manner::default(),
            tools: adjutant_tools::all(&adjutant_tools::Settings::default()),
            models: Vec::new(),
            hooks: None,
            workshop: None,
            bus: LocalBus::default(),
            journal: Box::new(|bus| Arc::new(MemoryJournal::new(bus))),
        }
    }

    /// Has a ring of this size.
    pub(crate) fn ring(self, size: usize) -> Self {
        Self { bus: LocalBus::new(size.try_into().unwrap()), ..self }
    }

    pub(crate) fn journal(
        self,
        make: impl Fn(Arc<dyn Bus>) -> Arc<dyn Journal> + Send + 'static,
    ) -> Self {
        Self { journal: Box::new(make), ..self }
    }

    pub(crate) fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    pub(crate) fn rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    pub(crate) fn depth(self, depth: u8) -> Self {
        Self { depth, ..self }
    }

    /// Works in this directory.
    pub(crate) fn at(self, workdir: &Path) -> Self {
        Self { workdir: workdir.canonicalize().unwrap(), ..self }
    }

    pub(crate) fn allowance(self, allowance: Allowance) -> Self {
        Self { allowance, ..self }
    }

    pub(crate) fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    pub(crate) fn staying(self) -> Self {
        Self { stay: adjutant_core::Stay::UntilTold, ..self }
    }

    /// Has a root whose answer has to fit a schema.
    pub(crate) fn schema(self, schema: Value) -> Self {
        Self { schema: Some(schema), ..self }
    }

    /// Has a root that works like this.
    pub(crate) fn manner(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }

    /// Has its own tools set up in another way; those added before are gone.
    pub(crate) fn delegating(mut self, change: impl FnOnce(&mut DelegationSettings)) -> Self {
        let mut settings = adjutant_tools::Settings::default();
        change(&mut settings.delegation);
        self.tools = adjutant_tools::all(&settings);
        self
    }

    pub(crate) fn tool(self, tool: impl Tool + 'static) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    pub(crate) fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    pub(crate) fn hooks(self, hooks: Arc<dyn Hooks>) -> Self {
        Self { hooks: Some(hooks), ..self }
    }

    pub(crate) fn workshop(self, workshop: Arc<dyn Workshop>) -> Self {
        Self { workshop: Some(workshop), ..self }
    }

    /// Has a model of that name; the script is `test`.
    pub(crate) fn model(mut self, name: &'static str, model: impl Model + 'static) -> Self {
        self.models.push((name, Arc::new(model)));
        self
    }

    /// Returns who the root is.
    #[expect(clippy::disallowed_methods, reason = "tests mint authority")]
    pub(crate) fn root(&self) -> Root {
        let workdir = self.workdir.clone();
        let grant = Grant::mint(Charter {
            mode: self.mode,
            rules: vec![self.rules.clone()],
            access: Access::Inherit,
            scope: vec![workdir.clone()],
            protected: Vec::new(),
            shown: Vec::new(),
            depth: self.depth,
        });
        let (model, system) = ("test".to_owned(), "be brief".into());
        let (allowance, stay) = (self.allowance, self.stay);
        let schema = self.schema.clone().map(Arc::new);
        let (agent, manner) = (None, self.manner.clone());
        Root { model, system, schema, grant, allowance, workdir, stay, agent, manner }
    }

    /// Begins with nobody there.
    pub(crate) async fn begin(self, task: &str) -> Tree {
        self.begin_attended(task).await.0
    }

    /// Begins with somebody there.
    pub(crate) async fn begin_attended(self, task: &str) -> (Tree, Attendance) {
        let root = self.root();
        let tree = self.open();
        let attendance = tree.session.attend();
        tree.session.begin(root, task.to_owned()).await.unwrap();
        (tree, attendance)
    }

    /// Opens a session and does not begin.
    pub(crate) fn open(self) -> Tree {
        let model = Arc::new(Scripted::new(self.script));
        let catalogue = Catalogue::new(Pace::Prompt).with("test", model.clone());
        let add = |all: Catalogue, (name, model)| all.with(name, model);
        let bus: Arc<dyn Bus> = Arc::new(self.bus);
        let journal = (self.journal)(Arc::clone(&bus));
        let parts = Parts {
            models: Arc::new(self.models.into_iter().fold(catalogue, add)),
            tools: self.tools,
            journal: Arc::clone(&journal),
            vault: Arc::new(MemoryVault::default()),
            rulebook: Arc::new(NoRulebook),
            hooks: self.hooks,
            workshop: self.workshop,
            bus,
            settings: self.settings,
        };
        let session = Session::open(SessionId::from(uuid::Uuid::now_v7()), parts);
        let events = session.events(0);
        Tree { session, model, journal, seen: Vec::new(), events }
    }
}

impl Tree {
    /// Follows the events up to one.
    pub(crate) async fn until(&mut self, want: impl Fn(&Event) -> bool) -> Arc<Event> {
        loop {
            let next = timeout(PATIENCE, self.events.next()).await;
            let Ok(Some(seen)) = next else { panic!("not seen; seen: {:#?}", self.seen) };
            let Seen::Event(event) = seen.unwrap() else { continue };
            self.seen.push(Arc::clone(&event));
            if want(&event) {
                return event;
            }
        }
    }

    /// Follows the events up to one of an agent.
    pub(crate) async fn until_at(
        &mut self,
        at: &str,
        want: impl Fn(&EventKind) -> bool,
    ) -> Arc<Event> {
        let at = path(at);
        self.until(|event| event.path == at && want(&event.kind)).await
    }

    /// Follows the events up to the end.
    pub(crate) async fn end(&mut self) -> Outcome {
        self.until_at("root", |kind| matches!(kind, EventKind::Finished { .. })).await;
        self.outcome("root")
    }

    /// Follows the events up to a question, and returns its name.
    pub(crate) async fn question(&mut self, at: &str) -> QuestionId {
        let event = self.until_at(at, |kind| matches!(kind, EventKind::Asked { .. })).await;
        let EventKind::Asked { question, .. } = event.kind else { unreachable!() };
        question
    }

    pub(crate) async fn answer(&self, at: &str, question: QuestionId, answer: Answer) {
        self.send(at, Command::Answer { question, answer }).await;
    }

    pub(crate) async fn send(&self, at: &str, command: Command) {
        self.session.send(&path(at), command).await.unwrap();
    }

    /// Returns an agent's events among those seen.
    pub(crate) fn at(&self, at: &str) -> impl Iterator<Item = &EventKind> {
        let at = path(at);
        self.seen.iter().filter(move |event| event.path == at).map(|event| &event.kind)
    }

    fn finished(&self, at: &str) -> (Arc<Outcome>, Arc<Receipt>) {
        let finished = self.at(at).find_map(|kind| match kind {
            EventKind::Finished { outcome, receipt } => Some((outcome.clone(), receipt.clone())),
            _ => None,
        });
        finished.unwrap_or_else(|| panic!("`{at}` has not finished: {:#?}", self.seen))
    }

    pub(crate) fn outcome(&self, at: &str) -> Outcome {
        Outcome::clone(&self.finished(at).0)
    }

    pub(crate) fn receipt(&self, at: &str) -> Receipt {
        Receipt::clone(&self.finished(at).1)
    }

    /// Returns the results an agent got from its calls.
    pub(crate) fn results(&self, at: &str) -> Vec<String> {
        let messages = self.at(at).filter_map(|kind| match kind {
            EventKind::Said { message } => Some(message),
            _ => None,
        });
        let results = messages.filter_map(|message| match &**message {
            Message::Tools { results } => Some(results),
            _ => None,
        });
        results.flatten().map(|result| result.text.clone()).collect()
    }

    /// Returns what an agent was told.
    pub(crate) fn heard(&self, at: &str) -> Vec<String> {
        let messages = self.at(at).filter_map(|kind| match kind {
            EventKind::Said { message } => Some(message),
            _ => None,
        });
        let heard = messages.filter(|message| matches!(***message, Message::User { .. }));
        heard.map(|message| message.text()).collect()
    }

    /// Returns the position of the first event of an agent that fits.
    pub(crate) fn position(&self, at: &str, want: impl Fn(&EventKind) -> bool) -> u64 {
        let at = path(at);
        let mut events = self.seen.iter();
        events.find(|event| event.path == at && want(&event.kind)).unwrap().seq
    }
}

/// Returns the children whose ends a message tells of.
pub(crate) fn told(kind: &EventKind) -> &[AgentPath] {
    let EventKind::Said { message } = kind else { return &[] };
    match &**message {
        Message::User { origin: Origin::Runtime { ended }, .. } => ended,
        _ => &[],
    }
}

/// Finds a message that contains a text.
pub(crate) fn says(text: &str) -> impl Fn(&EventKind) -> bool {
    move |kind| match kind {
        EventKind::Said { message } => message.text().contains(text),
        _ => false,
    }
}

/// Finds the message with the result of a call.
pub(crate) fn has_result(call: &str) -> impl Fn(&EventKind) -> bool {
    move |kind| {
        let EventKind::Said { message } = kind else { return false };
        let Message::Tools { results } = &**message else { return false };
        results.iter().any(|result| &*result.call == call)
    }
}

pub(crate) fn is_finished(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Finished { .. })
}

pub(crate) fn is_started(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Started { .. })
}

type Act = dyn for<'a> Fn(&'a dyn Host) -> BoxFuture<'a, Result<String, ToolError>> + Send + Sync;

/// A tool made of a function.
pub(crate) struct Does {
    spec: Arc<ToolSpec>,
    act: Box<Act>,
}

impl Does {
    pub(crate) fn new(
        name: &str,
        effect: Effect,
        act: impl for<'a> Fn(&'a dyn Host) -> BoxFuture<'a, Result<String, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let (name, description) = (name.to_owned(), String::new());
        let parameters = json!({ "type": "object" });
        let spec = Arc::new(ToolSpec { name, description, parameters, effect });
        Self { spec, act: Box::new(act) }
    }
}

impl Tool for Does {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn summary(&self, _: &Value) -> String {
        self.spec.name.clone()
    }

    fn call<'a>(
        &'a self,
        _: Value,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        (self.act)(host)
    }
}

/// Returns a call's way to other agents.
pub(crate) fn delegation(host: &dyn Host) -> Result<&dyn Delegation, ToolError> {
    host.delegation().ok_or_else(|| Refusal::TooDeep { limit: host.agent().depth() }.into())
}

type End = dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync;

/// Something outside the tree, and how it ends.
struct Thing(Arc<End>);

impl Held for Thing {
    fn what(&self) -> String {
        "thing".to_owned()
    }

    fn is_over(&mut self) -> bool {
        false
    }

    fn end(self: Box<Self>) -> BoxFuture<'static, Result<(), String>> {
        (self.0)()
    }
}

/// A tool named `holds` that starts something.
pub(crate) fn holds(
    end: impl Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static,
) -> Does {
    let end: Arc<End> = Arc::new(end);
    Does::new("holds", Effect::Read, move |host| {
        host.hold(Box::new(Thing(Arc::clone(&end))));
        Box::pin(async { Ok("held".to_owned()) })
    })
}

type Answers = BoxStream<'static, Result<Delta, ModelError>>;

/// A model made of a function. Nobody knows its price.
pub(crate) struct Talks {
    info: ModelInfo,
    answer: Box<dyn Fn(Request<'_>) -> Answers + Send + Sync>,
}

impl Talks {
    pub(crate) fn new(answer: impl Fn(Request<'_>) -> Answers + Send + Sync + 'static) -> Self {
        let (name, provider) = ("made/up".into(), "made".into());
        let info = ModelInfo { name, provider, window: 100_000, max_output: 500, price: None };
        Self { info, answer: Box::new(answer) }
    }

    /// Has a price.
    pub(crate) fn at(mut self, price: Price) -> Self {
        self.info.price = Some(price);
        self
    }
}

impl Model for Talks {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: Request<'_>, _: &mut WireLog) -> Answers {
        (self.answer)(request)
    }
}
