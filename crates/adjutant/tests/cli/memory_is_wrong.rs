//! What agents remember from run to run: no more than they should, nothing of it lost, and nothing
//! in it mistaken.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
};

use adjutant_core::EventKind;
use serde_json::Value;

use crate::support::{Done, World};

const REMEMBERING: &str = "system_prompt = 'You look.'\n[memory]\nenabled = true\n";

const SCRIPT: &str = "[[reply]]\ntext = \"looked\"\n";

/// A root that has `looker` look, and then says so.
const CALLING: &str = r#"
[[reply]]
agent = "root"
calls = [{ tool = "call_agent", args = { agent = "looker", task = "look at the tests" } }]

[[reply]]
agent = "root.looker-*"
text = "the tests are green"

[[reply]]
agent = "root"
text = "it is done"
"#;

fn agents_of_user(world: &World) -> PathBuf {
    world.user_file().with_file_name("agents")
}

fn agents_of_project(world: &World) -> PathBuf {
    world.project_file().with_file_name("agents")
}

fn write(directory: &Path, name: &str, text: &str) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(name), text).unwrap();
}

fn with_user_agent(world: World, name: &str, text: &str) -> World {
    write(&agents_of_user(&world), &format!("{name}.toml"), text);
    world
}

fn with_project_agent(world: World, name: &str, text: &str) -> World {
    write(&agents_of_project(&world), &format!("{name}.toml"), text);
    world
}

fn run(world: &World, arguments: &[&str]) -> Done {
    let done = world.run(&[&["run", "--quiet"], arguments].concat());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done
}

fn memory(world: &World, arguments: &[&str]) -> Done {
    world.run(&[&["memory"], arguments].concat())
}

/// Returns what an agent remembers, as the command shows it.
fn records(world: &World, agent: &str) -> Vec<Value> {
    let done = memory(world, &["show", agent, "--json"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&done.stdout).unwrap()
}

fn tasks(world: &World, agent: &str) -> Vec<String> {
    records(world, agent).iter().map(|it| it["task"].as_str().unwrap().to_owned()).collect()
}

/// Returns what the only child of the latest run was told before its task.
fn told(world: &World) -> String {
    let started = world.journal().iter().find_map(|event| match &event.kind {
        EventKind::Started { order, .. } if event.path.depth() == 1 => order.instructions.clone(),
        _ => None,
    });
    started.unwrap()
}

#[test]
fn a_root_remembers_what_it_completed_and_is_told_the_next_time() {
    let world = with_user_agent(World::new().script(SCRIPT), "looker", REMEMBERING);
    let shown = |world: &World| run(world, &["-a", "looker", "--dry-run", "look"]).stdout;
    assert!(!shown(&world).contains("## Memory"));
    assert!(!world.data_home().join("adjutant/memory").exists(), "a dry run writes nothing");
    for journal in ["journal=memory", "journal=file"] {
        run(&world, &["-a", "looker", "-c", journal, "look at the code"]);
    }
    let records = records(&world, "looker");
    assert_eq!(records.len(), 2);
    assert_eq!(
        (&records[0]["task"], &records[0]["result"]),
        (&"look at the code".into(), &"looked".into())
    );
    let time = records[0]["time"].as_str().unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z') && time.len() == 20, "{time}");
    let shown = shown(&world);
    assert!(shown.contains("## Memory") && shown.contains("look at the code"), "{shown}");
}

#[test]
fn a_child_remembers_its_task_and_is_told_in_the_next_run() {
    let caller = "sub_agents = ['looker']\nsystem_prompt = 'You lead.'";
    let world = with_user_agent(World::new().script(CALLING), "caller", caller);
    let world = with_user_agent(world, "looker", REMEMBERING);
    run(&world, &["-a", "caller", "go"]);
    assert_eq!(told(&world), "You look.");
    assert_eq!(tasks(&world, "looker"), ["Task: look at the tests"]);
    run(&world, &["-a", "caller", "go"]);
    let told = told(&world);
    assert!(told.starts_with("You look.\n") && told.contains("\n## Memory\n"), "{told}");
    assert!(
        told.contains(r#""task":"Task: look at the tests","result":"the tests are green"}"#),
        "{told}"
    );
    let unknown = memory(&world, &["show", "caller"]);
    assert_eq!(unknown.code, Some(2), "it has no memory");
}

#[test]
fn what_did_not_complete_is_not_remembered() {
    let script = "[[reply]]\ncalls = [{ tool = \"list_dir\" }]\ntimes = \"any\"\n\
                  [[reply]]\nlast = true\ntext = \"half\"\n";
    let world = with_user_agent(World::new().script(script), "looker", REMEMBERING);
    let spent = world.run(&["run", "--quiet", "-a", "looker", "-c", "budget.turns=2", "look"]);
    assert_eq!(spent.code, Some(4), "{}", spent.stderr);
    let failing = "[[reply]]\nerror = { kind = \"refused\", message = \"no\" }\n";
    let world = world.script(failing);
    assert_eq!(world.run(&["run", "--quiet", "-a", "looker", "look"]).code, Some(3));
    let shown = memory(&world, &["show"]);
    assert_eq!(shown.stdout, "no agent remembers anything\n");
}

#[test]
fn what_was_piped_in_is_only_measured_unless_the_file_says_otherwise() {
    let world = World::new().script(SCRIPT).stdin("the whole diff");
    let world = with_user_agent(world, "looker", REMEMBERING);
    let keeper = format!("{REMEMBERING}store_input = true\n");
    let world = with_user_agent(world, "keeper", &keeper);
    run(&world, &["-a", "looker"]);
    run(&world, &["-a", "looker", "--stdin", "only security"]);
    run(&world, &["-a", "looker", "given"]);
    run(&world, &["-a", "keeper"]);
    let expected = ["(14 bytes from stdin)", "only security (14 bytes from stdin)", "given"];
    assert_eq!(tasks(&world, "looker"), expected);
    assert_eq!(tasks(&world, "keeper"), ["the whole diff"]);
}

#[test]
fn no_secret_is_remembered() {
    let script = "[[reply]]\ntext = \"key sk-proj-abcdefgh12345678, token swordfish-42, \
                  key plain-words-of-a-key\"\n";
    let world = World::new()
        .script(script)
        .variable("DEPLOY_TOKEN", "swordfish-42")
        .variable("OPENAI_API_KEY", "plain-words-of-a-key");
    let world = with_user_agent(world, "looker", REMEMBERING);
    run(&world, &["-a", "looker", "use swordfish-42"]);
    let file = world.data_home().join("adjutant/memory/looker.jsonl");
    let kept = fs::read_to_string(file).unwrap();
    for secret in ["swordfish", "abcdefgh", "plain-words"] {
        assert!(!kept.contains(secret), "{kept}");
    }
    assert_eq!(tasks(&world, "looker"), ["use [secret]"]);
}

#[test]
fn processes_side_by_side_lose_nothing_while_others_clean_up() {
    let world = with_user_agent(World::new().script(SCRIPT), "looker", REMEMBERING);
    let old = "{\"time\":\"\",\"task\":\"old\",\"result\":\"\"}\n".repeat(6);
    write(&world.data_home().join("adjutant/memory"), "looker.jsonl", &old);
    let clean = |world: &World| {
        let done = memory(world, &["gc", "looker", "--keep", "6"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    };
    thread::scope(|scope| {
        for number in 0..6 {
            let world = &world;
            scope.spawn(move || {
                run(world, &["-a", "looker", "-c", "journal=memory", &number.to_string()]);
            });
            scope.spawn(move || clean(world));
        }
    });
    clean(&world);
    let mut tasks = tasks(&world, "looker");
    tasks.sort();
    assert_eq!(tasks, ["0", "1", "2", "3", "4", "5"]);
}

#[test]
fn two_projects_do_not_share_what_their_agents_remember() {
    let world = with_project_agent(World::new().script(SCRIPT), "looker", REMEMBERING);
    let other = world.project_directory().with_file_name("other");
    write(&other.join(".adjutant/agents"), "looker.toml", REMEMBERING);
    run(&world, &["-a", "looker", "here"]);
    let other = other.to_str().unwrap();
    run(&world, &["-a", "looker", "--cwd", other, "there"]);
    assert_eq!(tasks(&world, "looker"), ["here"]);
    let there = memory(&world, &["show", "looker", "--cwd", other]).stdout;
    assert!(there.ends_with("Z  there\n    looked\n") && there.lines().count() == 2, "{there}");
    let listed = memory(&world, &["show"]);
    assert_eq!(listed.stdout.lines().count(), 2, "{}", listed.stdout);
    fs::remove_dir_all(agents_of_project(&world)).unwrap();
    let unclear = memory(&world, &["show", "looker"]);
    assert_eq!(unclear.code, Some(2));
    assert!(unclear.stderr.contains("several projects"), "{}", unclear.stderr);
}

#[test]
fn a_project_s_file_may_not_have_it_written_just_anywhere() {
    for path in [
        "../outside.jsonl",
        "/tmp/outside.jsonl",
        ".git/a.jsonl",
        "data.jsonl",
        ".adjutant/agents/a.toml",
        ".adjutant/memory",
        ".adjutant/memory/../agents/a.jsonl",
        ".adjutant/memory/link/a.jsonl",
    ] {
        let why = "is not below `.adjutant/memory` of the project";
        let agent = format!("{REMEMBERING}path = '{path}'\n");
        let world = with_project_agent(World::new().script(SCRIPT), "looker", &agent);
        let memory = world.project_directory().join(".adjutant/memory");
        fs::create_dir(&memory).unwrap();
        symlink(world.project_directory(), memory.join("link")).unwrap();
        let said = world.refused(&["run", "-a", "looker", "look"]);
        assert!(said.contains("looker.toml:4") && said.contains(why), "{said}");
        let Done { code, stdout, .. } = world.run(&["agents", "check"]);
        assert!(code == Some(2) && stdout.contains(why), "{stdout}");
    }
    let agent = format!("{REMEMBERING}path = '.adjutant/memory/a.jsonl'\n");
    let world = with_project_agent(World::new().script(SCRIPT), "looker", &agent);
    run(&world, &["-a", "looker", "look"]);
    assert!(world.read("../../.adjutant/memory/a.jsonl").contains("looked"));
    assert_eq!(tasks(&world, "looker"), ["look"]);
}

#[test]
fn a_file_of_somebody_else_is_not_written_to() {
    let agent = format!("{REMEMBERING}path = 'data.jsonl'\n");
    let world = with_user_agent(World::new().script(SCRIPT), "looker", &agent);
    let world = world.file("data.jsonl", "{\"id\": 1}\n");
    let done = run(&world, &["-a", "looker", "look"]);
    assert!(done.stderr.contains("data.jsonl: it is somebody else's"), "{}", done.stderr);
    assert_eq!(world.read("data.jsonl"), "{\"id\": 1}\n");
}

#[test]
fn a_failure_to_write_is_a_warning_and_not_a_failed_run() {
    let world = with_user_agent(World::new().script(SCRIPT), "looker", REMEMBERING);
    write(&world.data_home().join("adjutant/memory/looker.jsonl.lock"), "in the way", "");
    let done = run(&world, &["-a", "looker", "look"]);
    assert_eq!(done.stdout, "looked\n");
    assert!(done.stderr.contains("warning: `looker` will not remember this"), "{}", done.stderr);
}

#[test]
fn half_a_line_is_told_of_and_costs_no_other() {
    let world = with_user_agent(World::new().script(SCRIPT), "looker", REMEMBERING);
    let file = world.data_home().join("adjutant/memory/looker.jsonl");
    write(file.parent().unwrap(), "looker.jsonl", "{\"time\":\"20");
    let done = run(&world, &["-a", "looker", "look"]);
    assert!(done.stderr.contains("looker.jsonl:1: is no record"), "{}", done.stderr);
    assert_eq!(tasks(&world, "looker"), ["look"]);
}

#[test]
fn too_many_records_are_told_of_and_cleaned_up() {
    let agent = format!("{REMEMBERING}max_entries = 2\n");
    let world = with_user_agent(World::new().script(SCRIPT), "looker", &agent);
    assert_eq!(run(&world, &["-a", "looker", "1"]).stderr, "");
    assert_eq!(run(&world, &["-a", "looker", "2"]).stderr, "");
    let said = run(&world, &["-a", "looker", "3"]).stderr;
    assert_eq!(said, "warning: `looker` remembers 3 runs: `adjutant memory gc looker` cleans up\n");
    let tried = memory(&world, &["gc", "looker", "--dry-run"]).stdout;
    assert!(tried.starts_with("looker: would remove 1 of 3 records"), "{tried}");
    assert_eq!(tasks(&world, "looker"), ["1", "2", "3"]);
    let done = memory(&world, &["gc", "--all"]).stdout;
    assert!(done.starts_with("looker: removed 1 of 3 records"), "{done}");
    assert_eq!(tasks(&world, "looker"), ["2", "3"]);
    memory(&world, &["gc", "looker", "--keep", "0"]);
    assert_eq!(tasks(&world, "looker"), [""; 0]);
}

#[test]
fn who_remembers_nothing_is_not_shown_or_cleaned_up() {
    let world = with_user_agent(World::new().script(SCRIPT), "looker", REMEMBERING);
    run(&world, &["-a", "looker", "look"]);
    for arguments in [&["show", "loker"], &["gc", "loker"]] {
        let done = memory(&world, arguments);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
        assert!(done.stderr.contains("did you mean `looker`?"), "{}", done.stderr);
    }
    let shown = memory(&world, &["show", "looker"]).stdout;
    assert!(shown.ends_with("Z  look\n    looked\n"), "{shown}");
    assert_eq!(memory(&world, &["gc"]).code, Some(2), "it is not said whose");
}

#[test]
fn a_run_that_is_recorded_can_be_played_again() {
    let world = with_user_agent(World::new().script(SCRIPT), "looker", REMEMBERING);
    run(&world, &["-a", "looker", "look"]);
    let recorded = run(&world, &["-a", "looker", "--record", "tape.json", "look"]);
    assert!(recorded.stderr.contains("`looker` remembers nothing"), "{}", recorded.stderr);
    assert_eq!(tasks(&world, "looker"), ["look"]);
    run(&world, &["-a", "looker", "look again"]);
    let played = run(&world, &["-a", "looker", "--replay", "tape.json", "look"]);
    assert_eq!(played.stdout, "looked\n");
    assert_eq!(tasks(&world, "looker"), ["look", "look again"]);
}

#[test]
fn a_memory_that_cannot_be_read_does_not_hide_the_others() {
    let world = with_user_agent(World::new().script(SCRIPT), "looker", REMEMBERING);
    run(&world, &["-a", "looker", "look"]);
    let book = world.data_home().join("adjutant/memory/broken.jsonl");
    std::os::unix::fs::symlink("/etc/passwd", &book).unwrap();
    let listed = memory(&world, &["show"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(listed.stdout.contains("broken  cannot be read: "), "{listed:?}");
    assert!(listed.stdout.contains("looker      1  "), "{listed:?}");
    let listed = memory(&world, &["show", "--json"]);
    let rows: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!((listed.code, &rows[1]["records"]), (Some(1), &1.into()), "{rows}");
    assert!(rows[0]["error"].is_string(), "{rows}");
}

#[test]
fn a_run_does_not_leave_before_its_record_is_written() {
    // Its second turn comes when the test says so.
    let script = "[[reply]]\ncalls = [{ tool = 'run_command', args = { command = 'cat gate' } }]\n\
                  [[reply]]\ntext = 'looked'\n";
    let world = with_user_agent(World::new().script(script), "looker", REMEMBERING);
    let gate = world.working_directory().join("gate");
    fs::write(&gate, "open").unwrap();
    run(&world, &["--mode", "dangerous", "-a", "looker", "first"]);
    fs::remove_file(&gate).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
    let file = world.data_home().join("adjutant/memory/looker.jsonl");
    let lock = fs::File::open(file.with_extension("jsonl.lock")).unwrap();
    let second = ["run", "--mode", "dangerous", "-a", "looker", "--events", "second"];
    let mut running = world.start(&second);
    running.read_until(r#""event":"called""#);
    lock.lock().unwrap();
    fs::write(&gate, "open").unwrap();
    running.read_until(r#""event":"finished""#);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 1);
    lock.unlock().unwrap();
    assert_eq!(running.finish().code, Some(0));
    assert_eq!(tasks(&world, "looker"), ["first", "second"]);
}

#[test]
fn a_file_with_an_odd_name_does_not_reach_the_terminal() {
    let agent = "system_prompt = 'You look.'\n[memory]\nenabled = true\n\
                 path = \".adjutant/memory/\\u001b[31mred\\u202e\"\n";
    let world = with_project_agent(World::new().script(SCRIPT), "looker", agent);
    run(&world, &["-a", "looker", "first"]);
    for arguments in [&["show"][..], &["gc", "looker", "--keep", "0"]] {
        let done = memory(&world, arguments);
        assert!(done.stdout.contains("red"), "{done:?}");
        assert!(!done.stdout.contains(['\u{1b}', '\u{202e}']), "{done:?}");
    }
}
