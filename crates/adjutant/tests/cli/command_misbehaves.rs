//! Commands that ask, hide, flood, hang or pry, run by the real thing.

use std::{fs, thread, time::Duration};

use adjutant_core::{Event, EventKind, Message, ToolResult};
use rustix::process::Signal;

use crate::{
    running::Running,
    support::{Done, PROGRAM, World},
    terminal::Terminal,
};

/// Never asked, and outside the sandbox: what is tried here holds without one.
const RUN: [&str; 5] = ["run", "--events", "--mode", "dangerous", "go"];

/// Asked about what leaves the sandbox, and nobody is there to answer.
const CONFINED: [&str; 5] = ["run", "--events", "--mode", "auto", "go"];

/// Makes a script that calls tools, one after the other, and is done.
fn script(calls: &[&str]) -> String {
    let replies = calls.iter().map(|call| format!("[[reply]]\ncalls = [{call}]\n"));
    replies.collect::<String>() + "[[reply]]\ntext = 'done'"
}

fn command(line: &str) -> String {
    format!("{{ tool = 'run_command', args = {{ command = '''{line}''' }} }}")
}

fn world(calls: &[&str]) -> World {
    World::new().script(&script(calls)).variable("PATH", "/usr/local/bin:/usr/bin:/bin")
}

fn results<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<ToolResult> {
    let results = events.into_iter().filter_map(|event| match &event.kind {
        EventKind::Said { message } => match &**message {
            Message::Tools { results } => Some(results.clone()),
            _ => None,
        },
        _ => None,
    });
    results.flatten().collect()
}

/// Runs calls, and returns what the model was told of each.
fn told(world: &World) -> Vec<String> {
    told_in(world, &RUN)
}

fn told_in(world: &World, words: &[&str]) -> Vec<String> {
    let done = world.run(words);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    results(&done.events()).into_iter().map(|result| result.text).collect()
}

/// Counts the processes whose command lines have a mark.
fn alive(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let lines = processes.filter_map(|process| fs::read(process.join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

/// A command that leaves its session and goes on for ever, with a mark of this process.
fn endless(number: u32) -> (String, String) {
    let mark = format!("{}.{number}", 100_000 + std::process::id());
    (command(&format!("setsid sleep {mark} & echo up; sleep {mark}")), mark)
}

#[test]
fn secrets_are_not_in_a_commands_environment() {
    let world = world(&[&command("env | sort")])
        .variable("OPENAI_API_KEY", "sk-sesame-1234")
        .variable("GITHUB_TOKEN", "ghp-sesame")
        .variable("SSH_AUTH_SOCK", "/tmp/agent")
        .variable("CURL_OPTIONS", "-H 'X: sk-sesame-1234'")
        .variable("KEYBOARD", "qwerty");
    let [seen] = &told(&world)[..] else { panic!("one call, one result") };
    let names: Vec<_> = seen.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    for name in ["HOME", "KEYBOARD", "PATH"] {
        assert!(names.contains(&name), "{name} in {seen}");
    }
    for secret in ["sesame", "SSH_AUTH_SOCK", "ADJUTANT_"] {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
    // But for what a person lets through, by its name.
    let world = world.user("[commands]\nenvironment = ['GITHUB_TOKEN']");
    let [seen] = &told(&world)[..] else { panic!("one call, one result") };
    assert!(seen.contains("GITHUB_TOKEN=ghp-sesame\n") && !seen.contains("sk-"), "{seen}");
}

#[test]
fn a_project_lets_no_secret_through() {
    let world = world(&[]).project("[commands]\nenvironment = ['GITHUB_TOKEN']");
    let refusal = world.refused(&RUN);
    assert!(refusal.contains("a project may not set `commands.environment`"), "{refusal}");
    let world = World::new().user("[commands]\nenvironment = ['A=B']");
    let refusal = world.refused(&["config"]);
    assert!(refusal.contains("is not the name of a variable: `A=B`"), "{refusal}");
}

#[test]
fn a_command_may_open_as_many_files_as_before_room_was_made() {
    let world = world(&[&command("ulimit -Sn; ulimit -Hn")]);
    let limit = "ulimit -Sn 200; ulimit -Hn 5000; exec \"$@\"";
    let words = [&["-c", limit, "sh", PROGRAM][..], &RUN].concat();
    let done = Running::new(&world, world.prepare("/bin/sh", &words), &[]).finish();
    let results = results(&done.events());
    assert_eq!(results[0].text, "200\n5000\n[exit code 0]", "{}", done.stderr);
}

#[test]
fn what_a_command_does_wrong_is_told_to_the_model() {
    let lines = ["cat; exit 3", "kill -9 $$", r"printf '\377\000x'", "yes | head -c 3000000"];
    let calls = lines.map(command);
    let told = told(&world(&calls.each_ref().map(String::as_str)));
    assert_eq!(told[0], "[no output]\n[exit code 3]");
    assert_eq!(told[1], "[no output]\n[exit code 137 (128+9: likely SIGKILL)]");
    assert_eq!(told[2], "\u{fffd}x\n[exit code 0]");
    assert!(told[3].contains(" bytes, ") && told[3].len() < 66_000, "{}", told[3].len());
}

#[test]
fn a_job_in_the_background_is_fed_read_and_stopped() {
    let calls = [
        "{ tool = 'run_command', args = { command = 'cat', background = true } }",
        r#"{ tool = 'write_input', args = { job = 'job-1', text = "hello\n" } }"#,
        "{ tool = 'read_output', args = { job = 'job-1', wait = 30 } }",
        "{ tool = 'stop_command', args = { job = 'job-1' } }",
    ];
    let told = told(&world(&calls));
    assert_eq!(told[1], "[given to job-1]");
    assert_eq!(told[2], "hello\n[job-1: running]");
    assert_eq!(told[3], "[job-1: was stopped, with all it started]");
}

#[test]
fn an_interrupt_ends_a_command_and_keeps_what_it_wrote() {
    for (number, signal) in [(1, Signal::INT), (2, Signal::TERM), (5, Signal::HUP)] {
        let (call, mark) = endless(number);
        let world = world(&[&call]);
        let mut run = world.start(&RUN);
        run.read_until(r#""event":"progressed""#);
        assert!(alive(&mark) > 1);
        run.signal(signal);
        let Done { code, stderr, .. } = run.finish();
        assert_eq!(code, Some(130), "{stderr}");
        assert_eq!(alive(&mark), 0);
        let results = results(world.journal().iter().map(|event| &**event));
        assert_eq!(results[0].text, "up\n[was stopped, with all it started]");
    }
}

#[test]
fn nothing_is_left_of_a_command_when_the_program_is_killed() {
    let (call, mark) = endless(3);
    let world = world(&[&call]);
    let mut run = world.start(&RUN);
    run.read_until(r#""event":"progressed""#);
    assert!(alive(&mark) > 1);
    run.signal(Signal::KILL);
    run.wait();
    // The keeper goes last, and nobody is left to be told.
    while alive(&mark) > 0 {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_job_nobody_stopped_ends_with_the_run() {
    let (_, mark) = endless(4);
    let line = format!("setsid sleep {mark} & sleep {mark}");
    let call =
        format!("{{ tool = 'run_command', args = {{ command = '{line}', background = true }} }}");
    assert!(told(&world(&[&call]))[0].starts_with("[job-1 runs in the background"));
    assert_eq!(alive(&mark), 0);
}

#[test]
fn a_command_cannot_ask_at_the_persons_terminal() {
    let world = world(&[&command("echo Password: > /dev/tty; read answer < /dev/tty")]);
    let words = [PROGRAM, "run", "--mode", "dangerous", "go"];
    let (code, screen) = Terminal::start(&world, &words).finish();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("Password:\n"), "{screen}");
    let results = results(world.journal().iter().map(|event| &**event));
    assert!(results[0].failed && results[0].text.contains("/dev/tty"), "{results:?}");
}

#[test]
fn a_command_writes_where_its_agent_works_and_nowhere_else() {
    let line = "echo in >> inside; echo out > ../outside; echo out > /var/tmp/adjutant-outside";
    let call = command(line);
    let down = "{ tool = 'sub_agent', args = { prompt = 'go on' } }";
    let script = format!(
        "
        [[reply]]
        agent = 'root'
        calls = [{call}, {down}]
        [[reply]]
        agent = 'root.sub-1'
        calls = [{down}]
        [[reply]]
        agent = 'root.sub-1.sub-1'
        calls = [{call}]
        [[reply]]
        times = 3
        text = 'done'"
    );
    let world = World::new().script(&script).variable("PATH", "/usr/bin:/bin");
    told_in(&world, &CONFINED);
    assert_eq!(world.read("inside"), "in\nin\n");
    assert!(!world.project_directory().join("src/outside").exists());
    assert!(!fs::exists("/var/tmp/adjutant-outside").unwrap());
}

#[test]
fn what_leaves_the_sandbox_is_asked_about() {
    let calls = [
        "{ tool = 'run_command', args = { command = 'touch made', unconfined = true } }",
        "{ tool = 'run_command', args = { command = 'touch made', network = true } }",
        "{ tool = 'run_command', args = { command = 'touch made', directory = '/' } }",
    ];
    let world = world(&calls).file("there", "");
    for told in told_in(&world, &CONFINED) {
        assert!(told.starts_with("not run, since nobody is there to allow it"), "{told}");
    }
    assert_eq!(
        told_in(&world.script(&script(&[&command("ls")])), &CONFINED),
        ["there\n[exit code 0]"]
    );
}
