//! An agent's end of the `Host` port, which writes down what tools do with it.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant_core::{
    Access, AgentPath, Answer, Ask, CallId, Change, Charter, Comms, Delegation, Fact, Grant, Held,
    Host, Image, Mode, Notes, Order, Recorder, Rules, Tool, ToolError, Touch,
};
use adjutant_tools::Settings;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) struct Seat {
    pub(crate) workdir: PathBuf,
    pub(crate) token: CancellationToken,
    pub(crate) answer: Answer,
    /// What is answered first, one to a question.
    pub(crate) answers: Mutex<VecDeque<Answer>>,
    pub(crate) asked: Mutex<Vec<Ask>>,
    pub(crate) facts: Mutex<Vec<Fact>>,
    pub(crate) images: Mutex<Vec<Image>>,
    pub(crate) changes: Arc<Mutex<Vec<Change>>>,
    /// What calls told of how far they were.
    pub(crate) progress: Mutex<Vec<String>>,
    /// What calls gave into custody.
    pub(crate) held: Mutex<Vec<Box<dyn Held>>>,
    /// Done once, when a change is recorded and not yet made.
    pub(crate) meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// What the last call was judged by.
    pub(crate) judged: Mutex<&'static [Touch]>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) order: Order,
    pub(crate) agent: AgentPath,
    pub(crate) call: CallId,
    pub(crate) grant: Grant,
}

impl Seat {
    pub(crate) fn at(workdir: &Path) -> Self {
        let charter = Charter {
            mode: Mode::Plan,
            rules: Vec::new(),
            access: Access::Inherit,
            scope: vec![workdir.to_owned()],
            protected: Vec::new(),
            shown: Vec::new(),
            depth: 3,
        };
        Self {
            workdir: workdir.to_owned(),
            token: CancellationToken::new(),
            answer: Answer::Unattended,
            answers: Mutex::default(),
            asked: Mutex::default(),
            facts: Mutex::default(),
            images: Mutex::default(),
            changes: Arc::default(),
            progress: Mutex::default(),
            held: Mutex::default(),
            meanwhile: Mutex::default(),
            judged: Mutex::default(),
            tools: adjutant_tools::all(&settings()),
            order: Order::default(),
            agent: AgentPath::root(),
            call: "c1".into(),
            grant: mint(charter),
        }
    }

    /// Has rules.
    pub(crate) fn with_rules(self, rules: Rules) -> Self {
        let (access, scope) = (Access::Inherit, vec![self.workdir.clone()]);
        let grant = mint(Charter {
            mode: Mode::Auto,
            rules: vec![rules],
            access,
            scope,
            protected: Vec::new(),
            shown: Vec::new(),
            depth: 3,
        });
        Self { grant, ..self }
    }

    pub(crate) fn in_mode(self, mode: Mode) -> Self {
        let (rules, access, scope) = (Vec::new(), Access::Inherit, vec![self.workdir.clone()]);
        let protected = Vec::new();
        let grant =
            mint(Charter { mode, rules, access, scope, protected, shown: Vec::new(), depth: 3 });
        Self { grant, ..self }
    }

    /// Returns another agent of the tree, with the same tools.
    pub(crate) fn other(&self, agent: &str) -> Self {
        let (agent, tools) = (agent.parse().unwrap(), self.tools.clone());
        Self { agent, tools, ..Self::at(&self.workdir) }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<String, String> {
        self.call_after(tool, arguments, || {}).await
    }

    /// Returns what a call would be judged by.
    pub(crate) fn touches(&self, tool: &str, arguments: &Value) -> Vec<Touch> {
        self.tool(tool).touches(arguments, &self.workdir)
    }

    fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name == name).unwrap()
    }

    /// Calls a tool as the engine does. Between the judging and the call something happens.
    pub(crate) async fn call_after(
        &self,
        tool: &str,
        arguments: Value,
        happens: impl FnOnce(),
    ) -> Result<String, String> {
        *self.judged.lock().unwrap() = self.touches(tool, &arguments).leak();
        happens();
        let called = self.tool(tool).call(arguments, self).await;
        called.map_err(|ToolError(text)| text)
    }

    pub(crate) fn files_read(&self) -> Vec<PathBuf> {
        let facts = self.facts.lock().unwrap();
        let paths = facts.iter().map(|fact| match fact {
            Fact::Read { path } => PathBuf::from(path),
            other => panic!("{other:?}"),
        });
        paths.collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "there is no composition root in a test")]
fn mint(charter: Charter) -> Grant {
    Grant::mint(charter)
}

/// Waits for something that nobody tells of.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The usual ones, with a keeper for commands.
pub(crate) fn settings() -> Settings {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only there can commands be kept"))]
    let mut settings = Settings::default();
    #[cfg(unix)]
    {
        let program = env!("CARGO_BIN_EXE_keeper").into();
        let keeper = adjutant_tools::keeper::Keeper { program, arguments: Vec::new() };
        settings.commands.keeper = Some(keeper);
    }
    settings
}

pub(crate) fn tool(name: &str) -> Arc<dyn Tool> {
    let tools = adjutant_tools::all(&settings());
    tools.into_iter().find(|tool| tool.spec().name == name).unwrap()
}

/// What is recorded in an agent's name.
struct Changes(Arc<Mutex<Vec<Change>>>);

impl Recorder for Changes {
    fn changing(&self, change: Change) -> BoxFuture<'_, Result<(), ToolError>> {
        self.0.lock().unwrap().push(change);
        Box::pin(async { Ok(()) })
    }
}

impl Host for Seat {
    fn agent(&self) -> &AgentPath {
        &self.agent
    }

    fn call(&self) -> &CallId {
        &self.call
    }

    fn order(&self) -> &Order {
        &self.order
    }

    fn workdir(&self) -> &Path {
        &self.workdir
    }

    fn grant(&self) -> &Grant {
        &self.grant
    }

    fn token(&self) -> &CancellationToken {
        &self.token
    }

    fn progress(&self, text: String) {
        self.progress.lock().unwrap().push(text);
    }

    fn note(&self, fact: Fact) {
        self.facts.lock().unwrap().push(fact);
    }

    fn judged(&self) -> &[Touch] {
        *self.judged.lock().unwrap()
    }

    fn attach(&self, image: Image) {
        self.images.lock().unwrap().push(image);
    }

    fn changing(&self, change: Change) -> BoxFuture<'_, Result<(), ToolError>> {
        self.changes.lock().unwrap().push(change);
        if let Some(meanwhile) = self.meanwhile.lock().unwrap().take() {
            meanwhile();
        }
        Box::pin(async { Ok(()) })
    }

    fn recorder(&self) -> Arc<dyn Recorder> {
        Arc::new(Changes(Arc::clone(&self.changes)))
    }

    fn hold(&self, new: Box<dyn Held>) {
        let mut held = self.held.lock().unwrap();
        held.retain_mut(|held| !held.is_over());
        held.push(new);
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        self.asked.lock().unwrap().push(ask);
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async { answer.unwrap_or_else(|| self.answer.clone()) })
    }

    fn delegation(&self) -> Option<&dyn Delegation> {
        None
    }

    fn comms(&self) -> Option<&dyn Comms> {
        None
    }

    fn notes(&self) -> &dyn Notes {
        unreachable!("notes are tried with a real tree")
    }
}
