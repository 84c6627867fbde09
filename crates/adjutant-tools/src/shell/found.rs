//! What was found in a script.

use std::collections::HashSet;

use adjutant_core::{Effect, Target, Touch};

use super::{Read, word::Word};

/// How much of some words can be told before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Clarity {
    /// All of it.
    Clear,
    /// Something, but it may come to something else.
    Doubtful,
    /// Not even which program they name.
    Unclear,
}

/// What was found in a script so far.
#[derive(Default)]
pub(super) struct Found {
    said: Vec<Said>,
    names: Names,
}

struct Said {
    name: String,
    text: String,
    clarity: Clarity,
}

/// Which names may not mean what they always mean.
enum Names {
    These(HashSet<String>),
    All,
}

impl Default for Names {
    fn default() -> Self {
        Self::These(HashSet::new())
    }
}

impl Names {
    fn contain(&self, name: &str) -> bool {
        match self {
            Self::These(names) => names.contains(name),
            Self::All => true,
        }
    }
}

impl Found {
    /// Notes a command in one way it can be told.
    pub(super) fn say(&mut self, words: &[Word], clarity: Clarity) {
        let text = words.iter().map(Word::said).collect::<Vec<_>>().join(" ");
        let clarity = words.iter().map(Word::clarity).fold(clarity, Clarity::max);
        let name = words.first().map(|name| name.said().to_owned()).unwrap_or_default();
        let is_table = |table| text.contains(table);
        if matches!(name.as_str(), "alias" | "enable" | "hash")
            || ["BASH_ALIASES", "BASH_CMDS"].into_iter().any(is_table)
        {
            self.names = Names::All;
        }
        self.said.push(Said { name, text, clarity });
    }

    /// Notes what is not made of a program and its arguments.
    pub(super) fn say_text(&mut self, text: String, clarity: Clarity) {
        self.said.push(Said { name: String::new(), text, clarity });
    }

    /// Notes that the script gives a name a meaning of its own. Where it does so does not
    /// matter: a loop may come back to what stands before.
    pub(super) fn redefine(&mut self, name: &str) {
        if let Names::These(names) = &mut self.names {
            names.insert(name.to_owned());
        }
    }

    /// Returns what to judge the command by, each touch once. What was not read to its end is
    /// judged as the most it could be.
    pub(super) fn touches(self, command: &str, read: Read) -> Vec<Touch> {
        let (mut seen, mut touches) = (HashSet::new(), Vec::new());
        let mut touch = |effect, target: Target| {
            if seen.insert(format!("{target:?}")) {
                touches.push(Touch { effect, target });
            }
        };
        for Said { name, text, clarity } in self.said {
            let is_doubtful = clarity > Clarity::Clear || self.names.contain(&name);
            if clarity < Clarity::Unclear {
                touch(Effect::Execute, Target::Words(text.clone()));
            }
            if is_doubtful {
                touch(Effect::Execute, Target::Unclear(text));
            }
        }
        if read.is_err() {
            let target = Target::Unclear(command.to_owned());
            touches.push(Touch { effect: Effect::Unread, target });
        }
        if touches.is_empty() {
            let target = Target::Words(String::new());
            touches.push(Touch { effect: Effect::Execute, target });
        }
        touches
    }
}
