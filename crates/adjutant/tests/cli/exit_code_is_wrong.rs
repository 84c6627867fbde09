//! Every exit code, from a run that earns it.

use std::{thread, time::Duration};

use adjutant_core::{AgentPath, Ending, EventKind};
use rustix::process::Signal;

use crate::{
    scripts::{HANGING, TREE},
    support::{Done, World},
};

/// Plays a script and returns its exit code and its answer.
fn play(script: &str, flags: &[&str]) -> (Option<i32>, String) {
    let Done { code, stdout, .. } =
        World::new().script(script).run(&[&["run", "go"], flags].concat());
    (code, stdout)
}

fn ends_with(code: i32, answer: &str) -> (Option<i32>, String) {
    (Some(code), answer.to_owned())
}

#[test]
fn a_task_that_is_done_is_0() {
    assert_eq!(play(TREE, &["--quiet"]).0, Some(0));
}

#[test]
fn an_agent_that_goes_round_in_circles_is_1() {
    let script = "
        [[reply]]
        times = 'any'
        text = 'again'
        calls = [{ tool = 'list_dir' }]";
    assert_eq!(play(script, &[]), ends_with(1, "again\n"));
}

#[test]
fn a_setting_that_makes_no_sense_is_2() {
    assert_eq!(play(TREE, &["-c", "budget.turns=none"]), ends_with(2, ""));
}

#[test]
fn a_model_that_refuses_is_3() {
    let script = "
        [[reply]]
        text = 'I could, but'
        error = { kind = 'refused' }";
    assert_eq!(play(script, &[]), ends_with(3, "I could, but\n"));
}

#[test]
fn a_model_that_has_nothing_to_say_is_3() {
    let script = "
        [[reply]]
        agent = 'root.somebody-else'
        text = 'hello'";
    assert_eq!(play(script, &[]), ends_with(3, ""));
}

#[test]
fn a_child_that_fails_does_not_fail_its_parent() {
    let script = "
        [[reply]]
        agent = 'root'
        calls = [{ tool = 'sub_agent', args = { prompt = 'try' } }]
        [[reply]]
        agent = 'root.sub-1'
        error = { kind = 'refused' }
        [[reply]]
        agent = 'root'
        text = 'It did not work.'";
    assert_eq!(play(script, &[]), ends_with(0, "It did not work.\n"));
}

#[test]
fn a_budget_that_is_spent_is_4_and_the_last_words_are_the_answer() {
    let script = "
        [[reply]]
        times = 'any'
        text = 'Let me look.'
        calls = [{ tool = 'list_dir' }]
        usage = { input = 3500, output = 500 }
        [[reply]]
        last = true
        text = 'I had only begun.'";
    for limit in ["budget.turns=1", "budget.calls=1", "budget.tokens=16000"] {
        assert_eq!(play(script, &["-c", limit]), ends_with(4, "I had only begun.\n"), "{limit}");
    }
}

#[test]
fn a_question_that_must_be_answered_is_5() {
    let script = "
        [[reply]]
        text = 'I have to ask.'
        calls = [{ tool = 'ask_user', args = { question = 'which?' } }]";
    assert_eq!(play(script, &["-c", "unattended=fail"]), ends_with(5, "I have to ask.\n"));
}

#[test]
fn time_that_is_up_is_124_and_the_last_words_are_the_answer() {
    let script = "
        [[reply]]
        turn = 1
        hang = true
        [[reply]]
        last = true
        text = 'Too slow.'";
    assert_eq!(play(script, &["-c", "budget.time=1"]), ends_with(124, "Too slow.\n"));
}

#[test]
fn a_run_that_is_interrupted_is_130_and_keeps_what_was_said() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::new().script(HANGING);
        let mut run = world.start(&["run", "go"]);
        run.hear_until("root.sub-1 started");
        run.signal(signal);
        let Done { code, stdout, stderr } = run.finish();
        assert_eq!(code, Some(130), "{stderr}");
        assert!(stdout.starts_with("I have begun.\n"), "{stdout}");
        let endings: Vec<_> =
            stderr.lines().filter(|line| line.contains(" cancelled · ")).collect();
        assert_eq!(endings.len(), 2, "{stderr}");
        assert!(endings[0].starts_with("root.sub-1 ") && endings[1].starts_with("root "));
    }
}

#[test]
fn an_interrupted_run_is_seen_to_its_end() {
    let world = World::new().script(HANGING);
    let mut run = world.start(&["run", "--events", "go"]);
    run.read_until("still thinking");
    run.signal(Signal::INT);
    let done = run.finish();
    assert_eq!(done.code, Some(130));
    let ends = |event: &&adjutant_core::Event| matches!(event.kind, EventKind::Finished { .. });
    let events = done.events();
    let ended: Vec<_> = events.iter().filter(ends).map(|event| event.path.as_str()).collect();
    assert_eq!(ended, ["root.sub-1", "root"]);
    assert_eq!(**world.journal().last().unwrap(), *events.last().unwrap());
}

/// Nobody reads the output, so the front end can do nothing; the first interrupt must stop the
/// tree all the same, and the second the process.
#[test]
fn a_second_interrupt_leaves_at_once() {
    let words = "word ".repeat(50_000);
    let script = format!("max_output = 100_000\n{}", HANGING.replace("I have begun.", &words));
    let world = World::new().script(&script);
    let mut run = world.start(&["run", "--events", "go"]);
    let child = AgentPath::root().child("sub", 1);
    let wait_for = |done: &dyn Fn(&adjutant_core::Event) -> bool| {
        let is_there = (0..2000).any(|_| {
            thread::sleep(Duration::from_millis(5));
            world.journal().iter().any(|event| done(event))
        });
        assert!(is_there, "{:?}", world.journal());
    };
    wait_for(&|event| event.path == child);
    run.signal(Signal::INT);
    wait_for(&|event| match &event.kind {
        EventKind::Finished { outcome, .. } => {
            event.path == AgentPath::root() && outcome.ending == Ending::Cancelled
        }
        _ => false,
    });
    run.signal(Signal::INT);
    assert_eq!(run.wait(), Some(130));
}
