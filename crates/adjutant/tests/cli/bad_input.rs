//! What cannot be worked with is refused in one line, and nothing is left behind.

use std::fs;

use crate::support::{Done, World};

const SCRIPT: &str = "[[reply]]\ntext = 'hello'";

fn refused(world: &World, arguments: &[&str]) -> String {
    let stderr = world.refused(arguments);
    assert_eq!(stderr.matches('\n').count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    stderr
}

#[test]
fn a_script_that_makes_no_sense_is_refused_with_the_line() {
    for (script, complaint) in [
        ("[[reply]]\ntext =\n", "script.toml:2: "),
        ("[[reply]]\ntext = 'a'\n\n[[reply]]\n", "script.toml:4: reply 2: "),
        ("[[reply]]\ntext = 'a'\nmood = 'good'", "script.toml:3: unknown field `mood`"),
        ("", "there is no reply"),
    ] {
        let stderr = refused(&World::new().script(script), &["run", "go"]);
        assert!(stderr.contains(complaint), "{stderr}");
    }
}

#[test]
fn a_model_that_is_not_there_is_refused() {
    let world = World::new();
    let missing = refused(&world, &["run", "go", "--model", "scripted/missing.toml"]);
    assert!(missing.contains("missing.toml: cannot be read: "), "{missing}");
    let unknown = refused(&world, &["run", "go", "--model", "oracle"]);
    assert!(unknown.contains("there is no model `oracle`; there are: "), "{unknown}");
}

#[test]
fn what_is_not_text_in_a_task_is_replaced_and_warned_of() {
    let script = "[[reply]]\ntask = 'look at \u{fffd}'\ntext = 'hello'";
    let world = World::new().script(script).stdin(b"look at \xff");
    let warning = "warning: what is not UTF-8 on stdin is replaced with `\u{fffd}`: 1 byte";
    let done = world.run(&["run"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "hello\n"), "{}", done.stderr);
    assert_eq!(done.stderr.lines().next(), Some(warning));
    let shown = world.run(&["run", "--dry-run"]).stdout;
    assert!(shown.contains("warning   what is not UTF-8 on stdin"), "{shown}");
}

#[test]
fn a_task_without_end_is_refused() {
    let world = World::new().script(SCRIPT).stdin(vec![b'a'; 16 * 1024 * 1024 + 1]);
    let error = world.refused(&["run"]);
    assert!(
        error.contains("more than 16777216 bytes on stdin\nhint: put it into a file"),
        "{error}"
    );
}

#[test]
fn a_journal_that_cannot_be_written_is_told_in_one_line() {
    let world = World::new().script(SCRIPT).file("occupied", "");
    let occupied = world.project_directory().join("src/deep/occupied");
    let journal = format!("journal_path={}", occupied.join("journal.db").display());
    for flag in ["--quiet", "--json", "--events"] {
        let Done { code, stdout, stderr } = world.run(&["run", "go", "-c", &journal, flag]);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        let lines: Vec<_> = stderr.lines().collect();
        assert!(lines[0].starts_with("error: the journal failed: cannot open "), "{stderr}");
        assert_eq!(lines[1..], ["hint: `-c journal=memory` runs without a file"]);
        assert!(stderr.contains(&*occupied.to_string_lossy()), "{stderr}");
    }
    assert!(!world.data_home().exists());
    assert_eq!(fs::read(occupied).unwrap(), b"");
}
