//! Cancelled means contained: the processes of every level are gone before that level's
//! end is recorded, those included that left their process group.

#![allow(clippy::unwrap_used, reason = "tests may panic")]
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant::core::{
    Access, AgentPath, Allowance, Bus, Charter, Command, Effect, Ending, Event, EventKind, Grant,
    Host, Journal, JournalError, Mode, NoRulebook, Rules, Seq, SessionEntry, SessionId, Tool,
    ToolError, ToolSpec,
};
use adjutant::engine::{Parts, Root, Seen, Session, Settings, Stay};
use adjutant_models::{
    Catalogue, Pace, Scripted,
    script::{Reply, Script, call},
};
use adjutant_store::{LocalBus, MemoryJournal, MemoryVault};
use adjutant_tools::keeper::Keeper;
use futures_util::{StreamExt as _, future::BoxFuture};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One process in the group, one that left it, and one below that.
const COMMAND: &str = r#"
    echo $$ >> "$0"
    setsid sh -c 'echo $$ >> "$0"; sleep 1000 & echo $! >> "$0"; wait' "$0" &
    wait
"#;
const PROCESSES: usize = 3;

/// A tool that runs a command and never returns.
struct Endless(PathBuf);

impl Endless {
    fn pids(directory: &Path, agent: &AgentPath) -> Vec<String> {
        let pids = fs::read_to_string(directory.join(agent.as_str())).unwrap_or_default();
        pids.lines().map(str::to_owned).collect()
    }
}

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
            let arguments = ["__keep", "--"].map(OsString::from).to_vec();
            let program = env!("CARGO_BIN_EXE_adjutant").into();
            let file = self.0.join(host.agent().as_str());
            let command = ["sh".into(), "-c".into(), COMMAND.into(), file.into_os_string()];
            let keeper = Keeper { program, arguments };
            host.hold(Box::new(keeper.start(&command, host.workdir()).unwrap()));
            // All of them are up before the test goes on; there is nothing else to wait for.
            while Self::pids(&self.0, host.agent()).len() < PROCESSES {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            host.progress("all are up".to_owned());
            std::future::pending().await
        })
    }
}

fn is_alive(pid: &String) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// A journal that looks at an agent's processes at the moment its end is recorded.
struct Witness {
    inner: MemoryJournal,
    directory: PathBuf,
    alive: Arc<Mutex<BTreeMap<AgentPath, usize>>>,
}

impl Journal for Witness {
    fn append(
        &self,
        session: SessionId,
        batch: Vec<Event>,
    ) -> BoxFuture<'static, Result<Seq, JournalError>> {
        for event in &batch {
            if let EventKind::Finished { .. } = event.kind {
                let pids = Endless::pids(&self.directory, &event.path);
                let alive = pids.iter().filter(|pid| is_alive(pid)).count();
                self.alive.lock().unwrap().insert(event.path.clone(), alive);
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

fn script() -> Script {
    let endless = || call("e", "endless", json!({}));
    let sub = |prompt: &str| call("s", "sub_agent", json!({ "prompt": prompt }));
    Script::new()
        .on("root", [Reply::calls([endless(), sub("middle")])])
        .on("root.sub-1", [Reply::calls([endless(), sub("leaf")])])
        .on("root.sub-1.sub-1", [Reply::calls([endless()])])
}

#[expect(clippy::disallowed_methods, reason = "tests mint authority")]
fn grant(directory: &Path) -> Grant {
    let (rules, access, scope) = (Rules::default(), Access::Inherit, vec![directory.to_owned()]);
    Grant::mint(Charter { mode: Mode::Auto, rules, access, scope, protected: Vec::new(), depth: 3 })
}

#[tokio::test]
async fn every_levels_processes_are_gone_before_its_end_is_recorded() {
    let place = TempDir::new().unwrap();
    let directory = place.path().canonicalize().unwrap();
    let bus: Arc<dyn Bus> = Arc::new(LocalBus::default());
    let inner = MemoryJournal::new(Arc::clone(&bus));
    let alive = Arc::<Mutex<BTreeMap<_, _>>>::default();
    let witness = Witness { inner, directory: directory.clone(), alive: Arc::clone(&alive) };
    let model = Arc::new(Scripted::new(script()));
    let mut tools = adjutant_tools::all(&adjutant_tools::Settings::default());
    tools.push(Arc::new(Endless(directory.clone())));
    let models = Arc::new(Catalogue::new(Pace::Prompt).with("test", model));
    let (journal, settings) = (Arc::new(witness), Settings::default());
    let session = Session::open(
        SessionId::from(uuid::Uuid::now_v7()),
        Parts {
            models,
            tools,
            journal,
            vault: Arc::new(MemoryVault::default()),
            rulebook: Arc::new(NoRulebook),
            bus,
            settings,
        },
    );
    let mut events = session.events(0);
    let root = Root {
        model: "test".to_owned(),
        system: "".into(),
        schema: None,
        grant: grant(&directory),
        allowance: Allowance::default(),
        workdir: directory.clone(),
        stay: Stay::UntilDone,
    };
    session.begin(root, "go".to_owned()).await.unwrap();
    let mut up = 0;
    let mut endings = Vec::new();
    while let Some(seen) = events.next().await {
        let Seen::Event(event) = seen.unwrap() else { panic!("nothing lags here") };
        match &event.kind {
            EventKind::Progressed { .. } => {
                up += 1;
                if up == 3 {
                    session.send(&AgentPath::root(), Command::Cancel).await.unwrap();
                }
            }
            EventKind::Finished { outcome, receipt } => {
                assert!(receipt.uncontained.is_empty(), "{receipt:?}");
                endings.push((event.path.to_string(), outcome.ending));
            }
            _ => {}
        }
    }
    let paths = ["root.sub-1.sub-1", "root.sub-1", "root"];
    assert_eq!(endings, paths.map(|path| (path.to_owned(), Ending::Cancelled)));
    for path in paths {
        let path: AgentPath = path.parse().unwrap();
        assert_eq!(Endless::pids(&directory, &path).len(), PROCESSES, "{path}");
        assert_eq!(alive.lock().unwrap()[&path], 0, "{path}");
    }
}
