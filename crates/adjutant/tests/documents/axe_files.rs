//! What the axe document promises of agents in files, from top to bottom, with the real program.

use std::fs;

use adjutant::core::{Event, EventKind, Message, Order, ToolResult};

use crate::{
    shared::server::{Act, Chat, Format as _, Server},
    support::{Done, World},
};

const BOSS: &str = "\
name = 'boss'
description = 'Leads.'
system_prompt = 'You lead.'
sub_agents = ['test-runner', 'lint-checker']
";

const RUNNER: &str = "\
name = 'test-runner'
description = 'Runs the tests.'
system_prompt = 'You run tests.'
";

const LINTER: &str = "\
name = 'lint-checker'
description = 'Checks the style.'
system_prompt = 'You check style.'
";

/// A project with agents: `boss` as given, and the two it may call.
fn project(boss: &str, runner: &str) -> World {
    let world = World::new();
    let directory = world.project_directory().join(".adjutant/agents");
    fs::create_dir_all(&directory).unwrap();
    for (name, text) in [("boss", boss), ("test-runner", runner), ("lint-checker", LINTER)] {
        fs::write(directory.join(format!("{name}.toml")), text).unwrap();
    }
    world
}

fn calls(agent: &str) -> String {
    format!("calls = [{{ tool = 'call_agent', args = {{ agent = '{agent}', task = 'do it' }} }}]\n")
}

/// A root that calls one agent, and what that one does.
fn script(agent: &str, child: &str) -> String {
    format!(
        "[[reply]]\nagent = 'root'\n{}[[reply]]\nagent = 'root'\ntext = 'done'\n\
         [[reply]]\nagent = 'root.*'\n{child}\n",
        calls(agent)
    )
}

fn run(world: World, script: &str) -> (Done, Vec<Event>) {
    let world = world.script(script);
    let done = world.run(&["run", "-a", "boss", "--events", "--quiet", "go"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let events = done.events();
    (done, events)
}

fn started<'a>(events: &'a [Event], agent: &str) -> Option<(&'a Order, &'a [String])> {
    let mut at = events.iter().filter(|event| event.path.as_str() == agent);
    at.find_map(|event| match &event.kind {
        EventKind::Started { order, tools, .. } => Some((&**order, tools.as_slice())),
        _ => None,
    })
}

fn results(events: &[Event], agent: &str) -> Vec<ToolResult> {
    let at = events.iter().filter(|event| event.path.as_str() == agent);
    let said = at.filter_map(|event| match &event.kind {
        EventKind::Said { message } => Some(message),
        _ => None,
    });
    let results = said.filter_map(|message| match &**message {
        Message::Tools { results } => Some(results.clone()),
        _ => None,
    });
    results.flatten().collect()
}

#[test]
fn the_tool_is_injected_where_sub_agents_are_defined_whatever_the_preset() {
    for preset in ["adjutant", "axe", "opal"] {
        let world = project(BOSS, RUNNER).variable("ADJUTANT_PRESET", preset);
        let (_, events) = run(world, &script("test-runner", "text = 'All pass.'"));
        let (_, tools) = started(&events, "root").unwrap();
        assert!(tools.iter().any(|tool| tool == "call_agent"), "{preset}: {tools:?}");
        let (_, tools) = started(&events, "root.test-runner-1").unwrap();
        assert!(tools.iter().all(|tool| tool != "call_agent"), "{preset}: {tools:?}");
        assert!(results(&events, "root")[0].text.contains("All pass."), "{preset}");
    }
}

#[test]
fn the_sub_agent_receives_its_prompt_skill_files_task_and_context_and_no_history() {
    let runner = format!("{RUNNER}skill = 'testing'\nfiles = ['notes/*.md']\nworkdir = 'pack'\n");
    let world = project(BOSS, &runner)
        .file("pack/notes/how.md", "Run them twice.")
        .file("notes/not-mine.md", "of another directory");
    let skill = world.project_directory().join(".adjutant/skills/testing");
    fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: testing\ndescription: How to test.\n---\nTest with care.";
    fs::write(skill.join("SKILL.md"), text).unwrap();
    let call = serde_json::json!({
        "agent": "test-runner", "task": "run the tests", "context": "the build is red",
    });
    let server = Server::strict(
        &Chat,
        vec![
            Act::Say(Chat.calls(&[("call_agent", call)])),
            Act::Say(Chat.words("All pass.")),
            Act::Say(Chat.words("done")),
        ],
    );
    let world = server.set_up(world);
    let done = world.run(&["run", "-a", "boss", "a secret of the parent"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"), "{}", done.stderr);
    let bodies: Vec<_> = server.asked().into_iter().map(|asked| asked.body.to_string()).collect();
    let child = &bodies[1];
    for received in [
        "You run tests.",
        "Test with care.",
        "notes/how.md",
        "Run them twice.",
        "Task: run the tests\\n\\nContext:\\nthe build is red",
    ] {
        assert!(child.contains(received), "{received} is missing in {child}");
    }
    for kept in ["a secret of the parent", "You lead.", "of another directory"] {
        assert!(!child.contains(kept), "{kept} is in {child}");
    }
    assert!(bodies[2].contains("All pass.") && !bodies[2].contains("Test with care."));
}

#[test]
fn the_parent_gets_the_final_text_only() {
    let world = project(BOSS, RUNNER).variable("ADJUTANT_PRESET", "axe");
    let child = "text = 'thinking aloud'\ncalls = [{ tool = 'list_dir' }]\n\
                 [[reply]]\nagent = 'root.*'\ntext = 'All pass.'";
    let (_, events) = run(world, &script("test-runner", child));
    assert_eq!(results(&events, "root")[0].text, "All pass.");
}

#[test]
fn a_sub_agent_has_two_minutes_unless_a_file_says_less() {
    let config = |timeout| format!("{BOSS}[sub_agents_config]\ntimeout = {timeout}\n");
    let own = format!("{RUNNER}timeout = 7\n");
    for (boss, runner, seconds) in [
        (BOSS.to_owned(), RUNNER, 120),
        (config(30), RUNNER, 30),
        (config(30), own.as_str(), 7),
        (config(5), own.as_str(), 5),
        (BOSS.to_owned(), own.as_str(), 7),
    ] {
        let (_, events) = run(project(&boss, runner), &script("test-runner", "text = 'ok'"));
        let (order, _) = started(&events, "root.test-runner-1").unwrap();
        let given = order.limits.allowance.time().map(|time| time.as_secs());
        assert_eq!(given, Some(seconds), "{boss} {runner}");
    }
}

/// Lets two agents call each other in a circle, each with these limits, and returns how deep they
/// came.
fn depth(boss: &str, runner: &str) -> usize {
    let boss = format!("{BOSS}{boss}");
    let runner = format!("{RUNNER}sub_agents = ['boss']\n{runner}");
    let asks = |task: &str, agent: &str| {
        format!(
            "[[reply]]\ntask = '{task}'\ncalls = [{{ tool = 'call_agent', args = {{ agent = \
             '{agent}', task = 'for {agent}' }} }}]\n"
        )
    };
    let script = asks("go", "test-runner")
        + &asks("for test-runner", "boss")
        + &asks("for boss", "test-runner")
        + "[[reply]]\ntext = 'done'\ntimes = 'any'\n";
    let (_, events) = run(project(&boss, &runner), &script);
    let deepest = events.iter().map(|event| event.path.depth()).max().unwrap();
    let last = events.iter().find(|event| event.path.depth() == deepest).unwrap();
    let (_, tools) = started(&events, last.path.as_str()).unwrap();
    assert!(tools.iter().all(|tool| tool != "call_agent"), "{tools:?}");
    deepest
}

#[test]
fn a_circle_of_agents_ends_at_the_depth_that_the_files_say() {
    assert_eq!(depth("", ""), 3, "three is usual");
    assert_eq!(depth(&max(1), ""), 1);
    assert_eq!(depth(&max(2), ""), 2);
    assert_eq!(depth("", &max(0)), 1, "a child's own config narrows");
    assert_eq!(depth(&max(2), &max(5)), 2, "and never widens");
}

fn max(levels: u8) -> String {
    format!("[sub_agents_config]\nmax_depth = {levels}\n")
}

#[test]
fn more_than_five_levels_are_refused_with_the_line() {
    let boss = format!("{BOSS}[sub_agents_config]\nmax_depth = 6\n");
    let world = project(&boss, RUNNER);
    let error = world.refused(&["run", "--model", "rehearsal", "-a", "boss", "go"]);
    assert!(error.contains("boss.toml:6") && error.contains("max_depth"), "{error}");
}

#[test]
fn calls_of_one_turn_run_side_by_side_unless_the_file_says_otherwise() {
    let both = "[[reply]]\nagent = 'root'\ncalls = [\n\
                { tool = 'call_agent', args = { agent = 'test-runner', task = 'a' } },\n\
                { tool = 'call_agent', args = { agent = 'lint-checker', task = 'b' } },\n]\n\
                [[reply]]\nagent = 'root'\ntext = 'done'\n\
                [[reply]]\nagent = 'root.test-runner-1'\ndelay_ms = 200\ntext = 'first'\n\
                [[reply]]\nagent = 'root.*'\ntext = 'second'\n";
    for (parallel, is_second_last) in [(true, false), (false, true)] {
        let boss = format!("{BOSS}[sub_agents_config]\nparallel = {parallel}\n");
        let (_, events) = run(project(&boss, RUNNER), both);
        let order = |agent: &str, wanted: fn(&EventKind) -> bool| {
            events.iter().position(|event| event.path.as_str() == agent && wanted(&event.kind))
        };
        let begun = order("root.lint-checker-2", |kind| matches!(kind, EventKind::Started { .. }));
        let ended = order("root.test-runner-1", |kind| matches!(kind, EventKind::Finished { .. }));
        assert_eq!(begun.unwrap() > ended.unwrap(), is_second_last, "{parallel}");
        let texts: Vec<_> = results(&events, "root").into_iter().map(|it| it.text).collect();
        assert!(texts[0].starts_with("first") && texts[1].starts_with("second"), "{texts:?}");
    }
}

#[test]
fn a_failure_is_told_in_its_form_and_the_parent_goes_on() {
    for preset in ["axe", "adjutant"] {
        let boss = format!("{BOSS}[sub_agents_config]\ntimeout = 5\n");
        let world = project(&boss, RUNNER).variable("ADJUTANT_PRESET", preset);
        let child = "error = { kind = 'refused', message = 'the API is down' }";
        let (done, events) = run(world, &script("test-runner", child));
        let expected = "Error: sub-agent \"test-runner\" failed — the model failed: the API is \
                        down. You may retry or proceed without this result.";
        let result = &results(&events, "root")[0];
        assert!(result.failed && result.text.starts_with(expected), "{preset}: {}", result.text);
        assert_eq!(done.code, Some(0));
    }
}

#[test]
fn a_name_that_is_not_on_the_list_is_refused_and_says_which_are() {
    let runner = format!("{RUNNER}sub_agents = ['lint-checker']\n");
    let child = format!("{}[[reply]]\nagent = 'root.*'\ntext = 'ok'", calls("boss"));
    let (_, events) = run(project(BOSS, &runner), &script("test-runner", &child));
    assert_eq!(
        results(&events, "root.test-runner-1")[0].text,
        "agent \"boss\" is not in this agent's sub_agents list; there are: lint-checker"
    );
}

#[test]
fn a_nameless_child_may_call_whom_the_named_agent_above_it_may() {
    let boss = BOSS.replace(", 'lint-checker'", "");
    let child =
        format!("{}[[reply]]\nagent = 'root.*'\ntext = 'ok'\ntimes = 'any'", calls("lint-checker"));
    let script = format!(
        "[[reply]]\nagent = 'root'\ncalls = [{{ tool = 'sub_agent', args = {{ prompt = 'x' }} }}]\n\
         [[reply]]\nagent = 'root'\ntext = 'done'\n[[reply]]\nagent = 'root.sub-1'\n{child}\n"
    );
    let (_, events) = run(project(&boss, RUNNER), &script);
    assert_eq!(
        results(&events, "root.sub-1")[0].text,
        "agent \"lint-checker\" is not in this agent's sub_agents list; there are: test-runner"
    );
}
