//! What the opal preset promises.

use adjutant::core::{
    Answer, Ask, Chosen, Command, Ending, Event, EventKind, Message, Order, QuestionId, ToolResult,
};
use adjutant_models::script::{Reply, Script, call};
use serde_json::{Value, json};

use crate::{
    support::{Done, World},
    tree::{Plan, Tree},
};

/// A run, with what the models were asked.
struct Played {
    events: Vec<Event>,
    tape: Value,
    directory: String,
}

/// Plays a script in the real program.
fn play(script: &str) -> Played {
    play_with(&World::new().script(script), &[])
}

fn play_with(world: &World, flags: &[&str]) -> Played {
    let run = ["run", "go", "-c", "preset=opal", "--events", "--record", "tape.json"];
    let done: Done = world.run(&[&run, flags].concat());
    assert_eq!(done.code, Some(0), "{}\n{}", done.stderr, done.stdout);
    let tape = serde_json::from_str(&world.read("tape.json")).unwrap();
    let directory = world.working_directory().canonicalize().unwrap().display().to_string();
    Played { events: done.events(), tape, directory }
}

/// Writes a script in which the root makes these calls at once.
fn script(calls: &[(&str, Value)], others: &[Value]) -> String {
    let calls: Vec<_> =
        calls.iter().map(|(tool, args)| json!({ "tool": tool, "args": args })).collect();
    let mut replies = vec![json!({ "agent": "root", "calls": calls })];
    replies.extend(others.iter().cloned());
    replies.push(json!({ "agent": "root", "text": "done" }));
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

/// A reply for the first child.
fn first(mut reply: Value) -> Value {
    reply["agent"] = json!("root.sub-1");
    reply
}

impl Played {
    fn at(&self, agent: &str) -> impl Iterator<Item = &EventKind> {
        self.events
            .iter()
            .filter(move |event| event.path.as_str() == agent)
            .map(|event| &event.kind)
    }

    fn results(&self, agent: &str) -> Vec<ToolResult> {
        let results = self.at(agent).filter_map(|kind| match kind {
            EventKind::Said { message } => match &**message {
                Message::Tools { results } => Some(results.clone()),
                Message::User { .. } | Message::Assistant { .. } => None,
            },
            _ => None,
        });
        results.flatten().collect()
    }

    /// Returns how an agent started: its order, its model and who chose that, and its tools.
    fn started(&self, agent: &str) -> (&Order, &str, Chosen, &[String]) {
        let started = self.at(agent).find_map(|kind| match kind {
            EventKind::Started { order, model, chosen, tools, .. } => {
                Some((&**order, &**model, *chosen, tools.as_slice()))
            }
            _ => None,
        });
        started.unwrap()
    }

    /// Returns what the model of an agent was told: the system prompt, and the tools.
    fn told(&self, agent: &str) -> (&str, &[Value]) {
        let agents = self.tape["agents"].as_array().unwrap();
        let stretch = agents.iter().find(|stretch| stretch["agent"] == agent).unwrap();
        let number = |name: &str| stretch[name].as_u64().unwrap() as usize - 1;
        let system = self.tape["systems"][number("system")].as_str().unwrap();
        (system, self.tape["tools"][number("tools")].as_array().unwrap())
    }

    fn offer(&self, agent: &str, tool: &str) -> Option<&Value> {
        self.told(agent).1.iter().find(|offer| offer["name"] == tool)
    }
}

const LOOK: &str = "sub_agent";

fn look() -> (&'static str, Value) {
    (LOOK, json!({ "prompt": "look" }))
}

#[test]
fn sub_agent_is_the_only_tool_of_its_kind_and_takes_four_parameters() {
    let played = play(&script(&[("list_dir", json!({}))], &[]));
    let (_, _, _, tools) = played.started("root");
    let delegating = tools.iter().filter(|name| {
        let all = adjutant_tools::DELEGATION_TOOLS;
        all.contains(&name.as_str()) || ["send_message", "peers"].contains(&name.as_str())
    });
    assert_eq!(delegating.collect::<Vec<_>>(), ["sub_agent"]);
    let expected = json!({
        "type": "object",
        "properties": {
            "prompt": { "type": "string" },
            "tools": { "type": "array", "items": { "type": "string" } },
            "model": { "type": "string" },
            "system_prompt": { "type": "string" },
        },
        "required": ["prompt"],
        "additionalProperties": false,
    });
    assert_eq!(played.offer("root", "sub_agent").unwrap()["parameters"], expected);
}

#[test]
fn other_parameters_are_refused_and_so_is_an_empty_prompt() {
    let extras = [
        ("output_schema", json!({})),
        ("isolation", json!("shared")),
        ("last_n", json!(1)),
        ("files", json!(["a"])),
        ("budget", json!({})),
        ("cache", json!(true)),
        ("provider", json!("x")),
    ];
    let with = |(name, value): &(&str, Value)| {
        let mut args = json!({ "prompt": "x" });
        args[name] = value.clone();
        (LOOK, args)
    };
    let mut calls: Vec<_> = extras.iter().map(with).collect();
    calls.extend([(LOOK, json!({ "prompt": " " })), (LOOK, json!({}))]);
    let played = play(&script(&calls, &[]));
    let results = played.results("root");
    for (result, (name, _)) in results.iter().zip(&extras) {
        let expected = format!("unknown field `{name}`");
        assert!(result.failed && result.text.contains(&expected), "{}", result.text);
    }
    assert!(results[7].failed && results[7].text.contains("the prompt is empty"));
    assert!(results[8].failed && results[8].text.contains("missing field `prompt`"));
    assert!(played.events.iter().all(|event| event.path.as_str() == "root"));
}

#[test]
fn a_sub_agent_has_what_its_parent_has_but_for_the_conversation() {
    let list = first(json!({ "calls": [{ "tool": "list_dir" }] }));
    let world = World::new().file("here.txt", "");
    let world = world.script(&script(&[look()], &[list, first(json!({ "text": "ok" }))]));
    let played = play_with(&world, &[]);
    let ((_, parents, _, all), (order, model, chosen, tools)) =
        (played.started("root"), played.started("root.sub-1"));
    assert_eq!((model, chosen), (parents, Chosen::Inherited));
    assert_eq!(played.told("root.sub-1").0, played.told("root").0);
    assert!(played.results("root.sub-1")[0].text.contains("here.txt"), "{}", played.directory);
    assert_eq!(order.task, "look");
    let heard = played.at("root.sub-1").find_map(|kind| match kind {
        EventKind::Said { message } => Some(message.text()),
        _ => None,
    });
    assert_eq!(heard.as_deref(), Some("look"));
    let others: Vec<_> = all.iter().filter(|name| *name != "sub_agent").collect();
    assert_eq!(tools.iter().collect::<Vec<_>>(), others);
}

#[test]
fn a_sub_agent_has_two_minutes() {
    let played = play(&script(&[look()], &[first(json!({ "text": "ok" }))]));
    let allowance = played.started("root.sub-1").0.limits.allowance;
    assert_eq!(serde_json::to_value(allowance).unwrap(), json!({ "millis": 120_000 }));
}

#[test]
fn the_tools_model_and_system_prompt_can_be_others() {
    let others = json!({
        "prompt": "look",
        "tools": ["read_file", "list_dir"],
        "model": "other.toml",
        "system_prompt": "Be brief.",
    });
    let world = World::new().file("other.toml", "[[reply]]\ntext = 'from another'\n");
    let played = play_with(&world.script(&script(&[(LOOK, others)], &[])), &[]);
    let (_, model, chosen, tools) = played.started("root.sub-1");
    assert_eq!(tools, ["list_dir", "read_file", "ask_user"]);
    assert_eq!((model, chosen), ("scripted/other.toml", Chosen::Named));
    assert_eq!(played.told("root.sub-1").0, "Be brief.");
    assert!(played.results("root")[0].text.starts_with("from another\n"));
}

#[test]
fn a_tool_nobody_knows_is_an_error_and_one_left_out_cannot_be_called() {
    let calls = [
        (LOOK, json!({ "prompt": "look", "tools": ["list_dir", "teleport"] })),
        (LOOK, json!({ "prompt": "look", "tools": [] })),
    ];
    let list = first(json!({ "calls": [{ "tool": "list_dir" }] }));
    let played = play(&script(&calls, &[list, first(json!({ "text": "ok" }))]));
    let results = played.results("root");
    assert!(results[0].failed, "{}", results[0].text);
    assert!(results[0].text.starts_with("there is no tool named `teleport`"));
    assert_eq!(played.started("root.sub-1").3, ["ask_user"]);
    let refused = &played.results("root.sub-1")[0];
    assert!(refused.failed && refused.text.contains("`list_dir`"), "{}", refused.text);
}

#[test]
fn sub_agents_are_one_level_deep() {
    let deeper = first(json!({ "calls": [{ "tool": "sub_agent", "args": { "prompt": "x" } }] }));
    let played = play(&script(&[look()], &[deeper, first(json!({ "text": "ok" }))]));
    assert!(played.offer("root.sub-1", "sub_agent").is_none());
    assert!(played.offer("root.sub-1", "ask_user").is_some());
    let refused = &played.results("root.sub-1")[0];
    let expected = "Maximum sub-agent depth (1) exceeded: sub-agents may not start others here, do \
                    the task yourself";
    assert_eq!((refused.text.as_str(), refused.failed), (expected, true));
    assert!(played.events.iter().all(|event| event.path.depth() <= 1));
}

#[test]
fn sub_agents_can_be_switched_off() {
    let world = World::new().script(&script(&[look()], &[]));
    let played = play_with(&world, &["-c", "sub_agents.enabled=false"]);
    assert!(played.offer("root", "sub_agent").is_none());
    assert!(played.results("root")[0].failed);
}

#[test]
fn calls_in_one_message_run_side_by_side_and_their_results_keep_the_order() {
    let slow = first(json!({ "text": "first", "delay_ms": 300 }));
    let quick = json!({ "agent": "root.sub-2", "text": "second" });
    let played = play(&script(&[look(), look()], &[slow, quick]));
    let results = played.results("root");
    assert!(results[0].text.starts_with("first\n"), "{}", results[0].text);
    assert!(results[1].text.starts_with("second\n"), "{}", results[1].text);
    let order = played.events.iter().filter_map(|event| match event.kind {
        EventKind::Started { .. } => Some((event.path.as_str(), "started")),
        EventKind::Finished { .. } => Some((event.path.as_str(), "finished")),
        _ => None,
    });
    let order: Vec<_> = order.filter(|(path, _)| *path != "root").collect();
    let expected = [
        ("root.sub-1", "started"),
        ("root.sub-2", "started"),
        ("root.sub-2", "finished"),
        ("root.sub-1", "finished"),
    ];
    assert_eq!(order, expected);
}

#[test]
fn many_sub_agents_may_be_at_work_at_one_time() {
    let calls: Vec<_> = (0..12).map(|_| look()).collect();
    let replies = [json!({ "agent": "root.*", "text": "ok", "delay_ms": 50 })];
    let played = play(&script(&calls, &replies));
    let results = played.results("root");
    assert_eq!(results.iter().filter(|result| !result.failed).count(), 12, "{results:?}");
}

#[test]
fn all_that_a_sub_agent_does_is_seen_while_it_happens_with_the_call_it_belongs_to() {
    let busy = |agent: &str| {
        let reply = json!({ "text": "Let me see.", "calls": [{ "tool": "list_dir" }] });
        [reply, json!({ "text": "ok" })].map(|mut reply| {
            reply["agent"] = json!(agent);
            reply
        })
    };
    let others = [busy("root.sub-1"), busy("root.sub-2")].concat();
    let played = play(&script(&[look(), look()], &others));
    let calls = ["c1-1", "c1-2"];
    for (agent, call) in ["root.sub-1", "root.sub-2"].into_iter().zip(calls) {
        let events = played.events.iter().filter(|event| event.path.as_str() == agent);
        let kinds = events.map(|event| {
            assert_eq!(event.call.as_deref(), Some(call));
            let kind = serde_json::to_value(&event.kind).unwrap();
            kind["event"].as_str().unwrap().to_owned()
        });
        let kinds: Vec<_> = kinds.collect();
        let position = |kind: &str| kinds.iter().position(|seen| seen == kind).unwrap();
        assert!(position("started") < position("saying"), "{kinds:?}");
        assert!(position("saying") < position("called"), "{kinds:?}");
        assert_eq!(kinds.last().unwrap(), "finished");
    }
    let is_result = |event: &Event| match &event.kind {
        EventKind::Said { message } => matches!(**message, Message::Tools { .. }),
        _ => false,
    };
    let results = |event: &Event| event.path.as_str() == "root" && is_result(event);
    let delivered = played.events.iter().position(results).unwrap();
    let last = played.events.iter().rposition(|event| event.path.as_str() != "root").unwrap();
    assert!(last < delivered);
}

#[test]
fn the_result_is_the_log_of_tools_the_final_message_and_the_facts() {
    let busy = first(json!({
        "text": "Let me see.",
        "calls": [
            { "tool": "list_dir" },
            { "tool": "read_file", "args": { "path": "long.txt" } },
            { "tool": "read_file", "args": { "path": "m".repeat(300) } },
        ],
    }));
    let world = World::new().file("long.txt", &"word\n".repeat(300));
    let calls = [look(), (LOOK, json!({ "prompt": "think" }))];
    let quiet = json!({ "agent": "root.sub-2", "text": "Nothing to do." });
    let world = world.script(&script(&calls, &[busy, first(json!({ "text": "Long." })), quiet]));
    let played = play_with(&world, &[]);
    let results = played.results("root");
    let lines: Vec<_> = results[0].text.lines().collect();
    assert_eq!(lines[0], "## Sub-agent tool log");
    assert_eq!(lines[1], "- list_dir({}): long.txt (1500 bytes)");
    let log = lines[2].strip_prefix("- read_file({\"path\":\"long.txt\"}): ").unwrap();
    assert_eq!(log.chars().count(), 500);
    assert!(log.contains("word") && log.ends_with('…'), "{log}");
    let (call, error) = lines[3].split_once(": ERROR: ").unwrap();
    assert!(call.starts_with("- read_file({\"path\":\"mmm") && call.ends_with("…)"), "{call}");
    assert!(error.chars().count() <= 200, "{error}");
    assert_eq!(lines[4..7], ["", "## Sub-agent response", "Long."]);
    assert_eq!(lines[7], "");
    let (facts, read) = lines[8].split_once("; ").unwrap();
    assert!(facts.starts_with("[root.sub-1 ("), "{facts}");
    assert!(facts.contains(") completed: 3 calls, "), "{facts}");
    assert_eq!(read, format!("read {}/long.txt]", played.directory));
    assert!(!results[0].text.contains("Let me see."));
    assert!(results[1].text.starts_with("Nothing to do.\n\n[root.sub-2 ("), "{}", results[1].text);
}

#[test]
fn the_log_and_the_message_are_bounded_and_say_so() {
    let find =
        |number: usize| json!({ "tool": "find_files", "args": { "pattern": number.to_string() } });
    let busy = first(json!({ "calls": (0..53).map(find).collect::<Vec<_>>() }));
    let long = format!("x{}", "é".repeat(20_000));
    let script = script(&[look()], &[busy, first(json!({ "text": long }))]);
    let played = play(&format!("max_output = 20_000\n{script}"));
    let result = &played.results("root")[0].text;
    assert_eq!(result.matches("\n- find_files(").count(), 50);
    assert!(result.contains("\n[3 more calls are left out]\n"), "{result}");
    let id = played.events.iter().find(|event| event.path.as_str() == "root.sub-1").unwrap().id;
    let (cut, next) = (40_001 - 32_767, 32_767);
    let expected = format!(
        "é\n[cut: {cut} more bytes, from byte {next} on, are in the transcript of agent {id}]\n\n[root"
    );
    assert!(result.contains(&expected), "{}", result.trim_start_matches(|c| c != '['));
}

#[test]
fn a_sub_agent_that_fails_is_a_result_its_parent_can_act_on() {
    let list = first(json!({ "text": "So far.", "calls": [{ "tool": "list_dir" }] }));
    let down = first(json!({ "error": { "kind": "refused", "message": "no such thing" } }));
    let played = play(&script(&[look()], &[list, down]));
    let result = &played.results("root")[0];
    assert!(result.failed);
    let parts = [
        "## Sub-agent tool log\n- list_dir({}): ",
        "the sub-agent did not finish (failed: the model failed: no such thing). Found so far: \
         \nSo far.\n",
        "[root.sub-1 (",
        " failed: 1 calls, ",
        "You may try again, with a smaller task or more room, or go on without it.",
    ];
    for part in parts {
        assert!(result.text.contains(part), "{part}: {}", result.text);
    }
}

#[test]
fn ask_user_takes_a_question_and_choices_at_every_depth() {
    let played = play(&script(&[look()], &[first(json!({ "text": "ok" }))]));
    let expected = json!({
        "type": "object",
        "properties": {
            "question": { "type": "string" },
            "choices": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["question"],
        "additionalProperties": false,
    });
    for agent in ["root", "root.sub-1"] {
        assert_eq!(played.offer(agent, "ask_user").unwrap()["parameters"], expected);
    }
}

#[test]
fn a_question_that_nobody_can_answer_is_an_error_and_no_answer() {
    let ask = |args: Value| json!({ "tool": "ask_user", "args": args });
    let asks = first(json!({
        "calls": [ask(json!({ "question": "Which?" })), ask(json!({ "question": " " })), ask(json!({}))],
    }));
    let played = play(&script(&[look()], &[asks, first(json!({ "text": "ok" }))]));
    let results = played.results("root.sub-1");
    let expected = [
        "nobody is there to answer: decide for yourself, and say what you assumed",
        "`question` is empty: say what you want to know",
        "missing field `question`",
    ];
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.failed && result.text.contains(expected), "{}", result.text);
    }
}

async fn begin(script: Script) -> Tree {
    Plan { preset: "opal", flags: &[], definitions: None, script }.begin().await
}

/// Two children, each of which asks.
fn asking() -> Script {
    let calls = ["one", "two"].map(|task| call(task, LOOK, json!({ "prompt": task })));
    let ask = |question: &str| {
        let args = json!({ "question": question, "choices": ["euro", "yen"] });
        Reply::calls([call("q", "ask_user", args)])
    };
    Script::new()
        .on("root", [Reply::calls(calls), Reply::text("done")])
        .on("root.sub-1", [ask("first?"), Reply::text("1")])
        .on("root.sub-2", [ask("second?"), Reply::text("2")])
}

/// Waits for a question, which names who asks, what, and the choices.
async fn question(tree: &mut Tree, agent: &str, text: &str) -> QuestionId {
    let event = tree.until(agent, |kind| matches!(kind, EventKind::Asked { .. })).await;
    let EventKind::Asked { question, ask, .. } = &event.kind else { unreachable!() };
    let choices = vec!["euro".to_owned(), "yen".to_owned()];
    assert_eq!(**ask, Ask::Question { prompt: text.to_owned(), choices });
    *question
}

#[tokio::test(start_paused = true)]
async fn two_sub_agents_may_ask_at_once_and_are_answered_in_any_order() {
    let mut tree = begin(asking()).await;
    let first = question(&mut tree, "root.sub-1", "first?").await;
    let second = question(&mut tree, "root.sub-2", "second?").await;
    let an_hour = std::time::Duration::from_secs(3600);
    // Whoever waits for a person loses no time.
    tokio::time::sleep(an_hour).await;
    for (agent, question, text) in [("root.sub-2", second, "yen"), ("root.sub-1", first, "mark")] {
        let answer = Answer::Words { text: text.to_owned() };
        let answer = Command::Answer { question, answer };
        tree.session.send(&agent.parse().unwrap(), answer).await.unwrap();
    }
    assert_eq!(tree.end().await.text, "done");
    assert_eq!(tree.results("root.sub-1")[0].text, "mark");
    assert_eq!(tree.results("root.sub-2")[0].text, "yen");
    let results = tree.results("root");
    assert!(results[0].text.contains("## Sub-agent response\n1\n"), "{}", results[0].text);
    assert!(results[1].text.contains("## Sub-agent response\n2\n"), "{}", results[1].text);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_withdrawn_when_all_is_called_off() {
    let mut tree = begin(asking()).await;
    let first = question(&mut tree, "root.sub-1", "first?").await;
    tree.session.send(&"root".parse().unwrap(), Command::Cancel).await.unwrap();
    assert_eq!(tree.end().await.ending, Ending::Cancelled);
    let is_withdrawn =
        |kind: &EventKind| matches!(kind, EventKind::Withdrawn { question } if *question == first);
    assert!(tree.at("root.sub-1").any(is_withdrawn));
}

#[tokio::test(start_paused = true)]
async fn two_minutes_are_all_there_is_however_busy_a_sub_agent_is() {
    let pause = std::time::Duration::from_secs(5);
    let find = |number: usize| {
        let args = json!({ "pattern": number.to_string() });
        Reply::calls([call(&format!("f{number}"), "find_files", args)]).after(pause)
    };
    let script = Script::new()
        .on(
            "root",
            [Reply::calls([call("c", LOOK, json!({ "prompt": "x" }))]), Reply::text("done")],
        )
        .on("root.sub-1", (0..100).map(find))
        .on("root.sub-1", [Reply::text("as far as I got").last()]);
    let mut tree = begin(script).await;
    assert_eq!(tree.end().await.text, "done");
    let finished = tree.at("root.sub-1").find_map(|kind| match kind {
        EventKind::Finished { outcome, receipt } => Some((outcome.ending, receipt.millis)),
        _ => None,
    });
    let (ending, millis) = finished.unwrap();
    assert_eq!(ending, Ending::Timeout);
    assert!((110_000..=120_000).contains(&millis), "{millis}");
    assert!(tree.results("root")[0].text.contains("as far as I got"));
}
