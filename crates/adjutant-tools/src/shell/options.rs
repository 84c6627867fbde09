//! Commands that run another command, and where in their words it begins.

use super::word::Word;

/// A command that runs the command its words end with.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Its options of one letter. One before `:` takes a value; with one before `!` nothing is
    /// run.
    letters: &'static str,
    /// Its options of more letters, without the dashes. One that ends in `=` takes a value.
    long: &'static [&'static str],
    before: Before,
}

/// What stands between the options and the command.
enum Before {
    Nothing,
    Assignments,
    Operand,
}

/// Where the command that is run begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    At(usize),
    /// No command is run.
    Nowhere,
    /// Nobody can tell: there is an option that is not known.
    Unknown,
}

const WRAPPERS: [Wrapper; 17] = [
    wrapper("builtin", "", &[]),
    wrapper("busybox", "", &[]),
    wrapper("command", "pv!V!", &[]),
    wrapper("doas", "nu:", &[]),
    Wrapper {
        before: Before::Assignments,
        ..wrapper("env", "i0vu:C:", &["ignore-environment", "null", "debug", "unset=", "chdir="])
    },
    wrapper("exec", "cla:", &[]),
    wrapper("ionice", "c:n:t", &["class=", "classdata=", "ignore"]),
    wrapper("nice", "n:0123456789", &["adjustment="]),
    wrapper("nohup", "", &[]),
    wrapper("setsid", "cfw", &["ctty", "fork", "wait"]),
    wrapper("stdbuf", "i:o:e:", &["input=", "output=", "error="]),
    Wrapper {
        before: Before::Assignments,
        ..wrapper("sudo", "AbEHnPSu:g:p:", &["non-interactive", "user=", "group="])
    },
    wrapper("time", "apvqf:o:", &["append", "portability", "verbose", "format=", "output="]),
    Wrapper {
        before: Before::Operand,
        ..wrapper(
            "timeout",
            "fvpk:s:",
            &["foreground", "verbose", "preserve-status", "kill-after=", "signal="],
        )
    },
    wrapper("toybox", "", &[]),
    wrapper("watch", "bcdegtxn:", &["color", "differences", "no-title", "exec", "interval="]),
    wrapper(
        "xargs",
        "0rtpxI:n:P:L:s:d:a:E:",
        &["null", "no-run-if-empty", "verbose", "max-args=", "max-procs=", "delimiter="],
    ),
];

const fn wrapper(
    name: &'static str,
    letters: &'static str,
    long: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, letters, long, before: Before::Nothing }
}

impl Wrapper {
    /// Returns the wrapper of a name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        WRAPPERS.iter().find(|wrapper| wrapper.name == name)
    }

    /// Tells where in the words, of which the first is its own name, the command begins.
    pub(super) fn start(&self, words: &[Word]) -> Start {
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let Some(text) = word.text() else { return Start::Unknown };
            if !text.starts_with('-') {
                break;
            }
            at += 1;
            match self.option(text) {
                Meaning::Flag => {}
                Meaning::TakesNext => at += 1,
                Meaning::End => break,
                Meaning::RunsNothing => return Start::Nowhere,
                Meaning::Unknown => return Start::Unknown,
            }
        }
        self.skip(words, at)
    }

    fn option(&self, text: &str) -> Meaning {
        if let Some(long) = text.strip_prefix("--") {
            let is_known = |end: &str| {
                let name = long.split_once('=').map_or(long, |(name, _)| name);
                self.long.iter().any(|it| it.strip_suffix(end) == Some(name))
            };
            return match long.contains('=') {
                _ if long.is_empty() => Meaning::End,
                true if is_known("=") => Meaning::Flag,
                false if is_known("=") => Meaning::TakesNext,
                false if is_known("") => Meaning::Flag,
                _ => Meaning::Unknown,
            };
        }
        let mut letters = text.chars().skip(1);
        while let Some(letter) = letters.next() {
            let place = self.letters.find(letter).filter(|_| letter.is_ascii_alphanumeric());
            let Some(place) = place else { return Meaning::Unknown };
            match self.letters[place + 1..].chars().next() {
                Some(':') if letters.next().is_none() => return Meaning::TakesNext,
                Some(':') => return Meaning::Flag,
                Some('!') => return Meaning::RunsNothing,
                _ => {}
            }
        }
        Meaning::Flag
    }

    /// Tells where the command begins, the options having ended.
    fn skip(&self, words: &[Word], mut at: usize) -> Start {
        match self.before {
            Before::Nothing => {}
            Before::Operand if words.get(at).is_some_and(|it| it.text().is_none()) => {
                return Start::Unknown;
            }
            Before::Operand => at += 1,
            Before::Assignments => {
                while let Some(word) = words.get(at) {
                    match word.text() {
                        None => return Start::Unknown,
                        Some(text) if text.contains('=') => at += 1,
                        Some(_) => break,
                    }
                }
            }
        }
        if at < words.len() { Start::At(at) } else { Start::Nowhere }
    }
}

/// What an option means for the words after it.
enum Meaning {
    Flag,
    TakesNext,
    End,
    RunsNothing,
    Unknown,
}
