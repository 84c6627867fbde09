//! Who came first, among agents that work side by side.
//!
//! An agent in the background is heard of whenever it ends: how far its parent is by then
//! depends on how long the models took. A replay takes no time, so it follows the order of
//! the recording instead. A tree whose agents only ever wait for one another has none.
//!
//! An agent's steps are, by turns, the end of an answer and what the agent does next: it
//! asks again, or it is gone. An answer can be held back, and so can what follows the
//! results of calls. What follows an answer without calls cannot, but since such an answer
//! matters to nobody else, it is held back in its place.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use adjutant_core::AgentPath;
use tokio::{sync::watch, time::timeout};

/// How long an answer is held back. Who waits longer than this waits for what will not
/// come; whether that matters, the next request shows.
const PATIENCE: Duration = Duration::from_secs(60);

/// The order of a recording, and how far the replay has come in it.
pub(super) struct Order {
    /// The steps, each with its number among those of its agent.
    steps: Vec<(AgentPath, u64)>,
    places: HashMap<(AgentPath, u64), usize>,
    taken: Mutex<HashMap<AgentPath, u64>>,
    /// How many steps have been taken with none missing before them.
    reached: watch::Sender<usize>,
}

impl Order {
    /// Makes an order of how many steps of whom follow one another.
    pub(super) fn new(runs: &[(AgentPath, u64)]) -> Self {
        let mut counts: HashMap<AgentPath, u64> = HashMap::new();
        let mut steps = Vec::new();
        for (agent, length) in runs {
            let count = counts.entry(agent.clone()).or_default();
            steps.extend((1..=*length).map(|step| (agent.clone(), *count + step)));
            *count += length;
        }
        let places = steps.iter().cloned().enumerate().map(|(place, step)| (step, place));
        let places = places.collect();
        Self { steps, places, taken: Mutex::default(), reached: watch::Sender::new(0) }
    }

    /// Notes that an agent asks for its `number`th answer.
    pub(super) fn asked(&self, agent: &AgentPath, number: u64) {
        self.take(agent, 2 * number - 2);
    }

    /// Notes that an agent has its `number`th answer.
    pub(super) fn answered(&self, agent: &AgentPath, number: u64) {
        self.take(agent, 2 * number - 1);
    }

    /// Notes that an agent is gone.
    pub(super) fn ended(&self, agent: &AgentPath) {
        self.take(agent, u64::MAX);
    }

    /// Holds nobody back from now on.
    pub(super) fn give_up(&self) {
        self.reached.send_replace(usize::MAX);
    }

    /// Waits until it is time for an agent's next step.
    pub(super) async fn next(&self, agent: &AgentPath) {
        let step = self.taken().get(agent).map_or(1, |last| last.saturating_add(1));
        let Some(place) = self.places.get(&(agent.clone(), step)) else { return };
        let mut reached = self.reached.subscribe();
        let _ = timeout(PATIENCE, reached.wait_for(|reached| reached >= place)).await;
    }

    fn take(&self, agent: &AgentPath, step: u64) {
        let mut taken = self.taken();
        taken.insert(agent.clone(), step);
        self.reached.send_modify(|reached| {
            let is_taken = |(agent, step): &&(AgentPath, u64)| taken.get(agent) >= Some(step);
            let next = self.steps.get(*reached..).unwrap_or_default();
            *reached += next.iter().take_while(is_taken).count();
        });
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<AgentPath, u64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use futures_util::FutureExt as _;

    use super::*;

    fn path(text: &str) -> AgentPath {
        text.parse().unwrap()
    }

    fn order() -> (Order, AgentPath, AgentPath) {
        let (root, child) = (path("root"), path("root.a-1"));
        let runs = [(root.clone(), 3), (child.clone(), 2), (root.clone(), 1)];
        (Order::new(&runs), root, child)
    }

    fn is_ready(wait: impl Future) -> bool {
        wait.now_or_never().is_some()
    }

    #[tokio::test]
    async fn nobody_gets_ahead_of_those_who_were_before() {
        let (order, root, child) = order();
        order.asked(&root, 1);
        order.asked(&child, 1);
        assert!(is_ready(order.next(&root)) && !is_ready(order.next(&child)));
        order.answered(&root, 1);
        order.asked(&root, 2);
        assert!(is_ready(order.next(&root)) && !is_ready(order.next(&child)));
        order.answered(&root, 2);
        assert!(is_ready(order.next(&child)) && !is_ready(order.next(&root)));
        order.answered(&child, 1);
        assert!(!is_ready(order.next(&root)));
        order.ended(&child);
        assert!(is_ready(order.next(&root)));
    }

    #[tokio::test]
    async fn those_who_are_gone_hold_nobody_back() {
        let (order, root, child) = order();
        order.ended(&root);
        assert!(is_ready(order.next(&child)));
    }

    #[tokio::test]
    async fn whoever_has_no_place_does_not_wait() {
        let (order, root, child) = order();
        assert!(is_ready(order.next(&path("root.b-1"))));
        order.give_up();
        assert!(is_ready(order.next(&child)) && is_ready(order.next(&root)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_has_an_end() {
        let (order, _, child) = order();
        let start = tokio::time::Instant::now();
        order.next(&child).await;
        assert_eq!(start.elapsed(), PATIENCE);
    }
}
