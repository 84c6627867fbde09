//! Cancelled means contained: the processes of every level are gone before that level's
//! end is recorded, those included that left their process group.

#![allow(clippy::unwrap_used, reason = "tests may panic")]
#![cfg(target_os = "linux")]

use std::{
    ffi::OsString,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant::core::{
    Access, AgentPath, Allowance, Bus, Charter, Command, Effect, Ending, Event, EventKind, Grant,
    Host, Journal, JournalError, Mode, NoRulebook, Seq, SessionEntry, SessionId, Tool, ToolError,
    ToolSpec,
};
use adjutant::engine::{Parts, Root, Seen, Session, Settings};
use adjutant_models::{
    Catalogue, Pace, Scripted,
    script::{Call, Reply, Script, call},
};
use adjutant_store::{LocalBus, MemoryJournal, MemoryVault};
use adjutant_tools::{keeper::Keeper, sandbox::Sandbox};
use futures_util::{StreamExt as _, future::BoxFuture};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for a slow machine; only a failure takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

const LEVELS: [&str; 3] = ["root", "root.sub-1", "root.sub-1.sub-1"];

/// Commands that leave their group, their session and their parent, that do not hear of their
/// end, and that multiply; and how many processes sleep when all have got away.
const COMMANDS: [(&str, usize); 5] = [
    ("setsid sh -c 'setsid sleep MARK & sleep MARK & wait' & sleep MARK", 3),
    ("(setsid sh -c '(sleep MARK &) &' &); sleep MARK", 2),
    ("nohup sleep MARK > /dev/null & disown; sleep MARK", 2),
    ("trap '' TERM INT HUP; while true; do sleep MARK; done", 1),
    (
        "bomb() { [ $1 = 4 ] || { bomb $(($1 + 1)) & bomb $(($1 + 1)) & }; exec sleep MARK; }
         bomb 0",
        31,
    ),
];

/// Returns a number that only processes of one agent sleep, in one test.
fn mark(test: usize, agent: &str) -> String {
    let level = agent.split('.').count();
    format!("{}.{test}{level}", 100_000 + std::process::id())
}

/// Counts the processes that have some words in their command lines.
fn alive(words: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let lines = processes.filter_map(|process| fs::read(process.join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(words)).count()
}

fn keeper() -> Keeper {
    let arguments = ["__keep", "--"].map(OsString::from).to_vec();
    Keeper { program: env!("CARGO_BIN_EXE_adjutant").into(), arguments }
}

/// A tool that runs a command and never returns.
struct Endless(usize);

impl Tool for Endless {
    fn spec(&self) -> Arc<ToolSpec> {
        let (name, description) = ("endless".to_owned(), String::new());
        let parameters = json!({ "type": "object" });
        Arc::new(ToolSpec { name, description, parameters, effect: Effect::Execute })
    }

    fn summary(&self, _: &Value) -> String {
        "runs for ever".to_owned()
    }

    fn call<'a>(
        &'a self,
        _: Value,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async {
            let command = COMMANDS[0].0.replace("MARK", &mark(self.0, host.agent().as_str()));
            let command = ["sh".into(), "-c".into(), command.into()];
            host.hold(Box::new(keeper().start(&command, host.workdir()).unwrap()));
            std::future::pending().await
        })
    }
}

/// A journal that looks at an agent's processes at the moment its end is recorded.
struct Witness {
    inner: MemoryJournal,
    test: usize,
    /// Who ended, and how many of its processes were there then.
    ends: Arc<Mutex<Vec<(String, usize)>>>,
}

impl Journal for Witness {
    fn append(
        &self,
        session: SessionId,
        batch: Vec<Event>,
    ) -> BoxFuture<'static, Result<Seq, JournalError>> {
        for event in &batch {
            if let EventKind::Finished { .. } = event.kind {
                let alive = alive(&mark(self.test, event.path.as_str()));
                self.ends.lock().unwrap().push((event.path.to_string(), alive));
            }
        }
        self.inner.append(session, batch)
    }

    fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Arc<Event>>, JournalError>> {
        self.inner.read(session, after, limit)
    }

    fn sessions(&self) -> BoxFuture<'static, Result<Vec<SessionEntry>, JournalError>> {
        self.inner.sessions()
    }
}

/// Makes a script in which each agent calls some tools and delegates to the next.
fn script(calls: impl Fn(&str) -> Vec<Call>) -> Script {
    LEVELS.iter().enumerate().fold(Script::new(), |script, (level, agent)| {
        let sub_agent = call("s", "sub_agent", json!({ "prompt": "go on" }));
        let delegation = (level + 1 < LEVELS.len()).then_some(sub_agent);
        script.on(agent, [Reply::calls(calls(agent).into_iter().chain(delegation))])
    })
}

/// Makes a script in which each agent runs all commands, most of them in the background.
fn running_commands(test: usize) -> Script {
    script(|agent| {
        let calls = COMMANDS.iter().enumerate().map(|(number, (command, _))| {
            let command = command.replace("MARK", &mark(test, agent));
            let arguments = json!({ "command": command, "background": number > 0 });
            call(&format!("r{number}"), "run_command", arguments)
        });
        calls.collect()
    })
}

#[expect(clippy::disallowed_methods, reason = "tests mint authority")]
fn grant(mode: Mode, directory: &Path) -> Grant {
    let (access, scope, protected) = (Access::Inherit, vec![directory.to_owned()], Vec::new());
    Grant::mint(Charter {
        mode,
        rules: Vec::new(),
        access,
        scope,
        protected,
        shown: Vec::new(),
        depth: 3,
    })
}

fn open(script: Script, tools: Vec<Arc<dyn Tool>>, witness: Witness, bus: Arc<dyn Bus>) -> Session {
    let model = Arc::new(Scripted::new(script));
    let parts = Parts {
        models: Arc::new(Catalogue::new(Pace::Prompt).with("test", model)),
        tools,
        journal: Arc::new(witness),
        vault: Arc::new(MemoryVault::default()),
        rulebook: Arc::new(NoRulebook),
        hooks: None,
        workshop: None,
        bus,
        settings: Settings::default(),
    };
    Session::open(SessionId::from(uuid::Uuid::now_v7()), parts)
}

/// Lets a tree start its processes, stops it when so many of each agent are away, and sees that
/// each agent's are gone when its end is recorded.
async fn contain(test: usize, mode: Mode, script: Script, tools: Vec<Arc<dyn Tool>>, away: usize) {
    let place = TempDir::new().unwrap();
    let directory = place.path().canonicalize().unwrap();
    let bus: Arc<dyn Bus> = Arc::new(LocalBus::default());
    let (inner, ends) = (MemoryJournal::new(Arc::clone(&bus)), Arc::<Mutex<Vec<_>>>::default());
    let session = open(script, tools, Witness { inner, test, ends: Arc::clone(&ends) }, bus);
    let mut events = session.events(0);
    let root = Root {
        model: "test".to_owned(),
        system: "".into(),
        schema: None,
        grant: grant(mode, &directory),
        allowance: Allowance::default(),
        workdir: directory.clone(),
        stay: adjutant::core::Stay::UntilDone,
        agent: None,
        manner: adjutant::core::Manner::default(),
    };
    session.begin(root, "go".to_owned()).await.unwrap();
    let stopping = async {
        let is_up = |agent: &&str| alive(&format!("sleep\0{}\0", mark(test, agent))) == away;
        while !LEVELS.iter().all(&is_up) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        session.send(&AgentPath::root(), Command::Cancel).await.unwrap();
    };
    let watching = async {
        while let Some(seen) = events.next().await {
            let Seen::Event(event) = seen.unwrap() else { continue };
            if let EventKind::Finished { outcome, receipt } = &event.kind {
                assert_eq!(outcome.ending, Ending::Cancelled, "{outcome:?}");
                assert!(receipt.uncontained.is_empty(), "{receipt:?}");
            }
        }
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(stopping, watching) }).await.unwrap();
    let expected: Vec<_> = LEVELS.iter().rev().map(|agent| ((*agent).to_owned(), 0)).collect();
    assert_eq!(*ends.lock().unwrap(), expected);
}

#[tokio::test]
async fn what_a_call_left_that_never_returned_is_gone_before_the_end_is_recorded() {
    let test = 1;
    let mut tools = adjutant_tools::all(&adjutant_tools::Settings::default());
    tools.push(Arc::new(Endless(test)));
    let script = script(|_| vec![call("e", "endless", json!({}))]);
    contain(test, Mode::Auto, script, tools, COMMANDS[0].1).await;
}

#[tokio::test]
async fn commands_of_every_level_are_gone_before_its_end_is_recorded() {
    let confiner = [env!("CARGO_BIN_EXE_adjutant"), "__confine"].map(OsString::from).to_vec();
    let cases =
        [(2, Mode::Dangerous, Sandbox::default()), (3, Mode::Auto, Sandbox::detect(confiner))];
    for (test, mode, sandbox) in cases {
        let mut settings = adjutant_tools::Settings::default();
        settings.commands.keeper = Some(keeper());
        settings.commands.sandbox = sandbox;
        let away = COMMANDS.iter().map(|(_, away)| away).sum();
        let tools = adjutant_tools::all(&settings);
        contain(test, mode, running_commands(test), tools, away).await;
    }
}
