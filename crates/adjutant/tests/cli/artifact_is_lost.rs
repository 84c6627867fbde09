//! Files that agents hand back: where they are found, and who may.

use std::fs;

use serde_json::Value;

use crate::support::{Done, World};

/// A root that has a child hand back a file, and hands one back itself.
const BOTH: &str = r##"
[[reply]]
agent = "root"
calls = [
  { tool = "sub_agent", args = { prompt = "make a table" } },
  { tool = "write_artifact", args = { name = "report.md", content = "# Report" } },
]

[[reply]]
task = "make a table"
calls = [{ tool = "write_artifact", args = { name = "a/table.csv", content = "1,2" } }]

[[reply]]
task = "make a table"
text = "there is a table"

[[reply]]
agent = "root"
text = "done"
"##;

/// An agent that hands back one file.
const ONE: &str = r#"
[[reply]]
calls = [{ tool = "write_artifact", args = { name = "report.md", content = "new" } }]

[[reply]]
text = "done"
"#;

fn with_agent(world: World, directory: &str, text: &str) -> World {
    let agents = world.project_directory().parent().unwrap().join(directory).join("agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("writer.toml"), text).unwrap();
    world
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.stderr))
}

fn failed_calls(world: &World) -> Vec<String> {
    let events = world.journal();
    let results = events.iter().filter_map(|event| match &event.kind {
        adjutant_core::EventKind::Said { message } => match &**message {
            adjutant_core::Message::Tools { results } => Some(results.clone()),
            _ => None,
        },
        _ => None,
    });
    results.flatten().filter(|result| result.failed).map(|result| result.text).collect()
}

#[test]
fn what_the_tree_hands_back_is_found_in_the_directory_and_in_the_result() {
    let world = World::new().script(BOTH);
    let done = world.run(&["run", "--json", "--mode", "plan", "--artifacts", "out", "go"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let out = world.working_directory().canonicalize().unwrap().join("out");
    assert_eq!(world.read("out/report.md"), "# Report");
    assert_eq!(world.read("out/root.sub-1/a/table.csv"), "1,2");
    let kept = |agent: &str, name: &str, bytes: u64| serde_json::json!({ "agent": agent, "path": out.join(name), "bytes": bytes });
    let expected = [kept("root", "report.md", 8), kept("root.sub-1", "root.sub-1/a/table.csv", 3)];
    assert_eq!(json(&done)["artifacts"], Value::from(expected.to_vec()));
    let shown = world.run(&["run", "--artifacts", "out", "go"]).stderr;
    let line = format!("; handed back {} (8 bytes)", out.join("report.md").display());
    assert!(shown.contains(&line), "{shown}");
    let told = world.journal().iter().any(|event| {
        let text = serde_json::to_string(&**event).unwrap();
        text.contains("there is a table") && text.contains("handed back")
    });
    assert!(told, "the parent is told of it");
}

#[test]
fn without_a_directory_nobody_is_offered_it() {
    let world = World::new().script(ONE);
    assert_eq!(world.run(&["run", "--quiet", "go"]).code, Some(0));
    assert!(failed_calls(&world)[0].contains("there is no tool named `write_artifact`"));
}

#[test]
fn an_agent_whose_file_says_so_hands_back_files_though_it_has_no_other_tool() {
    let text = "tools = []\nsystem_prompt = 's'\n[artifacts]\nenabled = true\n";
    let world = with_agent(World::new().script(ONE), "config/adjutant", text);
    let done = world.run(&["run", "--json", "-a", "writer", "go"]);
    let result = json(&done);
    let session = result["session"].as_str().unwrap();
    let file = world.data_home().join("adjutant/artifacts").join(session).join("report.md");
    assert_eq!(fs::read_to_string(file).unwrap(), "new");
    assert_eq!(result["artifacts"][0]["bytes"], 3);
}

#[test]
fn who_has_no_place_calls_one_that_has_and_does_not_get_it_itself() {
    let script = r#"
[[reply]]
agent = "root"
calls = [
  { tool = "write_artifact", args = { name = "mine.md", content = "x" } },
  { tool = "call_agent", args = { agent = "writer", task = "write" } },
]

[[reply]]
agent = "root.writer-*"
calls = [{ tool = "write_artifact", args = { name = "report.md", content = "new" } }]

[[reply]]
text = "done"
"#;
    let writer = "tools = []\nsystem_prompt = 's'\n[artifacts]\nenabled = true\ndir = 'out'\n";
    let world = with_agent(World::new().script(script), "config/adjutant", writer);
    let lead = "tools = []\nsub_agents = ['writer']\nsystem_prompt = 's'\n";
    let agents = world.user_file().with_file_name("agents");
    fs::write(agents.join("lead.toml"), lead).unwrap();
    let result = json(&world.run(&["run", "--json", "-a", "lead", "go"]));
    assert_eq!(result["artifacts"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(world.read("out/root.writer-1/report.md"), "new");
    assert!(failed_calls(&world)[0].contains("there is no tool named `write_artifact`"));
    assert_eq!(result["clamped"], Value::Array(Vec::new()));
}

#[test]
fn a_rule_takes_it_away() {
    let world = World::new().script(ONE).user("[permissions]\ndeny = [\"write_artifact\"]\n");
    let done = world.run(&["run", "--json", "--artifacts", "out", "go"]);
    assert_eq!(json(&done)["artifacts"], Value::Array(Vec::new()));
    assert!(!world.working_directory().join("out").exists());
}

#[test]
fn a_project_s_file_gets_no_file_written_that_nobody_allowed() {
    let text = "system_prompt = 's'\n[artifacts]\nenabled = true\ndir = 'out'\n";
    let world = with_agent(World::new().script(ONE), "project/.adjutant", text);
    world.run(&["run", "--quiet", "-a", "writer", "--mode", "plan", "go"]);
    assert!(failed_calls(&world)[0].contains("in mode `plan`"), "{:?}", failed_calls(&world));
    assert!(!world.working_directory().join("out").exists());
    world.run(&["run", "--quiet", "-a", "writer", "--mode", "auto", "go"]);
    assert_eq!(world.read("out/report.md"), "new");
    for dir in ["../../../out", "../../.git/out", "../.."] {
        let text = format!("system_prompt = 's'\n[artifacts]\nenabled = true\ndir = '{dir}'\n");
        let world = with_agent(World::new().script(ONE), "project/.adjutant", &text);
        let said = world.refused(&["run", "-a", "writer", "go"]);
        assert!(said.contains("writer.toml:4: `artifacts.dir`"), "{said}");
    }
}

#[test]
fn a_file_that_is_no_directory_is_refused_before_anything_runs() {
    let world = World::new().script(ONE).file("out", "");
    assert!(world.refused(&["run", "--artifacts", "out", "go"]).contains("is no directory"));
}

#[test]
fn what_was_recorded_is_handed_back_again_when_it_is_played() {
    let text = "system_prompt = 's'\n[artifacts]\nenabled = true\n";
    let world = with_agent(World::new().script(ONE), "config/adjutant", text);
    let run = |flag| json(&world.run(&["run", "--json", "-a", "writer", flag, "tape.json", "go"]));
    for result in [run("--record"), run("--replay")] {
        assert_eq!(result["ending"], "completed", "{result}");
        let path = result["artifacts"][0]["path"].as_str().unwrap();
        assert!(path.contains(result["session"].as_str().unwrap()), "{path}");
        assert_eq!(fs::read_to_string(path).unwrap(), "new");
    }
}

#[test]
fn what_is_handed_back_replaces_nothing_agents_work_on_and_steers_nobody() {
    let own = World::new().script(ONE);
    let config = own.user_file().parent().unwrap().display().to_string();
    for directory in [".", "..", "/", ".git", "a/.git/hooks", ".adjutant/x", &config] {
        let error = own.refused(&["run", "--artifacts", directory, "go"]);
        assert!(error.contains("for what they hand back, and nothing else"), "{error}");
    }
    fs::create_dir(own.working_directory().join("out")).unwrap();
    let writer = "system_prompt = 'p'\nworkdir = 'out'\n";
    let own = with_agent(own, "config/adjutant", writer);
    let error = own.refused(&["run", "--artifacts", "out", "-a", "writer", "go"]);
    assert!(error.contains("agents work in"), "{error}");
    let names = [".git/config", "a/.GIT/hooks/pre-commit", ".adjutant/agents/a.toml", "a\u{1b}"];
    for name in names {
        let args = format!("{{ name = {name:?}, content = 'x' }}").replace("\\u{1b}", "\\u001b");
        let script = format!(
            "[[reply]]\ncalls = [{{ tool = 'write_artifact', args = {args} }}]\n\
             [[reply]]\ntext = 'done'\n"
        );
        let world = World::new().script(&script);
        let done = world.run(&["run", "--artifacts", "out", "go"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert_eq!(failed_calls(&world).len(), 1, "{name}");
        assert!(!world.working_directory().join("out").exists(), "{name}");
    }
}
