//! Whatever models, tools, people and limits do, a tree ends, whole and in order.

mod actor;
mod case;
mod check;

use std::{sync::Arc, time::Duration};

use adjutant_core::{AgentPath, Answer, Command, Event, EventKind, Price, Retry, Tree as Folded};
use adjutant_engine::{Attendance, NotSent, Seen as Heard, Session, Settings};
use adjutant_models::script::Script;
use futures_util::StreamExt as _;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner},
};
use tokio::{runtime, time::timeout};

use self::{
    actor::Seen,
    case::{Case, Limits, PROBE, Reply, Said, cases},
};
use crate::support::Plan;

/// How many trees grow in a time that stands still while nobody does anything.
const CASES: u32 = 600;
/// How many grow in real time, on several threads.
const IN_PARALLEL: usize = 150;
/// Nobody answers any more when nothing has happened for so long.
const STILL: Duration = Duration::from_millis(200);
/// Nothing takes so long.
const WATCHDOG: Duration = Duration::from_secs(20);
/// What the call is about with which the root looks at everything.
const LAST_LOOK: &str = r#"{"act":0,"life":98,"turn":0}"#;

fn runner() -> TestRunner {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng)
}

#[test]
fn a_random_tree_ends_whole_and_in_order() {
    let grown = runner().run(&cases(), |case| {
        let mut runtime = runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(run(case));
        Ok(())
    });
    match grown {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\nthe smallest that does so:\n{case:?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn so_does_one_whose_agents_run_side_by_side() {
    let mut runner = runner();
    let cases = (0..IN_PARALLEL).map(|_| cases().new_tree(&mut runner).unwrap().current());
    let runs = cases.map(|case| async { (case.clone(), tokio::spawn(run(case)).await) });
    let mut runs = futures_util::stream::iter(runs).buffer_unordered(8);
    while let Some((case, run)) = runs.next().await {
        run.unwrap_or_else(|error| panic!("{error}\nin this:\n{case:?}"));
    }
}

async fn run(case: Case) {
    let (case, seen) = (Arc::new(case), Arc::new(Seen::default()));
    let Limits { depth, mode, root, is_staying, .. } = case.limits;
    let price = Price { input: 1_000_000, output: 1_000_000, ..Price::default() };
    let mut plan = Plan::new(Script::new())
        .model("test", actor::model(Arc::clone(&case), Arc::clone(&seen)).at(price))
        .ring(8)
        .depth(depth)
        .mode(mode)
        .allowance(root)
        .settings(|settings| *settings = self::settings(&case.limits));
    if is_staying {
        plan = plan.staying();
    }
    let plan = actor::tools(&case, &seen).into_iter().fold(plan, Plan::shared_tool);
    let (tree, there) = plan.begin_attended(&actor::told(0)).await;
    let front = Front { case: &case, there: (!case.front.is_away).then_some(there), asked: 0 };
    let heard = front.follow(&tree.session).await;
    tree.session.ended().await;
    let kept = tree.journal.read(tree.session.id(), 0, usize::MAX).await.unwrap();
    assert_eq!(heard, kept, "no kept event is missing or out of order");
    assert_eq!(*seen.wrong.lock().unwrap(), [""; 0]);
    check::check(&case, &kept, &seen);
    check_ends(&tree.session, &kept).await;
}

fn settings(limits: &Limits) -> Settings {
    let (base, cap) = (Duration::from_millis(1), Duration::from_millis(3));
    let moment = Duration::from_millis(5);
    Settings {
        max_concurrent_agents: limits.agents,
        max_children_per_agent: limits.children,
        max_concurrent_ops: limits.ops,
        max_model_calls: limits.model_calls,
        inactivity: 4 * moment,
        retry: Retry { attempts: 3, base, cap, ..Retry::default() },
        question_grace: moment,
        cancel_grace: moment,
        ..Settings::default()
    }
}

/// Those who are gone are so for the journal as for the runtime, and nobody hears any more.
async fn check_ends(session: &Session, kept: &[Arc<Event>]) {
    let folded = Folded::fold(kept.iter().map(|event| &**event));
    assert_eq!(folded.questions(), []);
    for node in folded.nodes() {
        let late = Command::Say { text: "too late".to_owned() };
        let refused = send(session, &node.path, late).await.unwrap_err().to_string();
        assert_eq!(refused, format!("`{}` has ended ({})", node.path, node.state.name()));
    }
}

async fn send(session: &Session, to: &AgentPath, command: Command) -> Result<(), NotSent> {
    let sent = timeout(WATCHDOG, session.send(to, command)).await;
    sent.unwrap_or_else(|_| panic!("whoever sends to `{to}` hangs"))
}

/// Somebody who answers, steers, cancels and at some time leaves.
struct Front<'a> {
    case: &'a Case,
    there: Option<Attendance>,
    asked: usize,
}

impl Front<'_> {
    /// Returns the kept events it saw.
    async fn follow(mut self, session: &Session) -> Vec<Arc<Event>> {
        let (mut events, mut seen) = (session.events(0), Vec::<Arc<Event>>::new());
        let mut is_probed = false;
        loop {
            let patience = if self.there.is_some() { STILL } else { WATCHDOG };
            let event = match timeout(patience, events.next()).await {
                Ok(None) => return seen,
                Ok(Some(Ok(Heard::Event(event)))) if event.kind.is_kept() => event,
                Ok(Some(Ok(_))) => continue,
                Ok(Some(Err(error))) => panic!("{error}"),
                Err(_) if self.there.take().is_some() => continue,
                Err(_) => panic!("it hangs: {:#?}", Folded::fold(seen.iter().map(|it| &**it))),
            };
            seen.push(Arc::clone(&event));
            let is_root = event.path == AgentPath::root();
            let commands = match &event.kind {
                // Nobody has anything more to do.
                EventKind::Rested if is_root && is_probed => {
                    vec![(event.path.clone(), Command::Cancel)]
                }
                EventKind::Rested if is_root => {
                    is_probed = true;
                    let text = actor::told(PROBE);
                    vec![(event.path.clone(), Command::Say { text })]
                }
                _ => self.react(&event, &seen, is_probed),
            };
            for (path, command) in commands {
                // It may have ended since.
                let _ = send(session, &path, command).await;
            }
        }
    }

    fn react(
        &mut self,
        event: &Event,
        seen: &[Arc<Event>],
        is_probed: bool,
    ) -> Vec<(AgentPath, Command)> {
        let front = &self.case.front;
        let mut commands = Vec::new();
        if let EventKind::Asked { question, .. } = event.kind {
            let reply = front.answers.get(self.asked).copied().unwrap_or(Reply::Nothing);
            self.asked += 1;
            let answer = match reply {
                Reply::Yes => Some(Answer::Allow),
                Reply::No => Some(Answer::Deny { reason: None }),
                Reply::Nothing => None,
            };
            let answer = answer.map(|answer| Command::Answer { question, answer });
            commands.extend(answer.map(|answer| (event.path.clone(), answer)));
        }
        let due = front.orders.iter().filter(|(after, ..)| *after == seen.len() && !is_probed);
        for (_, at, said) in due {
            let path = seen[at % seen.len()].path.clone();
            let command = match said {
                Said::Steer { life } => Command::Steer { text: actor::told(*life) },
                Said::Say { life } => Command::Say { text: actor::told(*life) },
                Said::Cancel => Command::Cancel,
            };
            commands.push((path, command));
        }
        commands
    }
}
