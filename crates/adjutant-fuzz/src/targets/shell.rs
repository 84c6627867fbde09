//! A command of the shell: what it is told to run, before it does.

use adjutant_core::{Effect, Target as What, Touch};
use adjutant_tools::fuzz::touches;

use super::hash;
use crate::Target;

pub(super) const TARGET: Target = Target {
    name: "shell",
    words: &[
        "$(",
        ")",
        "`",
        "\"",
        "'",
        "\\",
        "\\\n",
        "${a:-",
        "}",
        "$((",
        "))",
        "<(",
        "<<E\n",
        "\nE\n",
        "<<-'E'\n",
        "\n",
        ";",
        "&",
        "&&",
        "|",
        ">",
        "2>&1",
        ">&-",
        "&>",
        "#",
        "{ ",
        "(",
        "[[ ",
        " ]]",
        "((",
        "if ",
        "; then ",
        "; fi",
        "for i in ",
        "; do ",
        "; done",
        "case a in ",
        ";; ",
        "esac",
        "function ",
        "f() ",
        "a=(",
        "a[",
        "$'",
        "! ",
        "time ",
        "eval ",
        "sh -c ",
        "env ",
        "xargs ",
        "find -exec ",
        "trap ",
        "alias ",
        "*",
        "~",
        "{a,b}",
        "rm x",
    ],
    check,
};

/// The command that is looked for.
const KNOWN: &str = "rm x";

/// Ways to run a script as a part of another.
const PLACES: [fn(&str) -> String; 24] = [
    |script| format!("{script}\n{KNOWN}"),
    |script| format!("{KNOWN}\n{script}"),
    |script| format!("( {script}\n); {KNOWN}"),
    |script| format!("{{ {script}\n}} > a; {KNOWN}"),
    |script| format!("true && {script}\n{KNOWN}"),
    |script| format!("! {script}\n{KNOWN}"),
    |script| format!("{KNOWN} | {script}"),
    |script| format!("if {KNOWN}; then {script}\nfi"),
    |script| format!("if {script}\nthen {KNOWN}; fi"),
    |script| format!("while {script}\ndo {KNOWN}; done"),
    |script| format!("for i in a 'b c'; do {script}\ndone; {KNOWN}"),
    |script| format!("case a in (a|b) {script}\n;; *) {KNOWN}; esac"),
    |script| format!("f() {{ {script}\n}}; {KNOWN}"),
    |script| format!("echo $( {script}\n); {KNOWN}"),
    |script| format!("echo \"a $( {script}\n) b\"; {KNOWN}"),
    |script| format!("echo ${{a:-$( {script}\n)}}; {KNOWN}"),
    |script| format!("a=( b $( {script}\n) ) {KNOWN}"),
    |script| format!("cat < <( {script}\n); {KNOWN}"),
    |script| format!("cat <<'rm'\na $( b\nrm\n{script}\n{KNOWN}"),
    |script| format!("cat <<-rm\n$( {KNOWN}\n)\n\trm\n{script}"),
    |script| format!("eval {}; {KNOWN}", quoted(script)),
    |script| format!("env A=1 bash -c -- {} a; {KNOWN}", quoted(script)),
    |script| format!("trap -- {} EXIT; {KNOWN}", quoted(&format!("{script}\n"))),
    |script| format!("echo `{}`; {KNOWN}", escaped(script)),
];

/// Something is told of any text, and not too much. What is told of a script is told of it in
/// any place, and of a command around it too.
fn check(input: &[u8]) -> u64 {
    let script = String::from_utf8_lossy(input);
    let told = touches(&script);
    assert!(!told.is_empty(), "nothing is told");
    let size: usize = told.iter().map(|touch| text(touch).len()).sum();
    assert!(size < 512 * (script.len() + 64), "{size} bytes are told");
    if is_read(&told) {
        let place = PLACES[hash(input) as usize % PLACES.len()];
        check_place(&told, &place(&script));
    }
    check_nested(input);
    let count = |is: fn(&Touch) -> bool| told.iter().filter(|touch| is(touch)).count().min(16);
    hash((count(|touch| matches!(touch.target, What::Words(_))), count(is_unread), told.len()))
}

fn check_place(told: &[Touch], script: &str) {
    let around = touches(script);
    // It may be too deep, or too long, or a here-document where bash has its own ideas.
    if !is_read(&around) {
        return;
    }
    for touch in told.iter().filter(|touch| !text(touch).is_empty()) {
        assert!(around.contains(touch), "{touch:?} is not told of {script:?}: {around:?}");
    }
    assert_known(&around, script);
}

/// Puts a command into places that the input chooses.
fn check_nested(input: &[u8]) {
    let places = input.iter().take(6).map(|byte| PLACES[usize::from(*byte) % PLACES.len()]);
    let script = places.fold("true".to_owned(), |script, place| place(&script));
    let told = touches(&script);
    if is_read(&told) && script != "true" {
        assert_known(&told, &script);
    }
}

fn assert_known(told: &[Touch], script: &str) {
    let is_known = |touch: &Touch| touch.target == What::Words(KNOWN.to_owned());
    assert!(told.iter().any(is_known), "`{KNOWN}` is not told of {script:?}: {told:?}");
}

fn is_read(told: &[Touch]) -> bool {
    !told.iter().any(is_unread)
}

fn is_unread(touch: &Touch) -> bool {
    touch.effect == Effect::Unread
}

fn text(touch: &Touch) -> &str {
    match &touch.target {
        What::Words(text) | What::Unclear(text) => text,
        other => panic!("{other:?} is no command"),
    }
}

fn quoted(script: &str) -> String {
    format!("'{}'", script.replace('\'', "'\\''"))
}

/// Writes a script so that it can stand between backticks.
fn escaped(script: &str) -> String {
    let escape = |c| [Some('\\').filter(|_| matches!(c, '\\' | '`' | '$')), Some(c)];
    script.chars().flat_map(escape).flatten().collect()
}
