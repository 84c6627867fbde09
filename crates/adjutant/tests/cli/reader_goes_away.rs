//! Nobody reads what a run writes.

use adjutant_core::{Ending, EventKind};

use crate::support::World;

const STUCK: &str = "
[[reply]]
times = 'any'
calls = [{ tool = 'list_dir' }]
";

/// A root that would talk for a minute.
fn talker() -> World {
    let words = "word ".repeat(3000);
    World::new().script(&format!("[[reply]]\ntext = '{words}'\nchunk_ms = 20"))
}

#[test]
fn a_run_ends_by_itself_when_its_events_are_not_read_any_more() {
    let world = talker();
    let mut run = world.start(&["run", "--events", "go"]);
    run.read_until("\n");
    run.stop_reading();
    let done = run.finish();
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let last = world.journal().last().unwrap().clone();
    let EventKind::Finished { outcome, .. } = &last.kind else { panic!("{last:?}") };
    assert_eq!(outcome.ending, Ending::Cancelled);
}

#[test]
fn an_answer_that_nobody_reads_is_not_an_error() {
    for flag in ["--quiet", "--json"] {
        let world = World::new().script("[[reply]]\ntext = 'four'");
        let mut run = world.start(&["run", "go", flag]);
        run.stop_reading();
        let done = run.finish();
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{flag}");
    }
}

#[test]
fn a_reason_that_nobody_reads_does_not_change_the_code() {
    let world = World::new().script(STUCK);
    let mut run = world.start(&["run", "--quiet", "go"]);
    run.stop_hearing();
    assert_eq!(run.finish().code, Some(1));
}

#[test]
fn progress_that_nobody_reads_does_not_cost_the_answer() {
    let words = "word ".repeat(50);
    let script = format!("[[reply]]\ntext = '{words}'\nchunk_ms = 5");
    let world = World::new().script(&script);
    let mut run = world.start(&["run", "go"]);
    run.hear_until("started");
    run.stop_hearing();
    let done = run.finish();
    assert_eq!((done.code, done.stdout.trim()), (Some(0), words.trim()));
}
