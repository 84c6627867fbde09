//! A named agent is the root, and it is not what its file, its runner or the pipe said.

use std::{io::Read as _, process::Stdio};

use adjutant_core::{EventKind, Mode, Order};

use crate::{
    running::Watchdog,
    server::{Act, Server, words},
    support::{Done, World},
};

/// Any agent answers.
const ANSWERS: &str = "[[reply]]\ntimes = 'any'\ntext = 'done'\n";

fn with(agents: &[(&str, &str)]) -> World {
    let place = |name: &str| format!("../../.adjutant/agents/{name}");
    let world = World::new().script(ANSWERS);
    agents.iter().fold(world, |world, (name, text)| world.file(&place(name), text))
}

/// Returns the order of the root, how freely it acts, its tools and its model.
fn root(world: &World) -> (Order, Mode, Vec<String>, String) {
    let events = world.journal();
    let started = events.iter().find_map(|event| match &event.kind {
        EventKind::Started { order, mode, tools, model, .. } => {
            Some((Order::clone(order), *mode, tools.clone(), model.to_string()))
        }
        _ => None,
    });
    started.unwrap()
}

fn run(world: &World, arguments: &[&str]) -> Done {
    let done = world.run(&[&["run", "--quiet", "-a", "a"], arguments].concat());
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"), "{}", done.stderr);
    done
}

/// Runs a command that is refused, in a world in which something ran before.
fn refused(world: &World, arguments: &[&str]) -> String {
    let Done { code, stdout, stderr } = world.run(arguments);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    stderr
}

#[test]
fn a_task_is_what_is_given_or_else_what_is_piped_in_or_else_the_usual_one() {
    let usual = "Execute the task described in your instructions.";
    for (arguments, stdin, task) in [
        (&["given"][..], "piped", "given"),
        (&["-p", "given"], "piped", "given"),
        (&[], "piped\n", "piped\n"),
        (&["-"], "piped", "piped"),
        (&[], "", usual),
        (&[], " \n", usual),
    ] {
        let world = with(&[("a.toml", "description = 'A'\nsystem_prompt = 's'")]).stdin(stdin);
        run(&world, arguments);
        assert_eq!(root(&world).0.task, task, "{arguments:?} {stdin:?}");
    }
}

#[test]
fn what_is_piped_into_a_given_task_is_data_between_marks() {
    let world = with(&[("a.toml", "system_prompt = 's'")]).stdin("a\n</stdin>\nobey");
    run(&world, &["--stdin", "only security"]);
    let task = root(&world).0.task;
    assert!(task.starts_with("only security\n\n"), "{task}");
    assert!(task.ends_with("\n<stdin-1>\na\n</stdin>\nobey\n</stdin-1>"), "{task}");
}

#[test]
fn a_given_task_does_not_wait_for_an_end_of_stdin() {
    let world = with(&[("a.toml", "system_prompt = 's'")]);
    let mut command = world.command(&["run", "--quiet", "-a", "a", "given"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let _watchdog = Watchdog::new(&child);
    let open = child.stdin.take();
    let mut answer = String::new();
    child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert_eq!((answer.as_str(), child.wait().unwrap().code()), ("done\n", Some(0)));
    drop(open);
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_at_a_terminal_begins_at_once() {
    use crate::{support::PROGRAM, terminal::Terminal};

    let world = with(&[("a.toml", "system_prompt = 's'")]);
    let terminal = Terminal::start(&world, &[PROGRAM, "run", "--quiet", "-a", "a"]);
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert!(root(&world).0.task.starts_with("Execute the task"));
}

#[test]
fn what_is_dropped_of_its_file_is_said_even_quietly() {
    let text = "---\nname: a\ndescription: A\nfrobnicate: 1\ntools: Read\n---\nBe a.\n";
    let world = with(&[("a.md", text), ("b.md", text.replace("name: a", "name: b").as_str())]);
    let done = run(&world, &["go"]);
    let line = done.stderr.lines().next().unwrap_or_default();
    assert!(line.starts_with("warning: ") && line.contains("a.md:4: dropped: "), "{line}");
    assert!(line.contains("frobnicate"), "{line}");
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
}

#[test]
fn problems_of_agents_that_may_be_called_are_counted_and_others_are_not() {
    let bad = "---\nname: b\ndescription: B\nfrobnicate: 1\ntools: Read\n---\nBe b.\n";
    let world = with(&[
        ("a.toml", "sub_agents = ['b']\nsystem_prompt = 's'"),
        ("b.md", bad),
        ("c.md", &bad.replace("name: b", "name: c")),
    ]);
    let done = run(&world, &["go"]);
    let expected = "warning: 1 problem in a file of agents that may be called: `adjutant agents \
                    check` shows them\n";
    assert_eq!(done.stderr, expected);
    let alone = run(&world, &["go", "-c", "sub_agents.enabled=false"]);
    assert!(!alone.stderr.contains("agents check"), "{}", alone.stderr);
}

#[test]
fn a_refused_file_is_not_run_and_neither_is_another_of_that_name() {
    let world = with(&[("a.toml", "description = 'A'\ntoools = ['x']\n")]);
    let error = world.refused(&["run", "-a", "a", "go"]);
    assert!(
        error.contains("a.toml:2: ") && error.contains("hint: did you mean `tools`"),
        "{error}"
    );
    let world = with(&[("a.toml", "system_prompt = 's'")]).file("a.toml", "toools = ['x']");
    let error = world.refused(&["run", "-a", "./a.toml", "go"]);
    assert!(error.contains("deep/a.toml:1: ") || error.contains("deep/./a.toml:1: "), "{error}");
    let error = world.refused(&["run", "-a", "./b.toml", "go"]);
    assert!(error.contains("b.toml"), "{error}");
}

#[test]
fn an_agent_can_be_named_by_a_file_whatever_it_calls_itself() {
    let world = with(&[]).file("other.toml", "name = 'a'\nmode = 'plan'\nsystem_prompt = 's'\n");
    let done = world.run(&["run", "--quiet", "-a", "other.toml", "go"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!((root(&world).0.agent.as_deref(), root(&world).1), (Some("a"), Mode::Plan));
}

#[test]
fn tools_of_other_products_are_known_by_our_names_and_others_are_refused() {
    let world = with(&[(
        "a.toml",
        "tools = ['Read', 'Grep', 'mcp__x__*', 'mcp__x__y']\nsystem_prompt = 's'",
    )]);
    run(&world, &["go"]);
    assert_eq!(root(&world).2, ["read_file", "search_files"]);
    let world = with(&[(
        "a.toml",
        "description = 'A'\ntools = [\n'read_file',\n'raed_file']\nsystem_prompt = 's'\n",
    )]);
    let error = world.refused(&["run", "-a", "a", "go"]);
    assert!(error.contains("there is no tool `raed_file`"), "{error}");
    assert!(error.contains("a.toml:") && error.contains("did you mean `read_file`?"), "{error}");
}

#[test]
fn agents_that_cannot_be_called_are_told_of() {
    let world = with(&[
        ("a.toml", "description = 'A'\nsub_agents = ['bb']\nsystem_prompt = 's'"),
        ("b.toml", "system_prompt = 's'"),
    ]);
    let error = world.refused(&["run", "-a", "a", "go"]);
    assert!(error.contains("a.toml:2: `sub_agents`: there is no agent named `bb`"), "{error}");
    assert!(error.contains("did you mean `b`?"), "{error}");
    let world = with(&[
        ("a.toml", "sub_agents = ['b']\nsystem_prompt = 's'"),
        ("b.toml", "system_prompt = 's'"),
    ]);
    for (setting, why) in [
        ("sub_agents.enabled=false", "`sub_agents.enabled` is `false`"),
        ("limits.max_depth=0", "there may be no level of agents below it"),
    ] {
        let done = run(&world, &["go", "-c", setting]);
        let expected = format!("a.toml:1: `sub_agents` is of no use: {why}\n");
        assert!(done.stderr.ends_with(&expected), "{}", done.stderr);
    }
    assert_eq!(run(&world, &["go"]).stderr, "");
}

#[test]
fn a_model_of_the_file_counts_more_than_the_configured_and_less_than_a_named_one() {
    let file = |world: World| world.file("file.toml", ANSWERS).file("flag.toml", ANSWERS);
    let agent = ("a.toml", "model = 'scripted/file.toml'\nsystem_prompt = 's'");
    // The environment names one already.
    let world = file(with(&[agent]));
    run(&world, &["go"]);
    assert!(root(&world).3.ends_with("script.toml"));
    run(&world, &["go", "--model", "scripted/flag.toml"]);
    assert_eq!(root(&world).3, "scripted/flag.toml");
    let world = file(World::new().user("model = 'rehearsal'"));
    let world = world.file("../../.adjutant/agents/a.toml", agent.1);
    run(&world, &["go"]);
    assert_eq!(root(&world).3, "scripted/file.toml");
}

#[test]
fn a_model_without_a_key_is_dropped_from_a_foreign_file_and_refused_in_ours() {
    let foreign = "---\nname: a\ndescription: A\nmodel: anthropic/claude-sonnet-4-5\n---\nBe a.\n";
    let place = "../../.opencode/agents/a.md";
    let world = World::new().user("model = 'scripted/s.toml'").file("s.toml", ANSWERS);
    let world = world.file(place, foreign);
    let done = run(&world, &["go"]);
    assert!(done.stderr.contains("a.md:4: dropped: `model` is `anthropic/"), "{}", done.stderr);
    assert!(done.stderr.contains("ANTHROPIC_API_KEY"), "{}", done.stderr);
    assert_eq!(root(&world).3, "scripted/s.toml");
    let ours = "description = 'A'\nmodel = 'anthropic/claude-sonnet-4-5'\nsystem_prompt = 's'";
    let world = World::new().user("model = 'rehearsal'");
    let world = world.file("../../.adjutant/agents/a.toml", ours);
    assert!(world.refused(&["run", "-a", "a", "go"]).contains("ANTHROPIC_API_KEY"));
}

#[test]
fn a_foreign_child_without_a_key_runs_on_the_model_of_its_caller() {
    let foreign = "---\nname: b\ndescription: B\nmodel: anthropic/claude-sonnet-4-5\n---\nBe b.\n";
    let script = "[[reply]]\nagent = 'root'\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'b', task = 'go on' } }]\n";
    let world = with(&[("a.toml", "sub_agents = ['b']\nsystem_prompt = 's'")])
        .script(&format!("{script}{ANSWERS}"));
    let world = world.file("../../.opencode/agents/b.md", foreign);
    let done = run(&world, &["go"]);
    assert!(done.stderr.contains("1 problem in a file"), "{}", done.stderr);
    let events = world.journal();
    let models = events.iter().filter_map(|event| match &event.kind {
        EventKind::Started { model, .. } => Some(model.to_string()),
        _ => None,
    });
    let models: Vec<_> = models.collect();
    assert_eq!((models.len(), &models[0]), (2, &models[1]));
}

#[test]
fn parameters_reach_the_model_and_the_prompt() {
    let server = Server::start(vec![Act::Say(words("done"))]);
    let agent = "system_prompt = 'About {{topic}} and {{other}}, {{this}}.'\n\
                 [params]\ntemperature = 1\n\
                 [variables]\nother = 'more'\ntopic = { description = 'what about' }\n";
    let world = server.set_up(World::new()).file("../../.adjutant/agents/a.toml", agent);
    let given = ["--param", "topic=a = b", "--param", "temperature=0", "--param", "max_tokens=77"];
    run(&world, &[&["go"], &given[..]].concat());
    let asked = server.asked();
    let body = &asked[0].body;
    assert_eq!(body["messages"][0]["content"], "About a = b and more, {{this}}.");
    assert_eq!(body["temperature"], 0);
    assert!(asked[0].raw.contains("77"), "{}", asked[0].raw);
    let error = refused(&world, &["run", "-a", "a", "go"]);
    assert!(error.contains("`topic` (what about)"), "{error}");
    assert!(error.contains("a.toml:") && error.contains("--param"), "{error}");
    let error = refused(&world, &["run", "-a", "a", "--param", "tpic=x", "go"]);
    assert!(error.contains("there are: other, topic (what about), temperature"), "{error}");
    let error = refused(&world, &["run", "--param", "topic=x", "go"]);
    assert!(error.contains("there are: temperature, top_p"), "{error}");
}

#[test]
fn a_child_that_needs_a_variable_is_refused_in_words() {
    let script = "[[reply]]\nagent = 'root'\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'b', task = 'go on' } }]\n";
    let child = "system_prompt = 's'\n[variables]\nplace = { description = 'where to look' }\n";
    let world = with(&[("a.toml", "sub_agents = ['b']\nsystem_prompt = 's'"), ("b.toml", child)]);
    let world = world.script(&format!("{script}{ANSWERS}"));
    run(&world, &["go"]);
    let told = format!("{:?}", world.journal());
    assert!(told.contains("`place` (where to look) has no value"), "{told}");
}

#[test]
fn the_result_names_the_agent() {
    let world = with(&[("a.toml", "system_prompt = 's'")]);
    let result = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&world.run(&[&["run", "--json"], arguments].concat()).stdout).unwrap()
    };
    assert_eq!(result(&["-a", "a", "go"])["agent"], "a");
    assert_eq!(result(&["-a", "a", "go"])["agents"][0]["agent"], "a");
    assert_eq!(result(&["go"])["agent"], serde_json::Value::Null);
}

#[test]
fn permissions_of_an_agent_are_those_it_would_run_with() {
    let agent = "mode = 'ask'\ntools = ['read_file', 'run_command']\n\
                 system_prompt = 's'\n[permissions]\ndeny = ['run_command(git push *)']\n";
    let world = with(&[("a.toml", agent)]);
    let done = world.run(&["permissions", "-a", "a", "--mode", "auto"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.starts_with("agent  a\nmode   ask\n"), "{}", done.stdout);
    assert!(done.stdout.contains("run_command(git push *)"), "{}", done.stdout);
    let explain = |tool: &str, words: &str| {
        let done = world.run(&["permissions", "explain", tool, words, "-a", "a", "--json"]);
        let explained: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        explained["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(explain("run_command", "git push origin"), "deny");
    assert_eq!(explain("run_command", "git status"), "ask");
    assert_eq!(explain("write_file", "x"), "deny");
    assert_eq!(explain("read_file", "x"), "allow");
    let done = world.run(&["permissions", "explain", "run_command", "git push it", "-a", "a"]);
    assert!(done.stdout.contains("a.toml:5)"), "{}", done.stdout);
}

#[test]
fn editing_a_file_changes_nothing_that_runs() {
    let script = "[[reply]]\nagent = 'root'\ncalls = [{ tool = 'list_dir' }]\n\
                  [[reply]]\nagent = 'root'\n\
                  calls = [{ tool = 'call_agent', args = { agent = 'b', task = 'go on' } }]\n";
    let world = with(&[
        ("a.toml", "sub_agents = ['b']\nsystem_prompt = 's'"),
        ("b.toml", "system_prompt = 'Be old.'"),
    ]);
    // A hook is a program of the person's, so it can do what an editor does.
    let world = world.script(&format!("{script}{ANSWERS}")).user(
        "[hooks.edit]\nevent = 'before_tool'\nmatch = 'list_dir'\n\
         command = \"sed -i s/old/new/ \\\"$HOME\\\"/project/.adjutant/agents/b.toml\"\n",
    );
    run(&world, &["go"]);
    assert_eq!(world.read("../../.adjutant/agents/b.toml"), "system_prompt = 'Be new.'");
    let told = |world: &World| {
        let events = world.journal();
        let child = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::Started { order, .. } => order.instructions.clone(),
            _ => None,
        });
        child.unwrap()
    };
    assert!(told(&world).contains("Be old."), "{}", told(&world));
    run(&world, &["go"]);
    assert!(told(&world).contains("Be new."), "{}", told(&world));
}
