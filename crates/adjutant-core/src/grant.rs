//! What an agent may do. Authority only shrinks on the way down.
//!
//! A grant is a chain of layers, one an agent, from the root to its holder. Each
//! layer judges an act by itself and the strictest verdict holds, so nothing a
//! child asks for can loosen what stands above it.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    AgentPath, Effect, Judgement, Mode, Pattern, Refusal, Rules, StandIn, Target, ToolSpec, Touch,
    Verdict, alias, judgement::Because, rule,
};

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
            Self::AllowList { .. } => self.names().any(|named| names(named, name)),
            Self::DenyList { .. } => !self.names().any(|named| names(named, name)),
            Self::ReadOnly => effect.is_harmless(),
        }
    }

    /// Returns the tools named in the policy; a star at the end stands for any ending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let tools = match self {
            Self::AllowList { tools } | Self::DenyList { tools } => Some(tools),
            Self::Inherit | Self::ReadOnly => None,
        };
        tools.into_iter().flatten().map(String::as_str)
    }

    /// Has a list of tools not bar others.
    #[must_use]
    pub fn passing(mut self, others: &BTreeSet<String>) -> Self {
        if let Self::AllowList { tools } = &mut self {
            tools.extend(others.iter().cloned());
        }
        self
    }

    /// Puts our names in the place of other products', but for those of tools there are.
    pub fn rename(&mut self, is_there: impl Fn(&str) -> bool) {
        let (Self::AllowList { tools } | Self::DenyList { tools }) = self else { return };
        let named = std::mem::take(tools).into_iter();
        tools.extend(named.flat_map(|name| match alias::ours(&name) {
            Some(ours) if !is_there(&name) => ours.iter().copied().map(str::to_owned).collect(),
            _ => vec![name],
        }));
    }
}

/// Reports whether a name in a policy is that of a tool. A star at the end stands for any ending.
pub fn names(named: &str, tool: &str) -> bool {
    match named.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => named == tool,
    }
}

/// The authority of a root, as a person gave it.
#[derive(Clone, Debug)]
pub struct Charter {
    /// How freely it acts.
    pub mode: Mode,
    /// Exceptions to that, by layer, the weakest first.
    pub rules: Vec<Rules>,
    /// Which tools it has.
    pub access: Access,
    /// The directories it works in, absolute and canonical.
    pub scope: Vec<PathBuf>,
    /// Places that are not its own to change, even inside the scope: the runtime's own files.
    /// What git and the runtime read from a project is protected in any case.
    pub protected: Vec<PathBuf>,
    /// Places outside the scope that it may look into, absolute and canonical.
    pub shown: Vec<PathBuf>,
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
    /// Tools that a list of such does not bar, though nobody asks for them: whether they have
    /// anything for an agent is for them to say.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub passes: BTreeSet<String>,
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
    /// Where the agent works instead of where its parent does.
    stand_in: Option<StandIn>,
}

/// A touch, as one agent of the line sees it.
struct Act<'a> {
    touch: Cow<'a, Touch>,
    /// Whether it changes what is not the agent's own.
    protected: bool,
}

/// What one agent of the line has to say about an act.
struct Decision<'a> {
    verdict: Verdict,
    by: &'a Layer,
    effect: Effect,
    because: Because,
}

impl Grant {
    /// Makes the authority of a root. Called once a session, by the composition
    /// root; clippy refuses it everywhere else.
    pub fn mint(charter: Charter) -> Self {
        let (agent, stand_in) = (AgentPath::root(), None);
        Self(Arc::new(Layer { above: None, agent, charter, stand_in }))
    }

    /// Returns the grant of a child, and what of its wish was cut down.
    pub fn narrow(&self, agent: AgentPath, wish: &Wish) -> Result<(Self, Vec<Clamp>), Refusal> {
        self.narrow_to(agent, wish, None)
    }

    /// Returns the grant of a child that works in a directory made for it alone, and what of
    /// its wish was cut down. The wish is in terms of the original.
    pub fn narrow_into(
        &self,
        agent: AgentPath,
        wish: &Wish,
        stand_in: StandIn,
    ) -> Result<(Self, Vec<Clamp>), Refusal> {
        if !stand_in.is_apart() {
            return Err(Refusal::NoWorktree(format!(
                "`{}` is not apart from `{}`",
                stand_in.place.display(),
                stand_in.original.display()
            )));
        }
        self.narrow_to(agent, wish, Some(stand_in))
    }

    fn narrow_to(
        &self,
        agent: AgentPath,
        wish: &Wish,
        stand_in: Option<StandIn>,
    ) -> Result<(Self, Vec<Clamp>), Refusal> {
        let held = &self.0.charter;
        let depth =
            held.depth.checked_sub(1).ok_or(Refusal::TooDeep { limit: self.0.agent.depth() })?;
        let mut clamps = Vec::new();
        let mut charter = Charter {
            mode: cut(&mut clamps, "mode", wish.mode, held.mode),
            rules: vec![wish.rules.clone()],
            access: wish.access.clone().passing(&wish.passes),
            scope: match &wish.scope {
                None => held.scope.clone(),
                Some(wanted) => vec![self.within_scope(wanted)?],
            },
            protected: held.protected.clone(),
            shown: held.shown.clone(),
            depth: cut(&mut clamps, "depth", wish.depth, depth),
        };
        if let Some(stand_in) = &stand_in {
            charter.move_into(stand_in);
        }
        let above = Some(Arc::clone(&self.0));
        Ok((Self(Arc::new(Layer { above, agent, charter, stand_in })), clamps))
    }

    /// Returns `wanted` as an absolute path, if it lies inside the scope.
    fn within_scope(&self, wanted: &Path) -> Result<PathBuf, Refusal> {
        let charter = &self.0.charter;
        let absolute = charter.scope.first().map_or_else(|| wanted.into(), |dir| dir.join(wanted));
        let absolute = normal(&absolute);
        let mut seen = absolute.clone();
        let is_inside = self.0.line().all(|layer| {
            let is_covered = layer.covers(&seen);
            seen = layer.original_of(Cow::Borrowed(&seen)).into_owned();
            is_covered
        });
        if is_inside {
            Ok(absolute)
        } else {
            Err(Refusal::OutsideScope { wanted: wanted.into(), scope: charter.scope.clone() })
        }
    }

    /// Returns what a path counts as at the top: the original, if it is in a directory that
    /// stands in for another.
    pub fn original<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        self.0.line().fold(Cow::Borrowed(path), |path, layer| layer.original_of(path))
    }

    /// Returns where a path that is named as at the top is found by this agent: in the directory
    /// that stands in for another, if it is in that other.
    pub fn place_of(&self, path: &Path) -> PathBuf {
        let stand_ins: Vec<_> = self.0.line().filter_map(|layer| layer.stand_in.as_ref()).collect();
        stand_ins.iter().rev().fold(path.to_owned(), |path, stand_in| stand_in.place_of(&path))
    }

    /// Reports whether a path is the agent's own to change, as far as it may change anything:
    /// inside the scope of all who stand above it, and not protected.
    pub fn owns(&self, path: &Path) -> bool {
        let touch = Touch { effect: Effect::Write, target: Target::Path(path.to_owned()) };
        let mut act = self.act(&touch);
        self.0.line().all(|layer| {
            let is_own = layer.effect(&act) == Effect::Write;
            layer.move_out(&mut act);
            is_own
        })
    }

    /// Reports whether a path may be shown to the agent without a question: whether a tool would
    /// be allowed to read it, if the agent had that tool.
    pub fn shows(&self, tool: &ToolSpec, path: &Path) -> bool {
        let touch = Touch { effect: Effect::Read, target: Target::Path(path.to_owned()) };
        let mut act = self.act(&touch);
        self.0.line().all(|layer| {
            let (verdict, _) = layer.by_rules(tool, &act);
            layer.move_out(&mut act);
            verdict == Verdict::Allow
        })
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
        let Decision { verdict, by, effect, because } = self.decide(tool, touches);
        Judgement { verdict, tool: tool.name.clone(), effect, agent: by.agent.clone(), because }
    }

    /// Returns the verdict on a touch without telling who decided it.
    pub fn verdict(&self, tool: &ToolSpec, touch: &Touch) -> Verdict {
        self.decide(tool, std::slice::from_ref(touch)).verdict
    }

    fn decide(&self, tool: &ToolSpec, touches: &[Touch]) -> Decision<'_> {
        let (by, effect) = (&*self.0, tool.effect);
        if self.is_too_deep_for(tool) {
            return Decision { verdict: Verdict::Deny, by, effect, because: Because::Depth };
        }
        let because = Because::Mode(by.charter.mode, effect);
        let mut strictest = Decision { verdict: Verdict::Allow, by, effect, because };
        let mut acts: Vec<_> = touches.iter().map(|touch| self.act(touch)).collect();
        for layer in by.line() {
            let decisions = acts.iter().map(|act| layer.decide(tool, act));
            if let Some(decision) = decisions.min_by_key(|decision| decision.verdict)
                && decision.verdict <= strictest.verdict
            {
                strictest = decision;
            }
            acts.iter_mut().for_each(|act| layer.move_out(act));
        }
        strictest
    }

    /// What is protected is so by what it counts as: the runtime keeps the places where agents
    /// work alone among its own files.
    fn act<'a>(&self, touch: &'a Touch) -> Act<'a> {
        let is_protected = |path: &Path| {
            let path = self.original(path);
            steers(&path) || self.protected().iter().any(|place| path.starts_with(place))
        };
        let protected = match &touch.target {
            // A tool that knows a path to lead to more than a file says so.
            Target::Path(_) if touch.effect == Effect::Reach => true,
            Target::Path(path) => !touch.effect.is_harmless() && is_protected(path),
            Target::Words(_) | Target::Unclear(_) | Target::Nothing => false,
        };
        Act { touch: Cow::Borrowed(touch), protected }
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

    /// Reports whether rules a person gave in the middle of the work lift a question. They count
    /// like rules of the root's: leaving the scope has to be named.
    pub fn lifts(&self, rules: &[Pattern], tool: &ToolSpec, touch: &Touch) -> bool {
        let mut act = self.act(touch);
        self.0.line().for_each(|layer| layer.move_out(&mut act));
        self.0.line().last().is_some_and(|root| {
            let scope = &root.charter.scope;
            let is_outside = root.is_outside(&act);
            rules.iter().any(|rule| {
                rule.allows(&tool.name, &act.touch.target, scope)
                    && act.touch.effect != Effect::Unread
                    && (!is_outside || rule.is_specific())
            })
        })
    }

    /// Returns touches as they count at the top.
    pub fn originals(&self, touches: &[Touch]) -> Vec<Touch> {
        let original = |touch: &Touch| match &touch.target {
            Target::Path(path) => Touch {
                effect: touch.effect,
                target: Target::Path(self.original(path).into_owned()),
            },
            Target::Words(_) | Target::Unclear(_) | Target::Nothing => touch.clone(),
        };
        touches.iter().map(original).collect()
    }

    /// Tells in words what becomes of a call, and which rule of which agent
    /// decided.
    pub fn explain(&self, tool: &ToolSpec, touches: &[Touch]) -> String {
        self.judge(tool, touches).to_string()
    }

    /// Reports whether there are rules that judge one call of a tool otherwise than the next.
    pub fn has_rules_for(&self, tool: &str) -> bool {
        let rules = self.0.line().flat_map(|layer| &layer.charter.rules);
        let mut patterns = rules.flat_map(Rules::patterns);
        patterns.any(|pattern| pattern.is_specific() && pattern.is_about(tool))
    }

    fn is_too_deep_for(&self, tool: &ToolSpec) -> bool {
        tool.effect == Effect::Delegate && !self.may_delegate()
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

    /// Returns the directories the root works in.
    pub fn whole_scope(&self) -> &[PathBuf] {
        self.0.line().last().map_or(&[], |root| &root.charter.scope)
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

    /// Reports whether an act leaves the scope and what may be looked into besides.
    fn is_beyond(&self, touch: &Touch, path: &Path) -> bool {
        let mut shown = self.charter.shown.iter();
        let is_shown = touch.effect == Effect::Read && shown.any(|it| path.starts_with(it));
        !is_shown && !self.covers(path)
    }

    /// Returns what a path counts as above this agent.
    fn original_of<'a>(&self, path: Cow<'a, Path>) -> Cow<'a, Path> {
        match &self.stand_in {
            Some(stand_in) => Cow::Owned(stand_in.original_of(&path).into_owned()),
            None => path,
        }
    }

    /// Makes an act what it is to those above this agent.
    fn move_out(&self, act: &mut Act<'_>) {
        if let (Some(stand_in), Target::Path(path)) = (&self.stand_in, &act.touch.target)
            && let Cow::Owned(original) = stand_in.original_of(path)
        {
            act.touch.to_mut().target = Target::Path(original);
        }
    }

    fn decide(&self, tool: &ToolSpec, act: &Act<'_>) -> Decision<'_> {
        let (verdict, because) = self.reason(tool, act);
        Decision { verdict, by: self, effect: self.effect(act), because }
    }

    /// Returns what an act is to this agent: outside the scope, all is reaching out, and so
    /// is changing what is protected.
    fn effect(&self, act: &Act<'_>) -> Effect {
        match &act.touch.target {
            Target::Path(path) if self.is_beyond(&act.touch, path) || act.protected => {
                Effect::Reach
            }
            _ => act.touch.effect,
        }
    }

    fn reason(&self, tool: &ToolSpec, act: &Act<'_>) -> (Verdict, Because) {
        if !self.admits(tool) {
            return (Verdict::Deny, Because::Access);
        }
        self.by_rules(tool, act)
    }

    /// Returns what becomes of an act with a tool, whether the agent has that or not.
    fn by_rules(&self, tool: &ToolSpec, act: &Act<'_>) -> (Verdict, Because) {
        let (by_mode, because) = self.by_mode(act);
        let target = &act.touch.target;
        let bounds = self.bounds(tool, target);
        if !bounds.is_empty() {
            return (Verdict::Deny, Because::Bound(bounds.into_iter().cloned().collect()));
        }
        let rule = self.rule(tool, target);
        let Some((verdict, rule)) = rule else {
            return self.in_doubt(tool, target, by_mode, because);
        };
        let is_outside = self.is_outside(act);
        let holds = match verdict {
            Verdict::Deny => true,
            Verdict::Ask => by_mode == Verdict::Allow,
            // What the mode denies stays denied, leaving the scope must be named, and what
            // nobody can read nobody can have meant.
            Verdict::Allow => {
                let is_meant =
                    act.touch.effect != Effect::Unread && (!is_outside || rule.is_specific());
                by_mode == Verdict::Ask && is_meant
            }
        };
        if holds { (verdict, Because::Rule(rule.to_string())) } else { (by_mode, because) }
    }

    /// Returns the rule that decides. An agent that works in a place of its own was given rules
    /// about the original, so the stricter of what is said of the two counts.
    fn rule(&self, tool: &ToolSpec, target: &Target) -> Option<(Verdict, &Pattern)> {
        let Charter { rules, scope, .. } = &self.charter;
        let own = rule::find(rules, &tool.name, target, scope);
        let (Some(stand_in), Target::Path(path)) = (&self.stand_in, target) else { return own };
        let original = Target::Path(stand_in.original_of(path).into_owned());
        let theirs = rule::find(rules, &tool.name, &original, scope);
        own.into_iter().chain(theirs).min_by_key(|(verdict, _)| *verdict)
    }

    /// Returns the rules that leave of the tool only other calls than this. What is left in the
    /// original is left in the place that stands for it.
    fn bounds(&self, tool: &ToolSpec, target: &Target) -> Vec<&Pattern> {
        let Charter { rules, scope, .. } = &self.charter;
        let original = match (&self.stand_in, target) {
            (Some(stand_in), Target::Path(path)) => {
                Target::Path(stand_in.original_of(path).into_owned())
            }
            _ => target.clone(),
        };
        let mut bounds =
            rules.iter().map(|rules| rules.bounds(&tool.name, &[target, &original], scope));
        bounds.find(|bounds| !bounds.is_empty()).unwrap_or_default()
    }

    fn is_outside(&self, act: &Act<'_>) -> bool {
        let is_beyond = |path: &Path| self.is_beyond(&act.touch, path);
        matches!(&act.touch.target, Target::Path(path) if is_beyond(path) || act.protected)
    }

    /// What nobody can tell is asked about, if a rule might be about it.
    fn in_doubt(
        &self,
        tool: &ToolSpec,
        target: &Target,
        verdict: Verdict,
        because: Because,
    ) -> (Verdict, Because) {
        match target {
            Target::Unclear(words) if verdict == Verdict::Allow && self.distinguishes(tool) => {
                (Verdict::Ask, Because::Unclear(words.clone()))
            }
            _ => (verdict, because),
        }
    }

    fn distinguishes(&self, tool: &ToolSpec) -> bool {
        self.charter.rules.iter().any(|rules| rules.distinguish(&tool.name))
    }

    fn by_mode(&self, act: &Act<'_>) -> (Verdict, Because) {
        let (mode, effect) = (self.charter.mode, self.effect(act));
        let because = match &act.touch.target {
            Target::Path(path) if self.is_beyond(&act.touch, path) => {
                Because::Outside(mode, path.clone())
            }
            Target::Path(path) if act.protected => Because::Protected(mode, path.clone()),
            _ => Because::Mode(mode, effect),
        };
        (mode.verdict(effect), because)
    }
}

impl Charter {
    /// Makes it the authority of one who works in a place that stands for another.
    fn move_into(&mut self, stand_in: &StandIn) {
        let Self { scope, protected, .. } = self;
        scope.iter_mut().for_each(|directory| *directory = stand_in.scope_of(directory));
        scope.dedup();
        let inside = protected.iter().filter(|path| path.starts_with(&stand_in.original));
        let copies: Vec<_> = inside.map(|path| stand_in.place_of(path)).collect();
        protected.extend(copies);
    }
}

/// Reports whether a path is one that git or the runtime reads orders from.
pub fn steers(path: &Path) -> bool {
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
