//! What a project's own files would allow, and what a person agreed to.

use std::fs;

use crate::{
    support::{Done, PROGRAM, World},
    terminal::Terminal,
};

/// Reads a file that a rule of the user's asks about.
const READS: &str = r#"
[[reply]]
agent = "root"
calls = [{ tool = "read_file", args = { path = "secret.txt" } }]
[[reply]]
agent = "root"
calls = [{ tool = "read_file", args = { path = "secret.txt" } }]
[[reply]]
agent = "root"
text = "done"
"#;

fn world() -> World {
    let world = World::new().user("permissions.ask = ['read_file']").script(READS);
    world.file("secret.txt", "xyzzy")
}

fn verdict(world: &World, flags: &[&str]) -> String {
    let explain = ["permissions", "explain", "read_file", "secret.txt", "--json"];
    let Done { code, stdout, stderr } = world.run(&[&explain[..], flags].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let explained: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    explained["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn a_projects_rule_does_not_hold_until_somebody_agrees() {
    let world = World::new().project("permissions.allow = ['read_file(/etc/*)']");
    let explain = || {
        let done = world.run(&["permissions", "explain", "read_file", "/etc/hostname"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.stdout
    };
    assert!(explain().contains("`read_file` is asked"), "{}", explain());

    let refused = world.run(&["trust"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stdout.contains("read_file(/etc/*)"), "{}", refused.stdout);
    assert!(explain().contains("`read_file` is asked"), "{}", explain());

    let agreed = world.run(&["trust", "--yes"]);
    assert_eq!(agreed.code, Some(0), "{}", agreed.stderr);
    assert!(
        explain().contains("`read_file` is allowed: rule `read_file(/etc/*)`"),
        "{}",
        explain()
    );
    assert!(explain().contains(".adjutant/config.toml:1"), "{}", explain());

    // What is added later was not agreed to.
    let world = world.project("permissions.allow = ['read_file(/etc/*)', 'read_file(/var/*)']");
    let other = world.run(&["permissions", "explain", "read_file", "/var/x"]).stdout;
    assert!(other.contains("`read_file` is asked"), "{other}");
    let listed = world.run(&["permissions"]).stdout;
    assert!(listed.contains("allow  read_file(/etc/*)"), "{listed}");
    assert!(listed.contains("-      read_file(/var/*)"), "{listed}");

    assert_eq!(world.run(&["trust", "--revoke"]).code, Some(0));
    let etc = world.run(&["permissions", "explain", "read_file", "/etc/hostname"]).stdout;
    assert!(etc.contains("`read_file` is asked"), "{etc}");
}

#[test]
fn a_run_warns_of_rules_that_do_not_hold() {
    let world = world().project("permissions.allow = ['read_file(/etc/*)']");
    let Done { code, stderr, .. } = world.run(&["run", "--quiet", "go"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("1 of the rules that allow do not hold"), "{stderr}");
}

#[test]
fn always_is_written_into_the_project_and_holds_the_next_time() {
    let world = world();
    assert_eq!(verdict(&world, &[]), "ask");
    let mut terminal = Terminal::start(&world, &[PROGRAM, "run", "go"]);
    terminal.wait_for("s and a allow read_file(/");
    terminal.type_in("a\n");
    // The second call is not asked about, so this is the end.
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("wants to call").count(), 1, "{screen}");

    let written =
        fs::read_to_string(world.working_directory().join(".adjutant/config.toml")).unwrap();
    let file = world.project_directory().join("src/deep/secret.txt");
    let rule = format!("read_file({})", file.display());
    assert_eq!(written, format!("[permissions]\nallow = [\n    \"{rule}\",\n]\n"));
    let Done { code, stderr, .. } = world.run(&["run", "--quiet", "go"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "it holds over the user's own file");
}

#[test]
fn what_another_person_agreed_to_is_nothing_here() {
    let world = World::new().project("permissions.allow = ['read_file(/etc/*)']");
    world.run(&["trust", "--yes"]);
    fs::remove_dir_all(world.data_home()).unwrap();
    let etc = world.run(&["permissions", "explain", "read_file", "/etc/hostname"]).stdout;
    assert!(etc.contains("`read_file` is asked"), "{etc}");
}

#[test]
fn explaining_says_what_is_wrong_with_a_call() {
    let world = World::new();
    let stderr = world.refused(&["permissions", "explain", "read_fil", "x"]);
    assert!(stderr.contains("did you mean `read_file`?"), "{stderr}");
    let stderr = world.refused(&["permissions", "explain", "read_file", "{x"]);
    assert!(stderr.contains("not JSON"), "{stderr}");
    let stderr = world.refused(&["permissions", "explain", "agent_list", "x"]);
    assert!(stderr.contains("as a JSON object"), "{stderr}");
}

#[test]
fn a_call_is_explained_by_what_is_there_and_what_is_missing_is_named() {
    let world = World::new();
    let explain = |tool: &str, arguments: &str| {
        world.run(&["permissions", "explain", tool, arguments]).stdout
    };
    let edit = explain("edit_file", "src/x.rs");
    assert!(edit.contains("writing: ") && edit.contains("/src/x.rs"), "{edit}");
    let group = explain("run_command", "{ rm x; }");
    assert!(group.contains("running commands: rm x"), "{group}");
    let object = explain("run_command", r#"{ "command": "rm x" }"#);
    assert_eq!(object, group);
    let odd = explain("run_command", "if");
    assert!(odd.contains("is asked: running what cannot be read beforehand in mode"), "{odd}");
    let refused =
        |arguments: &[&str]| world.refused(&[&["permissions", "explain"], arguments].concat());
    let stderr = refused(&["edit_file", r#"{"path": "x"}"#]);
    assert!(stderr.contains("missing field `old_text`"), "{stderr}");
    let stderr = refused(&["read_file"]);
    assert!(stderr.contains("missing field `path`"), "{stderr}");
    let stderr = refused(&["web_fetch", "nonsense"]);
    assert!(stderr.contains("`nonsense` cannot be fetched"), "{stderr}");
}

#[test]
fn what_no_call_can_succeed_with_is_not_asked_about() {
    let script = "[[reply]]\ncalls = [{ tool = 'web_fetch', args = { url = 'nonsense' } }]\n\
                  [[reply]]\ntext = 'done'";
    let Done { stdout, .. } = World::new().script(script).run(&["run", "--events", "go"]);
    assert!(stdout.contains("`nonsense` cannot be fetched"), "{stdout}");
    assert!(!stdout.contains("\"event\":\"asked\""), "{stdout}");
}

#[cfg(feature = "mcp")]
#[test]
fn a_tool_of_a_server_is_explained_by_its_name() {
    let world = World::new().user(
        "permissions.deny = ['mcp__s__drop*']\n[mcp.s]\ncommand = 'made-up'\neffect = 'write'",
    );
    let explain =
        |tool: &str| world.run(&["permissions", "explain", tool, "-c", "mode=auto"]).stdout;
    let look = explain("mcp__s__look");
    assert!(look.starts_with("`mcp__s__look` is allowed: writing in mode `auto`"), "{look}");
    assert!(look.contains("whether there is one is not known before the server runs"), "{look}");
    let drop = explain("mcp__s__drop_all");
    assert!(drop.starts_with("`mcp__s__drop_all` is denied: rule `mcp__s__drop*`"), "{drop}");
    let stderr = world.refused(&["permissions", "explain", "mcp__t__look"]);
    assert!(stderr.contains("no server with such tools is set up here"), "{stderr}");
}

#[test]
fn a_rule_about_no_tool_is_listed_as_one() {
    let world = World::new().user("permissions.deny = ['reed_file', 'read_file', 'mcp__x__*']");
    let listed = world.run(&["permissions"]).stdout;
    let idle: Vec<_> = listed.lines().filter(|it| it.ends_with("about no tool there is")).collect();
    assert!(idle.len() == 1 && idle[0].contains("reed_file"), "{listed}");
    let json = world.run(&["permissions", "--json"]).stdout;
    assert_eq!(json.matches("\"idle\": true").count(), 1, "{json}");
}

#[test]
fn a_rule_that_would_not_allow_the_call_is_not_taken_for_a_yes() {
    let world = world();
    let mut terminal = Terminal::start(&world, &[PROGRAM, "run", "go"]);
    terminal.wait_for("s and a allow read_file(/");
    terminal.type_in("s read_file(src/other/**)\n");
    terminal
        .wait_for("root is not told: `read_file(src/other/**)` would not allow it; `read_file(/");
    terminal.wait_for("secret.txt)` would\nroot wants to call");
    terminal.type_in("s read_file(**/secret.txt)\n");
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("wants to call").count(), 2, "{screen}");
}

#[test]
fn the_servers_of_a_project_are_shown_before_they_are_agreed_to() {
    let world = World::new().project("");
    let file = world.project_directory().join(".mcp.json");
    let servers = |program: &str| {
        let text = format!(r#"{{"mcpServers": {{"tools": {{"command": "{program}"}}}}}}"#);
        fs::write(&file, text).unwrap();
    };
    servers("serve-tools");
    let shown = world.run(&["trust", "--yes"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("\n  tools: serve-tools\n"), "{}", shown.stdout);
    let nothing = "there is nothing here that needs to be agreed to\n";
    assert_eq!(world.run(&["trust"]).stdout, nothing);
    // Whoever changes the file has to be agreed with again.
    servers("other-tools");
    let shown = world.run(&["trust"]);
    assert_eq!(shown.code, Some(2), "{}", shown.stderr);
    assert!(shown.stdout.contains("tools: other-tools"), "{}", shown.stdout);
}
