//! What the arguments do.

use std::{fs, process::Stdio};

use crate::support::World;

#[test]
fn version_and_help_look_at_nothing() {
    let world = World::new().user("this is not TOML").variable("ADJUTANT_NONSENSE", "1");
    let version = world.run(&["--version"]);
    assert_eq!((version.code, version.stderr.as_str()), (Some(0), ""));
    assert_eq!(version.stdout, format!("adjutant {}\n", env!("CARGO_PKG_VERSION")));
    let help = world.run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("Examples:") && !help.stdout.contains("__keep"));
}

#[test]
fn the_help_of_run_lists_the_exit_codes() {
    let help = World::new().run(&["run", "--help"]).stdout;
    for code in
        ["    0  ", "    1  ", "    2  ", "    3  ", "    4  ", "    5  ", "  124  ", "  130  "]
    {
        assert!(help.contains(&format!("\n{code}")), "{code} {help}");
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let world = World::new();
    for (arguments, complaint) in [
        (&["run", "--frobnicate"][..], "'--frobnicate'"),
        (&["run", "-p", "one", "two"], "cannot be used with"),
        (&["run", "--json", "--events", "go"], "cannot be used with"),
        (&["run", "--mode", "yolo", "go"], "[possible values: plan, ask, auto, dangerous]"),
        (&["run", "-c", "mode", "go"], "expected KEY=VALUE"),
        (&["demo", "--model", "other"], "'--model'"),
        (&["config", "--json", "path"], "cannot be used with"),
        (&["completions", "cobol"], "cobol"),
        (&["__keep"], "'__keep'"),
    ] {
        let stderr = world.refused(arguments);
        let first = stderr.lines().next().unwrap();
        assert!(first.contains(complaint), "{arguments:?}: {stderr}");
        assert!(stderr.lines().skip(1).all(|line| line.starts_with("hint: ")), "{stderr}");
    }
}

#[test]
fn without_a_command_there_is_help() {
    let done = World::new().run(&[]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
    assert!(done.stderr.contains("Usage: adjutant"), "{}", done.stderr);
}

#[test]
fn completions_are_written_for_each_shell() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let done = world.run(&["completions", shell]);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
        assert!(done.stdout.contains("rehearsal") || done.stdout.contains("--model"), "{shell}");
    }
}

#[test]
fn a_run_without_a_task_is_refused() {
    let world = World::new().variable("ADJUTANT_MODEL", "rehearsal");
    assert!(world.refused(&["run"]).contains("the task is empty"));
    assert!(world.refused(&["run", "-p", ""]).contains("the task is empty"));
    assert!(world.stdin(" \n").refused(&["run"]).contains("the task is empty"));
}

#[test]
fn a_directory_that_cannot_be_worked_in_is_refused() {
    let world = World::new();
    let file = world.project_directory().join("file");
    fs::write(&file, "").unwrap();
    for cwd in ["missing", file.to_str().unwrap()] {
        for command in
            [&["run", "--model", "rehearsal", "go", "--cwd", cwd][..], &["config", "--cwd", cwd]]
        {
            let stderr = world.refused(command);
            assert!(stderr.contains("cannot work in") && stderr.contains(cwd), "{stderr}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let world = World::new();
    for arguments in [&["config"][..], &["config", "--json"], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = world.command(arguments).stdin(Stdio::null()).stdout(writer).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_kept_command_hands_back_its_exit_code() {
    let world = World::new();
    let mut child = world.command(&["__keep", "--", "/bin/sh", "-c", "exit 7"]).spawn().unwrap();
    let stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    drop(stdin);
}
