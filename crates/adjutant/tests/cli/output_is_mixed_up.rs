//! What goes to stdout, what to stderr, and whether the three ways to tell it agree.

use std::collections::BTreeMap;

use adjutant_core::{Answer, EventKind, State, Tree, Usage};
use serde_json::Value;

use crate::{scripts::TREE, support::World};

/// What is told of an agent: how it ended, how many tools it called, its tokens.
type Figures = BTreeMap<String, (String, u64, Usage)>;

/// What a result tells, by the alphabet.
const FIELDS: [&str; 22] = [
    "agent",
    "agents",
    "artifacts",
    "cause",
    "clamped",
    "commands",
    "cost_usd",
    "duration_ms",
    "ending",
    "failed_hooks",
    "files_modified",
    "files_read",
    "handovers",
    "model",
    "reason",
    "session",
    "text",
    "tokens",
    "tool_calls",
    "turns",
    "unanswered",
    "uncontained",
];

const ANSWER: &str = "Two files,  \nin euro.\n";

fn figures(tree: &Tree) -> Figures {
    let figures = tree.nodes().iter().map(|node| {
        let ending = node.outcome.as_ref().unwrap().ending.to_string();
        (node.path.to_string(), (ending, node.calls, node.usage))
    });
    figures.collect()
}

fn figures_of_json(result: &Value) -> Figures {
    let agents = result["agents"].as_array().unwrap().iter();
    let figures = agents.map(|agent| {
        let text = |name: &str| agent[name].as_str().unwrap().to_owned();
        let usage = serde_json::from_value(agent["tokens"].clone()).unwrap();
        (text("path"), (text("state"), agent["calls"].as_u64().unwrap(), usage))
    });
    figures.collect()
}

#[test]
fn the_answer_is_alone_on_stdout_and_progress_is_on_stderr() {
    let done = World::new().script(TREE).run(&["run", "go"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ANSWER));
    let lines: Vec<_> = done.stderr.lines().collect();
    assert_eq!(lines[0], "root started: go");
    assert!(lines.contains(&"root.sub-2.sub-1 was not answered: nobody was there"), "{lines:?}");
    assert!(lines[9].starts_with("root completed · 2 calls · 693 tokens · "), "{lines:?}");
    assert_eq!(lines.len(), 10, "{lines:?}");
}

#[test]
fn nothing_is_drawn_where_there_is_no_terminal() {
    let world = World::new().file("README.md", "# A project").file("a/b.rs", "// TODO");
    let done = world.run(&["demo"]);
    assert_eq!(done.code, Some(0));
    assert!(!done.stdout.contains('\u{1b}') && !done.stderr.contains('\u{1b}'), "{done:?}");
    assert!(!done.stdout.contains('\r') && !done.stderr.contains('\r'), "{done:?}");
}

#[test]
fn a_program_gets_an_answer_as_it_is() {
    let script = "[[reply]]\ntext = \"\\u001B[1mfour\\u001B[0m\\r\\n\"";
    let done = World::new().script(script).run(&["run", "go"]);
    assert_eq!(done.stdout, "\u{1b}[1mfour\u{1b}[0m\r\n");
}

#[test]
fn a_quiet_run_says_nothing_but_its_answer_and_warnings() {
    let done = World::new().script(TREE).run(&["run", "--quiet", "go"]);
    let warning = "warning: nobody was there to answer root.sub-2.sub-1\n";
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), (ANSWER, warning));
}

#[test]
fn a_quiet_run_says_why_there_is_no_answer() {
    let script = "[[reply]]\nerror = { kind = 'refused', message = 'I will not' }";
    let done = World::new().script(script).run(&["run", "--quiet", "go"]);
    assert_eq!(done.stdout, "");
    assert_eq!(done.stderr, "failed: the model failed: I will not\n");
}

#[test]
fn a_result_is_one_object_with_the_fields_there_are() {
    let done = World::new().script(TREE).run(&["run", "--json", "go"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(done.stdout.matches('\n').count(), 1, "{}", done.stdout);
    let result: Value = serde_json::from_str(&done.stdout).unwrap();
    let fields: Vec<_> = result.as_object().unwrap().keys().collect();
    assert_eq!(fields, FIELDS);
    assert_eq!(result["text"], ANSWER.trim_end());
    assert_eq!((&result["ending"], &result["reason"]), (&"completed".into(), &Value::Null));
    assert_eq!((&result["turns"], &result["tool_calls"]), (&8.into(), &6.into()));
    assert_eq!(
        (&result["tokens"]["input"], &result["tokens"]["output"]),
        (&630.into(), &63.into())
    );
    assert_eq!(result["unanswered"][0]["agent"], "root.sub-2.sub-1");
    assert_eq!(result["unanswered"][0]["prompt"], "Which?");
}

#[test]
fn every_event_is_a_line_that_tells_where_it_belongs() {
    let done = World::new().script(TREE).run(&["run", "--events", "go"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    for line in done.stdout.lines().filter(|line| !line.contains(r#""event":"lagged""#)) {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["seq"].is_u64() && event["at"].is_u64(), "{line}");
        assert!(event["path"].as_str().unwrap().starts_with("root"), "{line}");
        assert_eq!(event["id"].as_str().unwrap().len(), 36, "{line}");
    }
    let events = done.events();
    let kept = events.iter().filter(|event| event.kind.is_kept()).map(|event| event.seq);
    assert!(kept.eq(1..=events.last().unwrap().seq), "{}", done.stdout);
}

#[test]
fn events_journal_and_result_tell_of_the_same_tree() {
    let world = World::new().script(TREE);
    let shown = world.run(&["run", "--events", "go"]).events();
    let tree = Tree::fold(&shown);
    let kept = world.journal();
    assert_eq!(Tree::fold(kept.iter().map(|event| &**event)), tree);
    assert!(shown.iter().filter(|event| event.kind.is_kept()).eq(kept.iter().map(|it| &**it)));

    let result = world.run(&["run", "--json", "go"]).stdout;
    let result = serde_json::from_str(&result).unwrap();
    assert_eq!(figures_of_json(&result), figures(&tree));
    assert_eq!(figures_of_json(&result).len(), 4);
}

#[test]
fn the_events_of_a_demo_are_a_tree_with_a_question_nobody_answered() {
    let world = World::new().file("README.md", "# Two").file("one/a.rs", "").file("two/b.md", "");
    let done = world.run(&["demo", "--events"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let events = done.events();
    let tree = Tree::fold(&events);
    let mut paths: Vec<_> = tree.nodes().iter().map(|node| node.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["root", "root.agent-3", "root.sub-1", "root.sub-2"]);
    assert!(tree.nodes().iter().all(|node| node.state == State::Completed), "{tree:?}");

    let asked = events.iter().find_map(|event| match &event.kind {
        EventKind::Asked { question, .. } => Some((&event.path, *question)),
        _ => None,
    });
    let answered = events.iter().find_map(|event| match &event.kind {
        EventKind::Answered { question, answer: Answer::Unattended } => {
            Some((&event.path, *question))
        }
        _ => None,
    });
    assert!(asked.is_some());
    assert_eq!(asked, answered);
}
