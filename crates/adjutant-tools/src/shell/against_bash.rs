//! What is told of commands, held against what bash makes of them.

use std::{fs, process::Command};

use proptest::prelude::*;

use super::{
    Dialect,
    found::Found,
    script::{Place, Script},
    tests::{ATTACKS, SCRIPTS, told},
};

/// Has bash note each program it would run, instead of running it. Only its own commands are
/// left to it, and an empty directory.
fn run_by_bash(script: &str) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let (log, directory) = (place.path().join("log"), place.path().join("empty"));
    fs::create_dir(&directory).unwrap();
    let note = "() { local IFS=' '; builtin printf '%s\\0' \"$*\" >> \"$LOG\"; return 1; }";
    let status = Command::new("/bin/bash")
        .args(["--norc", "-c", script])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("LOG", &log)
        .env("BASH_FUNC_command_not_found_handle%%", note)
        .current_dir(&directory)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    status.unwrap();
    let log = fs::read_to_string(log).unwrap_or_default();
    log.split_terminator('\0').map(str::to_owned).collect()
}

/// Returns what bash makes of some words.
fn words_of_bash(words: &str) -> Vec<String> {
    let script = format!("printf '%s\\0' first {words}");
    let output = Command::new("/bin/bash").args(["--norc", "-c", &script]).output().unwrap();
    assert!(output.status.success(), "{words}: {output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    output.split_terminator('\0').skip(1).map(str::to_owned).collect()
}

fn words_of_ours(words: &str) -> Vec<String> {
    let mut found = Found::default();
    let mut script = Script::new(words, Place::top(Dialect::Bash), &mut found);
    let words = script.words().unwrap();
    words.iter().map(|word| word.text().unwrap().to_owned()).collect()
}

#[test]
fn what_bash_runs_was_told() {
    let scripts = SCRIPTS.iter().map(|(script, _)| script);
    for script in scripts.chain(ATTACKS) {
        let told = told(script);
        // What is unclear may come to anything.
        if told.iter().any(|touch| touch.starts_with("? ") || touch == "!") {
            continue;
        }
        let run = run_by_bash(script);
        for command in &run {
            assert!(told.contains(command), "{script}: bash runs {command}, told was {told:?}");
        }
    }
}

/// A piece of a word, in one of the ways to quote it.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9_/:=@%+^-]{1,4}",
        r"\\[ -~]",
        "'[ -~&&[^']]{0,5}'",
        Just("\\\n".to_owned()),
        r#"\$'([a-z]|\\[abefnrtv\\'"?]|\\[1-7]|\\x[1-7][0-9a-f]|\\u00[2-6][0-9]){0,4}'"#,
        r#""([a-z '#;&|()<>{}*?~!,]|\\["\\$`a-z]|\$[ .,%])*""#,
        Just("{}".to_owned()),
        Just("é".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn quotes_are_removed_as_bash_does(
        words in prop::collection::vec(prop::collection::vec(piece(), 1..5), 1..5),
    ) {
        let words: Vec<_> = words.iter().map(|pieces| pieces.concat()).collect();
        let words = words.join(" ");
        prop_assert_eq!(words_of_ours(&words), words_of_bash(&words), "{}", words);
    }
}
