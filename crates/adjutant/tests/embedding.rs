//! Trees of agents inside another program.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    path::Path,
    process::Command as Process,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use adjutant::{
    Adjutant, Builder, Catalogue, Pace, Scripted, Surroundings, TypedTool,
    core::{
        Answer, Caller, Command, Definitions, Effect, Ending, EventKind, Host, Listed, Mode, Order,
        Report, ToolError,
    },
    engine::Seen,
    erase,
    futures_util::{
        StreamExt,
        future::{BoxFuture, ready},
    },
    schemars::JsonSchema,
    script::{Reply, Script, call},
    serde::Deserialize,
    serde_json::{Value, json},
};
use tempfile::TempDir;
use tokio::{sync::oneshot, time::timeout};

const PROGRAM: &str = env!("CARGO_BIN_EXE_adjutant");

/// Returns a builder whose model says what a script says, and the model.
fn scripted(script: Script) -> (Builder, Arc<Scripted>) {
    let model = Arc::new(Scripted::new(script.recording()));
    let models = Catalogue::new(Pace::Prompt).with("script", Arc::clone(&model) as _);
    (Adjutant::builder().models(Arc::new(models)).model("script"), model)
}

fn says(text: &str) -> Script {
    Script::new().on("*", [Reply::text(text)])
}

fn calls(tool: &str, arguments: Value) -> Script {
    let call = Reply::calls([call("c1", tool, arguments)]);
    Script::new().on("root", [call, Reply::text("done")])
}

async fn run(builder: Builder) -> Report {
    builder.build().unwrap().run("go").await.unwrap()
}

/// Returns the names of the tools the root is offered.
async fn offered(build: impl FnOnce(Builder) -> Builder) -> Vec<String> {
    let (builder, model) = scripted(says("done"));
    run(build(builder)).await;
    model.requests()[0].tools.clone()
}

/// Returns what the root was told of its call.
fn told(model: &Scripted) -> String {
    let last = model.requests().pop().unwrap();
    assert_eq!(last.agent.as_str(), "root");
    serde_json::to_string(last.messages.last().unwrap()).unwrap()
}

fn refused(builder: Builder) -> String {
    builder.build().err().unwrap().to_string()
}

#[tokio::test]
async fn there_are_no_tools_but_those_that_were_asked_for() {
    assert_eq!(offered(|it| it).await, [""; 0]);
    assert_eq!(offered(|it| it.tool(erase(Echo))).await, ["echo"]);
    let files = offered(|it| it.builtins(true)).await;
    let has = |name: &str| files.iter().any(|it| it == name);
    assert!(has("read_file") && has("ask_user"), "{files:?}");
    assert!(!has("run_command") && !has("sub_agent") && !has("notes_read"), "{files:?}");
    let commands = offered(|it| it.builtins(true).program(PROGRAM)).await;
    assert!(commands.iter().any(|it| it == "run_command"), "{commands:?}");
    let agents = offered(|it| it.subagents(true).preset("opta")).await;
    let has = |name: &str| agents.iter().any(|it| it == name);
    assert!(has("spawn_agent") && has("delegate_task") && !has("sub_agent"), "{agents:?}");
    assert!(!has("read_file"), "{agents:?}");
}

#[tokio::test]
async fn a_tree_works_and_can_be_had_again() {
    let replies = || {
        let call = Reply::calls([call("c1", "sub_agent", json!({ "prompt": "count" }))]);
        [call, Reply::text("done")]
    };
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("script.toml");
    fs::write(&script, "[[reply]]\nagent = 'root'\ntext = 'here'").unwrap();
    let (builder, model) =
        scripted(Script::new().on("root", replies()).on("root.sub-1", [Reply::text("3")]));
    let report = run(builder.subagents(true)).await;
    assert_eq!((report.outcome.ending, &*report.outcome.text), (Ending::Completed, "done"));
    assert_eq!(report.receipt.calls, 1);
    assert!(told(&model).contains("root.sub-1"), "{}", told(&model));
    // A script that is named begins anew with every tree.
    let name = format!("scripted/{}", script.display());
    let adjutant = Adjutant::builder().model(&name).build().unwrap();
    for _ in 0..2 {
        assert_eq!(adjutant.run("go").await.unwrap().outcome.text, "here");
    }
}

#[tokio::test]
async fn a_typed_tool_of_ones_own_is_called() {
    let (builder, model) = scripted(calls("echo", json!({ "text": "hello" })));
    run(builder.tool(erase(Echo))).await;
    assert!(told(&model).contains("hello, says root"), "{}", told(&model));
}

#[tokio::test]
async fn what_is_set_is_checked_when_it_is_built() {
    let builder = || scripted(says("done")).0;
    let wrong = [
        (builder().set("limits.max_dept", 1), "did you mean `limits.max_depth`?"),
        (builder().set("limits.max_depth", 9), "builder: `limits.max_depth` must be at most 5"),
        (builder().set("limits.max_depth", "2"), "must be a whole number, not the string `2`"),
        (builder().preset("opel"), "there is no preset `opel`"),
        (builder().model("other"), "other"),
        (builder().tool(erase(Echo)).tool(erase(Echo)), "two tools named `echo`"),
        (builder().output_schema(json!({ "type": 3 })), "no valid JSON Schema"),
        (builder().directory("/nowhere/at/all"), "cannot work in"),
        (builder().set("permissions.deny", vec!["reed_file"]), "reed_file"),
        (Adjutant::builder(), "no model is set"),
        (Adjutant::builder().model("anthropic/claude-x"), "ANTHROPIC_API_KEY"),
        (Adjutant::builder().model("scripted/nowhere.toml"), "nowhere.toml"),
    ];
    for (builder, expected) in wrong {
        let error = refused(builder);
        assert!(error.contains(expected), "{error}");
    }
    let (builder, model) = scripted(says("done"));
    // Neither is taken for TOML.
    let text = "'be brief'\n[x]";
    run(builder.instructions(text).mode(Mode::Plan).set("budget.turns", 3)).await;
    assert_eq!(model.requests()[0].system, text);
}

#[tokio::test]
async fn hooks_and_servers_need_a_program_that_keeps_them() {
    let hook = |it: Builder| {
        it.set("hooks.x.event", "agent_start").set("hooks.x.command", "true").build().unwrap()
    };
    let error = hook(scripted(says("done")).0).run("go").await.unwrap_err().to_string();
    assert!(error.contains("no program to keep them"), "{error}");
    let report = hook(scripted(says("done")).0.program(PROGRAM)).run("go").await.unwrap();
    assert!(report.receipt.failed_hooks.is_empty(), "{:?}", report.receipt);
    #[cfg(feature = "mcp")]
    {
        let server = scripted(says("done")).0.set("mcp.x.command", "serve").build().unwrap();
        let error = server.run("go").await.unwrap_err().to_string();
        assert!(error.contains("no program to keep them"), "{error}");
    }
}

#[tokio::test]
async fn commands_are_kept_by_the_program_that_is_named() {
    let directory = TempDir::new().unwrap();
    let (builder, model) = scripted(calls("run_command", json!({ "command": "echo kept" })));
    let builder = builder.builtins(true).mode(Mode::Dangerous).directory(directory.path());
    run(builder.program(PROGRAM)).await;
    assert!(told(&model).contains("kept"), "{}", told(&model));
}

#[tokio::test]
async fn no_file_counts_unless_surroundings_are_given() {
    let home = TempDir::new().unwrap();
    let write = |file: &str, text: &str| {
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("config/adjutant/config.toml", "instructions = 'the user says'\nbudget.turns = 7");
    write("project/.adjutant/config.toml", "budget.turns = 5");
    let project = home.path().join("project");
    let around = Surroundings {
        config_home: home.path().join("config"),
        data_home: home.path().join("data"),
        ..Surroundings::bare(project.clone())
    };
    let system = async |build: &dyn Fn(Builder) -> Builder| {
        let (builder, model) = scripted(says("done"));
        run(build(builder.directory(&project))).await;
        model.requests()[0].system.clone()
    };
    assert!(!system(&|it| it).await.contains("the user says"));
    assert!(!home.path().join("data").exists());
    assert_eq!(system(&|it| it.surroundings(around.clone())).await, "the user says");
    assert!(home.path().join("data/adjutant/journal.db").exists(), "the journal is a file again");
    let ours = |it: Builder| it.surroundings(around.clone()).instructions("we say");
    assert_eq!(system(&ours).await, "we say");
    // A project may not raise what the user has set, here as anywhere.
    write("project/.adjutant/config.toml", "budget.turns = 8");
    let builder = scripted(says("done")).0.directory(&project).surroundings(around);
    assert!(refused(builder).contains("a project may not raise `budget.turns`"));
}

#[tokio::test]
async fn nobody_is_told_what_files_say_unless_surroundings_are_given() {
    let home = TempDir::new().unwrap();
    let skill = home.path().join(".agents/skills/pdf");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: pdf\ndescription: Reads PDF.\n---\n").unwrap();
    fs::write(home.path().join("AGENTS.md"), "Use tabs.").unwrap();
    let around = Surroundings::bare(home.path().to_owned());
    let request = async |build: &dyn Fn(Builder) -> Builder| {
        let (builder, model) = scripted(says("done"));
        let builder = builder.directory(home.path()).builtins(true);
        run(build(builder.instructions("be brief")).set("journal", "memory")).await;
        model.requests()[0].clone()
    };
    let is_offered = |tools: &[String]| tools.iter().any(|name| name == "skill");
    let alone = request(&|it| it).await;
    assert_eq!((alone.system.as_str(), is_offered(&alone.tools)), ("be brief", false));
    let told = request(&|it| it.surroundings(around.clone())).await;
    assert!(told.system.starts_with("be brief\n\n---\n\n## AGENTS.md\n\n"), "{}", told.system);
    assert!(told.system.ends_with("AGENTS.md\n\nUse tabs."), "{}", told.system);
    assert!(is_offered(&told.tools), "{:?}", told.tools);
    let silent = |it: Builder| it.surroundings(around.clone()).set("agents_md", false);
    assert_eq!(request(&silent).await.system, "be brief");
}

#[tokio::test]
async fn the_journal_is_a_file_only_where_one_is_wanted() {
    let directory = TempDir::new().unwrap();
    let (work, kept) = (directory.path().join("work"), directory.path().join("kept"));
    fs::create_dir(&work).unwrap();
    run(scripted(says("done")).0.directory(&work)).await;
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is written");
    run(scripted(says("done")).0.directory(&work).journal(&kept)).await;
    assert!(kept.join("adjutant/journal.db").exists());
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
}

#[tokio::test]
async fn questions_are_answered_by_whoever_attends() {
    let ask = || calls("ask_user", json!({ "question": "Which?" }));
    // Nobody is there: the agent is told, and the report is there all the same.
    let (builder, model) = scripted(ask());
    assert_eq!(run(builder.builtins(true)).await.outcome.ending, Ending::Completed);
    assert!(told(&model).contains("failed\":true"), "{}", told(&model));

    let (builder, model) = scripted(ask());
    let session = builder.builtins(true).build().unwrap().start("go").await.unwrap();
    let attendance = session.attend();
    let mut events = session.events(0);
    while let Some(seen) = events.next().await {
        let Seen::Event(event) = seen.unwrap() else { continue };
        if let EventKind::Asked { question, .. } = event.kind {
            let answer = Answer::Words { text: "the left one".to_owned() };
            session.send(&event.path, Command::Answer { question, answer }).await.unwrap();
        }
    }
    drop(attendance);
    let finished = session.finish().await.unwrap();
    assert_eq!((finished.report.outcome.text.as_str(), finished.warnings.len()), ("done", 0));
    assert!(told(&model).contains("the left one"), "{}", told(&model));
}

#[tokio::test]
async fn a_tree_that_is_let_go_of_is_stopped() {
    let (began, begins) = oneshot::channel();
    let (ended, ends) = oneshot::channel();
    let stuck = Stuck { began: Mutex::new(Some(began)), ended: Mutex::new(Some(ended)) };
    let (builder, _) = scripted(calls("stuck", json!({})));
    let adjutant = builder.tool(erase(stuck)).build().unwrap();
    {
        let run = std::pin::pin!(adjutant.run("go"));
        tokio::select! {
            report = run => panic!("{report:?}"),
            begun = begins => begun.unwrap(),
        }
    }
    let patience = Duration::from_secs(20);
    timeout(patience, ends).await.unwrap().unwrap();
}

#[tokio::test]
async fn named_agents_come_from_whoever_knows_them() {
    let script = calls("call_agent", json!({ "agent": "counter", "task": "count" }));
    let (builder, model) = scripted(script.on("root.*", [Reply::text("There are 3.")]));
    let report = run(builder.subagents(true).preset("axe").definitions(Arc::new(Counter))).await;
    assert_eq!(report.outcome.ending, Ending::Completed);
    assert!(told(&model).contains("There are 3."), "{}", told(&model));
    let child = model.requests().into_iter().find(|it| it.agent.as_str() != "root").unwrap();
    assert_eq!(child.system, "You count.");
    // Without any there is no such tool.
    assert!(!offered(|it| it.subagents(true).preset("axe")).await.contains(&"call_agent".into()));
}

#[tokio::test]
async fn a_child_is_told_what_its_parent_is_told_or_nothing() {
    for (inherits, expected) in [(true, "be brief"), (false, "")] {
        let script = calls("sub_agent", json!({ "prompt": "count" }));
        let (builder, model) = scripted(script.on("root.*", [Reply::text("3")]));
        let builder = builder.subagents(true).instructions("be brief");
        run(builder.set("sub_agents.inherit_system_prompt", inherits)).await;
        let child = model.requests().into_iter().find(|it| it.agent.as_str() != "root").unwrap();
        assert_eq!(child.system, expected);
    }
}

#[tokio::test]
async fn the_answer_fits_the_schema_that_is_given() {
    let schema = json!({ "type": "object", "required": ["count"] });
    let replies = [Reply::text("three"), Reply::text(r#"{"count": 3}"#)];
    let (builder, _) = scripted(Script::new().on("root", replies));
    let text = run(builder.output_schema(schema)).await.outcome.text.clone();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({ "count": 3 }));
}

/// The examples are built with the tests.
#[test]
fn the_examples_do_what_they_say() {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("part")).unwrap();
    fs::write(directory.path().join("part/notes.md"), "# Notes\n").unwrap();
    let example = |name: &str| {
        let examples = Path::new(PROGRAM).parent().unwrap().join("examples");
        let done = Process::new(examples.join(name)).current_dir(directory.path()).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(example("delegate"), "completed: 7 pieces of fruit. (2 calls)\n");
    assert_eq!(example("custom_tool"), "There are 4 pears.\n");
    let watched = example("watch_and_answer");
    assert!(watched.starts_with("root: Look at this directory.\nroot.sub-"), "{watched}");
    assert!(watched.contains(" asks: ") && watched.contains("\ncompleted: "), "{watched}");
}

struct Echo;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EchoArgs {
    /// What to say.
    text: String,
}

impl TypedTool for Echo {
    type Args = EchoArgs;
    const NAME: &'static str = "echo";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Says it again.".to_owned()
    }

    fn summary(&self, args: &EchoArgs) -> String {
        args.text.clone()
    }

    async fn run(&self, args: EchoArgs, host: &dyn Host) -> Result<String, ToolError> {
        Ok(format!("{}, says {}", args.text, host.agent()))
    }
}

/// Ends when it is told to, and not before.
struct Stuck {
    began: Mutex<Option<oneshot::Sender<()>>>,
    ended: Mutex<Option<oneshot::Sender<()>>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StuckArgs {}

fn tell(sender: &Mutex<Option<oneshot::Sender<()>>>) {
    let sender = sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    sender.unwrap().send(()).unwrap();
}

impl TypedTool for Stuck {
    type Args = StuckArgs;
    const NAME: &'static str = "stuck";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Waits.".to_owned()
    }

    fn summary(&self, _: &StuckArgs) -> String {
        "waits".to_owned()
    }

    async fn run(&self, _: StuckArgs, host: &dyn Host) -> Result<String, ToolError> {
        tell(&self.began);
        host.token().cancelled().await;
        tell(&self.ended);
        Err(ToolError("stopped".to_owned()))
    }
}

/// Surroundings in which there is a file of an agent's, and nothing else.
fn with_agent(home: &Path, name: &str, text: &str) -> Surroundings {
    let agents = home.join("config/adjutant/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join(format!("{name}.toml")), text).unwrap();
    Surroundings {
        config_home: home.join("config"),
        data_home: home.join("data"),
        ..Surroundings::bare(home.to_owned())
    }
}

#[tokio::test]
async fn the_root_can_be_an_agent_in_a_file_which_remembers() {
    let home = tempfile::tempdir().unwrap();
    let file = "model = 'given'\nsystem_prompt = 'You count {{what}}.'\ntools = []\n\
                [variables]\nwhat = 'pears'\n[memory]\nenabled = true\n";
    let around = with_agent(home.path(), "counter", file);
    let script = Script::new().on("root", [Reply::text("seven"), Reply::text("eight")]).recording();
    let model = Arc::new(Scripted::new(script));
    let models = Arc::new(Catalogue::new(Pace::Prompt).with("given", model.clone()));
    let builder = || {
        let builder = Adjutant::builder().models(models.clone()).directory(home.path());
        builder.agent("counter").parameter("what", "apples").builtins(true)
    };
    let adjutant = builder().surroundings(around.clone()).build().unwrap();
    for expected in ["seven", "eight"] {
        let report = adjutant.run("count").await.unwrap();
        assert_eq!(report.outcome.text, expected);
    }
    let systems: Vec<_> = model.requests().into_iter().map(|seen| seen.system).collect();
    assert_eq!(systems[0], "You count apples.");
    assert!(systems[1].contains("seven"), "{}", systems[1]);
    let refused = |builder: Builder| builder.build().err().unwrap().to_string();
    assert!(refused(builder()).contains("need `surroundings`"));
    let unknown = refused(builder().surroundings(around).agent("conter"));
    assert!(unknown.contains("there is no agent named `conter`"), "{unknown}");
}

/// Knows one agent.
struct Counter;

impl Definitions for Counter {
    fn callable(&self, _: Option<&str>) -> Vec<Listed> {
        vec![Listed { name: "counter".to_owned(), description: "counts".to_owned() }]
    }

    fn order<'a>(&'a self, _: Caller<'a>, name: &'a str) -> BoxFuture<'a, Result<Order, String>> {
        let instructions = Some("You count.".to_owned());
        Box::pin(ready(Ok(Order { name: name.to_owned(), instructions, ..Order::default() })))
    }
}
