//! The agents in `examples/agents` are without fault, and run.

use std::{fs, path::PathBuf};

use adjutant_core::EventKind;
use serde_json::Value;

use crate::support::World;

const NAMES: [&str; 6] =
    ["commit-writer", "log-triager", "researcher", "reviewer", "source-reader", "test-runner"];

fn directory() -> PathBuf {
    let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agents");
    fs::canonicalize(top).unwrap()
}

fn file(name: &str) -> String {
    directory().join(format!("{name}.toml")).display().to_string()
}

/// A world in which the user has all of them.
fn world() -> World {
    let world = World::new();
    let agents = world.user_file().with_file_name("agents");
    fs::create_dir_all(&agents).unwrap();
    for name in NAMES {
        fs::copy(file(name), agents.join(format!("{name}.toml"))).unwrap();
    }
    world
}

/// Runs an agent and returns its answer.
fn answer(world: &World, name: &str, flags: &[&str]) -> String {
    let done = world.run(&[&["run", "--quiet", "-a", name], flags].concat());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{name}");
    done.stdout
}

#[test]
fn every_file_there_is_an_agent_without_fault() {
    let files = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let agents = files.filter(|file| file.extension().is_some_and(|ending| ending == "toml"));
    let mut found: Vec<_> =
        agents.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    found.sort();
    assert_eq!(found, NAMES);
    let world = world().file("CONTRIBUTING.md", "Be kind.");
    for name in NAMES {
        let done = world.run(&["agents", "check", name]);
        let expected = "1 file checked: 0 errors, 0 dropped, 0 warnings\n";
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), expected), "{name}");
    }
}

#[test]
fn each_can_be_rehearsed_without_a_key() {
    let world = world().stdin("something piped in").variable("ADJUTANT_MODEL", "rehearsal");
    for name in NAMES {
        // A rehearsal knows nothing of schemas.
        if name != "log-triager" {
            assert!(answer(&world, name, &[]).contains("This was a rehearsal"), "{name}");
        }
    }
}

#[test]
fn the_researcher_calls_readers_side_by_side() {
    let world = world().script(
        "[[reply]]\nagent = 'root'\ncalls = [\n\
         { tool = 'call_agent', args = { agent = 'source-reader', task = 'find a' } },\n\
         { tool = 'call_agent', args = { agent = 'source-reader', task = 'find b' } },\n]\n\
         [[reply]]\nagent = 'root'\ntext = 'a and b'\n\
         [[reply]]\nagent = 'root.*'\ntext = 'found'\n",
    );
    let done = world.run(&["run", "--events", "-a", "researcher", "what?"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let started = done.events().into_iter().filter_map(|event| match &event.kind {
        EventKind::Started { tools, .. } => Some((event.path.to_string(), tools.clone())),
        _ => None,
    });
    let started: Vec<_> = started.collect();
    let reader = |number| format!("root.source-reader-{number}");
    let looks = ["list_dir", "read_file", "find_files", "search_files", "web_fetch"];
    for (path, mut tools) in started[1..].iter().cloned() {
        tools.sort();
        let mut expected = looks.to_vec();
        expected.sort_unstable();
        assert_eq!(tools, expected, "{path} looks and does nothing else");
    }
    let mut paths: Vec<_> = started.into_iter().map(|(path, _)| path).collect();
    paths.sort();
    assert_eq!(paths, ["root".to_owned(), reader(1), reader(2)]);
}

#[test]
fn the_triager_answers_in_json_and_remembers_its_answers_and_not_the_log() {
    let cause =
        r#"{"cause":"disk full","lines":2,"example":"ENOSPC","urgency":"now","is_new":true}"#;
    let reply = format!("{{\"causes\":[{cause}]}}");
    let world = world()
        .script(&format!("[[reply]]\ntimes = 'any'\ntext = '{reply}'\n"))
        .stdin("ENOSPC of the piped log\n");
    let said: Value = serde_json::from_str(&answer(&world, "log-triager", &[])).unwrap();
    assert_eq!(said["causes"][0]["cause"], "disk full");
    let again = world.run(&["run", "--dry-run", "--quiet", "-a", "log-triager"]).stdout;
    assert!(again.contains("disk full"), "{again}");
    let (told, _) = again.split_once("of the piped log").unwrap_or((&again, ""));
    assert_eq!(again.matches("of the piped log").count(), 1, "only as the task: {told}");
}

#[test]
fn the_writer_of_commits_writes_in_the_style_it_is_told() {
    let world = world().stdin("a diff").variable("ADJUTANT_MODEL", "rehearsal");
    let shown = |flags: &[&str]| {
        world.run(&[&["run", "--dry-run", "-a", "commit-writer"], flags].concat()).stdout
    };
    assert!(shown(&[]).contains("in this style: `topic: what changed`."));
    assert!(shown(&["--param", "style=loud"]).contains("in this style: loud."));
}

#[test]
fn the_runner_of_tests_runs_nothing_else() {
    let world = world().script(
        "[[reply]]\ncalls = [{ tool = 'run_command', args = { command = 'rm -f notes' } },\n\
         { tool = 'run_command', args = { command = 'go test ./... && rm -f notes' } }]\n\
         [[reply]]\ntext = 'done'\n",
    );
    let world = world.file("notes", "keep me");
    answer(&world, "test-runner", &["--mode", "auto"]);
    assert_eq!(world.read("notes"), "keep me");
}
