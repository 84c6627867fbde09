//! A script that was not played to its end.

use crate::support::World;

const SCRIPT: &str = "
[[reply]]
agent = 'root'
text = 'four'

[[reply]]
agent = 'root.helper-1'
text = 'nobody hears this'
";

#[test]
fn a_reply_nobody_got_is_a_warning() {
    let done = World::new().script(SCRIPT).run(&["run", "--quiet", "go"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "four\n"));
    assert_eq!(done.stderr.matches('\n').count(), 1, "{}", done.stderr);
    assert!(done.stderr.starts_with("warning: scripted/"), "{}", done.stderr);
    assert!(done.stderr.contains("reply 2 for `root.helper-1`: “nobody hears this”"));
}

#[test]
fn a_script_may_take_it_for_a_failure() {
    let script = format!("unused = 'fail'\n{SCRIPT}");
    let done = World::new().script(&script).run(&["run", "--quiet", "go"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), "four\n"));
    assert!(done.stderr.starts_with("error: scripted/"), "{}", done.stderr);
}

#[test]
fn a_script_that_was_used_up_is_not_worth_a_word() {
    let script = "unused = 'fail'\n[[reply]]\ntext = 'four'";
    let done = World::new().script(script).run(&["run", "--quiet", "go"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_failure_keeps_its_own_code() {
    let script = "
        unused = 'fail'
        [[reply]]
        turn = 1
        error = { kind = 'refused' }
        [[reply]]
        turn = 2
        text = 'never'";
    assert_eq!(World::new().script(script).run(&["run", "go"]).code, Some(3));
}
