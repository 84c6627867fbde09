//! Whatever models, tools, people and limits do, a tree ends, whole and in order.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant_core::{
    AgentPath, Allowance, Answer, CallId, Cause, Command, Context, Delivery, Delta, Effect, Ending,
    Event, EventKind, Message, ModelError, Order, Part, Request, StopReason, ToolCall, ToolChoice,
    Tree as Folded, Trouble, Usage, When,
};
use adjutant_engine::{Attendance, NotSent, Retry, Seen, Session, Settings};
use adjutant_models::script::Script;
use fastrand::Rng;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::{Does, Plan, Talks, count, delegation, told};

/// One tree each. A longer range looks further.
const SEEDS: Range<u64> = 0..150;
/// Nobody answers any more when nothing has happened for so long.
const IDLE: Duration = Duration::from_millis(20);
/// Nothing takes so long.
const WATCHDOG: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_random_tree_ends_whole_and_in_order() {
    let runs = SEEDS.map(|seed| async move { (seed, tokio::spawn(run(seed)).await) });
    let mut runs = stream::iter(runs).buffer_unordered(8);
    while let Some((seed, run)) = runs.next().await {
        run.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// A die that models, tools and the front end of one tree share.
#[derive(Clone)]
struct Die(Arc<Mutex<Rng>>);

impl Die {
    fn throw<T>(&self, with: impl FnOnce(&mut Rng) -> T) -> T {
        with(&mut self.0.lock().unwrap())
    }

    fn one_in(&self, count: u32) -> bool {
        self.throw(|rng| rng.u32(0..count) == 0)
    }
}

async fn run(seed: u64) {
    let die = Die(Arc::new(Mutex::new(Rng::with_seed(seed))));
    let claimed = Arc::new(Mutex::new(HashSet::new()));
    let plan = Plan::new(Script::new())
        .model("test", wild(die.clone()))
        .tool(meddle(die.clone(), Arc::clone(&claimed)))
        .ring(8)
        .allowance(die.throw(allowance))
        .settings(|settings| *settings = die.throw(self::settings));
    let (tree, there) = plan.begin_attended("go").await;
    let there = (!die.one_in(4)).then_some(there);
    let seen = follow(&tree.session, &die, there).await;
    let late = Command::Say { text: "too late".to_owned() };
    assert!(send(&tree.session, &AgentPath::root(), late).await.is_err());
    let kept = tree.journal.read(tree.session.id(), 0, usize::MAX).await.unwrap();
    assert_eq!(seen, kept, "no kept event is missing or out of order");
    check_lives(&kept);
    check_totals(&kept);
    check_news(&kept, &claimed.lock().unwrap());
}

fn allowance(rng: &mut Rng) -> Allowance {
    let mut sometimes = |range: Range<u64>| rng.bool().then(|| rng.u64(range)).and_then(count);
    Allowance {
        tokens: sometimes(1000..20_000),
        millis: sometimes(5..200),
        turns: sometimes(2..9),
        calls: sometimes(2..20),
        micros: None,
    }
}

fn settings(rng: &mut Rng) -> Settings {
    let (base, cap) = (Duration::from_millis(1), Duration::from_millis(3));
    let moment = Duration::from_millis(5);
    Settings {
        max_concurrent_agents: rng.usize(1..12),
        max_children_per_agent: rng.usize(1..5),
        max_concurrent_ops: rng.usize(1..4),
        max_model_calls: rng.usize(1..4),
        inactivity: 2 * moment,
        retry: Retry { attempts: 3, base, cap },
        question_grace: moment,
        cancel_grace: moment,
        ..Settings::default()
    }
}

/// A model that will not be sent a history that is not valid, and says anything.
fn wild(die: Die) -> Talks {
    Talks::new(move |request| {
        assert_valid(request.messages);
        let said = die.throw(|rng| answer(rng, request));
        let is_hanging = die.one_in(50);
        let pause = Duration::from_micros(die.throw(|rng| rng.u64(0..3) * 500));
        let spoken = stream::iter(said).then(move |delta| async move {
            if !pause.is_zero() {
                sleep(pause).await;
            }
            delta
        });
        if is_hanging { spoken.take(2).chain(stream::pending()).boxed() } else { spoken.boxed() }
    })
}

/// Every call has its result, right after it and in order, and it is the model's turn.
fn assert_valid(messages: &[Arc<Message>]) {
    let mut open: Vec<&CallId> = Vec::new();
    for message in messages {
        match &**message {
            Message::Tools { results } => {
                assert!(results.iter().map(|result| &result.call).eq(open), "{messages:#?}");
                open = Vec::new();
            }
            Message::User { .. } | Message::Assistant { .. } => {
                assert!(open.is_empty(), "{messages:#?}");
                open = message.calls().map(|call| &call.id).collect();
            }
        }
    }
    assert!(open.is_empty(), "{messages:#?}");
    let last = messages.last().map(|message| &**message);
    assert!(matches!(last, Some(Message::User { .. } | Message::Tools { .. })), "{messages:#?}");
}

fn answer(rng: &mut Rng, request: Request<'_>) -> Vec<Result<Delta, ModelError>> {
    let usage = Usage { input: rng.u64(50..200), output: rng.u64(1..50), ..Usage::default() };
    let begun = [Ok(Delta::Text("hm".to_owned())), Ok(Delta::Usage(usage))];
    let heard = rng.usize(0..=2);
    match rng.u32(0..100) {
        0..5 => {
            let busy = Err(ModelError::new(Trouble::Busy, "busy"));
            return begun.into_iter().take(heard).chain([busy]).collect();
        }
        5..8 => return begun.into_iter().take(heard).collect(),
        _ => {}
    }
    let is_free = request.turn < 7 && request.choice == ToolChoice::Free;
    let calls = if is_free { rng.usize(0..4) } else { 0 };
    let calls = (0..calls).map(|number| {
        let (name, arguments) = act(rng);
        let (id, name) = (format!("{}-{number}", request.turn).into(), name.to_owned());
        Part::Call(ToolCall { id, name, arguments, native: None })
    });
    let parts = [Part::text("hm")].into_iter().chain(calls).map(Delta::Part);
    let stop = Delta::Stop(StopReason::Done);
    begun.into_iter().chain(parts.chain([stop]).map(Ok)).collect()
}

fn act(rng: &mut Rng) -> (&'static str, Value) {
    match rng.u32(0..10) {
        0..2 => ("sub_agent", json!({ "prompt": "x" })),
        2..4 => ("agent_spawn", json!({ "prompt": "x" })),
        4 => {
            let budget = json!({ "max_tokens": rng.u32(500..5000), "max_turns": rng.u32(1..5) });
            ("agent_spawn", json!({ "prompt": "x", "budget": budget }))
        }
        5..8 => ("meddle", json!({})),
        8 => ("ask_user", json!({ "question": "?" })),
        _ => ("list_dir", json!({ "path": "src" })),
    }
}

/// A tool that does something to somebody below, or forks. It notes whose result its
/// agent has taken.
fn meddle(die: Die, claimed: Arc<Mutex<HashSet<AgentPath>>>) -> Does {
    Does::new("meddle", Effect::Delegate, move |host| {
        let (die, claimed) = (die.clone(), Arc::clone(&claimed));
        Box::pin(async move {
            let engine = delegation(host)?;
            let below = engine.list();
            let Some(other) = die.throw(|rng| rng.choice(&below)) else {
                let delivery = if die.one_in(2) { Delivery::Pushed } else { Delivery::Awaited };
                let (name, task) = ("fork".to_owned(), "x".to_owned());
                let order =
                    Order { name, task, context: Context::Fork, delivery, ..Order::default() };
                return Ok(engine.start(order).await?.path.to_string());
            };
            let name = other.path.as_str();
            let is_taken = match die.throw(|rng| rng.u32(0..6)) {
                0 => engine.send(name, "s".to_owned(), When::Steer).await.map(|()| false)?,
                1 => engine.send(name, "q".to_owned(), When::Queue).await.map(|()| false)?,
                2 => engine.cancel(name).await.map(|_| true)?,
                3 => engine.wait(name).await.map(|_| true)?,
                _ => engine.status(name)?.report.is_some(),
            };
            if is_taken && other.path.parent().as_ref() == Some(host.agent()) {
                claimed.lock().unwrap().insert(other.path.clone());
            }
            Ok("meddled".to_owned())
        })
    })
}

/// Plays the front end: answers, steers, cancels and at some time leaves. Returns the kept
/// events it saw.
async fn follow(session: &Session, die: &Die, mut there: Option<Attendance>) -> Vec<Arc<Event>> {
    let (mut events, mut seen) = (session.events(0), Vec::<Arc<Event>>::new());
    let the_end = die.one_in(2).then(|| die.throw(|rng| rng.usize(5..200)));
    loop {
        let patience = if there.is_some() { IDLE } else { WATCHDOG };
        let event = match timeout(patience, events.next()).await {
            Ok(None) => return seen,
            Ok(Some(Ok(Seen::Event(event)))) if event.kind.is_kept() => event,
            Ok(Some(Ok(_))) => continue,
            Ok(Some(Err(error))) => panic!("{error}"),
            Err(_) if there.take().is_some() => continue,
            Err(_) => panic!("it hangs: {:#?}", Folded::fold(seen.iter().map(|event| &**event))),
        };
        let to = die.throw(|rng| rng.choice(&seen).map(|event| event.path.clone()));
        let to = to.unwrap_or_else(AgentPath::root);
        let (path, command) = match &event.kind {
            EventKind::Asked { question, .. } if !die.one_in(4) => {
                let answer = Answer::Words { text: "yes".to_owned() };
                (event.path.clone(), Command::Answer { question: *question, answer })
            }
            _ if the_end == Some(seen.len()) => (AgentPath::root(), Command::Cancel),
            _ if die.one_in(30) => (to, Command::Steer { text: "left".to_owned() }),
            _ if die.one_in(30) => (to, Command::Say { text: "right".to_owned() }),
            _ if die.one_in(60) && to != AgentPath::root() => (to, Command::Cancel),
            _ => {
                seen.push(event);
                continue;
            }
        };
        // It may have ended since.
        let _ = send(session, &path, command).await;
        seen.push(event);
    }
}

async fn send(session: &Session, to: &AgentPath, command: Command) -> Result<(), NotSent> {
    let sent = timeout(WATCHDOG, session.send(to, command)).await;
    sent.unwrap_or_else(|_| panic!("whoever sends to `{to}` hangs"))
}

/// Everyone begins once and ends once, says nothing afterwards, and not after its parent.
fn check_lives(kept: &[Arc<Event>]) {
    let (mut begun, mut ended) = (HashSet::new(), HashMap::new());
    for event in kept {
        let Event { seq, path, kind, .. } = &**event;
        assert!(!ended.contains_key(path), "after its end: {event:?}");
        assert_eq!(matches!(kind, EventKind::Started { .. }), begun.insert(path), "{event:?}");
        if let EventKind::Finished { .. } = kind {
            ended.insert(path, seq);
        }
    }
    for path in begun {
        let end = ended.get(path).unwrap_or_else(|| panic!("`{path}` has not ended"));
        let parent = path.parent().and_then(|parent| ended.get(&parent).copied());
        assert!(parent.is_none_or(|parent| *end < parent), "`{path}` outlived its parent");
    }
}

/// Nobody is left asking, nothing broke, and every token is accounted for.
fn check_totals(kept: &[Arc<Event>]) {
    let tree = Folded::fold(kept.iter().map(|event| &**event));
    assert_eq!(tree.questions(), []);
    for node in tree.nodes() {
        let outcome = node.outcome.as_ref().unwrap();
        assert_ne!(outcome.cause, Some(Cause::Internal), "{}: {outcome:?}", node.path);
    }
    let total: u64 = tree.nodes().iter().map(|node| node.usage.total()).sum();
    let receipt = tree.nodes()[0].receipt.as_ref().unwrap();
    assert_eq!(receipt.tokens, total);
}

/// The end of a background child is told to its parent, once; one that completes has heard
/// of all its children.
fn check_news(kept: &[Arc<Event>], claimed: &HashSet<AgentPath>) {
    let mut heard = HashSet::new();
    for event in kept {
        for child in told(&event.kind) {
            assert_eq!(child.parent().as_ref(), Some(&event.path));
            assert!(heard.insert(child.clone()), "`{child}` is told twice");
        }
    }
    let completed = kept.iter().filter(|event| is_completed(event));
    let completed: HashSet<_> = completed.map(|event| event.path.clone()).collect();
    for event in kept {
        let EventKind::Started { order, .. } = &event.kind else { continue };
        let is_pushed = order.delivery == Delivery::Pushed;
        let is_known = heard.contains(&event.path) || claimed.contains(&event.path);
        assert!(is_pushed || !heard.contains(&event.path), "`{}` was waited for", event.path);
        let is_awaited = event.path.parent().is_some_and(|parent| completed.contains(&parent));
        assert!(!is_pushed || !is_awaited || is_known, "`{}` was not told", event.path);
    }
}

fn is_completed(event: &Event) -> bool {
    let EventKind::Finished { outcome, .. } = &event.kind else { return false };
    outcome.ending == Ending::Completed
}
