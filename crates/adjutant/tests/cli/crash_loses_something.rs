//! The process dies. What was shown must be in the journal, as it was shown.

use adjutant_core::{Event, Tree};
use rustix::process::Signal;

use crate::support::{Done, World};

/// A tree with two children that are waited for, one of which asks, and one in the background.
/// It takes `pace` milliseconds for each word.
fn forest(pace: u64) -> World {
    World::new().file("notes.md", "one\ntwo\n").script(&format!(
        r#"
        [[reply]]
        agent = "root"
        text = "Three will look, each at something else."
        calls = [
            {{ tool = "sub_agent", args = {{ prompt = "read the notes" }} }},
            {{ tool = "sub_agent", args = {{ prompt = "ask about them" }} }},
            {{ tool = "agent_spawn", args = {{ prompt = "look around" }} }},
        ]
        chunk_ms = {pace}

        [[reply]]
        agent = "root"
        times = "any"
        text = "That is all there is to say about it."
        chunk_ms = {pace}

        [[reply]]
        task = "read the notes"
        text = "I read them now."
        calls = [{{ tool = "read_file", args = {{ path = "notes.md" }} }}]
        chunk_ms = {pace}

        [[reply]]
        task = "ask about them"
        calls = [{{ tool = "ask_user", args = {{ question = "What do they mean?" }} }}]
        delay_ms = {pace}

        [[reply]]
        task = "look around"
        calls = [{{ tool = "list_dir" }}, {{ tool = "find_files", args = {{ pattern = "*" }} }}]
        delay_ms = {pace}

        [[reply]]
        text = "I have seen all of it."
        chunk_ms = {pace}
        "#
    ))
}

/// Checks that the journal has what was shown, and returns how many events each has.
fn check(world: &World, shown: &[Event]) -> (usize, usize) {
    let journal = world.journal();
    assert!(journal.iter().map(|event| event.seq).eq(1..=journal.len() as u64), "{journal:?}");
    let kept: Vec<_> = shown.iter().filter(|event| event.kind.is_kept()).collect();
    for (place, event) in kept.iter().enumerate() {
        assert_eq!(journal.get(place).map(|event| &**event), Some(*event));
    }
    let tree = Tree::fold(journal.iter().map(|event| &**event));
    assert!(shown.iter().all(|event| tree.node(&event.path).is_some()), "{tree:?}");
    (kept.len(), journal.len())
}

/// Lets the process die at each of its commits in turn, until there is no such commit, and
/// returns what was shown and what was kept each time.
fn die_at_each(place: &str) -> Vec<(usize, usize)> {
    let mut counts = Vec::new();
    for commit in 1.. {
        let world = forest(0).variable("ADJUTANT_FAILPOINT", &format!("{place}:{commit}"));
        let done = world.run(&["run", "--events", "go"]);
        counts.push(check(&world, &done.events()));
        match done.code {
            None => {}
            Some(code) => {
                assert_eq!(code, 0, "{}", done.stderr);
                return counts;
            }
        }
    }
    unreachable!("a run has an end")
}

#[test]
fn what_is_committed_and_not_shown_is_there() {
    let mut counts = die_at_each("after_commit");
    let (shown, kept) = counts.pop().unwrap();
    assert_eq!(shown, kept);
    assert!(counts.len() >= 10, "{counts:?}");
    for (shown, kept) in counts {
        assert!(kept > shown, "{shown} of {kept}");
    }
}

#[test]
fn what_is_shown_and_not_acknowledged_is_there() {
    let mut counts = die_at_each("after_publish");
    let (shown, kept) = counts.pop().unwrap();
    assert_eq!(shown, kept);
    assert!(counts.len() >= 10, "{counts:?}");
}

#[test]
fn what_was_shown_is_there_after_a_kill_at_any_moment() {
    let mut random = fastrand::Rng::with_seed(6);
    let mut killed = 0;
    for _ in 0..20 {
        let world = forest(8);
        let mut run = world.start(&["run", "--events", "go"]);
        let moment = random.usize(1..=36);
        let read = run.read_until(&format!(r#"{{"seq":{moment},"#));
        run.signal(Signal::KILL);
        let done = run.finish();
        killed += usize::from(done.code.is_none());
        let done = Done { stdout: read + &done.stdout, ..done };
        let (shown, _) = check(&world, &done.events());
        assert!(shown >= moment, "{done:?}");
    }
    // On a busy machine one of them may be done before it is killed.
    assert!(killed > 10, "{killed}");
}
