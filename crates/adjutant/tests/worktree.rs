//! A child with a worktree of its own, in a whole session: with the real tools, sandbox, journal
//! and git.

#![allow(clippy::unwrap_used, reason = "tests may panic")]
#![cfg(target_os = "linux")]

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command as Program,
    sync::Arc,
};

use adjutant::core::{
    Access, AgentPath, Allowance, Bus, Charter, Command, Delivery, Effect, Ending, Event,
    EventKind, Grant, Handed, Host, Isolation, Message, Mode, NoRulebook, Order, Outcome, Receipt,
    SessionId, Tool, ToolError, ToolSpec,
};
use adjutant::engine::{Parts, Root, Seen, Session, Settings};
use adjutant_models::{
    Catalogue, Pace, Scripted,
    script::{Call, Reply, Script, call},
};
use adjutant_store::{Durability, LocalBus, SqliteJournal};
use adjutant_tools::{CommandSettings, Files, Worktrees, keeper::Keeper, sandbox::Sandbox};
use futures_util::{StreamExt as _, future::BoxFuture};
use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_adjutant");

/// A tool that gives a task to a child with a worktree of its own, waits for it, and tells what
/// became of its changes.
struct Apart;

impl Tool for Apart {
    fn spec(&self) -> Arc<ToolSpec> {
        let (name, description) = ("apart".to_owned(), String::new());
        let parameters = json!({ "type": "object" });
        Arc::new(ToolSpec { name, description, parameters, effect: Effect::Delegate })
    }

    fn summary(&self, _: &Value) -> String {
        "starts a child".to_owned()
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let order = Order {
                name: "apart".to_owned(),
                task: arguments["task"].as_str().unwrap().to_owned(),
                isolation: Isolation::Worktree,
                delivery: Delivery::Awaited,
                ..Order::default()
            };
            let delegation = host.delegation().unwrap();
            let started = delegation.start(order).await?;
            let report = delegation.wait(&started.id.to_string()).await?;
            let handover = report.receipt.handover.as_ref();
            Ok(handover.map_or_else(|| "nothing changed".to_owned(), ToString::to_string))
        })
    }
}

fn apart(id: &str, task: &str) -> Call {
    call(id, "apart", json!({ "task": task }))
}

fn edit(id: &str, path: &str, old: &str, new: &str) -> Call {
    call(id, "edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
}

fn read(path: &str) -> Call {
    call("read", "read_file", json!({ "path": path }))
}

fn command(command: &str) -> Call {
    call("command", "run_command", json!({ "command": command }))
}

/// A project with a commit, a home beside it, and a session at work there.
struct Ground {
    _keep: TempDir,
    project: PathBuf,
    data: PathBuf,
}

struct Done {
    events: Vec<Arc<Event>>,
}

impl Ground {
    fn new() -> Self {
        // Not among the temporary files: of those a command sees only its own.
        // Not where a command has a directory of its own.
        let usual = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let usual = if usual.starts_with("/tmp") { Path::new("/srv") } else { usual };
        let keep = TempDir::new_in(usual).unwrap();
        let top = keep.path().canonicalize().unwrap();
        let (project, data) = (top.join("project"), top.join("home/adjutant"));
        fs::create_dir_all(project.join("src")).unwrap();
        fs::create_dir_all(&data).unwrap();
        let ground = Self { _keep: keep, project, data };
        ground.git(&["init", "-q", "-b", "main"]);
        ground.write("src/lib.rs", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
        ground.git(&["add", "-A"]);
        ground.git(&["commit", "-q", "-m", "first"]);
        ground
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Program::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = git.current_dir(&self.project).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.project.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project.join(name)).unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "tests mint authority")]
    fn root(&self, depth: u8) -> Root {
        let (access, scope) = (Access::Inherit, vec![self.project.clone()]);
        // As in a real run, the runtime's own files are nobody's to change.
        let (rules, protected) = (Vec::new(), vec![self.data.clone()]);
        let mode = Mode::Auto;
        let grant = Grant::mint(Charter {
            mode,
            rules,
            access,
            scope,
            protected,
            shown: Vec::new(),
            depth,
        });
        let (model, system, workdir) = ("test".to_owned(), "".into(), self.project.clone());
        let (schema, allowance) = (None, Allowance::default());
        Root {
            model,
            system,
            schema,
            grant,
            allowance,
            workdir,
            stay: adjutant::core::Stay::UntilDone,
            agent: None,
            manner: adjutant::core::Manner::default(),
        }
    }

    fn open(&self, script: Script) -> Session {
        let bus: Arc<dyn Bus> = Arc::new(LocalBus::default());
        let journal = self.data.join("journal.db");
        let journal = Arc::new(SqliteJournal::new(journal, Durability::Process, Arc::clone(&bus)));
        let files = Arc::new(Files::default());
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let keeper = Keeper { program: PROGRAM.into(), arguments: words(&["__keep", "--"]) };
        let commands = CommandSettings {
            keeper: Some(keeper),
            sandbox: Sandbox::detect(words(&[PROGRAM, "__confine"])),
            ..CommandSettings::default()
        };
        let mut tools = adjutant_tools::all(&adjutant_tools::Settings {
            files: Arc::clone(&files),
            commands,
            ..adjutant_tools::Settings::default()
        });
        tools.push(Arc::new(Apart));
        let (id, model) = (SessionId::from(uuid::Uuid::now_v7()), Arc::new(Scripted::new(script)));
        let directory = self.data.join("sessions").join(id.to_string());
        let parts = Parts {
            models: Arc::new(Catalogue::new(Pace::Prompt).with("test", model)),
            tools,
            journal: Arc::clone(&journal) as _,
            vault: journal,
            rulebook: Arc::new(NoRulebook),
            hooks: None,
            workshop: Some(Arc::new(Worktrees { directory, files })),
            bus,
            settings: Settings::default(),
        };
        Session::open(id, parts)
    }

    /// Runs a tree to its end, with something that is done at each event.
    async fn run(&self, script: Script, mut seen: impl AsyncFnMut(&Session, &Event)) -> Done {
        let session = self.open(script);
        let mut stream = session.events(0);
        session.begin(self.root(3), "go".to_owned()).await.unwrap();
        let mut events = Vec::new();
        while let Some(next) = stream.next().await {
            let Seen::Event(event) = next.unwrap() else { panic!("nothing lags here") };
            seen(&session, &event).await;
            events.push(event);
        }
        Done { events }
    }

    async fn finish(&self, script: Script) -> Done {
        self.run(script, async |_, _| {}).await
    }

    fn worktrees(&self) -> usize {
        self.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1
    }
}

impl Done {
    fn at(&self, agent: &str) -> impl Iterator<Item = &EventKind> {
        let agent: AgentPath = agent.parse().unwrap();
        self.events.iter().filter(move |event| event.path == agent).map(|event| &event.kind)
    }

    fn finished(&self, agent: &str) -> (Arc<Outcome>, Arc<Receipt>) {
        let finished = self.at(agent).find_map(|kind| match kind {
            EventKind::Finished { outcome, receipt } => Some((outcome.clone(), receipt.clone())),
            _ => None,
        });
        finished.unwrap_or_else(|| panic!("`{agent}` has not finished: {:#?}", self.events))
    }

    fn handed(&self, agent: &str) -> Handed {
        self.finished(agent).1.handover.clone().unwrap().handed
    }

    fn results(&self, agent: &str) -> Vec<String> {
        let results = self.at(agent).filter_map(|kind| match kind {
            EventKind::Said { message } => match &**message {
                Message::Tools { results } => Some(results.clone()),
                _ => None,
            },
            _ => None,
        });
        results.flatten().map(|result| result.text).collect()
    }
}

#[tokio::test]
async fn a_child_works_in_its_worktree_and_its_parent_finds_what_it_did() {
    let ground = Ground::new();
    ground.write("dirty", "not committed\n");
    let original = ground.project.join("src/lib.rs").display().to_string();
    let calls = [
        read("src/lib.rs"),
        edit("e1", "src/lib.rs", "nine", "9"),
        edit("e2", &original, "one", "reached"),
        command(
            "cat dirty && echo made > made && mkdir deep && echo deep > deep/er && git status -s",
        ),
        call("d", "delete_file", json!({ "path": "dirty" })),
    ];
    let (first, rest) = calls.split_at(1);
    let script = Script::new()
        .on("root", [Reply::calls([apart("c1", "work")]), Reply::text("done")])
        .on("root.apart-1", [Reply::calls(first.to_vec())])
        .on("root.apart-1", rest.iter().map(|call| Reply::calls([call.clone()])))
        .on("root.apart-1", [Reply::text("worked")]);
    let done = ground.finish(script).await;
    let results = done.results("root.apart-1");
    assert!(results[2].contains("outside the scope of `root.apart-1`"), "{results:#?}");
    assert!(results[3].contains("not committed"), "{results:#?}");
    assert!(results[3].contains(" M src/lib.rs"), "{results:#?}");
    assert!(results[4].contains("dirty"), "{results:#?}");
    assert_eq!(ground.read("src/lib.rs"), "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    assert_eq!((ground.read("made"), ground.read("deep/er")), ("made\n".into(), "deep\n".into()));
    assert!(!ground.project.join("dirty").exists());
    assert_eq!(done.handed("root.apart-1"), Handed::Applied);
    let told = "its changes are made in `deep/er`, `dirty`, `made`, `src/lib.rs`";
    assert_eq!(done.results("root"), [told]);
    let receipt = done.finished("root.apart-1").1;
    let named = |names: &[&str]| {
        let paths = names.iter().map(|name| ground.project.join(name).display().to_string());
        paths.collect::<Vec<_>>()
    };
    assert!(receipt.modified.iter().eq(&named(&["deep/er", "dirty", "made", "src/lib.rs"])));
    assert!(receipt.read.iter().eq(&named(&["src/lib.rs"])), "{:?}", receipt.read);
    // What is recorded is what became of the project, by the child, for the call that started it.
    let changed = done.events.iter().filter_map(|event| match &event.kind {
        EventKind::Changed { call_id, file, .. } => Some((event.path.as_str(), &**call_id, file)),
        _ => None,
    });
    let changed: Vec<_> = changed.collect();
    let expected = named(&["dirty", "deep", "deep/er", "made", "src/lib.rs"]);
    let expected: Vec<_> = expected.iter().map(|file| ("root.apart-1", "c1", file)).collect();
    assert_eq!(changed, expected);
    assert_eq!(ground.worktrees(), 0);
}

#[tokio::test]
async fn what_a_child_handed_over_can_be_undone() {
    let ground = Ground::new();
    ground.write("kept", "old\n");
    let script = Script::new()
        .on("root", [Reply::calls([apart("c1", "work")]), Reply::text("done")])
        .on(
            "root.apart-1",
            [Reply::calls([command("echo new > kept; mkdir d; echo x > d/made; rm src/lib.rs")])],
        )
        .on("root.apart-1", [Reply::text("worked")]);
    let done = ground.finish(script).await;
    assert_eq!(done.handed("root.apart-1"), Handed::Applied);
    assert_eq!((ground.read("kept"), ground.read("d/made")), ("new\n".into(), "x\n".into()));
    let home = ground.data.parent().unwrap();
    let mut undo = Program::new(PROGRAM);
    undo.args(["undo", "root.apart-1"]).current_dir(&ground.project).env("HOME", home);
    let output = undo.env("XDG_DATA_HOME", home).env("XDG_CONFIG_HOME", home).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(ground.read("kept"), "old\n");
    assert!(ground.read("src/lib.rs").starts_with("one\n"));
    assert!(!ground.project.join("d").exists());
}

#[tokio::test]
async fn two_children_at_once_both_get_in_or_the_second_is_a_conflict() {
    for (other, ending) in [("nine", "both"), ("one", "conflict")] {
        let ground = Ground::new();
        let edits = |new: &str, old: &str| {
            [read("src/lib.rs"), edit("e", "src/lib.rs", old, new)].map(|call| Reply::calls([call]))
        };
        let script = Script::new()
            .on("root", [Reply::calls([apart("c1", "a"), apart("c2", "b")]), Reply::text("done")])
            .on("root.apart-1", edits("first", "one"))
            .on("root.apart-1", [Reply::text("a")])
            .on("root.apart-2", edits("second", other))
            // Until the other has handed over what it did.
            .on(
                "root.apart-2",
                [Reply::calls([command(
                    "until grep -q first ORIGINAL; do sleep 0.01; done"
                        .replace("ORIGINAL", ground.project.join("src/lib.rs").to_str().unwrap())
                        .as_str(),
                )])],
            )
            .on("root.apart-2", [Reply::text("b")]);
        let done = ground.finish(script).await;
        assert_eq!(done.handed("root.apart-1"), Handed::Applied);
        let text = ground.read("src/lib.rs");
        if ending == "both" {
            assert_eq!(done.handed("root.apart-2"), Handed::Applied);
            assert_eq!(text, "first\n2\n3\n4\n5\n6\n7\n8\nsecond\n");
        } else {
            let Handed::Conflict { files, worktree } = done.handed("root.apart-2") else {
                panic!()
            };
            assert_eq!(files, ["src/lib.rs"]);
            assert_eq!(text, "first\n2\n3\n4\n5\n6\n7\n8\nnine\n");
            let theirs = fs::read_to_string(Path::new(&worktree).join("src/lib.rs")).unwrap();
            assert!(theirs.starts_with("second\n"), "{theirs}");
            assert_eq!(done.finished("root.apart-2").0.ending, Ending::Completed);
            assert!(done.finished("root.apart-2").1.modified.is_empty());
            let told = &done.results("root")[1];
            assert!(told.contains("`src/lib.rs` changed meanwhile in the same places"), "{told}");
        }
    }
}

#[tokio::test]
async fn children_of_a_child_work_where_it_does() {
    let ground = Ground::new();
    let sub = call("s", "sub_agent", json!({ "prompt": "shared" }));
    let script = Script::new()
        .on("root", [Reply::calls([apart("c1", "a")]), Reply::text("done")])
        .on("root.apart-1", [Reply::calls([sub]), Reply::calls([apart("c2", "own")])])
        .on("root.apart-1", [Reply::calls([read("src/lib.rs")]), Reply::text("a")])
        .on("root.apart-1.sub-1", [Reply::calls([read("src/lib.rs")])])
        .on("root.apart-1.sub-1", [Reply::calls([edit("e", "src/lib.rs", "one", "1")])])
        .on("root.apart-1.sub-1", [Reply::text("shared")])
        .on("root.apart-1.apart-2", [Reply::calls([read("src/lib.rs")])])
        .on("root.apart-1.apart-2", [Reply::calls([edit("e", "src/lib.rs", "nine", "9")])])
        .on("root.apart-1.apart-2", [Reply::text("own")]);
    let done = ground.finish(script).await;
    let seen = done.results("root.apart-1").pop().unwrap();
    assert!(seen.contains("1\n") && seen.contains('9') && !seen.contains("nine"), "{seen}");
    assert_eq!(ground.read("src/lib.rs"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    assert_eq!(done.handed("root.apart-1.apart-2"), Handed::Applied);
    // Only what became of the project counts as a change.
    let changed = done.events.iter().filter(|it| matches!(it.kind, EventKind::Changed { .. }));
    let changed: Vec<_> = changed.map(|event| event.path.as_str()).collect();
    assert_eq!(changed, ["root.apart-1"]);
    assert!(done.finished("root.apart-1.sub-1").1.modified.is_empty());
    assert_eq!(done.finished("root.apart-1").1.modified.len(), 1);
    assert_eq!(ground.worktrees(), 0);
}

#[tokio::test]
async fn what_a_child_did_before_it_was_stopped_is_kept_and_not_made() {
    let ground = Ground::new();
    let script = Script::new()
        .on("root", [Reply::calls([apart("c1", "a")])])
        .on("root.apart-1", [Reply::calls([command("echo half > made")])])
        .on("root.apart-1", [Reply::calls([command("sleep 1000")])]);
    let mut calls = 0;
    let done = ground.run(script, async |session, event| {
        calls += u32::from(matches!(event.kind, EventKind::Called { .. }));
        if calls == 3 {
            calls += 1;
            session.send(&AgentPath::root(), Command::Cancel).await.unwrap();
        }
    });
    let done = done.await;
    let handover = done.finished("root.apart-1").1.handover.clone().unwrap();
    let Handed::Kept { why, worktree } = &handover.handed else { panic!("{handover}") };
    assert_eq!(why, "it did not complete (cancelled)");
    assert_eq!(fs::read_to_string(Path::new(worktree).join("made")).unwrap(), "half\n");
    assert!(fs::read_to_string(handover.patch.unwrap()).unwrap().contains("+half"));
    assert!(!ground.project.join("made").exists());
}

#[tokio::test]
async fn siblings_begin_in_their_order_those_with_a_worktree_and_those_without() {
    let ground = Ground::new();
    let sub = |id: &str| call(id, "sub_agent", json!({ "prompt": "x" }));
    let calls = [apart("c1", "x"), sub("c2"), apart("c3", "x"), sub("c4"), sub("c5")];
    let script = Script::new()
        .on("root", [Reply::calls(calls), Reply::text("done")])
        .on("root.*", [Reply::text("ok")]);
    let done = ground.finish(script).await;
    let started = done.events.iter().filter(|it| matches!(it.kind, EventKind::Started { .. }));
    let started = started.filter_map(|event| event.call.as_deref());
    let (with, without): (Vec<_>, Vec<_>) = started.partition(|call| ["c1", "c3"].contains(call));
    assert_eq!((&with[..], &without[..]), (&["c1", "c3"][..], &["c2", "c4", "c5"][..]));
    assert_eq!(done.results("root")[0], "nothing changed");
    assert_eq!(ground.worktrees(), 0);
}

#[tokio::test]
async fn without_a_repository_the_parent_is_told_what_to_do() {
    let ground = Ground::new();
    fs::remove_dir_all(ground.project.join(".git")).unwrap();
    let script = Script::new().on("root", [Reply::calls([apart("c1", "a")]), Reply::text("alone")]);
    let done = ground.finish(script).await;
    let told = &done.results("root")[0];
    assert!(told.starts_with("there can be no worktree for it: "), "{told}");
    assert!(told.ends_with("; leave `isolation` out, and it works where you do"), "{told}");
    assert_eq!(done.finished("root").0.text, "alone");
}

#[tokio::test]
async fn what_was_found_in_another_place_is_not_used_again() {
    let ground = Ground::new();
    let look = || call("l", "sub_agent", json!({ "prompt": "look" }));
    let looks = || [Reply::calls([read("src/lib.rs")]), Reply::text("seen")];
    let script = Script::new()
        .on("root", [Reply::calls([look()]), Reply::calls([apart("c", "work")])])
        .on("root", [Reply::calls([look()]), Reply::text("done")])
        .on("root.apart-2", [Reply::calls([look()]), Reply::text("worked")])
        .on("root.sub-1", looks())
        .on("root.apart-2.sub-1", looks());
    let done = ground.finish(script).await;
    let is_recalled = |result: &str| result.contains("an earlier result");
    assert!(is_recalled(&done.results("root")[2]), "{:#?}", done.results("root"));
    assert!(!is_recalled(&done.results("root.apart-2")[0]), "{:#?}", done.results("root.apart-2"));
}
