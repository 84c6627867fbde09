use std::{num::NonZeroU64, path::Path};

use adjutant_core::{Access, Effect, Mode, ToolSpec, Verdict};
use adjutant_tools::DELEGATION_TOOLS;
use serde_json::json;

use crate::agents::{
    definition::{Audience, Callable, Definition},
    foreign::testing::{Loaded, command, grant, load, load_named, verdict},
    format::Format,
};

fn read(fields: &str) -> Loaded {
    load(Format::OpenCode, &format!("---\ndescription: d\n{fields}\n---\nText.\n"))
}

fn permit(fields: &str) -> Definition {
    read(&format!("permission:\n{fields}")).agent()
}

fn on_path(agent: &Definition, tool: &str, path: &str) -> Verdict {
    let keep = tempfile::tempdir().unwrap();
    let top = keep.path().canonicalize().unwrap();
    let arguments = match tool {
        "write_file" => json!({ "path": path, "content": "" }),
        "search_files" => json!({ "path": path, "pattern": "x" }),
        _ => json!({ "path": path }),
    };
    verdict(agent, &top, tool, &arguments)
}

#[test]
fn what_can_be_honoured_is() {
    let text = "---\ndescription: d\nmode: primary\nmodel: anthropic/claude-opus-5\n\
                temperature: 0.1\ntop_p: 1\nsteps: 5\nmaxSteps: 9\n---\nText.\n";
    let agent = load_named(Format::OpenCode, "tester", text).clean();
    assert_eq!((&*agent.name, &*agent.prompt), ("tester", "Text."));
    assert_eq!(agent.audience, Audience::People);
    assert_eq!(agent.model.as_deref(), Some("anthropic/claude-opus-5"));
    assert_eq!(agent.allowance.turns, NonZeroU64::new(5));
    let (temperature, top_p) = (agent.manner.temperature.unwrap(), agent.manner.top_p.unwrap());
    assert_eq!((temperature.as_f64(), top_p.as_f64()), (Some(0.1), Some(1.0)));
    assert_eq!(agent.access, Access::Inherit);
    assert_eq!(agent.callable, Callable::All);
}

#[test]
fn what_cannot_be_honoured_is_dropped_in_its_line() {
    let told =
        read("hidden: true\ncolor: red\nvariant: x\noptions: {a: 1}\nreasoningEffort: high").told();
    let starts: Vec<_> = told.iter().map(|it| it.split('`').take(2).collect::<String>()).collect();
    let expected = ["3 dropped hidden", "4 dropped color", "5 dropped variant"];
    assert_eq!(
        starts,
        [&expected[..], &["6 dropped options", "7 dropped reasoningEffort"]].concat()
    );
}

#[test]
fn a_name_is_the_path_of_the_file_or_what_the_file_says() {
    let loaded = load_named(Format::OpenCode, "review/security", "---\ndescription: d\n---\nx");
    assert!(loaded.told()[0].contains("is `review/security`, which is called `review-security`"));
    assert_eq!(loaded.agent().name, "review-security");
    assert_eq!(read("name: other").clean().name, "other");
}

#[test]
fn text_alone_is_an_agent_but_not_with_its_fields_too_late() {
    let agent = load(Format::OpenCode, "You test.\n\n---\n\nMore.").agent();
    assert_eq!(agent.prompt, "You test.\n\n---\n\nMore.");
    let late = load(Format::OpenCode, "\n---\npermission: deny\n---\nText");
    assert!(late.refusal().starts_with("2: the `---` before"), "{}", late.refusal());
}

#[test]
fn a_disabled_agent_is_for_nobody() {
    let loaded = read("disable: true");
    assert_eq!(loaded.told(), ["3 warning `disable` is `true`: nobody can run it"]);
    assert_eq!(loaded.agent().audience, Audience::Nobody);
    assert_eq!(read("disable: false").clean().audience, Audience::Everyone);
    assert!(read("disable: maybe").refusal().starts_with("3: "));
}

#[test]
fn one_word_for_all_is_for_all() {
    let agent = read("permission: deny").agent();
    assert_eq!(agent.access, Access::AllowList { tools: Default::default() });
    assert_eq!(agent.callable, Callable::Nobody);
    let agent = read("permission: ask").agent();
    assert_eq!(command(&agent, "ls"), Verdict::Ask);
    assert_eq!(on_path(&agent, "read_file", "a"), Verdict::Ask);
    for wrong in [
        "permission: no",
        "permission: 1",
        "permission: [deny]",
        "permission:\n  bash: never",
        "permission:\n  bash:\n    ls: 1",
        "permission:\n  bash: [deny]",
    ] {
        assert!(read(wrong).refusal().contains("`permission"), "{wrong}");
    }
}

#[test]
fn the_last_that_matches_counts() {
    let agent = permit("  bash:\n    '*': allow\n    git push*: ask\n    rm *: deny");
    assert_eq!(command(&agent, "ls"), Verdict::Allow);
    assert_eq!(command(&agent, "git push origin"), Verdict::Ask);
    assert_eq!(command(&agent, "rm -r x"), Verdict::Deny);
    assert_eq!(command(&agent, "rm"), Verdict::Deny);
    assert_eq!(command(&agent, "ls && rm x"), Verdict::Deny);
    let agent = permit("  bash:\n    rm *: deny\n    '*': allow");
    assert_eq!(command(&agent, "rm x"), Verdict::Allow);
}

#[test]
fn what_is_denied_but_for_some_is_those() {
    let agent =
        permit("  bash:\n    '*': deny\n    git *: allow\n    ls: ask\n    git push*: deny");
    assert_eq!(command(&agent, "git status"), Verdict::Allow);
    assert_eq!(command(&agent, "git"), Verdict::Allow);
    assert_eq!(command(&agent, "ls"), Verdict::Ask);
    assert_eq!(command(&agent, "git push"), Verdict::Deny);
    assert_eq!(command(&agent, "rm x"), Verdict::Deny);
    assert_eq!(command(&agent, "git status && rm x"), Verdict::Deny);
    let input = json!({ "job": "x", "text": "rm" });
    assert_eq!(verdict(&agent, "/".as_ref(), "write_input", &input), Verdict::Deny);
}

#[test]
fn what_comes_out_stricter_is_said() {
    let loaded = read("permission:\n  bash:\n    '*': ask\n    git *: allow");
    assert!(loaded.told()[0].starts_with("6 dropped `permission.bash.git *` comes after"));
    assert_eq!(command(&loaded.agent(), "git log"), Verdict::Ask);
    let loaded = read("permission:\n  bash:\n    git *: deny\n    git log: allow\n    ls: allow");
    assert!(
        loaded.told()[0].starts_with("6 dropped `permission.bash.git log`"),
        "{:?}",
        loaded.told()
    );
    assert!(!loaded.told()[1].contains("dropped"));
    assert_eq!(command(&loaded.agent(), "git log"), Verdict::Deny);
    let loaded = read("permission:\n  bash: {'*': deny, 'git *': allow}");
    assert!(loaded.told()[0].starts_with("4 dropped `permission.bash` says several things"));
    assert_eq!(command(&loaded.agent(), "git log"), Verdict::Deny);
    let loaded = read("permission:\n  grep:\n    '*': allow\n    x: deny");
    assert!(loaded.told()[0].starts_with("4 dropped `permission.grep` cannot be told apart"));
    assert_eq!(on_path(&loaded.agent(), "search_files", "."), Verdict::Deny);
}

#[test]
fn a_star_in_a_path_goes_on_below() {
    let agent = permit("  edit:\n    '*': deny\n    docs/*.md: allow\n  read:\n    '*.env': deny");
    for (path, expected) in [
        ("docs/a.md", Verdict::Allow),
        ("docs/b/c.md", Verdict::Allow),
        ("docs/a.rs", Verdict::Deny),
        ("a.md", Verdict::Deny),
    ] {
        assert_eq!(on_path(&agent, "write_file", path), expected, "{path}");
    }
    for (path, expected) in [
        ("a.env", Verdict::Deny),
        ("x/y/a.env", Verdict::Deny),
        (".env", Verdict::Deny),
        ("a.envx", Verdict::Allow),
    ] {
        assert_eq!(on_path(&agent, "read_file", path), expected, "{path}");
    }
    let stars = "*x".repeat(9);
    let loaded = read(&format!("permission:\n  edit:\n    '{stars}': deny"));
    assert!(loaded.refusal().contains("`permission.edit`"));
}

#[test]
fn all_but_some_tools_are_those() {
    let agent = permit("  '*': deny\n  read: allow\n  bash:\n    ls: allow\n  github_*: allow");
    let tools: Vec<_> = agent.access.names().collect();
    let expected = ["mcp__github__*", "read_file", "read_output", "run_command", "stop_command"];
    assert_eq!(tools, expected);
    assert_eq!((agent.callable, agent.children.depth), (Callable::Nobody, Some(0)));
    let agent = permit("  edit: deny\n  webfetch: deny");
    let denied = ["delete_file", "edit_file", "multi_edit", "web_fetch", "write_file"];
    assert_eq!(agent.access.names().collect::<Vec<_>>(), denied);
    assert!(matches!(agent.access, Access::DenyList { .. }));
}

#[test]
fn of_servers_tools_every_reading_is_denied() {
    let agent = permit("  my_server_tool: deny\n  other_*: ask");
    let deny: Vec<_> = agent.rules.deny.iter().map(ToString::to_string).collect();
    assert_eq!(deny, ["mcp__my__server_tool", "mcp__my_server__tool"]);
    assert_eq!(agent.rules.ask[0].to_string(), "mcp__other__*");
    let agent = permit("  my-server*: deny\n  other_*: allow\n  '*_look': allow");
    let deny: Vec<_> = agent.rules.deny.iter().map(ToString::to_string).collect();
    assert_eq!(deny, ["mcp__my-server*"]);
}

#[test]
fn whom_it_may_call_is_named() {
    let callable = |fields: &str| permit(fields).callable;
    let only = |names: &[&str]| Callable::Only(names.iter().map(|it| (*it).to_owned()).collect());
    assert_eq!(callable("  task: deny"), Callable::Nobody);
    assert_eq!(callable("  task: allow"), Callable::All);
    assert_eq!(callable("  task:\n    '*': deny\n    a/b: allow\n    c: ask"), only(&["a-b", "c"]));
    assert_eq!(callable("  task:\n    '*': deny\n    a*: allow"), Callable::Nobody);
    assert_eq!(callable("  task:\n    '*': allow\n    b: deny"), Callable::Nobody);
}

#[test]
fn who_asks_before_a_call_asks_before_every_way_to_call() {
    for fields in ["permission: ask", "permission: {'*': ask}", "permission: {task: ask}"] {
        let grant = grant(&read(fields).agent(), Path::new("/"));
        for name in DELEGATION_TOOLS {
            let (name, description) = (name.to_owned(), String::new());
            let (parameters, effect) = (json!({}), Effect::Reach);
            let tool = ToolSpec { name, description, parameters, effect };
            assert_eq!(grant.judge(&tool, &[]).verdict, Verdict::Ask, "{fields}: {}", tool.name);
        }
    }
}

#[test]
fn outside_is_denied_or_asked_about() {
    let agent = permit("  external_directory: deny");
    assert_eq!(on_path(&agent, "read_file", "a"), Verdict::Allow);
    assert_eq!(on_path(&agent, "list_dir", "."), Verdict::Allow);
    assert_eq!(on_path(&agent, "read_file", "/etc/passwd"), Verdict::Deny);
    assert_eq!(on_path(&agent, "search_files", "/etc"), Verdict::Deny);
    assert_eq!(permit("  external_directory: ask").mode, Some(Mode::Auto));
    let agent = permit("  read:\n    '*': deny\n    /etc/*: allow\n  external_directory: deny");
    assert_eq!(on_path(&agent, "read_file", "/etc/passwd"), Verdict::Deny);
    assert_eq!(on_path(&agent, "read_file", "a"), Verdict::Deny);
}

#[test]
fn the_old_list_of_tools_counts_before_the_new() {
    let agent = read("tools:\n  write: false\n  edit: true\n  bash: false").agent();
    let denied = ["delete_file", "edit_file", "multi_edit", "read_output", "run_command"];
    let more = ["stop_command", "write_file", "write_input"];
    assert_eq!(agent.access.names().collect::<Vec<_>>(), [&denied[..], &more[..]].concat());
    let agent = read("tools:\n  read: true\n  '*': false").agent();
    assert_eq!(agent.access.names().collect::<Vec<_>>(), ["read_file"]);
    let agent = read("tools:\n  bash: false\npermission:\n  bash: allow").agent();
    assert_eq!(command(&agent, "ls"), Verdict::Allow);
    assert!(read("tools: [read]").refusal().starts_with("3: "));
    assert!(read("tools:\n  bash: no").refusal().starts_with("4: `tools.bash`"));
}

#[test]
fn skills_are_denied_by_their_names() {
    let skill = |fields: &str, name: &str| {
        verdict(&permit(fields), Path::new("/"), "skill", &json!({ "name": name }))
    };
    assert_eq!(skill("  bash: deny", "pdf"), Verdict::Allow);
    assert_eq!(skill("  skill: deny", "pdf"), Verdict::Deny);
    assert!(permit("  '*': deny").has_only_own_skills());
    assert!(!permit("  '*': deny\n  skill: allow").has_only_own_skills());
    let some = "  skill:\n    '*': allow\n    'internal-*': deny\n    odd: ask";
    assert_eq!(skill(some, "pdf"), Verdict::Allow);
    assert_eq!(skill(some, "internal-pdf"), Verdict::Deny);
    assert_eq!(skill(some, "odd"), Verdict::Ask);
    let few = "  skill:\n    '*': deny\n    pdf: allow";
    assert_eq!((skill(few, "pdf"), skill(few, "pdfs")), (Verdict::Allow, Verdict::Deny));
    assert_eq!(read("tools:\n  skill: false").agent().access.names().next(), Some("skill"));
}

#[test]
fn what_there_is_not_here_is_told_of_unless_it_is_allowed() {
    let keys = ["todowrite", "todoread", "websearch", "codesearch", "lsp", "doom_loop"];
    for key in keys {
        for word in ["deny", "ask"] {
            let told = read(&format!("permission:\n  {key}: {word}")).told();
            let expected = format!("4 dropped `permission.{key}` is about what there is not here");
            assert_eq!(told, [expected]);
        }
        let told = read(&format!("permission:\n  {key}: allow")).told();
        assert!(!told.iter().any(|it| it.contains(key)), "{told:?}");
    }
    let told = read("tools:\n  todowrite: false").told();
    assert_eq!(told, ["4 dropped `tools.todowrite` is about what there is not here"]);
}

#[test]
fn what_restricts_and_is_called_otherwise_is_refused() {
    for (wrong, line, right) in [
        ("permissions:\n  bash: deny", 3, "the field is called `permission`"),
        ("Tools:\n  bash: false", 3, "the field is called `tools`"),
        ("max_steps: 3", 3, "the field is called `maxSteps`"),
        ("permission:\n  Bash: deny", 4, "the key is called `bash`"),
        ("permission:\n  write: deny", 4, "the key is called `edit`"),
        ("permission:\n  web_fetch: deny", 4, "the key is called `webfetch`"),
        ("permission:\n  run_command: deny", 4, "the key is called `bash`"),
        ("permission:\n  external-directory: deny", 4, "the key is called `external_directory`"),
        ("tools:\n  Write: false", 4, "the key is called `write`"),
        ("tools:\n  Tasks: false", 4, "the key is called `task`"),
    ] {
        let loaded = read(wrong);
        assert!(loaded.refusal().starts_with(&format!("{line}: ")), "{}", loaded.refusal());
        let hints: Vec<_> = loaded.problems.iter().filter_map(|it| it.hint.as_deref()).collect();
        assert!(hints.contains(&right), "{wrong}: {hints:?}");
    }
    read("tools:\n  write: false\n  todowrite: false\n  github_search: false").agent();
}

#[test]
fn what_may_be_meant_to_restrict_is_refused() {
    let fields = "the fields that restrict an agent are: `disable`, `maxSteps`, `permission`, `steps`, `tools`";
    let keys = "there are: `read`, `edit`, `list`, `glob`, `grep`, `bash`, `webfetch`, `skill`, \
                `question`, `task`, `external_directory`, and `SERVER_TOOL` and `SERVER_*` of \
                servers";
    for (wrong, line, right) in [
        ("permision: deny", 3, "the field is called `permission`"),
        ("toolz: {bash: false}", 3, "the field is called `tools`"),
        ("disabled: true", 3, "the field is called `disable`"),
        ("disallowed: [bash]", 3, fields),
        ("sandbox: true", 3, fields),
        ("permission:\n  bsh: deny", 4, "the key is called `bash`"),
        ("permission:\n  bsh: ask", 4, "the key is called `bash`"),
        ("permission:\n  bsh:\n    '*': allow\n    rm *: deny", 4, "the key is called `bash`"),
        ("permission:\n  web*: deny", 4, "the key is called `webfetch`"),
        ("permission:\n  externl_directory: deny", 4, "the key is called `external_directory`"),
        ("permission:\n  terminal: deny", 4, keys),
        ("permission:\n  '*_delete': deny", 4, keys),
        ("tools:\n  bsh: false", 4, "the key is called `bash`"),
        ("tools:\n  terminal: false", 4, keys),
    ] {
        let loaded = read(wrong);
        assert!(loaded.refusal().starts_with(&format!("{line}: ")), "{}", loaded.refusal());
        let hints: Vec<_> = loaded.problems.iter().filter_map(|it| it.hint.as_deref()).collect();
        assert_eq!(hints, [right], "{wrong}");
    }
    for loose in ["permission:\n  bsh: allow", "tools:\n  bsh: true"] {
        let told = read(loose).told();
        assert!(
            told[0].starts_with("4 dropped ") && told[0].contains(".bsh` is about"),
            "{told:?}"
        );
    }
}
