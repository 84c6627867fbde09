//! An agent's end of the `Host` port, which writes down what tools do with it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use adjutant_core::{
    Access, AgentPath, Answer, Ask, CallId, Change, Charter, Delegation, Fact, Grant, Held, Host,
    Image, Mode, Rules, Tool, ToolError, Touch,
};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub(crate) struct Seat {
    pub(crate) workdir: PathBuf,
    pub(crate) token: CancellationToken,
    pub(crate) answer: Answer,
    pub(crate) asked: Mutex<Vec<Ask>>,
    pub(crate) facts: Mutex<Vec<Fact>>,
    pub(crate) images: Mutex<Vec<Image>>,
    pub(crate) changes: Mutex<Vec<Change>>,
    /// What the call is judged by; as if by the engine, unless a test says otherwise.
    pub(crate) judged: Vec<Touch>,
    pub(crate) delegation: Option<Box<dyn Delegation>>,
    pub(crate) agent: AgentPath,
    pub(crate) call: CallId,
    pub(crate) grant: Grant,
}

impl Seat {
    pub(crate) fn at(workdir: &Path) -> Self {
        let charter = Charter {
            mode: Mode::Plan,
            rules: Rules::default(),
            access: Access::Inherit,
            scope: vec![workdir.to_owned()],
            protected: Vec::new(),
            depth: 3,
        };
        Self {
            workdir: workdir.to_owned(),
            token: CancellationToken::new(),
            answer: Answer::Unattended,
            asked: Mutex::default(),
            facts: Mutex::default(),
            images: Mutex::default(),
            changes: Mutex::default(),
            judged: Vec::new(),
            delegation: None,
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
            rules,
            access,
            scope,
            protected: Vec::new(),
            depth: 3,
        });
        Self { grant, ..self }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<String, String> {
        let called = self::tool(tool).call(arguments, self).await;
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

pub(crate) fn tool(name: &str) -> Arc<dyn Tool> {
    let tools = adjutant_tools::all(&adjutant_tools::Settings::default());
    tools.into_iter().find(|tool| tool.spec().name == name).unwrap()
}

impl Host for Seat {
    fn agent(&self) -> &AgentPath {
        &self.agent
    }

    fn call(&self) -> &CallId {
        &self.call
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
        panic!("no tool tells its progress yet: {text}");
    }

    fn note(&self, fact: Fact) {
        self.facts.lock().unwrap().push(fact);
    }

    fn judged(&self) -> &[Touch] {
        &self.judged
    }

    fn attach(&self, image: Image) {
        self.images.lock().unwrap().push(image);
    }

    fn changing(&self, change: Change) -> BoxFuture<'_, Result<(), ToolError>> {
        self.changes.lock().unwrap().push(change);
        Box::pin(async { Ok(()) })
    }

    fn hold(&self, held: Box<dyn Held>) {
        panic!("no tool starts a process yet: {}", held.what());
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        self.asked.lock().unwrap().push(ask);
        Box::pin(async { self.answer.clone() })
    }

    fn delegation(&self) -> Option<&dyn Delegation> {
        self.delegation.as_deref()
    }
}
