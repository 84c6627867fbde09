//! Commands that try to outlive the call, the job or the agent they belong to.

use std::{fs, path::Path, time::Duration};

use adjutant_core::Mode;
use serde_json::json;
use tempfile::TempDir;

use crate::seat::{Seat, until};

/// Long enough for a slow machine; only a failure takes that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ways to leave a group, a session and a parent, of which one does not hear of its end. The
/// marks are found in the command lines of those who are away.
const ESCAPES: &str = "\
    nohup sleep MARK.1 > nohup.out & disown
    setsid sh -c 'sleep MARK.2 & setsid sleep MARK.3 & wait' &
    (setsid sh -c '(sleep MARK.4 &) &' &)
    sh -c 'trap \"\" TERM HUP INT; sleep MARK.5 & while true; do sleep MARK.6; done' &
    while [ $(cat /proc/[0-9]*/cmdline 2>&- | tr '\\0' '~' | grep -o 'sleep~MARK[.][1-6]~' | wc -l) -lt 6 ]
    do sleep 0.01; done
    echo away
";

/// A number of seconds that no other process sleeps.
fn mark(number: u32) -> String {
    (100_000 + number + std::process::id() * 16 % 100_000).to_string()
}

fn escape(mark: &str) -> String {
    ESCAPES.replace("MARK", mark)
}

/// Counts the processes whose command lines have a mark.
fn alive(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let lines = processes.filter_map(|process| fs::read(process.join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

fn seat(directory: &Path) -> Seat {
    Seat::at(directory).in_mode(Mode::Auto)
}

/// Ends an agent, as the engine does.
async fn end(seat: &Seat) {
    let held = std::mem::take(&mut *seat.held.lock().unwrap());
    for held in held {
        tokio::time::timeout(PATIENCE, held.end()).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn nothing_is_left_when_a_command_has_ended() {
    let (place, mark) = (TempDir::new().unwrap(), mark(1));
    let seat = seat(place.path());
    let text = seat.call("run_command", json!({ "command": escape(&mark) })).await.unwrap();
    assert_eq!(text, "away\n[exit code 0]");
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn nothing_is_left_when_the_time_is_up() {
    let (place, mark) = (TempDir::new().unwrap(), mark(2));
    let seat = seat(place.path());
    let command = escape(&mark) + "sleep 1000";
    let arguments = json!({ "command": command, "timeout": 1 });
    let text = seat.call("run_command", arguments).await.unwrap_err();
    let expected = "[timed out after 1 s and was killed, with all it started]";
    assert!(text.ends_with(expected), "{text}");
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn nothing_is_left_when_a_call_is_told_to_end() {
    let (place, mark) = (TempDir::new().unwrap(), mark(3));
    let seat = seat(place.path());
    let command = escape(&mark) + "sleep 1000";
    let call = seat.call("run_command", json!({ "command": command }));
    let (text, ()) = tokio::join!(call, async {
        until(|| !seat.progress.lock().unwrap().is_empty()).await;
        assert!(alive(&mark) >= 6);
        seat.token.cancel();
    });
    assert_eq!(text.unwrap_err(), "away\n[was stopped, with all it started]");
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn what_a_dropped_call_left_ends_with_the_agent() {
    let (place, mark) = (TempDir::new().unwrap(), mark(4));
    let seat = seat(place.path());
    let command = escape(&mark) + "sleep 1000";
    tokio::select! {
        text = seat.call("run_command", json!({ "command": command })) => panic!("{text:?}"),
        () = until(|| !seat.progress.lock().unwrap().is_empty()) => {}
    }
    assert!(alive(&mark) >= 6);
    end(&seat).await;
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn a_job_ends_with_its_agent_and_is_forgotten() {
    let (place, mark) = (TempDir::new().unwrap(), mark(5));
    let seat = seat(place.path());
    let command = escape(&mark) + "sleep 1000";
    seat.call("run_command", json!({ "command": command, "background": true })).await.unwrap();
    let text = seat.call("read_output", json!({ "job": "job-1", "wait": 60 })).await.unwrap();
    assert_eq!(text, "away\n[job-1: running]");
    assert!(alive(&mark) >= 6);
    end(&seat).await;
    assert_eq!(alive(&mark), 0);
    let gone = seat.call("read_output", json!({ "job": "job-1" })).await.unwrap_err();
    assert_eq!(gone, "there is no job `job-1`; there are: none");
}

#[tokio::test]
async fn nothing_is_left_of_a_job_that_is_stopped() {
    let (place, mark) = (TempDir::new().unwrap(), mark(6));
    let seat = seat(place.path());
    let command = escape(&mark) + "sleep 1000";
    seat.call("run_command", json!({ "command": command, "background": true })).await.unwrap();
    seat.call("read_output", json!({ "job": "job-1", "wait": 60 })).await.unwrap();
    let text = seat.call("stop_command", json!({ "job": "job-1" })).await.unwrap();
    assert_eq!(text, "[job-1: was stopped, with all it started]");
    assert_eq!(alive(&mark), 0);
    let again = seat.call("stop_command", json!({ "job": "job-1" })).await.unwrap();
    assert_eq!(again, text);
}

#[tokio::test]
async fn a_command_that_multiplies_is_gone_with_all_its_kind() {
    let (place, mark) = (TempDir::new().unwrap(), mark(7));
    let seat = seat(place.path());
    // Each starts two more, seven times over.
    let bomb = format!(
        "bomb() {{ if [ $1 -lt 7 ]; then bomb $(($1 + 1)) & bomb $(($1 + 1)) & fi; \
         exec sleep {mark}; }}; bomb 0"
    );
    let arguments = json!({ "command": bomb, "background": true });
    seat.call("run_command", arguments).await.unwrap();
    until(|| alive(&format!("sleep\0{mark}")) >= 255).await;
    seat.call("stop_command", json!({ "job": "job-1" })).await.unwrap();
    assert_eq!(alive(&mark), 0);
}

#[tokio::test]
async fn a_job_is_its_own_agents_and_nobody_elses() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let child = seat.other("root.sub-1").in_mode(Mode::Auto);
    for (owner, other, job) in [(&seat, &child, "job-1"), (&child, &seat, "job-2")] {
        let arguments = json!({ "command": "cat", "background": true });
        let begun = owner.call("run_command", arguments).await.unwrap();
        assert!(begun.contains(job), "{begun}");
        let calls = [
            ("read_output", json!({ "job": job })),
            ("write_input", json!({ "job": job, "text": "x" })),
            ("stop_command", json!({ "job": job })),
        ];
        for (tool, arguments) in calls {
            let refusal = other.call(tool, arguments.clone()).await.unwrap_err();
            assert!(refusal.starts_with(&format!("there is no job `{job}`")), "{refusal}");
            owner.call(tool, arguments).await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_agent_has_only_so_many_jobs_and_the_oldest_that_ended_makes_room() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path());
    let start = || seat.call("run_command", json!({ "command": "cat", "background": true }));
    for _ in 0..16 {
        start().await.unwrap();
    }
    let refusal = start().await.unwrap_err();
    assert!(refusal.starts_with("16 commands run in the background: stop one"), "{refusal}");
    for job in ["job-3", "job-2"] {
        seat.call("stop_command", json!({ "job": job })).await.unwrap();
    }
    assert!(start().await.unwrap().contains("job-17"));
    let refusal = seat.call("read_output", json!({ "job": "job-2" })).await.unwrap_err();
    assert!(refusal.starts_with("there is no job `job-2`; there are: job-1, job-3"), "{refusal}");
    // Those that can be asked for are held, and no others.
    start().await.unwrap();
    assert_eq!(seat.held.lock().unwrap().len(), 16);
}

#[tokio::test]
async fn a_command_has_only_the_files_it_was_given() {
    let place = TempDir::new().unwrap();
    let seat = seat(place.path()).in_mode(Mode::Dangerous);
    // Whoever runs the tests may leave something open for everybody.
    let open = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let left_open: Vec<_> = open.filter_map(|file| fs::read_link(file).ok()).collect();
    let arguments = json!({ "command": "readlink /proc/self/fd/*; true" });
    let text = seat.call("run_command", arguments).await.unwrap();
    let files = text.lines().filter(|line| !left_open.iter().any(|path| path == Path::new(line)));
    let [stdin, stdout, stderr, end] = files.collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert!(stdin.starts_with("pipe:") && stdout.starts_with("pipe:") && stdin != stdout, "{text}");
    assert_eq!((stdout, end), (stderr, "[exit code 0]"));
}
