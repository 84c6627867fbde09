//! Which layer wins, and what is told of it.

use serde_json::{Value, json};

use crate::support::World;

const DEPTH: &str = "limits.max_depth";

#[test]
fn each_layer_wins_over_those_before_it_and_says_so() {
    let world = World::new();
    let from_default = json!({ "value": 3, "from": [{ "layer": "default" }] });
    assert_eq!(world.config(&[])[DEPTH], from_default);

    let world = world.user("\n[limits]\nmax_depth = 5");
    let file = world.user_file();
    let from_user = json!({ "value": 5, "from": [{ "layer": "user", "file": file, "line": 3 }] });
    assert_eq!(world.config(&[])[DEPTH], from_user);

    let world = world.project("limits.max_depth = 4");
    let file = world.project_file();
    let from_project =
        json!({ "value": 4, "from": [{ "layer": "project", "file": file, "line": 1 }] });
    assert_eq!(world.config(&[])[DEPTH], from_project);

    let world = world.variable("ADJUTANT_LIMITS_MAX_DEPTH", "2");
    let name = "ADJUTANT_LIMITS_MAX_DEPTH";
    let from_environment =
        json!({ "value": 2, "from": [{ "layer": "environment", "name": name }] });
    assert_eq!(world.config(&[])[DEPTH], from_environment);

    let from_flag = json!({ "value": 0, "from": [{ "layer": "flag", "flag": "-c" }] });
    assert_eq!(
        world.config(&["-c", "limits.max_depth=1", "-c", "limits.max_depth=0"])[DEPTH],
        from_flag
    );
}

#[test]
fn lists_add_up() {
    let world = World::new()
        .user("permissions.deny = ['run_command(rm *)']")
        .project("permissions.deny = ['web_fetch']");
    let deny = &world.config(&["-c", "permissions.deny=['edit_file']"])["permissions.deny"];
    assert_eq!(deny["value"], json!(["run_command(rm *)", "web_fetch", "edit_file"]));
    let layers: Vec<_> =
        deny["from"].as_array().unwrap().iter().map(|from| &from["layer"]).collect();
    assert_eq!(layers, ["user", "project", "flag"]);
}

#[test]
fn words_need_no_quotes_outside_a_file() {
    let world = World::new().variable("ADJUTANT_MODEL", "provider/name-4.5");
    assert_eq!(world.config(&[])["model"]["value"], "provider/name-4.5");
    assert_eq!(world.config(&["-c", "model=7"])["model"]["value"], "7");
    assert_eq!(world.config(&["-c", "model='quoted'"])["model"]["value"], "quoted");
}

#[test]
fn a_project_may_be_stricter_than_its_user() {
    let world =
        World::new().project("mode = 'plan'\nbudget.usd = 1.5\npermissions.ask = ['read_file']");
    let config = world.config(&[]);
    assert_eq!(config["mode"]["value"], "plan");
    assert_eq!(config["budget.usd"]["value"], 1.5);
    let world = world.user("budget.usd = 1.5\nmode = 'plan'");
    assert_eq!(world.config(&[])["mode"]["from"][0]["layer"], "project");
    let world = world.user("budget.usd = 2\nmode = 'auto'");
    assert_eq!(world.config(&[])["budget.usd"]["value"], 1.5);
    assert_eq!(world.config(&["-c", "mode=auto"])["mode"]["value"], "auto");
}

#[test]
fn what_is_not_set_is_shown_as_such() {
    let config = World::new().config(&[]);
    let unset: Vec<_> = config
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, shown)| **shown == json!({ "value": null, "from": [] }))
        .map(|(key, _)| key.as_str())
        .filter(|key| !key.contains(".NAME."))
        .collect();
    let budget = ["budget.calls", "budget.time", "budget.tokens", "budget.turns", "budget.usd"];
    let breaker = ["breaker.hard_stop_at", "breaker.pause_at", "breaker.warn_at"];
    let children = [
        "sub_agents.blocking_calls",
        "sub_agents.blocking_tokens",
        "sub_agents.default_model",
        "sub_agents.default_provider",
        "sub_agents.max_budget_per_agent",
    ];
    let expected = [&breaker[..], &budget, &["model", "reasoning"], &children].concat();
    assert_eq!(unset, expected);
}

#[test]
fn the_journal_lives_in_the_data_directory() {
    let world = World::new();
    let journal = &world.config(&[])["journal_path"];
    assert_eq!(journal["value"], json!(world.data_home().join("adjutant/journal.db")));
    assert_eq!(journal["from"], json!([{ "layer": "default" }]));
}

#[test]
fn what_is_shown_as_text_says_the_same_and_can_be_read_back() {
    let world = World::new().user("mode = 'plan'").variable("ADJUTANT_RETRY_ATTEMPTS", "2");
    let shown = world.run(&["config"]).stdout;
    let source_of = |key: &str| {
        let line = shown.lines().find(|line| line.trim_start_matches('#').starts_with(key));
        line.unwrap().split_once(" # ").unwrap().1.to_owned()
    };
    assert_eq!(source_of("mode "), format!("{}:1", world.user_file().display()));
    assert_eq!(source_of("retry.attempts "), "environment ADJUTANT_RETRY_ATTEMPTS");
    assert_eq!(source_of("journal "), "default");
    assert_eq!(source_of("model "), "not set");

    let again = World::new().user(&shown).config(&[]);
    for (key, shown) in world.config(&[]).as_object().unwrap() {
        assert_eq!(again[key]["value"], shown["value"], "{key}");
    }
}

#[test]
fn the_nearest_project_counts_and_can_be_chosen() {
    let world = World::new().project("limits.max_depth = 1");
    let inner = world.project_directory().join("src/.adjutant");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("config.toml"), "limits.max_depth = 2").unwrap();
    assert_eq!(world.config(&[])[DEPTH]["value"], 2);
    assert_eq!(world.config(&["--cwd", "../.."])[DEPTH]["value"], 1);
}

#[test]
fn the_places_are_shown_even_when_the_files_are_wrong() {
    let world = World::new().project("nonsense");
    let done = world.run(&["config", "path"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        done.stdout,
        format!(
            "user     {} (not there)\nmodels   {} (not there)\nproject  {}\n",
            world.user_file().display(),
            world.user_file().with_file_name("models.toml").display(),
            world.project_file().display()
        )
    );
    let bare = World::new();
    let stdout = bare.run(&["config", "path", "--cwd", "../.."]).stdout;
    let expected = format!("{} (not there, nor in", bare.project_file().display());
    assert!(stdout.contains(&expected), "{stdout}");
}

#[test]
fn the_stores_own_variable_is_left_alone() {
    let config = World::new().variable("ADJUTANT_FAILPOINT", "commit").config(&[]);
    assert_ne!(config["mode"], Value::Null);
}
