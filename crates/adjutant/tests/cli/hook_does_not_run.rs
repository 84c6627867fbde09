//! Hooks are run for every agent, with what they have to know, and are obeyed where they have a
//! say.

use std::{collections::BTreeMap, fs, path::Path};

use adjutant_core::{AgentPath, EventKind, Message};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Done, World};

/// Three levels, each of which lists the directory and reads a file.
const LEVELS: &str = r#"
[[reply]]
agent = "root"
calls = [{ tool = "list_dir" }, { tool = "read_file", args = { path = "notes.md" } }]

[[reply]]
agent = "root"
calls = [{ tool = "sub_agent", args = { prompt = "middle" } }]

[[reply]]
task = "middle"
calls = [
    { tool = "list_dir" },
    { tool = "read_file", args = { path = "notes.md" } },
    { tool = "sub_agent", args = { prompt = "leaf" } },
]

[[reply]]
task = "leaf"
calls = [{ tool = "list_dir" }, { tool = "read_file", args = { path = "notes.md" } }]

[[reply]]
times = "any"
text = "done"
"#;

const AGENTS: [&str; 3] = ["root", "root.sub-1", "root.sub-1.sub-1"];

fn world(hooks: &str) -> World {
    World::new().file("notes.md", "one\n").script(LEVELS).user(hooks)
}

/// Runs and returns what each agent's calls came to.
fn results(world: &World) -> BTreeMap<AgentPath, Vec<String>> {
    let done = world.run(&["run", "--events", "go"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let mut results = BTreeMap::<_, Vec<_>>::new();
    for event in done.events() {
        if let EventKind::Said { message } = &event.kind
            && let Message::Tools { results: all } = &**message
        {
            let texts = all.iter().map(|result| result.text.clone());
            results.entry(event.path.clone()).or_default().extend(texts);
        }
    }
    results
}

fn result(world: &World) -> Value {
    let done = world.run(&["run", "--json", "go"]);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn a_hook_that_fails_denies_the_call_at_every_level_and_says_why() {
    let world = world(
        r#"
        [hooks.notes]
        event = "before_tool"
        match = "read_file(notes.*)"
        command = "echo not heard; echo the notes are private >&2; exit 3"
        "#,
    );
    let results = results(&world);
    for agent in AGENTS {
        let results = &results[&agent.parse().unwrap()];
        assert!(results[0].contains("notes.md"), "{results:?}");
        assert_eq!(results[1], "a hook refused this: `notes`: the notes are private");
    }
}

#[test]
fn the_first_of_several_that_denies_decides_and_those_after_it_do_not_run() {
    let world = world(
        r#"
        [hooks.b]
        event = "before_tool"
        match = "list_dir"
        command = "echo b ran >> $ADJUTANT_TOOL.log; echo from b; exit 1"
        [hooks.c]
        event = "before_tool"
        command = "echo c ran >> $ADJUTANT_TOOL.log; exit 1"
        [hooks.a]
        event = "before_tool"
        match = "list_dir"
        command = "echo a ran >> $ADJUTANT_TOOL.log"
        [hooks.d]
        event = "before_tool"
        match = "sub_agent"
        command = "exit 7"
        "#,
    );
    let all = results(&world);
    let denied = "a hook refused this: `b`: from b";
    let silent = "a hook refused this: `c`: failed with code 1 and said nothing";
    assert_eq!(all.into_values().collect::<Vec<_>>(), [[denied, silent, silent]]);
    assert_eq!(
        world.read("list_dir.log"),
        "a ran
b ran
"
    );
    assert_eq!(
        world.read("read_file.log"),
        "c ran
"
    );
}

#[test]
fn a_command_that_nobody_can_read_might_be_the_one_that_is_meant() {
    let hooks =
        "[hooks.a]\nevent = 'before_tool'\nmatch = 'run_command(git push*)'\ncommand = 'exit 1'";
    let commands = ["git push origin", "$(echo git) push", "git status"];
    let script = commands.map(|command| {
        format!(
            "[[reply]]\ncalls = [{{ tool = 'run_command', args = {{ command = '{command}' }} }}]\n"
        )
    });
    let world = world(hooks).script(&format!("{}[[reply]]\ntext = 'x'", script.concat()));
    let world = world.variable("ADJUTANT_MODE", "auto");
    let results = results(&world);
    let denied = results[&AgentPath::root()].iter().map(|it| it.starts_with("a hook refused this"));
    assert_eq!(denied.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn a_hook_is_told_what_it_is_about() {
    let world = world(
        r#"
        [hooks.after]
        event = "after_tool"
        match = "read_file"
        command = "(cat; echo $ADJUTANT_HOOK_EVENT $ADJUTANT_AGENT $ADJUTANT_TOOL; pwd) >> $ADJUTANT_AGENT.log"
        "#,
    );
    assert_eq!(results(&world).len(), 3);
    for agent in AGENTS {
        let log = world.read(&format!("{agent}.log"));
        let lines: Vec<_> = log.lines().collect();
        let told: Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!(told["event"], "after_tool");
        assert_eq!(told["agent"], agent);
        assert_eq!(told["tool"], "read_file");
        assert_eq!(told["arguments"], serde_json::json!({ "path": "notes.md" }));
        assert!(told["result"].as_str().unwrap().contains("one"), "{told}");
        assert_eq!(told["failed"], false);
        assert_eq!(told["session"].as_str().unwrap().len(), 36);
        assert!(told["call"].is_string());
        assert_eq!(told["workdir"], lines[2]);
        assert_eq!(lines[1], format!("after_tool {agent} read_file"));
        assert!(lines[2].ends_with("project/src/deep"));
    }
}

#[test]
fn agents_start_and_end_with_their_hooks_in_the_order_of_the_tree() {
    let world = world(
        r#"
        [hooks.start]
        event = "agent_start"
        command = "cat >> log"
        [hooks.end]
        event = "agent_end"
        command = "cat >> log"
        "#,
    );
    results(&world);
    let log = world.read("log");
    let told: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let order: Vec<_> =
        told.iter().map(|it| [&it["event"], &it["agent"]].map(|it| it.as_str().unwrap())).collect();
    let start = AGENTS.map(|agent| ["agent_start", agent]);
    let mut end = AGENTS.map(|agent| ["agent_end", agent]);
    end.reverse();
    assert_eq!(order, [start, end].concat());
    assert_eq!((&told[2]["task"], &told[3]["text"]), (&"leaf".into(), &"done".into()));
    assert_eq!((&told[3]["ending"], &told[3]["reason"]), (&"completed".into(), &Value::Null));
}

#[test]
fn a_hook_without_a_say_that_fails_is_reported_and_changes_nothing() {
    let hooks = ["agent_start", "after_tool", "agent_end"].map(|event| {
        format!("[hooks.on-{event}]\nevent = '{event}'\ncommand = 'echo broken >&2; false'\n")
    });
    let world = world(&hooks.concat())
        .script("[[reply]]\ncalls = [{ tool = 'list_dir' }]\n[[reply]]\ntext = 'fine'");
    let result = result(&world);
    assert_eq!((&result["ending"], &result["text"]), (&"completed".into(), &"fine".into()));
    let why = |event: &str| serde_json::json!({ "agent": "root", "why": format!("`on-{event}`: broken") });
    let expected = ["after_tool", "agent_end", "agent_start"].map(why);
    assert_eq!(result["failed_hooks"], Value::from(expected.to_vec()));
    let said = world.run(&["run", "go"]).stderr;
    assert!(said.contains("; a hook failed: `on-after_tool`: broken"), "{said}");
    let said = world.run(&["run", "--quiet", "go"]).stderr;
    assert!(said.contains("warning: a hook failed: `on-agent_end`: broken\n"), "{said}");
}

#[test]
fn a_hook_that_takes_too_long_denies_and_is_gone_with_all_it_started() {
    let world = world(
        r#"
        [hooks.slow]
        event = "before_tool"
        match = "list_dir"
        timeout = 1
        command = "echo $$ >> pids; setsid sh -c 'echo $$ >> pids; exec sleep 1000' & wait"
        "#,
    );
    let world =
        world.script("[[reply]]\ncalls = [{ tool = 'list_dir' }]\n[[reply]]\ntext = 'fine'");
    let results = results(&world);
    assert_eq!(
        results.into_values().flatten().collect::<Vec<_>>(),
        ["a hook refused this: `slow`: took longer than its 1 s"]
    );
    assert_gone(&world.read("pids"), 2);
}

/// Checks that as many processes were there, and are no more.
fn assert_gone(pids: &str, count: usize) {
    assert_eq!(pids.lines().count(), count, "{pids}");
    for pid in pids.lines() {
        assert!(!Path::new("/proc").join(pid).exists(), "{pid}");
    }
}

#[test]
fn a_hook_is_gone_with_all_it_started_when_the_run_is_stopped() {
    let world = world(
        r#"
        [hooks.slow]
        event = "before_tool"
        match = "list_dir"
        command = "setsid sh -c 'echo $$ >> pids; echo up >&2; exec sleep 1000' & wait"
        [hooks.end]
        event = "agent_end"
        command = "cat >> ends"
        "#,
    );
    let pids = world.project_directory().join("src/deep/pids");
    let mut run = world.start(&["run", "--events", "go"]);
    run.read_until(r#""event":"called""#);
    while !fs::read_to_string(&pids).is_ok_and(|pids| pids.ends_with('\n')) {
        std::thread::yield_now();
    }
    run.signal(Signal::INT);
    let Done { code, .. } = run.finish();
    assert_eq!(code, Some(130));
    assert_gone(&fs::read_to_string(&pids).unwrap(), 1);
    // Whoever is told of ends is told of this one.
    let told: Value = serde_json::from_str(&world.read("ends")).unwrap();
    assert_eq!(told["ending"], "cancelled");
}

#[test]
fn a_hook_need_not_read_and_may_say_more_than_is_handed_on() {
    let world = world(
        r#"
        [hooks.deaf]
        event = "after_tool"
        match = "read_file"
        command = "exec <&-; yes reason | head -c 3000000 >&2; exit 1"
        "#,
    );
    let script = "[[reply]]\ncalls = [{ tool = 'read_file', args = { path = 'long' } }]\n[[reply]]\ntext = 'x'";
    let world =
        world.script(script).file("long", &format!("{}\n", "word ".repeat(20)).repeat(2000));
    let result = result(&world);
    let why = result["failed_hooks"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("`deaf`: reason\nreason\n"), "{why}");
    assert!((1000..1100).contains(&why.len()), "{}", why.len());
}

#[test]
fn a_hook_sees_the_environment_without_keys() {
    let world = world("[hooks.see]\nevent = 'agent_start'\ncommand = 'env > seen'\n")
        .variable("OPENAI_API_KEY", "sk-0123456789")
        .variable("COPY", "sk-0123456789")
        .variable("HARMLESS", "yes");
    results(&world);
    let seen = world.read("seen");
    assert!(seen.contains("HARMLESS=yes") && seen.contains("ADJUTANT_TOOL=\n"), "{seen}");
    assert!(!seen.contains("sk-0123456789"), "{seen}");
}

#[test]
fn a_hook_may_run_us_again() {
    let program = crate::support::PROGRAM;
    let hooks =
        format!("[hooks.us]\nevent = 'agent_start'\ncommand = '{program} config > shown'\n");
    let world = world(&hooks);
    assert_eq!(result(&world)["failed_hooks"], Value::Array(Vec::new()));
    assert!(world.read("shown").contains("hooks.us.event"));
}

#[test]
fn a_hook_that_is_written_wrongly_is_refused() {
    let event = "[hooks.a]\nevent = 'before_tool'\n";
    let cases = [
        ("[hooks.a]\ncommand = 'true'", "2: `hooks.a.event` is missing: say when the hook runs"),
        (event, "2: `hooks.a.command` is missing: say what is run"),
        ("hooks.a.event = 'later'", "`hooks.a.event` must be one of `before_tool`, `after_tool`"),
        (
            "[hooks.a]\nmatch = 'x'\nevent = 'agent_end'\ncommand = 'true'",
            "2: `hooks.a.match` is about tools",
        ),
        ("hooks.a.match = 'x('", "`hooks.a.match` cannot be read: `x(` is not a rule"),
        ("hooks.a.timeout = 0", "`hooks.a.timeout` must be positive, not 0"),
        ("hooks.A.event = 'agent_end'", "`A` cannot be the name of a hook"),
        ("hooks.a.when = 'now'", "there is no key `hooks.a.when`"),
    ];
    for (hooks, complaint) in cases {
        let stderr = World::new().user(hooks).refused(&["config"]);
        assert!(stderr.contains(complaint), "{stderr}");
    }
    let idle = format!("{event}match = 'made_up(*)'\ncommand = 'true'");
    let stderr = world(&idle).refused(&["run", "go"]);
    assert!(stderr.contains("`hooks.a.match` is about no tool there is"), "{stderr}");
}

#[test]
fn a_project_may_not_run_anything() {
    for key in ["event = 'agent_start'", "command = 'touch owned'", "match = '*'", "timeout = 1"] {
        let stderr = World::new().project(&format!("[hooks.a]\n{key}")).refused(&["config"]);
        assert!(stderr.contains("a project may not set `hooks.a."), "{stderr}");
        assert!(!stderr.contains("touch owned"), "{stderr}");
    }
}
