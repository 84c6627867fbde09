//! What was done to one file, and what of it still stands.

use adjutant_core::{AgentPath, CallId, FileState};

/// What is at a path, if anything is.
pub(super) type State = Option<FileState>;

/// How the calls begin that an undoing is recorded as.
pub(super) const UNDO: &str = "undo-";

/// How the calls begin that take an undoing back.
pub(super) const REDO: &str = "redo-";

/// A change to a file, as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) agent: AgentPath,
    pub(super) call: CallId,
    pub(super) before: State,
    pub(super) after: State,
    /// The redoings that brought it back.
    pub(super) again: Vec<CallId>,
}

/// Changes that were undone together, and by which call.
#[derive(Clone, Debug)]
pub(super) struct Undone {
    pub(super) call: CallId,
    pub(super) steps: Vec<Step>,
}

/// What was done to one file. Nothing says which changes an undoing undid: that follows from
/// what the file was before and after it.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    /// The changes that stand, the oldest first.
    pub(super) standing: Vec<Step>,
    /// Those that were undone.
    pub(super) undone: Vec<Undone>,
    /// Those that were recorded last and never made.
    pub(super) unmade: Vec<Step>,
}

impl Trail {
    /// Follows what was recorded to what is there now.
    pub(super) fn follow(steps: &[Step], present: &State) -> Self {
        let (made, unmade) = sift(steps, present);
        let mut trail = Self { unmade, ..Self::default() };
        made.into_iter().for_each(|step| trail.add(step));
        trail
    }

    fn add(&mut self, step: Step) {
        let undone = self.undone_by(&step);
        let redone = self.undone.iter().rposition(|it| it.is_redone_by(&step));
        if let Some(first) = undone {
            let steps = self.standing.split_off(first);
            self.undone.push(Undone { call: step.call, steps });
        } else if let Some(place) = redone {
            let mut steps = self.undone.remove(place).steps;
            steps.iter_mut().for_each(|it| it.again.push(CallId::clone(&step.call)));
            self.standing.append(&mut steps);
        } else if step.before != step.after {
            self.standing.push(step);
        }
    }

    /// Returns where the changes begin that a step undid.
    fn undone_by(&self, step: &Step) -> Option<usize> {
        let last = self.standing.last().filter(|_| step.is(UNDO))?;
        // Where the file was found as it had been, nothing was written.
        let is_next = same(&last.after, &step.before) || step.before == step.after;
        self.standing.iter().rposition(|it| is_next && same(&it.before, &step.after))
    }
}

impl Undone {
    fn is_redone_by(&self, step: &Step) -> bool {
        let (Some(first), Some(last)) = (self.steps.first(), self.steps.last()) else {
            return false;
        };
        step.is(REDO) && same(&first.before, &step.before) && same(&last.after, &step.after)
    }
}

impl Step {
    /// Reports whether it undid something.
    pub(super) fn is_undoing(&self) -> bool {
        self.is(UNDO)
    }

    fn is(&self, prefix: &str) -> bool {
        self.agent == AgentPath::root() && self.call.starts_with(prefix)
    }
}

/// Parts the changes that were made from the last ones that were not: a change is recorded
/// before it is made, and the process may die in between.
fn sift(steps: &[Step], present: &State) -> (Vec<Step>, Vec<Step>) {
    let (mut made, mut unmade, mut next) = (Vec::new(), Vec::new(), present);
    for step in steps.iter().rev() {
        if same(&step.after, next) || !same(&step.before, next) {
            next = &step.before;
            made.push(step.clone());
        } else if made.is_empty() {
            unmade.push(step.clone());
        }
    }
    made.reverse();
    (made, unmade)
}

/// Reports whether the same is there: in content, in kind, and in whether it can be run. Other
/// permissions are not kept by every file system.
pub(super) fn same(one: &State, other: &State) -> bool {
    let identity = |state: &FileState| (state.digest.clone(), state.mode & 0o170_100);
    one.as_ref().map(identity) == other.as_ref().map(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with that content; nothing is no file.
    pub(in super::super) fn state(content: &str) -> State {
        (!content.is_empty()).then(|| FileState::of(content.as_bytes(), 0o100_644))
    }

    fn step(call: &str, before: &str, after: &str) -> Step {
        let (before, after) = (state(before), state(after));
        Step { agent: AgentPath::root(), call: call.into(), before, after, again: Vec::new() }
    }

    /// Follows changes, each as `call:before>after`, and returns what stands, what was undone
    /// and what was never made, by call.
    fn follow(steps: &str, present: &str) -> [String; 3] {
        let steps: Vec<_> = steps
            .split_whitespace()
            .map(|text| {
                let (call, states) = text.split_once(':').unwrap();
                let (before, after) = states.split_once('>').unwrap();
                step(call, before, after)
            })
            .collect();
        let trail = Trail::follow(&steps, &state(present));
        let calls = |steps: &[Step]| {
            let calls: Vec<_> = steps.iter().map(|step| &*step.call).collect();
            calls.join(" ")
        };
        let undone: Vec<_> = trail.undone.iter().map(|it| calls(&it.steps)).collect();
        [calls(&trail.standing), undone.join("; "), calls(&trail.unmade)]
    }

    #[test]
    fn what_was_undone_does_not_stand_and_what_was_redone_does() {
        assert_eq!(follow("a:>1 b:1>2", "2"), ["a b", "", ""]);
        assert_eq!(follow("a:>1 b:1>2 undo-1:2>1", "1"), ["a", "b", ""]);
        assert_eq!(follow("a:>1 b:1>2 undo-1:2>", ""), ["", "a b", ""]);
        assert_eq!(follow("a:>1 b:1>2 undo-1:2> redo-2:>2", "2"), ["a b", "", ""]);
        assert_eq!(follow("a:>1 undo-1:1> redo-2:>1 undo-3:1>", ""), ["", "a", ""]);
        assert_eq!(follow("a:>1 b:1>2 undo-1:2>1 undo-2:1>", ""), ["", "b; a", ""]);
    }

    #[test]
    fn only_an_undoing_undoes() {
        assert_eq!(follow("a:>1 b:1>", ""), ["a b", "", ""]);
        assert_eq!(follow("a:>1 undo-1:1> b:>1", "1"), ["b", "a", ""]);
        assert_eq!(follow("a:>1 undo-1:3>4", "4"), ["a undo-1", "", ""]);
    }

    #[test]
    fn a_change_that_was_recorded_and_not_made_does_not_stand() {
        assert_eq!(follow("a:>1", ""), ["", "", "a"]);
        assert_eq!(follow("a:>1 b:1>2", "1"), ["a", "", "b"]);
        assert_eq!(follow("a:>1 b:1>2 c:1>3", "3"), ["a c", "", ""]);
        // An undoing that was not made leaves what it was to undo.
        assert_eq!(follow("a:>1 undo-1:1>", "1"), ["a", "", "undo-1"]);
        assert_eq!(follow("a:>1 undo-1:1> undo-2:1>", ""), ["", "a", ""]);
    }

    #[test]
    fn what_was_found_as_it_had_been_is_settled() {
        assert_eq!(follow("a:1>2 undo-1:1>1", "1"), ["", "", ""]);
        assert_eq!(follow("a:1>2 b:2>3 undo-1:1>1", "1"), ["", "a b", ""]);
    }
}
