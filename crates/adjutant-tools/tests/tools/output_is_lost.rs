//! What commands write, read and end with, however they do it.

use std::{fs, path::Path};

use adjutant_core::{Effect, Fact, Mode, Target, Touch};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::seat::{Seat, tool, until};

fn seat(directory: &Path) -> Seat {
    Seat::at(directory).in_mode(Mode::Dangerous)
}

/// Runs a command in a directory of its own.
async fn run(command: &str) -> Result<String, String> {
    let place = TempDir::new().unwrap();
    seat(place.path()).call("run_command", json!({ "command": command })).await
}

fn ok(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

fn failed(text: &str) -> Result<String, String> {
    Err(text.to_owned())
}

#[tokio::test]
async fn a_result_has_what_was_written_and_how_it_ended() {
    assert_eq!(run("echo hello").await, ok("hello\n[exit code 0]"));
    assert_eq!(run("printf hello").await, ok("hello\n[exit code 0]"));
    assert_eq!(run("true").await, ok("[no output]\n[exit code 0]"));
    assert_eq!(run("echo no; exit 3").await, failed("no\n[exit code 3]"));
    assert_eq!(
        run("kill -9 $$").await,
        failed("[no output]\n[exit code 137 (128+9: likely SIGKILL)]")
    );
    assert_eq!(
        run("kill -SEGV $$").await,
        failed("[no output]\n[exit code 139 (128+11: likely SIGSEGV)]")
    );
    let missing = run("no-such-program").await.unwrap_err();
    assert!(missing.contains("no-such-program: command not found"), "{missing}");
    assert!(missing.ends_with("[exit code 127]"), "{missing}");
}

#[tokio::test]
async fn both_outputs_are_in_the_order_they_were_written() {
    let command = "for n in 1 2 3; do echo out $n; echo err $n >&2; done";
    let expected = "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n[exit code 0]";
    assert_eq!(run(command).await, ok(expected));
}

#[tokio::test]
async fn of_megabytes_the_beginning_and_the_end_are_shown() {
    let text = run("echo first; yes | head -c 8000000; echo final; exit 1").await.unwrap_err();
    assert!(text.starts_with("first\ny\n") && text.ends_with("y\nfinal\n[exit code 1]"));
    assert!(text.len() < 66_000, "{}", text.len());
    let kept = text.matches("y\n").count() * 2 + "first\nfinal\n".len();
    let left_out = 8_000_012 - kept;
    assert!(text.contains(&format!("[{left_out} bytes, {} lines, left out", left_out / 2)));
}

#[tokio::test]
async fn garbage_becomes_text() {
    assert_eq!(run(r"printf 'half\303'").await, ok("half\u{fffd}\n[exit code 0]"));
    let text = run(r"printf '\000\001\033[31mred\377\376\033[0m\n'; head -c 100000 /dev/urandom");
    let text = text.await.unwrap();
    assert!(text.starts_with("red\u{fffd}\u{fffd}\n"), "{text}");
    assert!(text.ends_with("\n[exit code 0]"), "{text}");
    let is_plain = |char: char| char == '\n' || char == '\t' || !char.is_control();
    assert!(text.chars().all(is_plain), "{text:?}");
}

#[tokio::test]
async fn what_was_written_before_the_time_was_up_is_shown() {
    let place = TempDir::new().unwrap();
    let arguments = json!({ "command": "printf 'Password: '; sleep 1000", "timeout": 1 });
    let text = seat(place.path()).call("run_command", arguments).await;
    let expected = "Password: \n[timed out after 1 s and was killed, with all it started]";
    assert_eq!(text, failed(expected));
}

#[tokio::test]
async fn a_command_that_reads_finds_the_end_and_no_terminal() {
    assert_eq!(run("cat; echo done").await, ok("done\n[exit code 0]"));
    let text = run("read answer < /dev/tty").await.unwrap_err();
    assert!(text.contains("/dev/tty"), "{text}");
}

#[tokio::test]
async fn the_latest_line_is_told_while_a_command_runs() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    // Waits until somebody looks.
    let command = "mkfifo go; echo one; echo two; read < go; echo three";
    let call = seat.call("run_command", json!({ "command": command }));
    let (text, ()) = tokio::join!(call, async {
        until(|| seat.progress.lock().unwrap().last().is_some_and(|line| line == "two")).await;
        fs::write(place.path().join("go"), "\n").unwrap();
    });
    assert_eq!(text, ok("one\ntwo\nthree\n[exit code 0]"));
}

#[tokio::test]
async fn the_receipt_has_the_command_and_its_code() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let calls = [
        (json!({ "command": "true" }), Some(0)),
        (json!({ "command": "exit 7" }), Some(7)),
        (json!({ "command": "sleep 1000", "timeout": 1 }), None),
        (json!({ "command": "sleep 1001", "background": true }), None),
    ];
    for (arguments, code) in calls {
        let _ = seat.call("run_command", arguments.clone()).await;
        let command = arguments["command"].as_str().unwrap().to_owned();
        assert_eq!(seat.facts.lock().unwrap().pop(), Some(Fact::Ran { command, code }));
    }
}

#[tokio::test]
async fn a_command_runs_in_the_directory_it_is_given() {
    let place = TempDir::new().unwrap();
    let directory = place.path().canonicalize().unwrap();
    fs::create_dir(directory.join("below")).unwrap();
    fs::write(directory.join("file"), "").unwrap();
    let seat = seat(&directory);
    let call = async |within: &str| {
        seat.call("run_command", json!({ "command": "pwd", "directory": within })).await
    };
    let below = format!("{}/below\n[exit code 0]", directory.display());
    assert_eq!(call("below").await, ok(&below));
    assert_eq!(call("file").await, failed("`file` is not a directory"));
    assert!(call("missing").await.unwrap_err().starts_with("`missing`: No such file"));
}

#[tokio::test]
async fn what_cannot_be_obeyed_is_refused() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let cases = [
        (json!({ "command": " \n" }), "`command` is empty"),
        (json!({ "command": "true", "timeout": 0 }), "`timeout` is 0 seconds: expected 1 to 3600"),
        (json!({ "command": "true", "timeout": 3601 }), "`timeout` is 3601 seconds"),
    ];
    for (arguments, why) in cases {
        let error = seat.call("run_command", arguments).await.unwrap_err();
        assert!(error.starts_with(why), "{error}");
    }
    assert!(seat.facts.lock().unwrap().is_empty() && seat.held.lock().unwrap().is_empty());
    let job = |rest: Value| {
        let mut arguments = json!({ "job": "job-1" });
        arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        arguments
    };
    seat.call("run_command", json!({ "command": "cat", "background": true })).await.unwrap();
    let error = seat.call("read_output", job(json!({ "wait": 601 }))).await.unwrap_err();
    assert!(error.starts_with("`wait` is 601 seconds: expected at most 600"), "{error}");
    for nothing in [json!({}), json!({ "text": "" }), json!({ "close": false })] {
        let error = seat.call("write_input", job(nothing)).await.unwrap_err();
        assert!(error.starts_with("there is neither a `text` nor `close`"), "{error}");
    }
}

#[tokio::test]
async fn a_job_answers_what_it_is_given() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let begun = json!({ "command": "cat; exit 4", "background": true });
    assert!(seat.call("run_command", begun).await.unwrap().starts_with("[job-1 runs in"));
    let read = |wait: u64| seat.call("read_output", json!({ "job": "job-1", "wait": wait }));
    assert_eq!(read(0).await, ok("[nothing new]\n[job-1: running]"));
    // More than the pipe takes at a time, and the same back.
    let long = "é".repeat(10_000) + "\n";
    for text in ["one\n", "two", long.as_str()] {
        let given = seat.call("write_input", json!({ "job": "job-1", "text": text })).await;
        assert_eq!(given, ok("[given to job-1]"));
        let mut answer = String::new();
        while answer.len() < text.len() {
            let piece = read(60).await.unwrap();
            let piece = piece.strip_suffix("[job-1: running]").unwrap();
            answer += if text.ends_with('\n') { piece } else { piece.trim_end() };
        }
        assert_eq!(answer.replace('\n', ""), text.replace('\n', ""));
    }
    let last = json!({ "job": "job-1", "text": "three", "close": true });
    seat.call("write_input", last).await.unwrap();
    let mut rest = String::new();
    while !rest.contains("ended") {
        rest += &read(60).await.unwrap();
    }
    assert!(rest.starts_with("three\n") && rest.ends_with("[job-1: ended: exit code 4]"), "{rest}");
    assert_eq!(read(60).await, ok("[nothing new]\n[job-1: ended: exit code 4]"));
    let more = json!({ "job": "job-1", "text": "four" });
    let refusal = "job-1 reads nothing more, it has ended: exit code 4";
    assert_eq!(seat.call("write_input", more).await, failed(refusal));
}

#[tokio::test]
async fn input_after_its_end_is_refused() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let begun = json!({ "command": "cat; mkfifo go; echo read; read < go", "background": true });
    seat.call("run_command", begun).await.unwrap();
    seat.call("write_input", json!({ "job": "job-1", "close": true })).await.unwrap();
    let text = seat.call("read_output", json!({ "job": "job-1", "wait": 60 })).await;
    assert_eq!(text, ok("read\n[job-1: running]"));
    let more = seat.call("write_input", json!({ "job": "job-1", "text": "x" })).await;
    assert_eq!(more, failed("job-1 reads nothing more: its input is closed"));
}

#[tokio::test]
async fn a_job_that_does_not_read_can_be_stopped_and_its_giver_is_told() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let begun = json!({ "command": "sleep 1000", "background": true });
    seat.call("run_command", begun).await.unwrap();
    // Fills the pipes to and from the keeper, and what is on its way between them.
    let text = "x".repeat(1_000_000);
    let give = || seat.call("write_input", json!({ "job": "job-1", "text": text }));
    assert!(give().await.is_ok() && give().await.is_ok());
    tokio::time::pause();
    let refusal = "job-1 has not read what it was given before; nothing was added";
    assert_eq!(give().await, failed(refusal));
    tokio::time::resume();
    let stopped = seat.call("stop_command", json!({ "job": "job-1" })).await;
    assert_eq!(stopped, ok("[job-1: was stopped, with all it started]"));
}

#[test]
fn a_command_is_judged_by_all_it_asks_for() {
    let touches = |arguments: Value| tool("run_command").touches(&arguments, Path::new("/work"));
    let plain = touches(json!({ "command": "make" }));
    let words = |effect, words: &str| Touch { effect, target: Target::Words(words.into()) };
    assert!(plain.contains(&words(Effect::Execute, "make")), "{plain:?}");
    assert!(!plain.contains(&words(Effect::Reach, "network: make")));
    let network = touches(json!({ "command": "make", "network": true }));
    assert!(network.contains(&words(Effect::Reach, "network: make")));
    let free = touches(json!({ "command": "make", "unconfined": true }));
    assert!(free.contains(&words(Effect::Unconfined, "unconfined: make")));
    let elsewhere = touches(json!({ "command": "make", "directory": "/etc" }));
    let target = Target::Path("/etc".into());
    assert!(elsewhere.contains(&Touch { effect: Effect::Read, target }));
}

#[test]
fn what_does_not_hold_a_command_is_told_unless_it_asks_for_nothing_to() {
    let caution = |arguments: Value| tool("run_command").caution(&arguments);
    let told = caution(json!({ "command": "make" })).unwrap();
    assert!(told.starts_with("there is no sandbox, because"), "{told}");
    assert_eq!(caution(json!({ "command": "make", "unconfined": true })), None);
}

#[tokio::test]
async fn input_is_judged_by_what_the_job_may_do() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let begun =
        json!({ "command": "cat", "background": true, "network": true, "unconfined": true });
    seat.call("run_command", begun).await.unwrap();
    let judged = seat.touches("write_input", &json!({ "job": "job-1", "text": "ls\n" }));
    let words = |effect, words: &str| Touch { effect, target: Target::Words(words.into()) };
    let expected = [
        words(Effect::Execute, "ls\n"),
        words(Effect::Reach, "network: cat"),
        words(Effect::Unconfined, "unconfined: cat"),
    ];
    assert_eq!(judged, expected);
}

#[tokio::test]
async fn input_that_was_judged_before_its_job_began_is_refused() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let begun = json!({ "command": "sh", "background": true, "unconfined": true });
    let input = json!({ "job": "job-1", "text": "exit 3\n" });
    // As in one message: both are judged, then both are run.
    let same_agent = seat.other("root");
    let start = || {
        same_agent.call("run_command", begun).now_or_never().unwrap().unwrap();
    };
    let refusal = seat.call_after("write_input", input.clone(), start).await;
    assert_eq!(refusal, failed("job-1 was not there when this was judged: try again"));
    seat.call("write_input", input).await.unwrap();
}
