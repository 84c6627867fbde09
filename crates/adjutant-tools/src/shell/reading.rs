//! What a simple command may come to: itself, and what it runs in turn.

use super::{
    Read,
    found::{Clarity, Found},
    options::{Start, Wrapper},
    script::{Dialect, Place, Script},
    word::Word,
};

/// What a command runs besides itself.
enum Inner<'a> {
    Nothing,
    /// Something that nobody can tell.
    Unknown,
    /// Commands that are given its last words.
    Commands(Vec<&'a [Word]>),
    /// Commands that are given more words than can be seen.
    Fed(Vec<&'a [Word]>),
    Script(String, Dialect),
    /// A script for a shell that reads it in a way of its own.
    Foreign(String),
}

/// Notes a command in every way it can be told.
pub(super) fn note(assignments: &[Word], words: &[Word], place: Place, found: &mut Found) -> Read {
    if assignments.is_empty() && words.is_empty() {
        return Ok(());
    }
    if !assignments.is_empty() {
        let hides = assignments.iter().any(Word::hides_substitution);
        let clarity = if hides { Clarity::Doubtful } else { place.clarity };
        let is_named = words.first().is_none_or(|name| name.text().is_some());
        let clarity = if is_named { clarity } else { Clarity::Unclear };
        found.say(&[assignments, words].concat(), clarity.max(place.clarity));
    }
    readings(words, place, found)
}

fn readings(words: &[Word], place: Place, found: &mut Found) -> Read {
    let place = place.inside()?;
    let Some(name) = words.first() else { return Ok(()) };
    let Some(path) = name.text() else {
        found.say(words, Clarity::Unclear);
        return Ok(());
    };
    let program = path.rsplit('/').next().unwrap_or(path);
    let inner = inner(program, words, place);
    let is_doubtful = matches!(inner, Inner::Unknown | Inner::Foreign(_))
        || path.contains(char::is_whitespace)
        || evaluates(program, words);
    let clarity = if is_doubtful { Clarity::Doubtful } else { place.clarity };
    found.say(words, clarity.max(place.clarity));
    if program != path {
        let mut words = words.to_vec();
        words[0] = Word::literal(program);
        found.say(&words, clarity.max(place.clarity));
    }
    let doubtful = Place { clarity: Clarity::Doubtful, ..place };
    match inner {
        Inner::Nothing | Inner::Unknown => Ok(()),
        Inner::Commands(commands) => {
            commands.into_iter().try_for_each(|words| readings(words, place, found))
        }
        Inner::Fed(commands) => {
            commands.into_iter().try_for_each(|words| readings(words, doubtful, found))
        }
        Inner::Script(text, dialect) => {
            Script::new(&text, Place { dialect, ..place }, found).read()
        }
        Inner::Foreign(text) => Script::new(&text, doubtful, found).read(),
    }
}

fn inner<'a>(program: &str, words: &'a [Word], place: Place) -> Inner<'a> {
    let arguments = &words[1..];
    match program {
        "find" => found_by(arguments),
        "bash" => shell(arguments, |text| Inner::Script(text, Dialect::Bash)),
        "sh" | "dash" | "ash" => shell(arguments, |text| Inner::Script(text, Dialect::Posix)),
        "zsh" | "ksh" | "mksh" | "fish" | "csh" | "tcsh" => shell(arguments, Inner::Foreign),
        "eval" => joined(behind_dashes(arguments), place.dialect),
        "trap" => match behind_dashes(arguments).first().map(Word::text) {
            None | Some(Some("" | "-")) => Inner::Nothing,
            Some(Some(text)) => Inner::Script(text.to_owned(), place.dialect),
            Some(None) => Inner::Unknown,
        },
        "source" | "." => Inner::Unknown,
        _ => match Wrapper::find(program).map(|wrapper| wrapper.start(words)) {
            None | Some(Start::Nowhere) => Inner::Nothing,
            Some(Start::Unknown) => Inner::Unknown,
            Some(Start::At(at)) => match program {
                "watch" => joined(&words[at..], Dialect::Posix),
                "xargs" => Inner::Fed(vec![&words[at..]]),
                _ => Inner::Commands(vec![&words[at..]]),
            },
        },
    }
}

/// Returns what a shell is given to run. Without a script it reads one from its input.
fn shell<'a>(mut arguments: &'a [Word], script: fn(String) -> Inner<'a>) -> Inner<'a> {
    let mut operand: fn(String) -> Inner<'a> = |_file| Inner::Nothing;
    while let [argument, rest @ ..] = arguments {
        let Some(text) = argument.text() else { return Inner::Unknown };
        let Some(letters) = text.strip_prefix(['-', '+']) else {
            return operand(text.to_owned());
        };
        arguments = rest;
        match letters {
            "" | "-" => break,
            "-norc" | "-noprofile" | "-posix" | "-login" => {}
            letters if letters.contains(['-', 's', 'i']) => return Inner::Unknown,
            letters if letters.contains(['o', 'O']) => arguments = rest.get(1..).unwrap_or(&[]),
            _ => {}
        }
        if letters.contains('c') {
            operand = script;
        }
    }
    arguments.first().and_then(Word::text).map_or(Inner::Unknown, |text| operand(text.to_owned()))
}

/// Returns the commands that `find` is given.
fn found_by(arguments: &[Word]) -> Inner<'_> {
    let is_one_of = |word: &Word, texts: &[&str]| word.text().is_some_and(|it| texts.contains(&it));
    let (mut commands, mut rest) = (Vec::new(), arguments);
    while let Some(at) =
        rest.iter().position(|word| is_one_of(word, &["-exec", "-execdir", "-ok", "-okdir"]))
    {
        rest = &rest[at + 1..];
        let Some(end) = rest.iter().position(|word| is_one_of(word, &[";", "+"])) else {
            return Inner::Unknown;
        };
        commands.push(&rest[..end]);
        rest = &rest[end + 1..];
    }
    if commands.is_empty() { Inner::Nothing } else { Inner::Fed(commands) }
}

/// Returns the script that some words make together.
fn joined(words: &[Word], dialect: Dialect) -> Inner<'_> {
    let texts: Option<Vec<_>> = words.iter().map(Word::text).collect();
    texts.map_or(Inner::Unknown, |texts| Inner::Script(texts.join(" "), dialect))
}

fn behind_dashes(arguments: &[Word]) -> &[Word] {
    match arguments {
        [first, rest @ ..] if first.text() == Some("--") => rest,
        arguments => arguments,
    }
}

/// Reports whether a command may expand an argument that is literal, or run it.
fn evaluates(program: &str, words: &[Word]) -> bool {
    match program {
        "let" | "mapfile" | "readarray" | "complete" | "compgen" | "bind" | "fc" => true,
        "printf" => {
            words.get(1).and_then(Word::text).is_some_and(|option| option.starts_with("-v"))
        }
        "unset" | "read" | "getopts" | "wait" | "test" | "[" => {
            words.iter().any(Word::hides_substitution)
        }
        _ => words.first().is_some_and(declares) && words.iter().any(Word::hides_substitution),
    }
}

/// Reports whether a command takes arrays for arguments.
pub(super) fn declares(name: &Word) -> bool {
    let declarations = ["declare", "typeset", "local", "export", "readonly"];
    name.text().is_some_and(|name| declarations.contains(&name))
}

/// Tells how clear a test is that a word stands in. Numbers in tests are arithmetic, where a
/// variable may hold a substitution.
pub(super) fn tested(word: &Word) -> Clarity {
    let evaluates = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
    let is_evaluated = word.text().is_some_and(|text| evaluates.contains(&text));
    if is_evaluated || word.hides_substitution() { Clarity::Doubtful } else { Clarity::Clear }
}
