//! A child that is to work alone does: it gets a place, and the place is closed when nothing of
//! the child is left.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use adjutant_core::{
    AgentPath, Bench, Effect, EventKind, Handed, Handover, Host, Isolation, ModelError, Order,
    Refusal, StandIn, Trouble, Wish, Workshop,
};
use adjutant_models::script::Script;
use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::json;

use crate::support::{Does, Plan, Reply, Tree, call, delegation, holds, is_finished, says, spawn};

type Log = Arc<Mutex<Vec<String>>>;

/// Places that are nowhere, and a list of what is done with them.
struct Nowhere {
    log: Log,
    takes: Duration,
    offers: Offers,
}

#[derive(Clone, Copy, PartialEq)]
enum Offers {
    APlace,
    /// One that is not apart from what it stands for.
    ABadPlace,
    Nothing,
}

struct Place {
    agent: AgentPath,
    stand_in: StandIn,
    log: Log,
}

impl Workshop for Nowhere {
    fn open<'a>(
        &'a self,
        agent: &'a AgentPath,
        workdir: &'a Path,
    ) -> BoxFuture<'a, Result<Box<dyn Bench>, Refusal>> {
        Box::pin(async move {
            tokio::time::sleep(self.takes).await;
            if self.offers == Offers::Nothing {
                return Err(Refusal::NoWorktree("nowhere".to_owned()));
            }
            self.log.lock().unwrap().push(format!("open {agent}"));
            let top = if self.offers == Offers::ABadPlace { workdir } else { "/nowhere".as_ref() };
            let place = top.join(agent.as_str());
            // Of a repository the agent works in a part.
            let stand_in = StandIn { place, original: workdir.parent().unwrap().to_owned() };
            let (agent, log) = (agent.clone(), Arc::clone(&self.log));
            Ok(Box::new(Place { agent, stand_in, log }) as _)
        })
    }
}

impl Bench for Place {
    fn stand_in(&self) -> &StandIn {
        &self.stand_in
    }

    fn close<'a>(
        self: Box<Self>,
        keep: Option<String>,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Option<Handover>> {
        Box::pin(async move {
            let Self { agent, log, .. } = *self;
            let why = keep.clone().unwrap_or_default();
            log.lock().unwrap().push(format!("close {agent} for {}: {why}", host.call()));
            let worktree = "/nowhere".to_owned();
            Some(Handover {
                patch: None,
                directory: "/project".to_owned(),
                files: vec!["a".to_owned()],
                handed: keep.map_or(Handed::Applied, |why| Handed::Kept { why, worktree }),
                left_out: Vec::new(),
            })
        })
    }

    fn discard(self: Box<Self>) -> BoxFuture<'static, ()> {
        let Self { agent, log, .. } = *self;
        log.lock().unwrap().push(format!("discard {agent}"));
        Box::pin(async {})
    }
}

/// A tool that starts a child with a place of its own, and waits for it.
fn apart(wish: Wish) -> Does {
    Does::new("apart", Effect::Delegate, move |host| {
        let mut order =
            Order { name: "apart".to_owned(), task: "x".to_owned(), ..Order::default() };
        order.isolation = Isolation::Worktree;
        order.limits.authority = wish.clone();
        Box::pin(async {
            let engine = delegation(host)?;
            let id = engine.start(order).await?.id;
            Ok(engine.wait(&id.to_string()).await?.outcome.text.clone())
        })
    })
}

/// A tool that tells where it is.
fn locate() -> Does {
    Does::new("locate", Effect::Read, |host| {
        let place = format!("{} in {:?}", host.workdir().display(), host.grant().scope());
        Box::pin(async { Ok(place) })
    })
}

fn plan(script: Script, takes: Duration, offers: Offers) -> (Plan, Log) {
    let log = Log::default();
    let workshop = Nowhere { log: Arc::clone(&log), takes, offers };
    (Plan::new(script).workshop(Arc::new(workshop)), log)
}

async fn run(script: Script, wish: Wish) -> (Tree, Vec<String>) {
    let (plan, log) = plan(script, Duration::ZERO, Offers::APlace);
    let refuses = holds(|| async { Err("it will not".to_owned()) }.boxed());
    let plan = plan.tool(apart(wish)).tool(locate()).tool(refuses);
    let mut tree = plan.begin("go").await;
    tree.end().await;
    let log = log.lock().unwrap().clone();
    (tree, log)
}

fn parent_of(child: impl IntoIterator<Item = Reply>) -> Script {
    let apart = call("c1", "apart", json!({}));
    Script::new().on("root", [Reply::calls([apart]), Reply::text("done")]).on("root.apart-1", child)
}

#[tokio::test(start_paused = true)]
async fn a_child_works_in_its_place_and_so_do_those_below_it() {
    let calls = [call("l", "locate", json!({})), crate::support::sub("s", "y")];
    let script = parent_of([Reply::calls(calls), Reply::text("ok")])
        .on("root.apart-1.sub-1", [Reply::calls([call("l", "locate", json!({}))])])
        .on("root.apart-1.sub-1", [Reply::text("ok")]);
    let wish = Wish { scope: Some("src".into()), ..Wish::default() };
    let (tree, log) = run(script, wish).await;
    let workdir = std::env::current_dir().unwrap();
    let name = workdir.file_name().unwrap().to_str().unwrap();
    let place = format!("/nowhere/root.apart-1/{name}");
    let expected = format!("{place} in [\"{place}/src\"]");
    assert_eq!(tree.results("root.apart-1")[0], expected);
    assert_eq!(tree.results("root.apart-1.sub-1")[0], expected);
    assert_eq!(log, ["open root.apart-1", "close root.apart-1 for c1: "]);
    assert_eq!(tree.receipt("root.apart-1").handover.unwrap().handed, Handed::Applied);
    assert_eq!(tree.receipt("root.apart-1.sub-1").handover, None);
}

#[tokio::test(start_paused = true)]
async fn what_a_child_did_that_did_not_complete_is_kept() {
    let broken = || Reply::error(ModelError::new(Trouble::Refused, "no"));
    let (_, log) = run(parent_of([broken()]), Wish::default()).await;
    assert_eq!(log[1], "close root.apart-1 for c1: it did not complete (failed)");
    let holds = Reply::calls([call("h", "holds", json!({}))]);
    let (_, log) = run(parent_of([holds, Reply::text("ok")]), Wish::default()).await;
    let left = "something it started may still be there (thing: it will not)";
    assert_eq!(log[1], format!("close root.apart-1 for c1: {left}"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_opened_for_a_child_that_is_refused() {
    let wish = Wish { scope: Some("/etc".into()), ..Wish::default() };
    let (tree, log) = run(parent_of([]), wish).await;
    assert!(
        tree.results("root")[0].contains("is outside your scope"),
        "{:?}",
        tree.results("root")
    );
    assert_eq!(log, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_gets_no_place_takes_nobody_elses() {
    let apart = || Reply::calls([call("c1", "apart", json!({})), call("c2", "apart", json!({}))]);
    let script = || {
        Script::new()
            .on("root", [apart(), Reply::calls([spawn("s", "x")]), Reply::text("done")])
            .on("root", [Reply::text("done")])
            .on("root.*", [Reply::text("ok")])
    };
    let told = |why: &str| {
        format!(
            "there can be no worktree for it: {why}; leave `isolation` out, and it works where you do"
        )
    };
    let (refusing, _) = plan(script(), Duration::from_secs(1), Offers::Nothing);
    for (plan, why) in [(refusing, "nowhere"), (Plan::new(script()), "this session keeps none")] {
        let plan = plan.settings(|settings| settings.max_concurrent_agents = 1);
        let mut tree = plan.tool(self::apart(Wish::default())).begin("go").await;
        tree.end().await;
        assert_eq!(tree.results("root")[..2], [told(why), told(why)]);
        assert!(
            tree.results("root")[2].contains("Sub-agent spawned"),
            "{:?}",
            tree.results("root")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_is_told_of_the_end_is_told_of_the_changes() {
    let background = Does::new("background", Effect::Delegate, |host| {
        let order = Order {
            name: "apart".to_owned(),
            task: "x".to_owned(),
            isolation: Isolation::Worktree,
            delivery: adjutant_core::Delivery::Pushed,
            ..Order::default()
        };
        Box::pin(async { Ok(delegation(host)?.start(order).await?.path.to_string()) })
    });
    let script = Script::new()
        .on("root", [Reply::calls([call("c", "background", json!({}))]), Reply::text("waits")])
        .on("root", [Reply::text("done")])
        .on("root.apart-1", [Reply::text("ok")]);
    let (plan, _) = plan(script, Duration::ZERO, Offers::APlace);
    let mut tree = plan.tool(background).begin("go").await;
    tree.until_at("root", says("\nits changes are made in `a`")).await;
    tree.until_at("root", is_finished).await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_will_not_do_is_taken_away_again() {
    let (plan, log) = plan(parent_of([]), Duration::ZERO, Offers::ABadPlace);
    let mut tree = plan.tool(apart(Wish::default())).begin("go").await;
    tree.end().await;
    assert!(tree.results("root")[0].contains("is not apart from"), "{:?}", tree.results("root"));
    assert_eq!(*log.lock().unwrap(), ["open root.apart-1", "discard root.apart-1"]);
}

#[tokio::test(start_paused = true)]
async fn who_gets_no_place_of_its_own_does_not_wait_for_who_does() {
    let calls = [call("c1", "apart", json!({})), call("c2", "apart", json!({})), spawn("s", "x")];
    let script = Script::new()
        .on("root", [Reply::calls(calls), Reply::text("waits"), Reply::text("done")])
        .on("root.*", [Reply::text("ok")]);
    let (plan, _) = plan(script, Duration::from_secs(1), Offers::APlace);
    let mut tree = plan.tool(apart(Wish::default())).begin("go").await;
    tree.end().await;
    let started = tree.seen.iter().filter(|it| matches!(it.kind, EventKind::Started { .. }));
    let calls: Vec<_> = started.filter_map(|event| event.call.as_deref()).collect();
    assert_eq!(calls, ["s", "c1", "c2"]);
}

#[tokio::test(start_paused = true)]
async fn one_whose_place_is_gone_cannot_go_on() {
    let send = call("f", "agent_send", json!({ "agent_id": "root.apart-1", "message": "more" }));
    let script = Script::new()
        .on("root", [Reply::calls([call("c1", "apart", json!({}))]), Reply::calls([send])])
        .on("root", [Reply::text("done")])
        .on("root.apart-1", [Reply::text("ok")]);
    let (tree, _) = run(script, Wish::default()).await;
    let expected = "`root.apart-1` has ended (completed), and cannot go on in the place of its own \
                    that it worked in: start another";
    assert_eq!(tree.results("root")[1], expected);
}
