//! Presets, and every key about agents that start others.

use adjutant_core::{Chosen, Event, EventKind, Mode};
use serde_json::Value;

use crate::support::{Done, World};

/// A root that calls one tool, a child that answers, and the root's last words.
fn calls(tool: &str, arguments: &str) -> String {
    format!(
        "[[reply]]\nagent = 'root'\ncalls = [{{ tool = '{tool}', args = {{ {arguments} }} }}]\n\
         [[reply]]\nagent = 'root.*'\ntimes = 'any'\ntext = 'found'\n\
         [[reply]]\nagent = 'root'\ntext = 'done'"
    )
}

/// Runs a script with settings and returns what happened.
fn run(script: &str, settings: &[&str]) -> Done {
    let flags = settings.iter().flat_map(|setting| ["-c", setting]);
    let arguments: Vec<_> = ["run", "--events", "go"].into_iter().chain(flags).collect();
    let done = World::new().script(script).run(&arguments);
    assert_ne!(done.code, Some(2), "{}", done.stderr);
    done
}

/// Returns the tools of an agent, and how freely it acts.
fn started(done: &Done, path: &str) -> (Vec<String>, Mode) {
    let found = done.events().into_iter().find_map(|event| match event.kind {
        EventKind::Started { tools, mode, .. } if event.path.as_str() == path => {
            Some((tools, mode))
        }
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{path} did not start: {}", done.stdout))
}

fn tools(done: &Done, path: &str) -> Vec<String> {
    let (tools, _) = started(done, path);
    let is_for_delegation = |name: &String| name.contains("agent") || name.contains("task");
    tools.into_iter().filter(is_for_delegation).collect()
}

/// Returns the positions at which agents start and finish.
fn seqs(done: &Done, path: &str) -> (u64, u64) {
    let of = |is: fn(&Event) -> bool| {
        let events = done.events().into_iter();
        events.filter(is).find(|it| it.path.as_str() == path).map(|it| it.seq)
    };
    let start = of(|it| matches!(it.kind, EventKind::Started { .. }));
    let end = of(|it| matches!(it.kind, EventKind::Finished { .. }));
    (start.unwrap(), end.unwrap())
}

fn children(done: &Done) -> usize {
    let is_child = |it: &Event| {
        matches!(it.kind, EventKind::Started { .. }) && it.path.as_str().starts_with("root.")
    };
    done.events().iter().filter(|it| is_child(it)).count()
}

#[test]
fn the_presets_are_listed_and_shown() {
    let world = World::new();
    let listed = world.run(&["presets"]);
    let names: Vec<_> = listed.stdout.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["adjutant", "opal", "opta", "meerkat", "axe"]);
    assert!(listed.stdout.contains("\nopal      One tool that waits for its answer"));
    let json: Value = serde_json::from_str(&world.run(&["presets", "--json"]).stdout).unwrap();
    assert_eq!((json.as_array().unwrap().len(), &json[4]["name"]), (5, &"axe".into()));

    let opal = world.run(&["presets", "show", "opal"]).stdout;
    let written = include_str!("../../src/config/presets/opal.toml");
    assert!(opal.starts_with(written), "{opal}");
    assert!(opal.contains("\n#   sub_agent {prompt, model?, system_prompt?, tools?}\n"), "{opal}");
    assert!(opal.contains("\n#   limits.max_depth = 1\n"), "{opal}");
    assert!(opal.contains("\n#   limits.max_concurrent_ops = 32\n"), "{opal}");

    let axe = world.run(&["presets", "show", "axe", "--json"]).stdout;
    let axe: Value = serde_json::from_str(&axe).unwrap();
    assert_eq!(axe["toml"], include_str!("../../src/config/presets/axe.toml"));
    assert_eq!(axe["settings"]["sub_agents.result"], "axe");
    let tools: Vec<_> = axe["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(tools, ["call_agent"]);
    assert_eq!(axe["tools"][0]["parameters"]["required"], serde_json::json!(["agent", "task"]));
}

#[test]
fn what_is_shown_can_be_written_into_a_file() {
    let shown = World::new().run(&["presets", "show", "opta"]).stdout;
    let world = World::new().user(&shown);
    let config = world.config(&[]);
    assert_eq!(config["breaker.pause_at"]["value"], 30);
    assert_eq!(config["breaker.pause_at"]["from"][0]["layer"], "user");
}

#[test]
fn a_preset_that_does_not_exist_is_refused_with_a_hint() {
    let world = World::new();
    let stderr = world.refused(&["presets", "show", "oppal"]);
    assert!(stderr.contains("oppal") && stderr.contains("'opal'"), "{stderr}");
    let stderr = world.refused(&["config", "-c", "preset=oppal"]);
    assert!(stderr.contains("flag -c: there is no preset `oppal`; there are:"), "{stderr}");
    assert!(stderr.contains("did you mean `opal`?"), "{stderr}");
    let stderr = world.refused(&["config", "-c", "preset=3"]);
    assert!(stderr.contains("preset"), "{stderr}");
}

#[test]
fn a_preset_stands_between_the_defaults_and_the_users_file() {
    let world = World::new().user("preset = 'opal'\nsub_agents.cache = true");
    let config = world.config(&[]);
    let from = |key: &str| config[key]["from"][0].clone();
    assert_eq!(config["limits.max_depth"]["value"], 1);
    assert_eq!(from("limits.max_depth")["layer"], "preset");
    assert_eq!(from("limits.max_depth")["name"], "opal");
    assert_eq!(from("limits.max_concurrent_ops")["layer"], "default");
    assert_eq!(from("sub_agents.cache")["layer"], "user");
    let text = world.run(&["config"]).stdout;
    let depth = text.lines().find(|line| line.starts_with("limits.max_depth ")).unwrap();
    assert!(depth.ends_with("# preset opal"), "{depth}");
}

#[test]
fn a_project_may_not_choose_a_preset_nor_loosen_what_holds() {
    let user = "breaker.pause_at = 5\nbreaker.warn_at = 4\nbreaker.hard_stop_at = 6\n\
                [sub_agents]\nenabled = false\ntools = ['sub_agent']\nextra_parameters = false\n\
                allow_nested_spawn = false\ninherit_mode = false\nmax_budget_per_agent = 5\n\
                blocking_tokens = 5\nblocking_calls = 5\nplan_size = 2\nplan_concurrency = 2\n\
                default_budget = 5";
    let refusals = [
        ("preset = 'opal'", "may not set `preset`"),
        ("sub_agents.enabled = true", "may not raise `sub_agents.enabled`"),
        ("sub_agents.tools = ['agent_spawn']", "may not raise `sub_agents.tools`"),
        ("sub_agents.extra_parameters = true", "may not raise `sub_agents.extra_parameters`"),
        ("sub_agents.allow_nested_spawn = true", "may not raise `sub_agents.allow_nested_spawn`"),
        ("sub_agents.inherit_mode = true", "may not raise `sub_agents.inherit_mode`"),
        ("sub_agents.max_budget_per_agent = 6", "may not raise `sub_agents.max_budget_per_agent`"),
        ("sub_agents.default_budget = 6", "may not raise `sub_agents.default_budget`"),
        ("sub_agents.blocking_tokens = 6", "may not raise `sub_agents.blocking_tokens`"),
        ("sub_agents.blocking_calls = 6", "may not raise `sub_agents.blocking_calls`"),
        ("sub_agents.plan_size = 3", "may not raise `sub_agents.plan_size`"),
        ("sub_agents.plan_concurrency = 3", "may not raise `sub_agents.plan_concurrency`"),
        ("sub_agents.default_provider = 'openai'", "may not set `sub_agents.default_provider`"),
        ("sub_agents.default_model = 'openai/x'", "may not set `sub_agents.default_model`"),
        ("sub_agents.comms = 'family'", "may not set `sub_agents.comms`"),
        ("sub_agents.cache = false", "may not set `sub_agents.cache`"),
        ("sub_agents.stop_on_error = false", "may not set `sub_agents.stop_on_error`"),
        ("breaker.warn_at = 5", "may not raise `breaker.warn_at`"),
        ("breaker.pause_at = 6", "may not raise `breaker.pause_at`"),
        ("breaker.hard_stop_at = 7", "may not raise `breaker.hard_stop_at`"),
    ];
    for (project, expected) in refusals {
        let stderr = World::new().user(user).project(project).refused(&["config"]);
        assert!(stderr.contains(expected), "{project}: {stderr}");
    }
    let tighter = "breaker.warn_at = 3\nbreaker.pause_at = 4\n[sub_agents]\nenabled = false\n\
                   tools = []\nresult = 'axe'\ninherit_system_prompt = false\nplan_size = 1\n\
                   max_budget_per_agent = 4";
    let config = World::new().user(user).project(tighter).config(&[]);
    assert_eq!(config["sub_agents.plan_size"]["value"], 1);
    // Where the user has set nothing, a limit is a limit.
    World::new().project("breaker.pause_at = 9\nsub_agents.blocking_calls = 9").config(&[]);
}

#[test]
fn a_value_that_cannot_be_is_refused_in_plain_words() {
    let wrong = [
        ("sub_agents.enabled=perhaps", "must be `true` or `false`, not the string `perhaps`"),
        ("sub_agents.tools=['sub_agnt']", "has `sub_agnt`, which is no tool for delegation"),
        ("sub_agents.tools=sub_agent", "must be a list of strings"),
        ("sub_agents.result=poem", "must be one of `adjutant`, `opal`, `opta`, `axe`"),
        ("sub_agents.comms=all", "must be one of `off`, `parent`, `family`"),
        ("sub_agents.max_budget_per_agent=0", "must be positive"),
        ("sub_agents.blocking_calls=-1", "must be positive"),
        ("sub_agents.blocking_tokens=0", "must be positive"),
        ("sub_agents.plan_size=0", "must be positive"),
        ("sub_agents.plan_concurrency=0", "must be positive"),
        ("sub_agents.default_model=''", "must not be empty"),
        ("sub_agents.stop_on_error=1", "must be `true` or `false`"),
        ("breaker.pause_at=0", "must be positive"),
        ("breaker.hard_stop_at=often", "must be a whole number"),
        ("sub_agents.chache=true", "did you mean `sub_agents.cache`?"),
    ];
    for (setting, expected) in wrong {
        let stderr = World::new().refused(&["config", "-c", setting]);
        assert!(stderr.contains(expected), "{setting}: {stderr}");
    }
}

#[test]
fn numbers_of_calls_that_are_never_reached_are_refused() {
    let wrong = [
        ("warn_at", 30, "pause_at", 30),
        ("pause_at", 100, "hard_stop_at", 40),
        ("warn_at", 50, "hard_stop_at", 50),
    ];
    for (first, at, next, limit) in wrong {
        let settings = [format!("breaker.{first}={at}"), format!("breaker.{next}={limit}")];
        let stderr = World::new().refused(&["config", "-c", &settings[0], "-c", &settings[1]]);
        let never = format!("`breaker.{first}` is {at} and never acts, because `breaker.{next}`");
        assert!(stderr.contains(&never), "{stderr}");
        assert!(
            stderr.contains(&format!("set `breaker.{first}` to less than {limit}")),
            "{stderr}"
        );
    }
    // What a preset says may be overtaken, but it overtakes too.
    for tighter in ["breaker.hard_stop_at=10", "breaker.pause_at=15"] {
        World::new().config(&["-c", "preset=opta", "-c", tighter]);
    }
    for (late, sooner) in [("warn_at=200", "pause_at"), ("pause_at=100", "hard_stop_at")] {
        let late = format!("breaker.{late}");
        let stderr = World::new().refused(&["config", "-c", "preset=opta", "-c", &late]);
        assert!(stderr.contains(&format!("never acts, because `breaker.{sooner}`")), "{stderr}");
    }
}

#[test]
fn a_default_model_that_cannot_be_is_told_before_anything_begins() {
    let world = World::new().script("[[reply]]\ntext = 'done'");
    let wrong: [(&[&str], &str); 6] = [
        (
            &["default_provider=zz"],
            "`sub_agents.default_provider` is `zz`: there is no provider `zz`",
        ),
        (&["default_provider=ollama"], "say which model of `ollama` it is to be"),
        (&["default_model=zz"], "`sub_agents.default_model` is `zz`: "),
        (&["default_model=zz/x"], "there is no model `zz/x`; there are: "),
        (&["default_model=openai/x"], "`openai` needs a key"),
        (
            &["default_model=ollama/x", "models=['ollama/y']"],
            "`ollama/x` is not in `sub_agents.models`, which is `ollama/y`",
        ),
    ];
    for (settings, expected) in wrong {
        let settings = settings.iter().map(|setting| format!("sub_agents.{setting}"));
        let flags: Vec<_> = settings.flat_map(|setting| ["-c".to_owned(), setting]).collect();
        let flags = flags.iter().map(String::as_str);
        let stderr = world.refused(&["run", "go"].into_iter().chain(flags).collect::<Vec<_>>());
        assert!(stderr.contains(expected), "{expected}: {stderr}");
    }
    let keyless = world.run(&["run", "go", "-c", "preset=meerkat"]);
    assert_eq!(keyless.code, Some(0), "calls may name another: {}", keyless.stderr);
    let warning = "`sub_agents.default_provider` is `anthropic`: `anthropic` needs a key";
    assert!(keyless.stderr.contains(warning), "{}", keyless.stderr);
}

#[test]
fn there_are_as_many_tools_as_the_configuration_names() {
    let script = calls("list_dir", "");
    assert_eq!(tools(&run(&script, &["sub_agents.enabled=false"]), "root"), [""; 0]);
    assert_eq!(tools(&run(&script, &["preset=opal"]), "root"), ["sub_agent"]);
    let other = ["preset=opal", "sub_agents.tools=['agent_list', 'delegate_task']"];
    assert_eq!(tools(&run(&script, &other), "root"), ["delegate_task", "agent_list"]);
    // What is not offered is not there to be called either.
    let done = run(&calls("sub_agent", "prompt = 'x'"), &["sub_agents.enabled=false"]);
    assert_eq!(children(&done), 0);
}

#[test]
fn results_are_told_in_the_form_that_is_set() {
    let script = calls("sub_agent", "prompt = 'look'");
    for (style, expected) in [
        ("adjutant", r"found\n\n[root.sub-1 ("),
        ("opta", r#""text":"Sub-agent result"#),
        ("axe", r#""text":"found"}"#),
    ] {
        let done = run(&script, &[&format!("sub_agents.result={style}")]);
        let told = done.stdout.lines().find(|it| it.contains(r#""role":"tools""#)).unwrap();
        assert!(told.contains(expected), "{style}: {told}");
    }
}

#[test]
fn parameters_beyond_the_documents_can_be_turned_off() {
    let script = calls("sub_agent", "prompt = 'look', last_n = 1");
    assert_eq!(children(&run(&script, &[])), 1);
    let done = run(&script, &["sub_agents.extra_parameters=false"]);
    assert_eq!(children(&done), 0);
    assert!(done.stdout.contains("unknown field `last_n`"), "{}", done.stdout);
}

#[test]
fn a_childs_budget_is_what_the_configuration_says() {
    let order = |done: &Done| {
        let found = done.events().into_iter().find_map(|event| match event.kind {
            EventKind::Started { order, clamped, .. } if event.path.depth() == 1 => {
                Some((order.limits.allowance, clamped))
            }
            _ => None,
        });
        found.unwrap()
    };
    let script = calls("sub_agent", "prompt = 'look'");
    let limits = ["sub_agents.blocking_tokens=4000", "sub_agents.blocking_calls=3"];
    let (allowance, clamped) = order(&run(&script, &limits));
    assert_eq!(allowance.tokens.map(u64::from), Some(4000));
    assert_eq!((allowance.calls.map(u64::from), clamped.len()), (Some(3), 0));
    let script = calls("agent_spawn", "prompt = 'look', budget = { max_tokens = 90000 }");
    let (_, clamped) = order(&run(&script, &["sub_agents.max_budget_per_agent=7000"]));
    assert_eq!((clamped.len(), &*clamped[0].given), (1, "7000"), "{clamped:?}");
}

#[test]
fn children_run_on_the_model_the_configuration_names() {
    let script = calls("sub_agent", "prompt = 'look'");
    let world = World::new().script(&script).file("other.toml", "[[reply]]\ntext = 'other'");
    let model = |settings: &[&str]| {
        let flags = settings.iter().flat_map(|setting| ["-c", setting]);
        let arguments: Vec<_> = ["run", "--events", "go"].into_iter().chain(flags).collect();
        let done = world.run(&arguments);
        let found = done.events().into_iter().find_map(|event| match event.kind {
            EventKind::Started { model, chosen, .. } if event.path.depth() == 1 => {
                Some((model.to_string(), chosen))
            }
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{}{}", done.stdout, done.stderr))
    };
    let other = ("scripted/other.toml".to_owned(), Chosen::Configured);
    assert_eq!(model(&[]).1, Chosen::Inherited);
    assert_eq!(model(&["sub_agents.default_model=scripted/other.toml"]), other);
    let first =
        ["sub_agents.default_provider=scripted", "sub_agents.models=['scripted/other.toml']"];
    assert_eq!(model(&first), other);
}

#[test]
fn children_delegate_act_and_write_as_far_as_they_may() {
    let script = calls("agent_spawn", "prompt = 'look'");
    let child = "root.agent-1";
    assert!(tools(&run(&script, &[]), child).contains(&"agent_spawn".to_owned()));
    let alone = run(&script, &["sub_agents.allow_nested_spawn=false"]);
    assert_eq!(tools(&alone, child), [""; 0]);
    assert_eq!(started(&run(&script, &["mode=auto"]), child).1, Mode::Auto);
    let shy = ["mode=auto", "sub_agents.inherit_mode=false"];
    assert_eq!(started(&run(&script, &shy), child).1, Mode::Ask);
    let plan = ["mode=plan", "sub_agents.inherit_mode=false"];
    assert_eq!(started(&run(&script, &plan), child).1, Mode::Plan, "never freer than its parent");

    let writes = |comms: &str| {
        let done = run(&script, &[&format!("sub_agents.comms={comms}")]);
        let peers = done.events().into_iter().find_map(|event| match event.kind {
            EventKind::Started { order, .. } if event.path.depth() == 1 => Some(order.peers),
            _ => None,
        });
        let has_tool = started(&done, child).0.contains(&"send_message".to_owned());
        (has_tool, serde_json::to_value(peers.unwrap()).unwrap())
    };
    assert_eq!(writes("off"), (false, "nobody".into()));
    assert_eq!(writes("parent"), (true, "parent".into()));
    assert_eq!(writes("family"), (true, "family".into()));
    let host = calls("agent_spawn", "prompt = 'look', host_mode = true");
    assert_eq!(children(&run(&host, &["sub_agents.comms=off"])), 0);
    assert_eq!(children(&run(&host, &["sub_agents.comms=parent"])), 1);
}

#[test]
fn an_earlier_result_is_used_again_only_where_that_is_wanted() {
    let again = "[[reply]]\nagent = 'root'\ntimes = 2\n\
                 calls = [{ tool = 'sub_agent', args = { prompt = 'look' } }]\n\
                 [[reply]]\nagent = 'root.*'\ntext = 'found'\n[[reply]]\ntext = 'done'";
    assert_eq!(children(&run(again, &[])), 1);
    assert_eq!(children(&run(again, &["sub_agents.cache=false"])), 2);
}

#[test]
fn plans_are_carried_out_as_the_configuration_says() {
    let two = "plan = 'all', subtasks = [{ task = 'one' }, { task = 'two' }]";
    let script = calls("delegate_task", two);
    let done = run(&script, &["sub_agents.plan_size=1"]);
    assert_eq!(children(&done), 0);
    assert!(done.stdout.contains("Maximum 1 subtasks"), "{}", done.stdout);
    let done = run(&script, &["sub_agents.plan_concurrency=1"]);
    assert!(seqs(&done, "root.task-2").0 > seqs(&done, "root.task-1").1, "one after the other");
    // Answers take their time, so that both have begun before one ends.
    let slow = script.replace("times = 'any'", "times = 'any'\ndelay_ms = 300");
    let done = run(&slow, &["sub_agents.plan_concurrency=2"]);
    assert!(seqs(&done, "root.task-2").0 < seqs(&done, "root.task-1").1, "side by side");

    let failing = calls("delegate_task", two).replacen(
        "[[reply]]\nagent = 'root.*'",
        "[[reply]]\ntask = 'one'\nerror = { kind = 'refused', message = 'no' }\n\
         [[reply]]\nagent = 'root.*'",
        1,
    );
    let serial = "sub_agents.plan_concurrency=1";
    assert_eq!(children(&run(&failing, &[serial])), 1);
    assert_eq!(children(&run(&failing, &[serial, "sub_agents.stop_on_error=false"])), 2);
}

#[test]
fn the_roots_calls_are_counted_and_something_is_done_about_them() {
    let looks = "[[reply]]\nlast = true\ntext = 'as far as this'\n\
                 [[reply]]\nturn = 1\ncalls = [{ tool = 'list_dir' }]\n\
                 [[reply]]\nturn = 2\ncalls = [{ tool = 'find_files', args = { pattern = '*' } }]\n\
                 [[reply]]\nturn = 3\ncalls = [{ tool = 'search_files', args = { pattern = 'x' } }]\n\
                 [[reply]]\ntext = 'done'";
    let quiet = run(looks, &[]);
    assert_eq!(quiet.code, Some(0), "{}", quiet.stderr);
    assert!(!quiet.stdout.contains(r#""from":"runtime""#), "{}", quiet.stdout);
    let warned = run(looks, &["breaker.warn_at=2"]);
    assert_eq!(warned.stdout.matches(r#""from":"runtime""#).count(), 1, "{}", warned.stdout);
    assert_eq!((warned.code, warned.stdout.contains(r#""event":"asked""#)), (Some(0), false));
    let paused = run(looks, &["breaker.pause_at=2"]);
    assert!(paused.stdout.contains("2 tool calls have been made. Go on?"), "{}", paused.stdout);
    assert_eq!(paused.code, Some(0), "nobody said no: {}", paused.stderr);
    let ended = run(looks, &["breaker.pause_at=2", "unattended=fail"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    let stopped = run(looks, &["breaker.hard_stop_at=2"]);
    assert_eq!(stopped.code, Some(4), "{}", stopped.stderr);
    assert!(stopped.stdout.contains("as far as this"), "{}", stopped.stdout);
}
