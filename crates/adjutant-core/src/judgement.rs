//! What becomes of a call, and why.

use std::{fmt, path::PathBuf};

use crate::{AgentPath, Effect, Mode, Verdict};

/// What becomes of a call, and who decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What becomes of it.
    pub verdict: Verdict,
    /// The tool that was to be called.
    pub tool: String,
    /// What the act that decided would touch.
    pub effect: Effect,
    /// The agent whose authority decided.
    pub agent: AgentPath,
    /// What in that authority decided.
    pub because: Because,
}

/// What decided a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// The agent does not have the tool.
    Access,
    /// The tree may not grow below the agent.
    Depth,
    /// A rule.
    Rule(String),
    /// All that is left of the tool is something else.
    Bound(String),
    /// The mode.
    Mode(Mode, Effect),
    /// The mode, for a path outside the scope.
    Outside(Mode, PathBuf),
    /// The mode, for a file that steers git or the runtime.
    Protected(Mode, PathBuf),
    /// A rule might be about it, and nobody can tell.
    Unclear(String),
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verdict, tool, agent, because, .. } = self;
        write!(f, "`{tool}` is {verdict}: ")?;
        match because {
            Because::Access => write!(f, "`{agent}` was not given this tool"),
            Because::Depth => write!(f, "there may be no agents below `{agent}`"),
            Because::Rule(rule) => write!(f, "rule `{rule}` of `{agent}`"),
            Because::Bound(rule) => write!(f, "only such as `{rule}` is left to `{agent}`"),
            Because::Mode(mode, effect) => write!(f, "{effect} in mode `{mode}` of `{agent}`"),
            Because::Outside(mode, path) => {
                let path = path.display();
                write!(f, "`{path}` is outside the scope of `{agent}`, in mode `{mode}`")
            }
            Because::Protected(mode, path) => {
                let path = path.display();
                write!(f, "`{path}` steers git or the runtime, in mode `{mode}` of `{agent}`")
            }
            Because::Unclear(words) => {
                write!(f, "a rule of `{agent}` might be about `{words}`, and nobody can tell")
            }
        }
    }
}
