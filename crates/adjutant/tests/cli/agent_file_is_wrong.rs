//! Files of agents, listed, shown, made and checked.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{Done, World};

/// A project with agents, by file name.
fn project(agents: &[(&str, &str)]) -> World {
    let world = World::new();
    for (name, text) in agents {
        write(&world.project_directory().join(".adjutant/agents").join(name), text);
    }
    world
}

fn users(world: &World, name: &str, text: &str) {
    write(&world.user_file().parent().unwrap().join("agents").join(name), text);
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn check(world: &World, arguments: &[&str]) -> Done {
    let done = world.run(&[&["agents", "check"], arguments].concat());
    assert_eq!(done.stderr, "", "{done:?}");
    assert!(!world.data_home().exists(), "something was written");
    done
}

/// Checks one agent and returns what is said of it, line by line.
fn said_of(text: &str) -> Vec<String> {
    let helper = "description = 'd'\ntools = ['run_command']\ntimeout = 100\nsystem_prompt = 's'";
    let asker = "system_prompt = '{{topic}}'\nvariables.topic.required = true";
    let world = project(&[("a.toml", text), ("helper.toml", helper), ("asker.toml", asker)]);
    let done = check(&world, &["a"]);
    done.stdout.lines().map(str::to_owned).collect()
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"))
}

#[test]
fn without_agents_the_list_says_how_to_begin() {
    let world = World::new();
    let done = world.run(&["agents", "list"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert!(done.stdout.contains("`adjutant agents new NAME`"), "{}", done.stdout);
    assert_eq!(json(&world.run(&["agents", "list", "--json"])), Value::Array(Vec::new()));
    assert_eq!(check(&world, &[]).stdout, "0 files checked: 0 errors, 0 dropped, 0 warnings\n");
}

#[test]
fn the_list_shows_what_holds_what_is_shadowed_and_what_is_refused() {
    let world = project(&[
        (
            "a.toml",
            "description = \"\"\"Reviews\n\\u001b[31m all\"\"\"\nmodel = 'rehearsal'\nsystem_prompt = 's'",
        ),
        ("broken.toml", "\nfoo = 1"),
    ]);
    users(&world, "a.toml", "description = 'Mine.'\nsystem_prompt = 's'");
    let done = world.run(&["agents", "list"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let lines: Vec<_> = done.stdout.lines().collect();
    assert!(lines[0].starts_with("name    description  where"), "{}", done.stdout);
    assert!(lines[1].starts_with("a       Reviews all  ~/project/.adjutant/agents/a.toml"));
    assert!(lines[1].ends_with("rehearsal"), "{}", done.stdout);
    assert!(lines[2].ends_with("shadowed by ~/project/.adjutant/agents/a.toml"), "{}", done.stdout);
    assert!(lines[3].ends_with("refused: line 2: `foo` is not known"), "{}", done.stdout);
    assert!(!done.stdout.contains('\u{1b}'));
    let listed = json(&world.run(&["agents", "list", "--json"]));
    let states: Vec<_> = listed.as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(states, ["loaded", "refused", "shadowed"]);
    assert_eq!(listed[1]["problems"][0]["line"], 2);
}

#[cfg(feature = "mcp")]
#[test]
fn an_agent_is_shown_whole() {
    let world = project(&[(
        "a.toml",
        "name = 'a'\ndescription = 'd'\nsystem_prompt = \"You are\\n\\u001b]0;x\\u0007 brief.\"\n\
         tools = ['read_file']\nsub_agents = ['b']\nmemory.enabled = true\n\
         [budget]\nusd = 0.5\n[[mcp_servers]]\nname = 's'\ncommand = 'x'\nenv = { K = 'secret' }\n",
    )]);
    let shown = world.run(&["agents", "show", "a"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    for expected in [
        "file                        ~/project/.adjutant/agents/a.toml (project's, adjutant)\n",
        "\ntools                       read_file\n",
        "\nmode                        its caller's\n",
        "\nbudget.usd                  0.5\n",
        "\nsub_agents                  b\n",
        "\nsystem_prompt:\nYou are\n brief.\n",
        "does not hold until you agree",
    ] {
        assert!(shown.stdout.contains(expected), "{expected}: {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("secret") && !shown.stdout.contains('\u{1b}'));
    let shown = json(&world.run(&["agents", "show", "a", "--json"]));
    assert_eq!((&shown["budget.usd"], &shown["owner"]), (&0.5.into(), &"project".into()));
    assert_eq!(shown["memory"]["last_n"], 10);
    assert_eq!(shown["problems"][0]["severity"], "dropped");
    let path = world.project_directory().join(".adjutant/agents/a.toml");
    let by_path = json(&world.run(&["agents", "show", path.to_str().unwrap(), "--json"]));
    assert_eq!(by_path["name"], "a");
    assert!(world.refused(&["agents", "show", "b"]).contains("there is no agent named `b`"));
}

#[test]
fn a_new_agent_passes_the_check_and_is_never_written_over() {
    let world = World::new();
    fs::create_dir(world.project_directory().join(".git")).unwrap();
    let made = world.run(&["agents", "new", "helper", "--description", "Says \"hi\""]);
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
    let file = world.project_directory().join(".adjutant/agents/helper.toml");
    assert!(made.stdout.starts_with(&format!("{}\n", file.display())), "{}", made.stdout);
    let done = check(&world, &["helper"]);
    assert_eq!(done.stdout, "1 file checked: 0 errors, 0 dropped, 0 warnings\n");
    let shown = json(&world.run(&["agents", "show", "helper", "--json"]));
    assert_eq!(shown["description"], "Says \"hi\"");

    fs::write(&file, "description = 'mine'").unwrap();
    assert!(world.refused(&["agents", "new", "helper"]).contains("an agent `helper` already"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "description = 'mine'");
    fs::write(file.with_file_name("other.md"), "---\nname: other\ndescription: d\n---\n").unwrap();
    assert!(world.refused(&["agents", "new", "other"]).contains("other.md"));
    assert!(world.refused(&["agents", "new", "../x"]).contains("a name is no path"));

    let made = world.run(&["agents", "new", "helper", "--user"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(world.user_file().with_file_name("agents").join("helper.toml").exists());
    assert!(made.stdout.contains("there is one of that name in"), "{}", made.stdout);
}

#[test]
fn nothing_is_made_through_a_link() {
    let world = World::new();
    let outside = world.data_home().with_file_name("outside");
    fs::create_dir(&outside).unwrap();
    let ours = world.project_directory().join(".adjutant");
    std::os::unix::fs::symlink(&outside, &ours).unwrap();
    let said =
        world.refused(&["agents", "new", "x", "--cwd", ours.parent().unwrap().to_str().unwrap()]);
    assert!(said.contains("is a link"), "{said}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn the_check_tells_each_mistake_with_its_line_and_a_hint() {
    let mistakes = [
        ("tools = [\n'read_file',\n'raed_file',\n]", 5, "error", "which is no tool there is"),
        ("tools = ['mcp__x__y']", 3, "warning", "no server here has such tools"),
        ("permissions.deny = ['Bash(rm *)']", 3, "error", "is about no tool there is"),
        ("permissions.ask = ['mcp__x__y(z)']", 3, "error", "servers' tools have no patterns"),
        ("model = 'zz/x'", 3, "error", "`model` is `zz/x`: "),
        ("model = '/x'", 3, "error", "`model` is `/x`: "),
        ("model = 'openai/'", 3, "error", "say which model of `openai` it is to be"),
        ("model = 'scripted/none.toml'", 3, "error", "`model` is `scripted/none.toml`: "),
        ("model = 'openai/gpt-5'", 3, "warning", "needs a key"),
        ("model = 'sonnet'", 3, "warning", "a model of its caller's provider"),
        ("files = ['[']", 3, "error", "`files`: "),
        ("files = ['*.gone']", 3, "warning", "no file fits `*.gone`"),
        ("workdir = 'gone'", 3, "error", "`workdir` "),
        ("workdir = '/'", 3, "error", "is outside the project"),
        ("skill = 'gone'", 3, "error", "there is no skill `gone`"),
        ("sub_agents = ['halper']", 3, "error", "there is no such agent"),
        ("sub_agents = ['asker']", 3, "error", "whose variable `topic` has no value"),
        ("sub_agents = ['a']", 3, "warning", "leads back to the agent: a -> a"),
        (
            "tools = ['read_file']\nsub_agents = ['helper']",
            4,
            "warning",
            "`helper` names `run_command`",
        ),
        (
            "sub_agents = ['helper']\nsub_agents_config.timeout = 9",
            4,
            "warning",
            "less than the 100 s of `helper`",
        ),
        ("discription = 'd'", 3, "error", "`discription` is not known"),
    ];
    for (text, line, severity, expected) in mistakes {
        let said = said_of(&format!("description = 'd'\nsystem_prompt = 's'\n{text}\n"));
        let start = format!("/.adjutant/agents/a.toml:{line}: {severity}: ");
        assert!(said[0].contains(&start), "{text}: {said:?}");
        assert!(said[0].contains(expected), "{text}: {said:?}");
        let problems = said.iter().filter(|it| it.contains("/a.toml:")).count();
        assert_eq!(problems, 1, "{text}: {said:?}");
    }
    assert!(
        said_of("system_prompt = 's'\ndescription = 'd'\ntools = ['raed_file']")[1]
            .contains("did you mean `read_file`?")
    );
    let said = said_of("system_prompt = 's'\npermissions.allow = ['no_tool']");
    let expected = "a.toml:2: error: `permissions.allow` has `no_tool`, which is about no tool";
    assert!(said.iter().any(|it| it.contains(expected)), "{said:?}");
    let said = said_of("files = ['/etc/*']\nsystem_prompt = 's'");
    assert!(said.iter().any(|it| it.contains("which `workdir` says")), "{said:?}");
    assert!(said_of("system_prompt = 's'")[0].contains("`description` is missing"));
}

#[cfg(feature = "mcp")]
#[test]
fn what_is_right_is_not_complained_of() {
    let good = "description = 'd'\ntools = ['Bash', 'Read', 'find_*', 'web_fetch', 'mcp__s__*']\n\
                model = 'rehearsal'\nfiles = ['*.md']\nworkdir = '.'\nsub_agents = ['helper']\n\
                permissions.only = ['run_command(git *)']\nallowed_hosts = ['docs.rs']\nsystem_prompt = 's'\n";
    let world = project(&[(
        "helper.toml",
        "description = 'd'\ntools = ['read_file']\nsystem_prompt = 's'",
    )]);
    let world = world.file("a.md", "x").user("mcp.s.command = 'true'");
    users(&world, "good.toml", good);
    let done = check(&world, &[]);
    assert_eq!(done.stdout, "2 files checked: 0 errors, 0 dropped, 0 warnings\n");
    assert_eq!(done.code, Some(0));
}

#[test]
fn a_circle_is_told_by_its_path() {
    let world = project(&[
        ("a.toml", "description = 'd'\nsub_agents = ['x', 'b']\nsystem_prompt = 's'"),
        ("b.toml", "description = 'd'\nsub_agents = ['c']\nsystem_prompt = 's'"),
        ("c.toml", "description = 'd'\nsub_agents = ['a']\nsystem_prompt = 's'"),
        ("x.toml", "description = 'd'\nsystem_prompt = 's'"),
    ]);
    let done = check(&world, &[]);
    assert_eq!(done.code, Some(0), "{}", done.stdout);
    for path in ["a -> b -> c -> a", "b -> c -> a -> b", "c -> a -> b -> c"] {
        assert!(done.stdout.contains(path), "{}", done.stdout);
    }
    assert!(done.stdout.contains("only depth ends that"), "{}", done.stdout);
    assert!(done.stdout.ends_with("4 files checked: 0 errors, 0 dropped, 3 warnings\n"));
}

#[test]
fn the_code_of_a_check_tells_whether_there_is_an_error() {
    let world = project(&[
        ("bad.toml", "x = 1"),
        ("odd.toml", "system_prompt = 's'"),
        ("good.toml", "description = 'd'\nsystem_prompt = 's'"),
    ]);
    let code = |names: &[&str]| check(&world, names).code;
    assert_eq!((code(&["good"]), code(&["odd"])), (Some(0), Some(0)));
    assert_eq!((code(&["bad"]), code(&[]), code(&["good", "bad"])), (Some(2), Some(2), Some(2)));
    let report = check(&world, &["--json"]);
    let report = json(&report);
    assert_eq!((&report["checked"], &report["errors"]), (&3.into(), &1.into()));
    assert_eq!(report["problems"][0]["message"], "`x` is not known");
    assert!(report["problems"][0]["file"].as_str().unwrap().ends_with("bad.toml"));
    assert!(world.refused(&["agents", "check", "gone"]).contains("there is no agent named `gone`"));
    assert!(world.refused(&["agents", "check", "./gone.toml"]).contains("No such file"));
}

#[test]
fn files_are_checked_by_their_paths_with_those_beside_them() {
    let world = World::new()
        .file("other/lead.toml", "description = 'd'\nsub_agents = ['helper']\nsystem_prompt = 's'");
    let world = world.file("other/helper.toml", "description = 'd'\nsystem_prompt = 's'");
    let done = check(&world, &["other/lead.toml"]);
    assert_eq!(done.stdout, "1 file checked: 0 errors, 0 dropped, 0 warnings\n");
    let all = check(&world, &["--agents-dir", "other"]);
    assert!(all.stdout.starts_with("2 files checked"), "{}", all.stdout);
    for command in [&["agents", "list"][..], &["agents", "check"], &["run", "go"]] {
        let said = world.refused(&[command, &["--agents-dir", "gone"]].concat());
        assert!(said.contains("there is no such directory"), "{said}");
    }
}

#[test]
fn an_agent_is_run_by_its_file_whatever_it_is_called() {
    let world =
        project(&[("lead.toml", "system_prompt = 'wrong'")]).script("[[reply]]\ntext = 'done'");
    let world = world.file("other/lead.toml", "name = 'strict'\nsystem_prompt = 'right'");
    let done = world.run(&["run", "-a", "other/lead.toml", "--quiet", "go"]);
    assert_eq!((done.code, done.stdout.trim()), (Some(0), "done"), "{}", done.stderr);
    let sent = world.run(&["run", "-a", "other/lead.toml", "--dry-run", "go"]).stdout;
    assert!(sent.contains("right") && !sent.contains("wrong"), "{sent}");
    let events = serde_json::to_string(&world.journal()).unwrap();
    assert!(events.contains(r#""agent":"strict""#), "{events}");
}

#[test]
fn an_agent_is_shown_as_told_of_agents_md_only_where_it_is() {
    let world = project(&[("a.toml", "description = 'd'\nsystem_prompt = 's'")]);
    let shown = |flags: &[&str]| {
        json(&world.run(&[&["agents", "show", "a", "--json"], flags].concat()))["agents_md"].clone()
    };
    assert_eq!(shown(&[]), Value::Null);
    assert_eq!(shown(&["-c", "agents_md=false"]), Value::Bool(false));
}

#[test]
fn a_tool_that_the_configuration_leaves_out_is_an_error() {
    let world =
        project(&[("a.toml", "description = 'd'\ntools = ['agent_fork']\nsystem_prompt = 's'")]);
    assert_eq!(check(&world, &["a"]).code, Some(0));
    let done = check(&world, &["a", "-c", "sub_agents.tools=['sub_agent']"]);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stdout.contains("a.toml:2: error: `tools` names `agent_fork`"), "{done:?}");
    let hint = "hint: `sub_agents.tools` in the configuration leaves it out";
    assert!(done.stdout.contains(hint), "{done:?}");
}

#[test]
fn an_agent_that_says_nothing_to_its_model_is_refused() {
    for text in ["description = 'd'", "description = 'd'\nsystem_prompt = ' '\nskill = []"] {
        let world = project(&[("a.toml", text)]);
        let said = check(&world, &["a"]);
        assert_eq!(said.code, Some(2));
        assert!(said.stdout.contains("a.toml: error: says nothing to its model"), "{said:?}");
        assert!(world.refused(&["run", "-a", "a", "go"]).contains("says nothing to its model"));
    }
}

#[test]
fn files_that_look_like_agents_and_are_not_read_are_told_of() {
    let world = project(&[("sub/x.toml", ""), ("sub/notes.md", "words"), ("y.yaml", "")]);
    let project = world.project_directory();
    write(&project.join(".codex/agents/z.md"), "words");
    write(&project.join(".codex/agents/README.md"), "words");
    write(&project.join(".claude/agents/deep/README.md"), "words");
    write(&project.join(".claude/agents/c.toml"), "");
    let done = check(&world, &[]);
    for expected in [
        "agents/sub/x.toml: warning: is not read: directories below are not looked into",
        "agents/y.yaml: warning: is not read: agents' files end with `.toml` or `.md` here",
        ".codex/agents/z.md: warning: is not read: agents' files end with `.toml` here",
        ".claude/agents/c.toml: warning: is not read: agents' files end with `.md` here",
        "0 files checked: 0 errors, 0 dropped, 4 warnings",
    ] {
        assert!(done.stdout.contains(expected), "{expected}: {}", done.stdout);
    }
}

#[test]
fn a_new_agent_is_not_called_like_a_file() {
    let world = World::new();
    for name in ["zed.toml", "foo.md"] {
        assert!(world.refused(&["agents", "new", name]).contains("a name is no file"));
    }
    assert!(!world.project_directory().join(".adjutant").exists());
}
