//! A tree that is recorded, and played again elsewhere, later, or otherwise.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    scripts::{HANGING, TREE},
    server::{Chat, Format as _, Said},
    support::{Done, World},
};

/// A root with two children at once and one in the background, which takes its time; a call
/// that fails, a question, a server that is busy.
const MIXED: &str = r#"
[[reply]]
agent = "root"
text = "I will ask others."
calls = [
    { tool = "agent_spawn", args = { prompt = "think long" } },
    { tool = "sub_agent", args = { prompt = "look around" } },
    { tool = "sub_agent", args = { prompt = "find out" } },
    { tool = "read_file", args = { path = "missing" } },
]

[[reply]]
agent = "root"
calls = [{ tool = "agent_status", args = { agent_id = "root.agent-1" } }, { tool = "agent_list" }]

[[reply]]
agent = "root"
text = "I wait."

[[reply]]
agent = "root"
text = "Two files,  \nin euro, I think."

[[reply]]
task = "think long"
delay_ms = 300
text = "I think so."

[[reply]]
task = "look around"
delay_ms = 100
calls = [{ tool = "list_dir" }]

[[reply]]
task = "look around"
error = { kind = "busy", message = "too many", retry_after_ms = 1 }

[[reply]]
task = "look around"
text = "two files"

[[reply]]
task = "find out"
calls = [{ tool = "ask_user", args = { question = "Which?", choices = ["euro", "yen"] } }]

[[reply]]
task = "find out"
text = "euro, I assume"
"#;

/// A world in which a script is the model and one file is there.
fn world(script: &str) -> World {
    World::new().script(script).file("a.txt", "the first line\n")
}

/// Where a cassette is: not where agents look.
const IT: &str = "../it.json";

/// Records a run, and returns it with the cassette.
fn record(world: &World, flags: &[&str]) -> (Done, String) {
    let done = world.run(&[&["run", "--quiet", "--record", IT, "go"], flags].concat());
    (done, world.read(IT))
}

/// Plays a cassette in a world that knows no model.
fn replay(cassette: &str, arguments: &[&str]) -> Done {
    let world = World::new().file("a.txt", "the first line\n").file(IT, cassette);
    world.run(&[&["run", "--replay", IT], arguments].concat())
}

/// Everything but how long it took.
fn parts(done: &Done) -> (Option<i32>, &str, &str) {
    (done.code, &done.stdout, &done.stderr)
}

#[test]
fn a_tree_is_played_again_without_its_models() {
    let (recorded, cassette) = record(&world(MIXED), &[]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    assert_eq!(recorded.stdout, "Two files,  \nin euro, I think.\n");
    // In another directory, with other ids, at another pace.
    let played = replay(&cassette, &["--quiet", "go"]);
    assert_eq!(parts(&played), parts(&recorded));
    for text in ["{id:1}", "{time}", "No such file", "nobody is there", "too many", "\"order\""] {
        assert!(cassette.contains(text), "{text}: {cassette}");
    }
}

#[test]
fn who_is_heard_of_when_does_not_depend_on_luck() {
    let spawn = "{ tool = 'agent_spawn', args = { prompt = 'think' } }";
    let world = world(&format!(
        "[[reply]]
        agent = 'root'
        calls = [{spawn}, {spawn}, {spawn}]
        [[reply]]
        agent = 'root'
        times = 'any'
        text = 'I wait.'
        [[reply]]
        text = 'I thought.'"
    ));
    for _ in 0..5 {
        let (recorded, cassette) = record(&world, &[]);
        assert_eq!(parts(&replay(&cassette, &["--quiet", "go"])), parts(&recorded));
    }
}

#[test]
fn the_same_run_makes_the_same_cassette() {
    let world = world(TREE);
    let [one, two] = [(); 2].map(|()| record(&world, &[]).1);
    assert_eq!(one, two);
    // Nobody waits but parents for their children, so there is no order to keep.
    assert!(!one.contains("\"order\""), "{one}");
}

#[test]
fn a_rehearsal_can_be_recorded_too() {
    let world = World::new().file("a.md", "# Title\n");
    let (recorded, cassette) = record(&world, &["--model", "rehearsal"]);
    let again = World::new().file("a.md", "# Title\n").file(IT, &cassette);
    let played = again.run(&["run", "--quiet", "--replay", IT, "go"]);
    assert_eq!(recorded.code, Some(0));
    assert_eq!(parts(&played), parts(&recorded));
}

/// Starts a server that answers everybody at once, each by what they ask.
fn serve(answer: impl Fn(&Value) -> Said + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || while respond(&connection, &*answer).is_some() {});
        }
    });
    address
}

fn respond(mut connection: &TcpStream, answer: &dyn Fn(&Value) -> Said) -> Option<()> {
    let (mut reader, mut length) = (BufReader::new(connection), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let said = answer(&serde_json::from_slice(&body).unwrap());
    let data = Chat.begin(&said) + &Chat.end(&said);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", data.len());
    connection.write_all((head + &data).as_bytes()).ok()
}

/// Answers a root that asks for its child by the id it was told, and its child, which is
/// heard only after that.
fn by_id() -> impl Fn(&Value) -> Said + Send + Sync {
    let (ask, asked) = mpsc::sync_channel(1);
    let asked = Mutex::new(asked);
    move |body| {
        let messages = body["messages"].as_array().unwrap();
        let results = messages.iter().filter(|message| message["role"] == "tool").count();
        let last = messages.last().unwrap()["content"].as_str().unwrap();
        match results {
            _ if last.contains("[from the runtime: children") => Chat.words("It worked."),
            _ if messages[1]["content"] == "work" => {
                asked.lock().unwrap().recv().unwrap();
                Chat.words("I did.")
            }
            0 => Chat.calls(&[("agent_spawn", json!({ "prompt": "work" }))]),
            1 => {
                let told: Value = serde_json::from_str(last).unwrap();
                Chat.calls(&[("agent_status", json!({ "agent_id": told["agent_id"] }))])
            }
            _ => {
                ask.send(()).unwrap();
                Chat.words("I wait.")
            }
        }
    }
}

#[test]
fn a_model_behind_a_server_is_played_without_server_and_key() {
    let key = "my-own-secret-key";
    let world = World::new()
        .variable("OPENAI_BASE_URL", &serve(by_id()))
        .variable("OPENAI_API_KEY", key)
        .file("a.txt", "the first line\n");
    let (recorded, cassette) = record(&world, &["--model", "openai/test-model"]);
    assert_eq!(parts(&recorded), (Some(0), "It worked.\n", ""));
    assert!(cassette.contains(r#"{"agent_id": "{id:1}"}"#), "{cassette}");
    assert!(!cassette.contains(key), "{cassette}");
    assert_eq!(parts(&replay(&cassette, &["--quiet", "go"])), parts(&recorded));
}

#[test]
fn a_run_that_goes_another_way_fails_and_shows_where() {
    let (_, cassette) = record(&world(TREE), &[]);
    for flags in [&["--quiet"][..], &[], &["--json"]] {
        let done = replay(&cassette, &[flags, &["go there"]].concat());
        assert_eq!(done.code, Some(3), "{}", done.stderr);
        let told = "the replay has left ../it.json: `root` asks in turn 1 what was not recorded. The \
                    nearest is its turn 1, recorded (-) and asked (+):\n- person: go\n+ person: go \
                    there\n";
        assert_eq!(done.stderr.matches(told).count(), 1, "{}", done.stderr);
        assert!(!done.stderr.contains("was not used up"), "{}", done.stderr);
    }
    // What a child finds otherwise is the root's failure too.
    let world = World::new().file("b.txt", "more\n").file("a.txt", "x").file(IT, &cassette);
    let done = world.run(&["run", "--quiet", "--replay", IT, "go"]);
    assert_eq!(done.code, Some(3));
    let told = "`root.sub-1` asks in turn 2";
    assert!(done.stderr.contains(told) && done.stderr.contains("+ result c1-1: b.txt (5 bytes)"));
}

#[test]
fn what_was_recorded_and_not_asked_for_is_a_warning() {
    let (_, cassette) = record(&world("[[reply]]\ntext = 'four'"), &[]);
    let mut longer: Value = serde_json::from_str(&cassette).unwrap();
    let exchanges = longer["agents"][0]["exchanges"].as_array_mut().unwrap();
    exchanges.push(exchanges[0].clone());
    let done = replay(&longer.to_string(), &["--quiet", "go"]);
    let warning = "warning: ../it.json was not used up: turn 1 of `root`: “four”\n";
    assert_eq!(parts(&done), (Some(0), "four\n", warning));
}

#[test]
fn a_key_is_not_in_the_cassette_wherever_it_was() {
    let (known, looks) = ("hunter2hunter2", "gsk_0123456789abcdefXYZ");
    let script = format!(
        "[[reply]]
        text = 'I use {known} and {looks}.'
        calls = [{{ tool = 'read_file', args = {{ path = '.env' }} }},
                 {{ tool = 'read_file', args = {{ path = '{known}' }} }}]
        [[reply]]
        error = {{ kind = 'refused', message = 'Bearer 0123456789abcdef and {known}' }}"
    );
    let world = world(&script)
        .variable("GROQ_API_KEY", known)
        .file(".env", &format!("A={looks}\nB={known}"));
    let prompt = format!("use {known}, {looks}");
    let done = world.run(&["run", "--quiet", "--record", IT, &prompt]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    let cassette = world.read(IT);
    for key in [known, looks, "0123456789abcdef"] {
        assert!(!cassette.contains(key), "{cassette}");
    }
    assert!(cassette.contains("\"use [key], [key]\"") && cassette.contains("B=[key]\""));
}

#[test]
fn a_run_that_is_stopped_is_kept_as_far_as_it_came() {
    let world = world(HANGING);
    let mut run = world.start(&["run", "--record", IT, "go"]);
    run.hear_until("root.sub-1 started");
    run.signal(Signal::INT);
    assert_eq!(run.finish().code, Some(130));
    let done = replay(&world.read(IT), &["--quiet", "go"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), "I have begun.\n"), "{}", done.stderr);
}

#[test]
fn a_run_that_is_killed_leaves_what_was_there() {
    let world = world(HANGING).file(IT, "before");
    let mut run = world.start(&["run", "--record", IT, "go"]);
    run.hear_until("root.sub-1 started");
    run.signal(Signal::KILL);
    run.finish();
    assert_eq!(world.read(IT), "before");
}

#[test]
fn what_cannot_be_kept_or_played_is_refused_before_anything_is_done() {
    let world = world(TREE).file("garbled.json", "{\n  \"cassette\": 1,\n  oops\n}");
    fs::create_dir(world.project_directory().join("src/deep/directory")).unwrap();
    for (arguments, complaint) in [
        (["--record", "directory"], "error: `directory` cannot be written: it is not a file\n"),
        (["--record", "no/it.json"], "error: `no/it.json` cannot be written: No such file"),
        (["--replay", "garbled.json"], "garbled.json:3: key must be a string\n"),
        (["--replay", "no.json"], "no.json: cannot be read: No such file"),
        (["--record=a", "--replay=b"], "cannot be used with"),
    ] {
        let told = world.refused(&[&["run", "go"], &arguments[..]].concat());
        assert!(told.contains(complaint), "{told}");
    }
}

#[test]
fn a_run_that_does_not_begin_leaves_what_was_there() {
    let world = World::new().file(IT, "before");
    world.refused(&["run", "--record", IT, "--model", "scripted/no.toml", "go"]);
    assert_eq!(world.read(IT), "before");
}

#[test]
fn a_replay_has_the_models_that_were_recorded() {
    let (_, cassette) = record(&world("[[reply]]\ntext = 'four'"), &[]);
    let told = World::new().file(IT, &cassette);
    let named = told.refused(&["run", "--replay", IT, "--model", "openai/x", "go"]);
    let complaint = "error: ../it.json has no model `openai/x`; there are: `scripted/";
    assert!(named.starts_with(complaint), "{named}");
    let set = told.variable("ADJUTANT_MODEL", "rehearsal");
    assert_eq!(set.run(&["run", "--quiet", "--replay", IT, "go"]).stdout, "four\n");
}
