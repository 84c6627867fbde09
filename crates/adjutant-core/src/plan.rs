//! Several delegations, some of which need what others find.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{AgentPath, CallId, Ending, Event, EventKind, Order, Refusal, Report};

/// Tasks for several children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What it is all for.
    pub goal: String,
    /// The tasks. What one needs comes from others, whatever their order.
    pub tasks: Vec<Task>,
    /// How many are worked on at one time.
    pub at_once: usize,
    /// What becomes of the others when one goes wrong.
    pub on_error: OnError,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What is to be done. What it needs is added when it is there.
    pub order: Order,
    /// The tasks whose results it needs, by their places in the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<usize>,
}

/// What becomes of a plan when a task goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// No other is begun; those at work go on to their ends.
    Stop,
    /// Only those that need it are left out.
    GoOn,
}

/// How a task of a plan ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// A child was at it.
    Ended(Report),
    /// No child could be started for it.
    Refused(Refusal),
    /// It was not begun, because of another.
    Skipped {
        /// The place of the other in the plan.
        because_of: usize,
    },
}

/// How a task of a plan ended, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum TaskNote {
    /// A child was at it; its own events tell the rest.
    Ended {
        /// Which child.
        agent: AgentPath,
        /// How it ended.
        ending: Ending,
    },
    /// No child could be started for it.
    Refused {
        /// Why.
        reason: String,
    },
    /// It was not begun, because of another.
    Skipped {
        /// The place of the other in the plan.
        because_of: usize,
    },
}

impl TaskEnd {
    /// Returns what is recorded of it.
    pub fn note(&self) -> TaskNote {
        match self {
            Self::Ended(report) => {
                TaskNote::Ended { agent: report.path.clone(), ending: report.outcome.ending }
            }
            Self::Refused(refusal) => TaskNote::Refused { reason: refusal.to_string() },
            Self::Skipped { because_of } => TaskNote::Skipped { because_of: *because_of },
        }
    }

    /// Reports whether those that need the task can go on.
    pub fn is_well(&self) -> bool {
        self.note().is_well()
    }
}

impl TaskNote {
    /// Reports whether those that need the task can go on.
    pub fn is_well(&self) -> bool {
        matches!(self, Self::Ended { ending, .. } if ending.has_findings())
    }
}

/// A plan, and how far it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanState {
    /// Whose it is.
    pub path: AgentPath,
    /// The call that carries it out.
    pub call_id: CallId,
    /// What is to be done.
    pub plan: Arc<Plan>,
    /// How each task ended, in their order; `None` is not known to have ended.
    pub ends: Vec<Option<TaskNote>>,
}

impl PlanState {
    /// Folds events, in their order, into the plans they tell of.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let mut plans: Vec<Self> = Vec::new();
        for Event { path, kind, .. } in events {
            match kind {
                EventKind::Planned { call_id, plan } => {
                    let (path, call_id, plan) = (path.clone(), call_id.clone(), Arc::clone(plan));
                    let ends = vec![None; plan.tasks.len()];
                    plans.push(Self { path, call_id, plan, ends });
                }
                EventKind::TaskEnded { call_id, task, end } => {
                    let mut latest = plans.iter_mut().rev();
                    let own = latest.find(|own| own.path == *path && own.call_id == *call_id);
                    if let Some(place) = own.and_then(|own| own.ends.get_mut(*task)) {
                        *place = Some(end.clone());
                    }
                }
                _ => {}
            }
        }
        plans
    }

    /// Returns the places of the tasks that are still to be done.
    pub fn unfinished(&self) -> impl Iterator<Item = usize> {
        let is_done = |end: &Option<TaskNote>| end.as_ref().is_some_and(TaskNote::is_well);
        (0..self.ends.len()).filter(move |task| !is_done(&self.ends[*task]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AgentId;

    fn event(path: &str, kind: EventKind) -> Event {
        let id = AgentId::from(uuid::Uuid::nil());
        Event { seq: 1, at: 0, path: path.parse().unwrap(), id, call: None, kind }
    }

    fn planned(path: &str, tasks: usize) -> Event {
        let task = Task { order: Order::default(), needs: Vec::new() };
        let tasks = vec![task; tasks];
        let plan = Plan { goal: String::new(), tasks, at_once: 1, on_error: OnError::Stop };
        event(path, EventKind::Planned { call_id: "c".into(), plan: Arc::new(plan) })
    }

    fn ended(path: &str, task: usize, ending: Ending) -> Event {
        let end = TaskNote::Ended { agent: path.parse().unwrap(), ending };
        event(path, EventKind::TaskEnded { call_id: "c".into(), task, end })
    }

    fn open(events: &[Event]) -> Vec<Vec<usize>> {
        PlanState::fold(events).iter().map(|state| state.unfinished().collect()).collect()
    }

    #[test]
    fn an_end_counts_for_the_latest_plan_of_its_own_agent_and_call() {
        let events = [
            planned("root", 2),
            planned("root.task-1", 2),
            ended("root", 0, Ending::Completed),
            planned("root", 2),
            ended("root", 1, Ending::BudgetExceeded),
        ];
        assert_eq!(open(&events), [vec![1], vec![0, 1], vec![0]]);
    }

    #[test]
    fn what_failed_or_is_not_known_is_still_to_be_done() {
        let skipped = TaskNote::Skipped { because_of: 0 };
        let events = [
            planned("root", 4),
            ended("root", 0, Ending::Failed),
            ended("root", 1, Ending::Timeout),
            event("root", EventKind::TaskEnded { call_id: "c".into(), task: 2, end: skipped }),
            ended("root", 9, Ending::Completed),
            ended("root.other", 3, Ending::Completed),
        ];
        assert_eq!(open(&events), [vec![0, 1, 2, 3]]);
    }
}
