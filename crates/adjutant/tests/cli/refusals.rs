//! What the configuration may not say.

use crate::support::World;

/// Checks the first line of what is said, and that the hints hold `hint`.
fn check(stderr: &str, first: &str, hint: &str) {
    assert_eq!(stderr.lines().next(), Some(format!("error: {first}").as_str()), "{stderr}");
    let hints: Vec<_> = stderr.lines().skip(1).collect();
    assert!(hints.iter().all(|line| line.starts_with("hint: ")), "{stderr}");
    assert!(hints.concat().contains(hint), "{stderr}");
}

#[test]
fn an_unknown_key_is_refused_in_every_layer() {
    let world = World::new().user("# mine\n[limits]\nmax_deep = 2");
    let place = format!("{}:3", world.user_file().display());
    let stderr = world.refused(&["config"]);
    check(&stderr, &format!("{place}: there is no key `limits.max_deep`"), "`limits.max_depth`");

    let world = World::new().project("modell = 'x'");
    let place = format!("{}:1", world.project_file().display());
    check(&world.refused(&["config"]), &format!("{place}: there is no key `modell`"), "`model`");

    let world = World::new().variable("ADJUTANT_LIMITS_MAXDEPTH", "2");
    let first = "environment ADJUTANT_LIMITS_MAXDEPTH: sets nothing";
    check(&world.refused(&["config"]), first, "`ADJUTANT_LIMITS_MAX_DEPTH`");

    let stderr = World::new().refused(&["config", "-c", "max_depth=2"]);
    check(&stderr, "flag -c: there is no key `max_depth`", "`limits.max_depth`");
}

#[test]
fn an_unknown_section_is_refused_even_when_it_is_empty() {
    let world = World::new().user("[limits]\n[budgets]\n");
    assert!(world.refused(&["config"]).contains("there is no key `budgets`"));
}

#[test]
fn a_bad_value_is_refused_with_what_would_be_right() {
    let world = World::new();
    for (setting, complaint) in [
        ("limits.max_depth=6", "`limits.max_depth` must be at most 5, not 6"),
        ("limits.max_depth=-1", "`limits.max_depth` must be at least 0, not -1"),
        ("limits.max_depth=two", "`limits.max_depth` must be a whole number, not the string `two`"),
        ("limits.max_depth=1.5", "`limits.max_depth` must be a whole number, not `1.5`"),
        ("limits.max_concurrent_ops=0", "`limits.max_concurrent_ops` must be positive, not 0"),
        ("limits.blocking_timeout=0", "`limits.blocking_timeout` must be positive, not 0"),
        (
            "retry.attempts=99999999999",
            "`retry.attempts` must be at most 4294967295, not 99999999999",
        ),
        ("budget.tokens=0", "`budget.tokens` must be positive, not 0"),
        ("budget.usd=-0.5", "`budget.usd` must be positive, not -0.5"),
        ("budget.time=-1", "`budget.time` must be positive, not -1"),
        ("budget.turns=0", "`budget.turns` must be positive, not 0"),
        ("budget.calls=0", "`budget.calls` must be positive, not 0"),
        ("sub_agents.default_budget=0", "`sub_agents.default_budget` must be positive, not 0"),
        (
            "mode=yolo",
            "`mode` must be one of `plan`, `ask`, `auto`, `dangerous`, not the string `yolo`",
        ),
        ("journal=disk", "`journal` must be one of `file`, `memory`, not the string `disk`"),
        (
            "durability=none",
            "`durability` must be one of `process`, `power`, not the string `none`",
        ),
        ("unattended=wait", "`unattended` must be one of `go_on`, `fail`, not the string `wait`"),
        ("journal_path=j.db", "`journal_path` must be an absolute path, not the string `j.db`"),
        ("model=", "`model` must not be empty"),
        (
            "permissions.deny=run_command",
            "`permissions.deny` must be a list of strings, not the string `run_command`",
        ),
        (
            "sub_agents.models=['open*']",
            "`sub_agents.models` has an entry that cannot be read: `open*` names no model: expected \
             something like `openai/gpt-5-mini` or `anthropic/claude-*`, with a star only at the \
             end",
        ),
    ] {
        let stderr = world.refused(&["config", "-c", setting]);
        check(&stderr, &format!("flag -c: {complaint}"), "");
    }
}

#[test]
fn a_list_of_models_that_none_can_fit_is_refused() {
    let world = World::new();
    let refused = |list: &str, complaint: &str, hint: &str| {
        let stderr = world.refused(&["config", "-c", &format!("sub_agents.models={list}")]);
        check(&stderr, &format!("flag -c: `sub_agents.models` has {complaint}"), hint);
    };
    let known = "['rehearsal', 'scripted/a.toml', 'ollama/*', 'nosuch/*']";
    let there_are = "there are: rehearsal, scripted, anthropic, openai, ";
    refused(known, "`nosuch/*`, but there is no provider `nosuch`", there_are);
    refused("['gpt-5']", "`gpt-5`, but there is no provider `gpt-5`", there_are);
    for name in ["anthropic", "scripted"] {
        let hint = format!("all of its models are `{name}/*`");
        refused(&format!("['{name}']"), &format!("`{name}`, but that is no model"), &hint);
    }
}

#[test]
fn a_bad_rule_is_refused_with_its_file_and_key() {
    let world = World::new().user("\npermissions.allow = ['run_command(git']");
    let stderr = world.refused(&["config"]);
    let place = format!("{}:2: `permissions.allow` ", world.user_file().display());
    assert!(stderr.contains(&place) && stderr.contains("`)` is missing"), "{stderr}");
}

#[test]
fn a_bad_value_is_refused_even_when_a_later_layer_replaces_it() {
    let world = World::new().user("mode = 3").variable("ADJUTANT_MODE", "plan");
    let stderr = world.refused(&["config"]);
    assert!(stderr.contains("config.toml:1: `mode` must be one of"), "{stderr}");
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_the_line() {
    let world = World::new().user("mode = 'ask'\nmodel =\n");
    let place = format!("error: {}:2: is not TOML: ", world.user_file().display());
    assert!(world.refused(&["config"]).starts_with(&place));
}

#[test]
fn a_project_cannot_free_itself() {
    let user = "set it in ";
    for (text, complaint) in [
        ("mode = 'auto'", "may not raise `mode` from \"ask\" to \"auto\""),
        ("mode = 'dangerous'", "may not raise `mode` from \"ask\" to \"dangerous\""),
        ("budget.tokens = 11", "may not raise `budget.tokens` from 10 to 11"),
        ("budget.usd = 1.5", "may not raise `budget.usd` from 1 to 1.5"),
        ("sub_agents.questions = 'raise'", "may not set `sub_agents.questions`"),
        ("sub_agents.models = ['openai/*']", "may not set `sub_agents.models`"),
        ("web.allow_private = ['127.0.0.1']", "may not set `web.allow_private`"),
        ("journal = 'memory'", "may not set `journal`"),
        ("journal_path = '/tmp/j.db'", "may not set `journal_path`"),
        ("durability = 'process'", "may not set `durability`"),
    ] {
        let world = World::new().user("[budget]\ntokens = 10\nusd = 1").project(text);
        let stderr = world.refused(&["run", "--model", "rehearsal", "go"]);
        let place = format!("{}:1: a project ", world.project_file().display());
        check(&stderr, &format!("{place}{complaint}"), user);
        assert!(stderr.contains(world.user_file().to_str().unwrap()), "{stderr}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let world = World::new();
    std::fs::create_dir_all(world.user_file()).unwrap();
    assert!(world.refused(&["config"]).contains("config.toml: cannot be read: "));
}

#[test]
fn a_rule_about_a_tool_that_does_not_exist_is_refused() {
    let said = World::new().refused(&[
        "run",
        "--model",
        "rehearsal",
        "-c",
        "permissions.deny=['reed_file']",
        "go",
    ]);
    assert!(said.contains("`reed_file`") && said.contains("read_file"), "{said}");
}
