//! Orders to other agents, and the words their answers become.

use std::{
    collections::BTreeSet,
    num::NonZeroU64,
    path::Path,
    sync::{Arc, Mutex},
};

use adjutant_core::{
    Access, AgentId, AgentPath, Allowance, Clamp, Context, Delegation, Delivery, Ending, Handed,
    Handover, Isolation, Limits, Order, Outcome, Receipt, Refusal, Report, Started, State, Status,
    When, Wish,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::seat::Seat;

const ID: &str = "019467d9-7e3a-7000-8000-000000000000";

/// A runtime with one child, which ends the way it is told to.
struct Runtime {
    orders: Arc<Mutex<Vec<Order>>>,
    state: State,
    outcome: Outcome,
    receipt: Receipt,
}

impl Runtime {
    fn ending(outcome: Outcome) -> Self {
        let receipt = Receipt { calls: 3, tokens: 1234, millis: 2199, ..Receipt::default() };
        Self { orders: Arc::default(), state: outcome.ending.into(), outcome, receipt }
    }

    fn seat(self) -> Seat {
        Seat { delegation: Some(Box::new(self)), ..Seat::at(Path::new("/")) }
    }

    fn report(&self) -> Report {
        Report {
            id: ID.parse().unwrap(),
            path: path(),
            outcome: Arc::new(self.outcome.clone()),
            receipt: Arc::new(self.receipt.clone()),
        }
    }
}

fn path() -> AgentPath {
    AgentPath::root().child("sub", 1)
}

fn known(agent: &str) -> Result<AgentId, Refusal> {
    if agent == ID { Ok(ID.parse().unwrap()) } else { Err(Refusal::NotBelow(agent.to_owned())) }
}

impl Delegation for Runtime {
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Started, Refusal>> {
        self.orders.lock().unwrap().push(order);
        let (id, path) = (ID.parse().unwrap(), path());
        Box::pin(async move { Ok(Started { id, path, model: "anthropic/claude/x".into() }) })
    }

    fn wait<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<Report, Refusal>> {
        Box::pin(async { known(agent).map(|_| self.report()) })
    }

    fn cancel<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<State, Refusal>> {
        let ended = Refusal::Ended { path: path(), state: self.state };
        let before = if self.state.is_final() { Err(ended) } else { Ok(self.state) };
        Box::pin(async { known(agent).and(before) })
    }

    fn status(&self, agent: &str) -> Result<Status, Refusal> {
        let report = self.state.is_final().then(|| self.report());
        let (id, path) = (known(agent)?, path());
        Ok(Status { id, path, state: self.state, millis: 12_500, tokens: 3200, report })
    }

    fn list(&self) -> Vec<Status> {
        let states = [State::Queued, State::Waiting, State::Resting, State::Running];
        let ends = [State::Completed, State::Failed, State::Interrupted, State::Cancelled];
        let all = states.into_iter().chain(ends);
        all.map(|state| Status { state, ..self.status(ID).unwrap() }).collect()
    }

    fn send<'a>(&'a self, _: &'a str, _: String, _: When) -> BoxFuture<'a, Result<(), Refusal>> {
        panic!("no tool sends messages yet")
    }
}

async fn order(tool: &str, arguments: Value) -> Order {
    let runtime = Runtime::ending(Outcome::completed("done"));
    let orders = Arc::clone(&runtime.orders);
    runtime.seat().call(tool, arguments).await.unwrap();
    let mut orders = orders.lock().unwrap();
    assert_eq!(orders.len(), 1);
    orders.pop().unwrap()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn limits(access: Access, allowance: Allowance) -> Limits {
    Limits { authority: Wish { access, ..Wish::default() }, allowance }
}

#[tokio::test]
async fn sub_agent_orders_what_its_arguments_say() {
    let time = Allowance { millis: NonZeroU64::new(120_000), ..Allowance::default() };
    let plain = Order {
        name: "sub".into(),
        task: "look".into(),
        context: Context::Fresh,
        provider: None,
        model: None,
        instructions: None,
        schema: None,
        limits: limits(Access::Inherit, time),
        delivery: Delivery::Awaited,
        isolation: Isolation::Shared,
    };
    assert_eq!(order("sub_agent", json!({ "prompt": "look" })).await, plain);
    let arguments = json!({
        "prompt": "look",
        "tools": ["read_file"],
        "model": "p/m",
        "system_prompt": "Be brief.",
        "output_schema": { "type": "array" },
    });
    let tools = names(&["read_file", "ask_user"]);
    let full = Order {
        model: Some("p/m".into()),
        instructions: Some("Be brief.".into()),
        schema: Some(Arc::new(json!({ "type": "array" }))),
        limits: limits(Access::AllowList { tools }, time),
        ..plain
    };
    assert_eq!(order("sub_agent", arguments).await, full);
}

#[tokio::test]
async fn agent_spawn_orders_what_its_arguments_say() {
    let plain = order("agent_spawn", json!({ "prompt": "look" })).await;
    assert_eq!(plain.delivery, Delivery::Pushed);
    let tokens = Allowance { tokens: NonZeroU64::new(50_000), ..Allowance::default() };
    assert_eq!(plain.limits, limits(Access::Inherit, tokens));
    let arguments = json!({
        "prompt": "look",
        "provider": "p",
        "model": "m",
        "system_prompt": "Be brief.",
        "output_schema": { "type": "array" },
        "tool_access": { "policy": "read_only" },
        "budget": { "max_tokens": 10, "max_turns": 2, "max_tool_calls": 3 },
    });
    let full = order("agent_spawn", arguments).await;
    let allowance = Allowance {
        tokens: NonZeroU64::new(10),
        turns: NonZeroU64::new(2),
        calls: NonZeroU64::new(3),
        ..Allowance::default()
    };
    assert_eq!(full.limits, limits(Access::ReadOnly, allowance));
    assert_eq!((full.provider.as_deref(), full.model.as_deref()), (Some("p"), Some("m")));
    assert_eq!(
        (full.task.as_str(), full.schema),
        ("look", Some(Arc::new(json!({ "type": "array" }))))
    );
    assert_eq!(full.instructions.as_deref(), Some("Be brief."));
}

#[tokio::test]
async fn tool_access_may_be_an_object_or_text() {
    let shell = || names(&["shell"]);
    let cases = [
        (json!({ "policy": "inherit" }), Access::Inherit),
        (
            json!({ "policy": "allow_list", "tools": ["shell"] }),
            Access::AllowList { tools: shell() },
        ),
        (json!({ "policy": "deny_list", "tools": ["shell"] }), Access::DenyList { tools: shell() }),
        (json!({ "policy": "read_only" }), Access::ReadOnly),
    ];
    for (access, expected) in cases {
        for access in [Value::String(access.to_string()), access] {
            let arguments = json!({ "prompt": "look", "tool_access": access });
            let order = order("agent_spawn", arguments).await;
            assert_eq!(order.limits.authority.access, expected);
        }
    }
}

#[tokio::test]
async fn arguments_that_cannot_be_kept_are_refused() {
    let runtime = Runtime::ending(Outcome::completed("done"));
    let orders = Arc::clone(&runtime.orders);
    let seat = runtime.seat();
    let cases = [
        ("sub_agent", json!({ "prompt": " \n" }), "the prompt is empty"),
        ("agent_spawn", json!({ "prompt": "" }), "the prompt is empty"),
        (
            "agent_spawn",
            json!({ "prompt": "x", "budget": { "max_tokens": 0 } }),
            "`budget.max_tokens` must be positive",
        ),
        (
            "agent_spawn",
            json!({ "prompt": "x", "budget": { "max_turns": 0 } }),
            "`budget.max_turns` must be positive",
        ),
        (
            "agent_spawn",
            json!({ "prompt": "x", "budget": { "max_tool_calls": 0 } }),
            "`budget.max_tool_calls` must be positive",
        ),
        (
            "agent_spawn",
            json!({ "prompt": "x", "budget": { "max_money": 1 } }),
            "unknown field `max_money`",
        ),
        (
            "agent_spawn",
            json!({ "prompt": "x", "tool_access": { "policy": "all" } }),
            "`tool_access`: unknown variant `all`",
        ),
        (
            "agent_spawn",
            json!({ "prompt": "x", "tool_access": { "policy": "read_only", "tools": ["a"] } }),
            "unknown field `tools`",
        ),
        ("agent_spawn", json!({ "prompt": "x", "tool_access": "all" }), "`tool_access`"),
        (
            "agent_spawn",
            json!({ "prompt": "x", "output_schema": ["a"] }),
            "`output_schema`: invalid type: sequence",
        ),
        ("sub_agent", json!({ "prompt": "x", "output_schema": true }), "`output_schema`"),
        ("sub_agent", json!({ "prompt": "x", "provider": "p" }), "unknown field `provider`"),
    ];
    for (tool, arguments, expected) in cases {
        let error = seat.call(tool, arguments).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert!(orders.lock().unwrap().is_empty());
}

#[tokio::test]
async fn at_the_bottom_every_delegation_is_refused() {
    let seat = Seat::at(Path::new("/"));
    let calls = [
        ("sub_agent", json!({ "prompt": "x" })),
        ("agent_spawn", json!({ "prompt": "x" })),
        ("agent_status", json!({ "agent_id": ID })),
        ("agent_cancel", json!({ "agent_id": ID })),
        ("agent_list", json!({})),
    ];
    for (tool, arguments) in calls {
        let error = seat.call(tool, arguments).await.unwrap_err();
        assert_eq!(error, Refusal::TooDeep.to_string(), "{tool}");
    }
}

#[tokio::test]
async fn sub_agent_returns_the_last_words_and_the_facts() {
    let seat = Runtime::ending(Outcome::completed("All good.")).seat();
    let answer = seat.call("sub_agent", json!({ "prompt": "x" })).await.unwrap();
    assert_eq!(answer, "All good.\n\n[root.sub-1 completed: 3 calls, 1234 tokens, 2.1s]");
}

#[tokio::test]
async fn what_did_not_go_as_meant_is_said() {
    let mut runtime = Runtime::ending(Outcome::completed("Done."));
    runtime.receipt = Receipt {
        clamped: vec![Clamp { what: "tokens".into(), asked: "9".into(), given: "5".into() }],
        unfinished: vec![path().child("sub", 2)],
        uncontained: vec!["sleep 9".into()],
        handover: Some(Handover {
            patch: Some("/kept/a.patch".into()),
            directory: "/project".into(),
            files: vec!["a".into()],
            handed: Handed::Applied,
            left_out: vec!["`sub` was left out".into()],
        }),
        ..Receipt::default()
    };
    let seat = runtime.seat();
    let answer = seat.call("sub_agent", json!({ "prompt": "x" })).await.unwrap();
    let expected = "[root.sub-1 completed: 0 calls, 0 tokens, 0.0s; tokens 9 was cut to 5; did \
                    not finish: root.sub-1.sub-2; may still be running: sleep 9; its changes are \
                    made in `a`; `sub` was left out]";
    assert!(answer.ends_with(expected), "{answer}");
    let status = seat.call("agent_status", json!({ "agent_id": ID })).await.unwrap();
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["notes"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn a_child_that_fell_short_is_an_error_with_what_it_found() {
    let outcome = Outcome::short(Ending::Timeout, "Half of it.", "120 s are over");
    let seat = Runtime::ending(outcome).seat();
    let error = seat.call("sub_agent", json!({ "prompt": "x" })).await.unwrap_err();
    let parts = ["did not finish (timeout: 120 s are over)", "Half of it.", "root.sub-1 timeout"];
    for part in parts.into_iter().chain(["try again", "go on without it"]) {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn many_words_are_cut_between_characters_and_it_says_where_the_rest_is() {
    let seat = Runtime::ending(Outcome::completed(format!("x{}", "é".repeat(20_000)))).seat();
    let answer = seat.call("sub_agent", json!({ "prompt": "x" })).await.unwrap();
    let left_out = 40_001 - (32 * 1024 - 1);
    let expected =
        format!("é\n[cut: {left_out} more bytes are in the transcript of agent {ID}]\n\n[root");
    assert!(answer.contains(&expected), "{}", &answer[32_700..]);
}

#[tokio::test]
async fn agent_spawn_answers_as_its_document_says() {
    let seat = Runtime::ending(Outcome::completed("")).seat();
    let answer = seat.call("agent_spawn", json!({ "prompt": "x" })).await.unwrap();
    let mut answer: Value = serde_json::from_str(&answer).unwrap();
    let message = answer.as_object_mut().unwrap().remove("message").unwrap();
    assert!(message.as_str().unwrap().starts_with("Sub-agent spawned successfully."));
    let expected = json!({
        "agent_id": ID,
        "name": "sub-agent-019467d97e3a",
        "path": "root.sub-1",
        "provider": "anthropic",
        "model": "claude/x",
        "state": "running",
    });
    assert_eq!(answer, expected);
}

async fn status(state: State, outcome: Outcome) -> Value {
    let runtime = Runtime { state, ..Runtime::ending(outcome) };
    let answer = runtime.seat().call("agent_status", json!({ "agent_id": ID })).await.unwrap();
    serde_json::from_str(&answer).unwrap()
}

#[tokio::test]
async fn agent_status_answers_as_its_document_says() {
    let facts = json!({
        "agent_id": ID, "path": "root.sub-1", "duration_ms": 12_500, "tokens_used": 3200,
    });
    let expected = |more: Value| {
        let mut all = facts.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let completed = status(State::Completed, Outcome::completed("Found it.")).await;
    let more = json!({ "state": "completed", "output": "Found it.", "is_final": true });
    assert_eq!(completed, expected(more));
    let waiting = status(State::Waiting, Outcome::completed("")).await;
    assert_eq!(waiting, expected(json!({ "state": "running", "is_final": false })));
    let short = Outcome::short(Ending::BudgetExceeded, "Half.", "no tokens left");
    let more = json!({
        "state": "failed",
        "output": "Half.",
        "error": "budget_exceeded: no tokens left",
        "is_final": true,
    });
    assert_eq!(status(State::Failed, short).await, expected(more));
}

#[tokio::test]
async fn agent_cancel_stops_only_what_runs() {
    let arguments = json!({ "agent_id": ID });
    let resting = Runtime { state: State::Resting, ..Runtime::ending(Outcome::completed("")) };
    let answer = resting.seat().call("agent_cancel", arguments.clone()).await.unwrap();
    let expected = r#"{"success":true,"previous_state":"running","message":"Sub-agent cancelled successfully"}"#;
    assert_eq!(answer, expected);
    let seat = Runtime::ending(Outcome::completed("")).seat();
    let answer = seat.call("agent_cancel", arguments).await.unwrap();
    let expected = r#"{"success":false,"previous_state":"completed","message":"Cannot cancel sub-agent: already completed (only running agents can be cancelled)"}"#;
    assert_eq!(answer, expected);
    let error = seat.call("agent_cancel", json!({ "agent_id": "who" })).await.unwrap_err();
    assert!(error.contains("there is no agent `who` below you"), "{error}");
}

#[tokio::test]
async fn agent_list_counts_by_state() {
    let seat = Runtime::ending(Outcome::completed("")).seat();
    let answer = seat.call("agent_list", json!({})).await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let counts = ["running", "completed", "failed", "cancelled", "total"]
        .map(|name| answer[format!("{name}_count")].as_u64().unwrap());
    assert_eq!(counts, [4, 1, 2, 1, 8]);
    let expected = json!({
        "id": ID,
        "name": "sub-agent-019467d97e3a",
        "path": "root.sub-1",
        "state": "running",
        "depth": 1,
        "running_ms": 12_500,
    });
    assert_eq!(answer["agents"][0], expected);
}
