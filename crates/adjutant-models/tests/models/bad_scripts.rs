//! A script that makes no sense is refused in one line that says what would.

use std::fs;

use adjutant_models::script::Script;

/// Reads a script of that name and returns what is wrong, from the file's name on.
fn refusal(name: &str, text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    let message = Script::read(&path).unwrap_err().to_string();
    let start = format!("{}/", directory.path().display());
    message.strip_prefix(&start).unwrap().to_owned()
}

fn refused(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(refusal("a.toml", text), *expected, "{text}");
    }
}

#[test]
fn what_is_not_a_script_is_refused_with_its_line() {
    refused(&[
        ("", "a.toml: there is no reply: expected at least one `[[reply]]`"),
        (
            "window = 0\n[[reply]]\ntext = ''",
            "a.toml: `window` and `max_output` are counts of tokens from 1 up",
        ),
        ("[[reply]]\ntext = 'x\n", "a.toml:2: invalid literal string, expected `'`"),
        (
            "\n\ntitle = 'x'",
            "a.toml:3: unknown field `title`, expected one of `name`, `window`, `max_output`, \
             `price`, `unused`, `reply`",
        ),
        ("unused = 'ignore'", "a.toml:1: unknown variant `ignore`, expected `warn` or `fail`"),
    ]);
    assert_eq!(refusal("a.yaml", ""), "a.yaml: expected a file named `….toml` or `….json`");
    let missing = Script::read("missing.toml".as_ref()).unwrap_err().to_string();
    assert!(missing.starts_with("missing.toml: cannot be read: "), "{missing}");
}

#[test]
fn a_field_nobody_knows_is_refused_with_those_there_are() {
    refused(&[
        (
            "[[reply]]\ntxt = 'x'",
            "a.toml:2: unknown field `txt`, expected one of `agent`, `turn`, `task`, `last`, \
             `times`, `text`, `reasoning`, `calls`, `delay_ms`, `chunk_ms`, `hang`, `error`, \
             `break_after`, `stop`, `usage`",
        ),
        (
            "[[reply]]\ncalls = [{ name = 'x' }]",
            "a.toml:2: unknown field `name`, expected one of `id`, `tool`, `args`",
        ),
        (
            "[[reply]]\nerror = { kind = 'tired' }",
            "a.toml:2: unknown variant `tired`, expected one of `busy`, `unreached`, `broken`, `too_long`, \
             `unauthorized`, `not_found`, `refused`",
        ),
        (
            "[[reply]]\ntext = 'x'\nstop = 'done'",
            "a.toml:3: unknown variant `done`, expected `length` or `filtered`",
        ),
    ]);
}

#[test]
fn a_reply_that_could_never_be_given_is_refused() {
    refused(&[
        (
            "[[reply]]\ntext = 'x'\n\n[[reply]]\nagent = 'scout-1'\ntext = 'x'",
            "a.toml:4: reply 2: `scout-1` fits no agent: expected a path such as \
             `root.scout-1`, in which `*` stands for any characters",
        ),
        (
            "[[reply]]\ntimes = 0\ntext = 'x'",
            "a.toml:1: reply 1: `times = 0` is never given: expected a number from 1 up, or \
             \"any\"",
        ),
        (
            "[[reply]]\ntimes = 'often'\ntext = 'x'",
            "a.toml:2: `times` is a number from 1 up, or \"any\"",
        ),
        (
            "[[reply]]\nturn = 0\ntext = 'x'",
            "a.toml:1: reply 1: there is no turn 0: the first is 1",
        ),
        (
            "[[reply]]\ntask = ''\ntext = 'x'",
            "a.toml:1: reply 1: `task` is empty: leave it out, and any task will do",
        ),
    ]);
}

#[test]
fn a_reply_that_contradicts_itself_is_refused() {
    refused(&[
        (
            "[[reply]]\nagent = 'root'\nreasoning = 'x'",
            "a.toml:1: reply 1: it says nothing: expected `text`, `calls`, `error` or \
             `hang = true` (`text = \"\"` is an empty answer)",
        ),
        (
            "[[reply]]\nhang = true\nerror = { kind = 'busy' }",
            "a.toml:1: reply 1: `hang`, `error` and `break_after` exclude one another: keep one \
             of them",
        ),
        (
            "[[reply]]\nhang = true\ncalls = [{ tool = 'x' }]",
            "a.toml:1: reply 1: `calls` and `stop` are never reached after `hang`, `error` or \
             `break_after`: leave out one or the other",
        ),
        (
            "[[reply]]\ntext = 'one two'\nbreak_after = 3",
            "a.toml:1: reply 1: `break_after = 3` cuts nothing off: expected a number from 1 to \
             2, which is how many words there are",
        ),
        (
            "[[reply]]\nhang = true\nchunk_ms = 3",
            "a.toml:1: reply 1: `chunk_ms` and `break_after` need words: expected `text`",
        ),
    ]);
}

#[test]
fn json_is_refused_as_toml_is() {
    let cases = [
        ("{\"reply\": [\n", "a.json:2: EOF while parsing a list"),
        ("{\"unused\": \n\"no\"}", "a.json:2: unknown variant `no`, expected `warn` or `fail`"),
        (
            "{\"reply\": [{\"text\": \"x\"}, {\"text\": \"x\", \"turn\": 0}]}",
            "a.json: reply 2: there is no turn 0: the first is 1",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal("a.json", text), expected);
    }
}
