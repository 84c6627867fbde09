//! How freely an agent acts, in four steps.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// What an act touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Asks a person.
    Ask,
    /// Starts, steers or watches other agents.
    Delegate,
    /// Tells other agents of the tree something.
    Tell,
    /// Looks.
    Read,
    /// Changes files.
    Write,
    /// Runs a program inside the sandbox.
    Execute,
    /// Runs in the sandbox what nobody can read beforehand.
    Unread,
    /// Goes outside the scope or onto the network.
    Reach,
    /// Runs a program outside the sandbox, or in one that does not hold it in every way.
    Unconfined,
}

impl Effect {
    /// Reports whether the effect leaves everything as it was.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::Ask | Self::Delegate | Self::Tell | Self::Read)
    }
}

/// What becomes of an act. The lesser, the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is refused.
    Deny,
    /// A person is asked.
    Ask,
    /// It is done.
    Allow,
}

/// How freely an agent acts. The lesser, the tamer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Looks and delegates; changes nothing.
    Plan,
    /// Asks before it changes anything.
    Ask,
    /// Changes what is inside the scope; asks before it goes outside.
    Auto,
    /// Does everything, outside the sandbox too.
    Dangerous,
}

impl Mode {
    /// All modes, the tamest first.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Ask, Self::Auto, Self::Dangerous];

    /// Returns what becomes of an act in this mode.
    pub fn verdict(self, effect: Effect) -> Verdict {
        match (effect, self) {
            (Effect::Ask | Effect::Delegate | Effect::Tell | Effect::Read, _)
            | (_, Self::Dangerous) => Verdict::Allow,
            (_, Self::Plan) => Verdict::Deny,
            (Effect::Write | Effect::Execute, Self::Auto) => Verdict::Allow,
            (_, Self::Ask | Self::Auto) => Verdict::Ask,
        }
    }

    /// Returns the mode's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Auto => "auto",
            Self::Dangerous => "dangerous",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|mode| mode.name() == text);
        known
            .ok_or_else(|| format!("`{text}` is not a mode: expected plan, ask, auto or dangerous"))
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ask => "asking a person",
            Self::Delegate => "delegating",
            Self::Tell => "telling other agents",
            Self::Read => "reading",
            Self::Write => "writing",
            Self::Execute => "running commands",
            Self::Unread => "running what cannot be read beforehand",
            Self::Reach => "reaching outside the scope",
            Self::Unconfined => "running commands without the whole sandbox",
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Deny => "denied",
            Self::Ask => "asked",
            Self::Allow => "allowed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_modes() {
        use Verdict::{Allow, Ask, Deny};
        let table = [
            (Effect::Ask, [Allow, Allow, Allow, Allow]),
            (Effect::Delegate, [Allow, Allow, Allow, Allow]),
            (Effect::Tell, [Allow, Allow, Allow, Allow]),
            (Effect::Read, [Allow, Allow, Allow, Allow]),
            (Effect::Write, [Deny, Ask, Allow, Allow]),
            (Effect::Execute, [Deny, Ask, Allow, Allow]),
            (Effect::Unread, [Deny, Ask, Ask, Allow]),
            (Effect::Reach, [Deny, Ask, Ask, Allow]),
        ];
        for (effect, verdicts) in table {
            assert_eq!(Mode::ALL.map(|mode| mode.verdict(effect)), verdicts, "{effect:?}");
        }
    }
}
