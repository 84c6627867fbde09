//! What becomes of a call, and why.

use std::{fmt, path::PathBuf};

use crate::{AgentPath, Effect, Mode, Pattern, Verdict};

/// How many rules of a list are named.
const MOST_NAMED: usize = 8;

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
    Bound(Vec<Pattern>),
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
            Because::Bound(rules) => {
                let named = rules.iter().take(MOST_NAMED).map(|rule| format!("`{rule}`"));
                let named = named.collect::<Vec<_>>().join(", ");
                let more = if rules.len() > MOST_NAMED { " …" } else { "" };
                write!(f, "only such as {named}{more} is left to `{agent}`")
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn all_that_is_left_of_a_tool_is_named_but_not_endlessly() {
        let told = |count: usize| {
            let only = (0..count).map(|number| format!("run_command(c{number} *)").parse());
            let rules = crate::Rules { only: only.flatten().collect(), ..Default::default() };
            let target = Target::Words("rm".to_owned());
            let left = rules.bounds("run_command", &[&target], &[]).into_iter().cloned().collect();
            Judgement {
                verdict: Verdict::Deny,
                tool: "run_command".to_owned(),
                effect: Effect::Execute,
                agent: AgentPath::root(),
                because: Because::Bound(left),
            }
            .to_string()
        };
        assert_eq!(
            told(2),
            "`run_command` is denied: only such as `run_command(c0 *)`, `run_command(c1 *)` is \
             left to `root`"
        );
        assert!(told(8).contains("`run_command(c7 *)` is left"), "{}", told(8));
        assert!(told(9).contains("`run_command(c7 *)` … is left"), "{}", told(9));
    }
}
