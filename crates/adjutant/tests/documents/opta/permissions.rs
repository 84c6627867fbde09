//! What a child may do, and what it is told.

use adjutant_core::{Ending, EventKind, Mode};
use serde_json::{Value, json};

use super::{call, read, run, run_in, spawned, world};
use crate::support::World;

#[test]
fn a_child_is_told_its_task_and_little_else() {
    let order = json!({ "task": "find auth", "max_tool_calls": 10, "scope": "lib" });
    let ran = run_in(world(&spawned(&order, &[])).file("lib/a.txt", "a"), &[]);
    let prompt = ran.started("root.task-1").0.instructions.unwrap();
    let directory = ran.world.working_directory().canonicalize().unwrap();
    let directory = directory.to_str().unwrap();
    for part in ["find auth", directory, "10 tool calls", "concise", "summary", "Look only at lib."]
    {
        assert!(prompt.contains(part), "`{part}` is missing: {prompt}");
    }
    assert!(!prompt.contains("careful engineer"), "what the root is told is not for it: {prompt}");
    assert!(prompt.len() < 500, "{prompt}");
}

fn writes() -> Value {
    json!({ "calls": [call("write_file", json!({ "path": "new.txt", "content": "new" }))] })
}

#[test]
fn what_would_be_asked_is_denied_to_a_child_and_what_needs_no_asking_is_not() {
    for (mode, arguments, is_allowed) in [
        ("ask", json!({}), false),
        ("auto", json!({}), true),
        ("dangerous", json!({}), true),
        ("auto", json!({ "mode": "plan" }), false),
        ("dangerous", json!({ "mode": "auto" }), true),
    ] {
        let setting = format!("mode={mode}");
        let ran = run(&spawned(&arguments, &[writes()]), &["-c", &setting]);
        let result = &ran.results("root.task-1")[0];
        assert_eq!(result.failed, !is_allowed, "{mode} {arguments}: {result:?}");
        assert_eq!(ran.world.working_directory().join("new.txt").exists(), is_allowed);
        let asked = ran.at("root").any(|kind| matches!(kind, EventKind::Asked { .. }));
        assert!(!asked, "nobody is asked on its behalf");
    }
    let rule = ["-c", "permissions.ask=['write_file']"];
    let ran = run(&spawned(&json!({}), &[writes()]), &rule);
    let result = &ran.results("root.task-1")[0];
    assert!(result.text.contains("agents below the root may not ask"), "{result:?}");
}

#[test]
fn a_child_asks_nobody() {
    let asks = json!({ "calls": [call("ask_user", json!({ "question": "which?" }))] });
    let ran = run(&spawned(&json!({}), &[asks]), &[]);
    let result = &ran.results("root.task-1")[0];
    assert!(result.failed && result.text.contains("decide for yourself"), "{result:?}");
}

#[test]
fn a_childs_mode_is_its_parents_or_what_the_call_says_and_never_freer() {
    for (flags, arguments, mode) in [
        (&["-c", "mode=auto"][..], json!({}), Mode::Auto),
        (&["-c", "mode=dangerous"], json!({}), Mode::Dangerous),
        (&["-c", "mode=auto"], json!({ "mode": "plan" }), Mode::Plan),
        (&["-c", "mode=ask"], json!({ "mode": "auto" }), Mode::Ask),
        (&["-c", "mode=auto", "-c", "sub_agents.inherit_mode=false"], json!({}), Mode::Ask),
        (
            &["-c", "mode=auto", "-c", "sub_agents.inherit_mode=false"],
            json!({ "mode": "auto" }),
            Mode::Auto,
        ),
    ] {
        let ran = run(&spawned(&arguments, &[]), flags);
        assert_eq!(ran.started("root.task-1").1, mode, "{flags:?} {arguments}");
        let is_cut = arguments["mode"] == mode.name() || arguments["mode"].is_null();
        assert_eq!(!ran.told().contains("mode auto was cut to ask"), is_cut, "{}", ran.told());
    }
    let ran = run(&spawned(&json!({ "mode": "dangerous" }), &[]), &["-c", "mode=dangerous"]);
    assert!(ran.complaint().contains("expected `plan` or `auto`"), "{}", ran.complaint());
}

#[test]
fn a_scope_is_all_there_is_for_a_child() {
    let below = [json!({ "calls": [
        call("read_file", json!({ "path": "lib/in.txt" })),
        call("read_file", json!({ "path": "out.txt" })),
        call("write_file", json!({ "path": "new.txt", "content": "new" })),
        call("spawn_agent", json!({ "task": "further", "scope": "." })),
    ] })];
    let world = world(&spawned(&json!({ "scope": "lib" }), &below));
    let ran = run_in(world.file("lib/in.txt", "inside").file("out.txt", "outside"), &[]);
    let results = ran.results("root.task-1");
    let failed: Vec<_> = results.iter().map(|result| result.failed).collect();
    assert_eq!(failed, [false, true, true, true], "{results:#?}");
    assert!(results[3].text.contains("outside your scope"), "{results:#?}");
    let outside = run(&spawned(&json!({ "scope": "../.." }), &[]), &[]);
    assert!(outside.complaint().contains("is outside your scope"), "{}", outside.complaint());
    let missing = run(&spawned(&json!({ "scope": "lib" }), &[]), &[]);
    assert!(missing.complaint().contains("lib`: `scope` is a directory or file that is there"));
    assert!(!missing.has_started("root.task-1"));
}

#[test]
fn git_keeps_what_the_root_did_and_nothing_for_a_child() {
    let git = |world: &World, arguments: &[&str]| {
        let output = world.prepare("git", arguments).env("PATH", env!("PATH")).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    for (end, commits) in [
        (json!({ "text": "done" }), 2),
        (json!({ "error": { "kind": "refused", "message": "no" } }), 1),
    ] {
        let mut replies = spawned(
            &json!({}),
            &[writes(), json!({ "calls": [read(1)] }), json!({ "text": "ok" })],
        );
        let mut end = end.clone();
        end["agent"] = "root".into();
        replies.as_array_mut().unwrap().insert(1, end);
        let world = world(&replies).file("a.txt", "0").variable("PATH", env!("PATH"));
        git(&world, &["init", "--quiet"]);
        git(&world, &["config", "user.name", "Ada"]);
        git(&world, &["config", "user.email", "ada@example.org"]);
        git(&world, &["add", "--all"]);
        git(&world, &["commit", "--quiet", "-m", "first"]);
        let ran = run_in(world, &["-c", "git.auto_commit=true", "-c", "git.checkpoints=true"]);
        assert_eq!(ran.finished("root.task-1").0, Ending::Completed);
        assert_eq!(git(&ran.world, &["log", "--format=%h"]), commits, "{:?}", ran.done.stderr);
        let checkpoints = git(&ran.world, &["for-each-ref", "refs/adjutant"]);
        assert_eq!(checkpoints, 1, "one for the root's turn, none for the child's three");
    }
}

#[test]
fn a_child_has_no_session_of_its_own() {
    let ran = run(&spawned(&json!({}), &[]), &[]);
    let journal = ran.world.journal();
    assert!(journal.iter().any(|event| event.path.as_str() == "root.task-1"));
    assert!(journal.iter().any(|event| event.path.as_str() == "root"));
}
