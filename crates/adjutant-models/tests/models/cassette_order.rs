//! Agents that work side by side, and the order in which they are heard of.

use std::path::Path;

use adjutant_core::{AgentPath, Delta, Message, Model, Origin};
use adjutant_models::{
    cassette::{FollowSteps, Player, Recorder, Redactor, Step},
    script::{Reply, Script, call},
};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};

use crate::{
    cassettes::{DIRECTORY, cassette, find, recorder, results, written},
    support::Asking,
};

const ROOT: &str = "root";
const ONE: &str = "root.a-1";
const TWO: &str = "root.a-2";
const THREE: &str = "root.a-3";

fn path(agent: &str) -> AgentPath {
    agent.parse().unwrap()
}

/// A root that calls once and then only speaks, and children that speak.
fn script() -> Script {
    let calls = Reply::calls([call("c1-1", "agent_spawn", json!({}))]);
    Script::new().on(ROOT, [calls, Reply::text("I wait.")]).on("*", [Reply::text("I did.")])
}

/// Has the root call, and returns it before its second turn.
async fn acted(model: &dyn Model) -> Asking {
    let mut root = Asking::new(ROOT, "go");
    let parts = root.parts(model).await;
    root.push(Message::Assistant { parts });
    root.push(results("begun"));
    root
}

/// Records a root that waits for children in the background.
async fn record(children: &[&str]) -> Recorder {
    let recorder = recorder(script());
    let model = find(&recorder);
    let root = acted(&*model).await;
    let thinking: Vec<_> = children.iter().map(|agent| child(agent).stream(&*model)).collect();
    root.text(&*model).await;
    for thinking in thinking {
        thinking.collect::<Vec<_>>().await;
    }
    recorder
}

fn child(agent: &str) -> Asking {
    Asking::new(agent, "work")
}

async fn end(follow: &dyn FollowSteps, agent: &str) {
    follow.follow(Step::Ended, path(agent)).await;
}

fn player(recorder: &Recorder) -> Player {
    Player::new(cassette(recorder), "it.json", Path::new(DIRECTORY), Redactor::default())
}

/// Reports whether an agent may go on with the results of its calls.
fn may_go_on(player: &Player, agent: &str) -> bool {
    player.follow(Step::Acted, path(agent)).now_or_never().is_some()
}

#[tokio::test]
async fn an_answer_waits_for_those_who_were_before() {
    let recorder = record(&[ONE]).await;
    end(&recorder, ONE).await;
    end(&recorder, ROOT).await;
    let player = player(&recorder);
    let model = find(&player);
    let mut thinking = child(ONE).stream(&*model);
    assert_eq!(thinking.by_ref().take(3).count().await, 3);
    assert!(thinking.next().now_or_never().is_none(), "its parent is not so far");
    let root = acted(&*model).await;
    assert!(may_go_on(&player, ROOT));
    let mut waiting = root.stream(&*model);
    assert_eq!(waiting.by_ref().take(3).count().await, 3);
    // Nothing follows from the root's words, so the child does not wait for them; but the root
    // goes on after the child's end.
    assert!(waiting.next().now_or_never().is_none());
    assert!(matches!(thinking.next().await, Some(Ok(Delta::Stop(_)))));
    drop(thinking);
    assert!(waiting.next().now_or_never().is_none());
    end(&player, ONE).await;
    assert!(matches!(waiting.next().await, Some(Ok(Delta::Stop(_)))));
}

#[tokio::test]
async fn results_wait_for_those_who_were_before() {
    let recorder = recorder(script());
    let model = find(&recorder);
    let mut root = acted(&*model).await;
    child(ONE).text(&*model).await;
    end(&recorder, ONE).await;
    let ended = Origin::Runtime { ended: vec![path(ONE)] };
    root.push(Message::user(ended, "[ended]"));
    root.text(&*model).await;

    let player = player(&recorder);
    let model = find(&player);
    acted(&*model).await;
    assert!(!may_go_on(&player, ROOT));
    child(ONE).text(&*model).await;
    assert!(!may_go_on(&player, ROOT));
    end(&player, ONE).await;
    assert!(may_go_on(&player, ROOT));
}

#[tokio::test]
async fn nobody_waits_in_a_replay_that_has_gone_astray() {
    let recorder = record(&[ONE]).await;
    end(&recorder, ONE).await;
    let model = find(&player(&recorder));
    let mut thinking = child(ONE).stream(&*model);
    assert_eq!(thinking.by_ref().take(3).count().await, 3);
    assert!(thinking.next().now_or_never().is_none());
    Asking::new(ROOT, "something else").error(&*model).await;
    assert!(thinking.next().now_or_never().is_some());
}

#[tokio::test]
async fn an_agent_knows_what_it_heard_of_and_no_more() {
    let recorder = record(&[ONE, TWO, THREE]).await;
    // It hears of two, one after the other; while that is being kept, a third is gone.
    end(&recorder, ONE).await;
    let first = recorder.follow(Step::Heard, path(ROOT));
    end(&recorder, TWO).await;
    let second = recorder.follow(Step::Heard, path(ROOT));
    end(&recorder, THREE).await;
    first.await;
    second.await;
    Asking::new(ROOT, "go on").hear(&*find(&recorder)).await;
    let file: Value = serde_json::from_str(&written(&cassette(&recorder))).unwrap();
    let answered = [(ROOT, 3), (ONE, 1), (TWO, 1), (THREE, 1)];
    let then = [(ONE, 1), (TWO, 1), (ROOT, 1), (THREE, 1), (ROOT, 1)];
    assert_eq!(file["order"], json!([&answered[..], &then[..]].concat()));
}
