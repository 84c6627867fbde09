//! What undoing would do to one file.

use adjutant_core::{AgentPath, CallId, FileState};

use super::trail::{State, Step, Trail, same};

/// Whose changes are undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Everybody's.
    All,
    /// An agent's, and of those below it.
    Agent(AgentPath),
    /// Those of one call of an agent's.
    Call(AgentPath, CallId),
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was there before and is as it was.
    Restored,
    /// It was not there before and goes.
    Removed,
    /// It was there before and comes back.
    Recreated,
    /// It is as it was already.
    Unchanged,
    /// It was not there before and stays, since nobody knows what it became.
    Left,
    /// It is left alone, and why.
    Conflict(String),
}

/// What undoing would do to one file.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) verdict: Verdict,
    /// What it is.
    pub(super) present: State,
    /// What it becomes.
    pub(super) to: State,
    /// Whose changes are undone, the oldest first.
    pub(super) steps: Vec<Step>,
}

impl Wanted {
    /// Reports whether a change is wanted, or was brought back by what is.
    pub(super) fn covers(&self, step: &Step) -> bool {
        let is_again = matches!(self, Self::Call(agent, call)
            if *agent == AgentPath::root() && step.again.contains(call));
        is_again || self.is_of(&step.agent, &step.call)
    }

    /// Reports whether a call is meant.
    pub(super) fn is_of(&self, by: &AgentPath, by_call: &CallId) -> bool {
        match self {
            Self::All => true,
            Self::Agent(top) => by.is_within(top),
            Self::Call(agent, call) => by == agent && by_call == call,
        }
    }

    fn redoes(&self, undone: &CallId) -> bool {
        matches!(self, Self::Call(agent, call) if call == undone && *agent == AgentPath::root())
    }
}

impl Plan {
    /// Makes the plan for a file, if it is concerned.
    pub(super) fn make(trail: &Trail, wanted: &Wanted, present: &State) -> Option<Self> {
        if let Some(undone) = trail.undone.iter().rfind(|it| wanted.redoes(&it.call)) {
            let (first, last) = (undone.steps.first()?, undone.steps.last()?);
            return Some(Self::lead(&first.before, &last.after, present, &undone.steps));
        }
        let Some(first) = trail.standing.iter().position(|step| wanted.covers(step)) else {
            let unmade = trail.unmade.iter().find(|step| wanted.covers(step))?;
            return Some(Self::unchanged(present, std::slice::from_ref(unmade)));
        };
        let steps = &trail.standing[first..];
        if let Some(other) = steps.iter().find(|step| !wanted.covers(step)) {
            let why = format!("changed later by {} (call {})", other.agent, other.call);
            return Some(Self::conflict(why, steps));
        }
        let (first, last) = (steps.first()?, steps.last()?);
        let is_whole = steps.windows(2).all(|pair| same(&pair[0].after, &pair[1].before));
        if !is_whole && !same(present, &first.before) {
            let why = "changed in between, by nobody of this session".to_owned();
            return Some(Self::conflict(why, steps));
        }
        Some(Self::lead(&last.after, &first.before, present, steps))
    }

    /// Leads a file from what was made of it to what it was.
    fn lead(from: &State, to: &State, present: &State, steps: &[Step]) -> Self {
        if same(present, to) {
            return Self::unchanged(present, steps);
        }
        if is_new_and_unknown(to, from) {
            return Self::left(steps);
        }
        if !is_known(from) {
            return Self::conflict("what it became is not known, so it may be another now", steps);
        }
        if !is_known(to) {
            return Self::conflict("what it held was not kept", steps);
        }
        if !same(present, from) {
            return Self::conflict(difference(present, from), steps);
        }
        let (verdict, to) = match (present, to) {
            (_, None) => (Verdict::Removed, None),
            (None, Some(to)) => (Verdict::Recreated, Some(to.clone())),
            (Some(present), Some(to)) => {
                let from = from.as_ref().unwrap_or(to);
                (Verdict::Restored, Some(with_permissions(present, from, to)))
            }
        };
        Self { verdict, present: present.clone(), to, steps: steps.to_vec() }
    }

    fn unchanged(present: &State, steps: &[Step]) -> Self {
        let (present, to) = (present.clone(), present.clone());
        Self { verdict: Verdict::Unchanged, present, to, steps: steps.to_vec() }
    }

    /// Makes the plan for a file that cannot be read.
    pub(super) fn unreadable(why: impl Into<String>, steps: &[Step], wanted: &Wanted) -> Self {
        match (steps.iter().find(|step| wanted.covers(step)), steps.last()) {
            (Some(first), Some(last)) if is_new_and_unknown(&first.before, &last.after) => {
                Self::left(steps)
            }
            _ => Self::conflict(why, steps),
        }
    }

    fn left(steps: &[Step]) -> Self {
        Self { verdict: Verdict::Left, ..Self::conflict("", steps) }
    }

    /// Leaves a file alone.
    pub(super) fn conflict(why: impl Into<String>, steps: &[Step]) -> Self {
        let verdict = Verdict::Conflict(why.into());
        Self { verdict, present: None, to: None, steps: steps.to_vec() }
    }

    pub(super) fn is_conflict(&self) -> bool {
        matches!(self.verdict, Verdict::Conflict(_))
    }

    /// Reports whether the file becomes another.
    pub(super) fn is_change(&self) -> bool {
        matches!(self.verdict, Verdict::Restored | Verdict::Removed | Verdict::Recreated)
    }
}

/// Takes the permissions back as well, unless the changes had nothing to do with them.
fn with_permissions(present: &FileState, from: &FileState, to: &FileState) -> FileState {
    let mode = if from.mode == to.mode { present.mode } else { to.mode };
    FileState { mode, ..to.clone() }
}

fn difference(present: &State, expected: &State) -> String {
    match (present, expected) {
        (None, _) => "is gone, by nobody of this session".to_owned(),
        (Some(now), Some(then)) if name(now) != name(then) => {
            format!("is {} now, by nobody of this session", name(now))
        }
        (Some(_), None) => "is there again, by nobody of this session".to_owned(),
        (Some(_), Some(_)) => "changed later, by nobody of this session".to_owned(),
    }
}

fn name(state: &FileState) -> &'static str {
    match (state.is_directory(), state.is_link()) {
        (true, _) => "a directory",
        (_, true) => "a link",
        _ => "a file",
    }
}

/// Reports whether nothing was there and nobody knows what came. It could be all that is left of
/// something else, so it is not for undoing to remove.
fn is_new_and_unknown(before: &State, after: &State) -> bool {
    before.is_none() && !is_known(after)
}

fn is_known(state: &State) -> bool {
    state.as_ref().is_none_or(FileState::is_known)
}

/// Reports whether a state is that of a directory.
pub(super) fn is_directory(state: &State) -> bool {
    state.as_ref().is_some_and(FileState::is_directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(content: &str, mode: u32) -> State {
        Some(FileState::of(content.as_bytes(), mode))
    }

    fn file(content: &str) -> State {
        state(content, 0o100_644)
    }

    fn step(agent: &str, before: State, after: State) -> Step {
        let (agent, call) = (agent.parse().unwrap(), format!("{agent}-call").into());
        Step { agent, call, before, after, again: Vec::new() }
    }

    fn plan(steps: &[Step], wanted: &str, present: &State) -> Option<(Verdict, State)> {
        let wanted = Wanted::Agent(wanted.parse().unwrap());
        let plan = Plan::make(&Trail::follow(steps, present), &wanted, present)?;
        Some((plan.verdict, plan.to))
    }

    fn is_conflict(planned: Option<(Verdict, State)>, word: &str) -> bool {
        matches!(planned, Some((Verdict::Conflict(why), _)) if why.contains(word))
    }

    #[test]
    fn a_file_becomes_what_it_was_before_the_first_wanted_change() {
        let (a, b) = ("root.a-1", "root.a-1.b-1");
        let steps = [step(a, file("0"), file("1")), step(b, file("1"), file("2"))];
        assert_eq!(plan(&steps, a, &file("2")), Some((Verdict::Restored, file("0"))));
        assert_eq!(plan(&steps, b, &file("2")), Some((Verdict::Restored, file("1"))));
        assert_eq!(plan(&steps, "root.a-11", &file("2")), None);
        let steps = [step(a, None, file("1"))];
        assert_eq!(plan(&steps, a, &file("1")), Some((Verdict::Removed, None)));
        let steps = [step(a, file("1"), None)];
        assert_eq!(plan(&steps, a, &None), Some((Verdict::Recreated, file("1"))));
    }

    #[test]
    fn what_somebody_did_later_is_a_conflict() {
        let (a, b) = ("root.a-1", "root.b-1");
        let steps = [step(a, file("0"), file("1")), step(b, file("1"), file("2"))];
        assert!(is_conflict(plan(&steps, a, &file("2")), "by root.b-1 (call root.b-1-call)"));
        let above = [&steps[..], &[step(a, file("2"), file("3"))]].concat();
        assert!(is_conflict(plan(&above, a, &file("3")), "by root.b-1"));
        assert!(is_conflict(plan(&steps, b, &file("x")), "changed later, by nobody"));
        assert!(is_conflict(plan(&steps, b, &None), "is gone"));
        assert!(is_conflict(plan(&steps, b, &state("2", 0o120_777)), "is a link"));
        assert!(is_conflict(plan(&steps, b, &state("", 0o040_755)), "is a directory"));
        let gone = [step(a, file("0"), None)];
        assert!(is_conflict(plan(&gone, a, &file("x")), "is there again"));
    }

    #[test]
    fn what_somebody_did_in_between_is_a_conflict() {
        let steps = [step("root", file("0"), file("1")), step("root", file("by hand"), file("2"))];
        assert!(is_conflict(plan(&steps, "root", &file("2")), "in between"));
        assert_eq!(plan(&steps, "root", &file("0")), Some((Verdict::Unchanged, file("0"))));
    }

    #[test]
    fn what_nobody_could_read_is_left_alone() {
        let unknown = Some(FileState::unknown(0o100_000));
        let steps = [step("root", file("0"), unknown.clone()), step("root", unknown, file("2"))];
        assert!(is_conflict(plan(&steps[..1], "root", &file("x")), "what it became is not known"));
        assert_eq!(plan(&steps[..1], "root", &file("0")), Some((Verdict::Unchanged, file("0"))));
        let new = [step("root", None, steps[0].after.clone())];
        assert_eq!(plan(&new, "root", &file("x")), Some((Verdict::Left, None)));
        assert_eq!(plan(&new, "root", &None), Some((Verdict::Unchanged, None)));
        assert!(is_conflict(plan(&steps[1..], "root", &file("2")), "was not kept"));
        assert_eq!(plan(&steps, "root", &file("2")), Some((Verdict::Restored, file("0"))));
    }

    #[test]
    fn permissions_go_back_only_if_they_were_changed() {
        let steps = [step("root", state("0", 0o100_755), state("1", 0o100_644))];
        let expected = state("0", 0o100_755);
        assert_eq!(plan(&steps, "root", &file("1")), Some((Verdict::Restored, expected)));
        let steps = [step("root", file("0"), file("1"))];
        let private = plan(&steps, "root", &state("1", 0o100_600));
        assert_eq!(private, Some((Verdict::Restored, state("0", 0o100_600))));
        // Whether it can be run is a part of what it is.
        assert!(is_conflict(plan(&steps, "root", &state("1", 0o100_755)), "changed later"));
    }

    #[test]
    fn a_change_that_was_never_made_leaves_nothing_to_do() {
        let steps = [step("root", file("0"), file("1"))];
        assert_eq!(plan(&steps, "root", &file("0")), Some((Verdict::Unchanged, file("0"))));
    }
}
