//! Something in an agent's file does to the terminal what nobody sees.

use crate::support::World;

const TITLE: &str = r"\u001B]0;owned\u0007\u202E";

/// Runs an agent, for real or not, and returns what a terminal would be shown but for the answer.
fn told(agent: &str, dry: &[&str]) -> String {
    let world = World::new().file("script.toml", "[[reply]]\ntext = 'done'");
    let world = world.user("model = 'scripted/script.toml'");
    let agent = format!("system_prompt = 'x'\n{}", agent.replace("TITLE", TITLE));
    let world = world.file(".adjutant/agents/a.toml", &agent);
    let done = world.run(&[&["run", "-a", "a", "go"], dry].concat());
    let shown = if dry.is_empty() { String::new() } else { done.stdout };
    done.stderr + &shown
}

#[test]
fn nothing_in_a_file_is_obeyed_that_an_error_or_a_warning_repeats() {
    for agent in [
        "workdir = 'wTITLE'",
        "skill = 'wTITLE'",
        "files = ['/wTITLE']",
        "tools = ['wTITLE']",
        "model = 'wTITLE'",
        "model = 'scripted/wTITLE'",
        "sub_agents = ['wTITLE']",
        "name = 'wTITLE'",
        "permissions.deny = ['wTITLE']",
        "[variables]\nx = { description = 'wTITLE' }",
    ] {
        let agent = agent.replace('\'', "\"");
        for dry in [&[][..], &["--dry-run"]] {
            let told = told(&agent, dry);
            let is_obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!told.contains(is_obeyed), "{agent}: {told:?}");
            assert!(told.contains(r"w\u{1b}]0;owned\u{7}"), "{agent}: {told}");
        }
    }
}

#[test]
fn nothing_in_a_file_is_obeyed_that_is_only_warned_of() {
    let world = World::new().script("[[reply]]\ntimes = 'any'\ntext = 'done'");
    let agent = "---\nname: c\ndescription: d\nmodel: \"x/wTITLE\"\n---\nYou look.\n";
    let world = world.file(".claude/agents/c.md", &agent.replace("TITLE", TITLE));
    for dry in [&[][..], &["--dry-run"]] {
        let done = world.run(&[&["run", "-a", "c", "go"], dry].concat());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let told = done.stdout + &done.stderr;
        assert!(told.contains(r"w\u{1b}]0;owned\u{7}\u{202e}"), "{told}");
        assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told:?}");
    }
}

#[test]
fn nothing_on_the_command_line_is_obeyed() {
    let error = World::new().refused(&["run", "-a", "no\u{202e}body\u{1b}[2J", "go"]);
    assert!(error.contains(r"`no\u{202e}body\u{1b}[2J`"), "{error}");
}
