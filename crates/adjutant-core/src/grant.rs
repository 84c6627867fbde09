//! What an agent may do. Authority only shrinks on the way down.
//!
//! A grant is a chain of layers, one an agent, from the root to its holder. Each
//! layer judges an act by itself and the strictest verdict holds, so nothing a
//! child asks for can loosen what stands above it.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{AgentPath, Effect, Mode, Refusal, Rules, Target, ToolSpec, Touch, Verdict};

/// Which of the parent's tools a child has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "snake_case", deny_unknown_fields)]
pub enum Access {
    /// All of them.
    #[default]
    Inherit,
    /// These and no others.
    AllowList {
        /// Their names.
        tools: BTreeSet<String>,
    },
    /// All but these.
    DenyList {
        /// Their names.
        tools: BTreeSet<String>,
    },
    /// Those that change nothing.
    ReadOnly,
}

impl Access {
    fn admits(&self, name: &str, effect: Effect) -> bool {
        match self {
            Self::Inherit => true,
            Self::AllowList { tools } => tools.contains(name),
            Self::DenyList { tools } => !tools.contains(name),
            Self::ReadOnly => effect.is_harmless(),
        }
    }

    /// Returns the tools named in the policy.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let tools = match self {
            Self::AllowList { tools } | Self::DenyList { tools } => Some(tools),
            Self::Inherit | Self::ReadOnly => None,
        };
        tools.into_iter().flatten().map(String::as_str)
    }
}

/// The authority of a root, as a person gave it.
#[derive(Clone, Debug)]
pub struct Charter {
    /// How freely it acts.
    pub mode: Mode,
    /// Exceptions to that.
    pub rules: Rules,
    /// Which tools it has.
    pub access: Access,
    /// The directories it works in, absolute and canonical.
    pub scope: Vec<PathBuf>,
    /// Places that are not its own to change, even inside the scope: the runtime's own files.
    /// What git and the runtime read from a project is protected in any case.
    pub protected: Vec<PathBuf>,
    /// How many levels of agents it may have below it.
    pub depth: u8,
}

/// What a child would like. Written by a model, so it may say anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wish {
    /// No freer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Exceptions, in addition to those above.
    #[serde(skip_serializing_if = "Rules::is_empty")]
    pub rules: Rules,
    /// Which of the parent's tools.
    pub access: Access,
    /// Only this directory or file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<PathBuf>,
    /// No more levels than this below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u8>,
}

/// A part of a wish that was not granted in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clamp {
    /// What was asked for.
    pub what: String,
    /// How much of it was asked.
    pub asked: String,
    /// How much was given.
    pub given: String,
}

impl fmt::Display for Clamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} was cut to {}", self.what, self.asked, self.given)
    }
}

/// What an agent may do.
///
/// The fields are private, there is no setter and no way to read one from
/// outside. The only road to a second grant is [`Grant::narrow`]:
///
/// ```compile_fail,E0423
/// use adjutant_core::Grant;
/// let wider = Grant(todo!());
/// ```
#[derive(Clone, Debug)]
pub struct Grant(Arc<Layer>);

#[derive(Debug)]
struct Layer {
    above: Option<Arc<Self>>,
    agent: AgentPath,
    charter: Charter,
}

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
    /// The mode.
    Mode(Mode, Effect),
    /// The mode, for a path outside the scope.
    Outside(Mode, PathBuf),
    /// The mode, for a file that steers git or the runtime.
    Protected(Mode, PathBuf),
    /// A rule might be about it, and nobody can tell.
    Unclear(String),
}

impl Grant {
    /// Makes the authority of a root. Called once a session, by the composition
    /// root; clippy refuses it everywhere else.
    pub fn mint(charter: Charter) -> Self {
        Self(Arc::new(Layer { above: None, agent: AgentPath::root(), charter }))
    }

    /// Returns the grant of a child, and what of its wish was cut down.
    pub fn narrow(&self, agent: AgentPath, wish: &Wish) -> Result<(Self, Vec<Clamp>), Refusal> {
        let held = &self.0.charter;
        let depth = held.depth.checked_sub(1).ok_or(Refusal::TooDeep)?;
        let mut clamps = Vec::new();
        let charter = Charter {
            mode: cut(&mut clamps, "mode", wish.mode, held.mode),
            rules: wish.rules.clone(),
            access: wish.access.clone(),
            scope: match &wish.scope {
                None => held.scope.clone(),
                Some(wanted) => vec![self.within_scope(wanted)?],
            },
            protected: held.protected.clone(),
            depth: cut(&mut clamps, "depth", wish.depth, depth),
        };
        Ok((Self(Arc::new(Layer { above: Some(Arc::clone(&self.0)), agent, charter })), clamps))
    }

    /// Returns `wanted` as an absolute path, if it lies inside the scope.
    fn within_scope(&self, wanted: &Path) -> Result<PathBuf, Refusal> {
        let charter = &self.0.charter;
        let absolute = charter.scope.first().map_or_else(|| wanted.into(), |dir| dir.join(wanted));
        let absolute = normal(&absolute);
        if self.0.line().all(|layer| layer.covers(&absolute)) {
            Ok(absolute)
        } else {
            Err(Refusal::OutsideScope { wanted: wanted.into(), scope: charter.scope.clone() })
        }
    }

    /// Reports whether the agent has the tool at all.
    pub fn offers(&self, tool: &ToolSpec) -> bool {
        let is_reachable = tool.effect != Effect::Delegate || self.may_delegate();
        is_reachable && self.0.line().all(|layer| layer.admits(tool))
    }

    /// Judges a call by what it would touch. The strictest layer decides; of
    /// several equally strict ones, the one nearest the root.
    pub fn judge(&self, tool: &ToolSpec, touches: &[Touch]) -> Judgement {
        let plain = [Touch { effect: tool.effect, target: Target::Nothing }];
        let touches = if touches.is_empty() { &plain } else { touches };
        let mut strictest = self.0.judge(tool, &touches[0]);
        for layer in self.0.line() {
            for touch in touches {
                let judgement = layer.judge(tool, touch);
                let is_further_up = judgement.agent != strictest.agent;
                if judgement.verdict < strictest.verdict
                    || (judgement.verdict == strictest.verdict && is_further_up)
                {
                    strictest = judgement;
                }
            }
        }
        if tool.effect == Effect::Delegate && !self.may_delegate() {
            let (agent, because) = (self.0.agent.clone(), Because::Depth);
            strictest = Judgement { verdict: Verdict::Deny, agent, because, ..strictest };
        }
        strictest
    }

    /// Returns what of a call a person has to be asked about.
    pub fn asked<'a>(
        &self,
        tool: &ToolSpec,
        touches: &'a [Touch],
    ) -> impl Iterator<Item = &'a Touch> {
        touches
            .iter()
            .filter(|touch| self.judge(tool, std::slice::from_ref(*touch)).verdict == Verdict::Ask)
    }

    /// Tells in words what becomes of a call, and which rule of which agent
    /// decided.
    pub fn explain(&self, tool: &ToolSpec, touches: &[Touch]) -> String {
        self.judge(tool, touches).to_string()
    }

    /// Reports whether there are rules, which judge one path otherwise than the next.
    pub fn has_rules(&self) -> bool {
        self.0.line().any(|layer| !layer.charter.rules.is_empty())
    }

    /// Reports whether the agent may have children.
    pub fn may_delegate(&self) -> bool {
        self.0.charter.depth > 0
    }

    /// Returns how many levels of agents there may be below.
    pub fn depth(&self) -> u8 {
        self.0.charter.depth
    }

    /// Returns how freely the agent acts.
    pub fn mode(&self) -> Mode {
        self.0.charter.mode
    }

    /// Returns the directories the agent works in.
    pub fn scope(&self) -> &[PathBuf] {
        &self.0.charter.scope
    }

    /// Returns the places that are not the agent's to change, besides those git and the
    /// runtime read from a project.
    pub fn protected(&self) -> &[PathBuf] {
        &self.0.charter.protected
    }
}

impl Layer {
    fn line(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |layer| layer.above.as_deref())
    }

    fn admits(&self, tool: &ToolSpec) -> bool {
        self.charter.access.admits(&tool.name, tool.effect)
    }

    fn covers(&self, path: &Path) -> bool {
        self.charter.scope.iter().any(|directory| path.starts_with(directory))
    }

    fn judge(&self, tool: &ToolSpec, touch: &Touch) -> Judgement {
        let (verdict, because) = self.decide(tool, touch);
        let (tool, agent) = (tool.name.clone(), self.agent.clone());
        Judgement { verdict, tool, effect: self.effect(touch), agent, because }
    }

    /// Returns what an act is to this agent: outside the scope, all is reaching out, and so
    /// is changing what is protected.
    fn effect(&self, touch: &Touch) -> Effect {
        match &touch.target {
            Target::Path(path) if !self.covers(path) || self.protects(touch, path) => Effect::Reach,
            _ => touch.effect,
        }
    }

    fn protects(&self, touch: &Touch, path: &Path) -> bool {
        let is_own = |place: &PathBuf| path.starts_with(place);
        !touch.effect.is_harmless() && (steers(path) || self.charter.protected.iter().any(is_own))
    }

    fn decide(&self, tool: &ToolSpec, touch: &Touch) -> (Verdict, Because) {
        if !self.admits(tool) {
            return (Verdict::Deny, Because::Access);
        }
        let (by_mode, because) = self.by_mode(touch);
        let rule = self.charter.rules.find(&tool.name, &touch.target, &self.charter.scope);
        let Some((verdict, rule)) = rule else {
            return self.in_doubt(tool, touch, by_mode, because);
        };
        let is_outside = matches!(because, Because::Outside(..) | Because::Protected(..));
        let holds = match verdict {
            Verdict::Deny => true,
            Verdict::Ask => by_mode == Verdict::Allow,
            // What the mode denies stays denied, and leaving the scope must be named.
            Verdict::Allow => by_mode == Verdict::Ask && (!is_outside || rule.is_specific()),
        };
        if holds { (verdict, Because::Rule(rule.to_string())) } else { (by_mode, because) }
    }

    /// What nobody can tell is asked about, if a rule might be about it.
    fn in_doubt(
        &self,
        tool: &ToolSpec,
        touch: &Touch,
        verdict: Verdict,
        because: Because,
    ) -> (Verdict, Because) {
        match &touch.target {
            Target::Unclear(words)
                if verdict == Verdict::Allow && self.charter.rules.distinguish(&tool.name) =>
            {
                (Verdict::Ask, Because::Unclear(words.clone()))
            }
            _ => (verdict, because),
        }
    }

    fn by_mode(&self, touch: &Touch) -> (Verdict, Because) {
        let (mode, effect) = (self.charter.mode, self.effect(touch));
        let because = match &touch.target {
            Target::Path(path) if !self.covers(path) => Because::Outside(mode, path.clone()),
            Target::Path(path) if self.protects(touch, path) => {
                Because::Protected(mode, path.clone())
            }
            _ => Because::Mode(mode, effect),
        };
        (mode.verdict(effect), because)
    }
}

/// Reports whether a path is one that git or the runtime reads orders from.
fn steers(path: &Path) -> bool {
    const STEERING: [&str; 3] = [".git", ".adjutant", ".mcp.json"];
    // Some systems do not tell upper from lower case.
    path.iter().any(|part| STEERING.iter().any(|name| part.eq_ignore_ascii_case(name)))
}

/// Gives the lesser of what was asked and what is held, and says so if that is
/// less than was asked.
fn cut<T: Copy + Ord + fmt::Display>(
    clamps: &mut Vec<Clamp>,
    what: &str,
    asked: Option<T>,
    held: T,
) -> T {
    match asked {
        Some(asked) if asked > held => {
            let (asked, given) = (asked.to_string(), held.to_string());
            clamps.push(Clamp { what: what.to_owned(), asked, given });
            held
        }
        Some(asked) => asked,
        None => held,
    }
}

/// Resolves `.` and `..` by their names. What is really there is checked when it
/// is opened.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            component => normal.push(component),
        }
    }
    normal
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verdict, tool, agent, because, .. } = self;
        write!(f, "`{tool}` is {verdict}: ")?;
        match because {
            Because::Access => write!(f, "`{agent}` was not given this tool"),
            Because::Depth => write!(f, "there may be no agents below `{agent}`"),
            Because::Rule(rule) => write!(f, "rule `{rule}` of `{agent}`"),
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
