use std::{num::NonZeroU64, path::Path};

use adjutant_core::{Access, Effect, Effort, Isolation, Mode, ToolSpec, Verdict};

use crate::agents::{
    definition::{Callable, Guidance},
    foreign::testing::{Loaded, command, grant, load, load_named},
    format::Format,
};

fn read(fields: &str) -> Loaded {
    load(Format::Claude, &format!("---\nname: a\ndescription: d\n{fields}\n---\nText.\n"))
}

fn access(fields: &str) -> Vec<String> {
    let access = read(fields).agent().access;
    assert!(matches!(access, Access::AllowList { .. }), "{access:?}");
    access.names().map(str::to_owned).collect()
}

#[test]
fn what_can_be_honoured_is() {
    let agent = read(
        "tools: Read, Grep, Bash\nmodel: claude-opus-4-5\npermissionMode: plan\nmaxTurns: 7\n\
         skills: [one, two]\nbackground: false\nomitClaudeMd: true\neffort: low\n\
         isolation: worktree",
    )
    .clean();
    assert_eq!((&*agent.name, &*agent.description, &*agent.prompt), ("a", "d", "Text."));
    assert_eq!(agent.model.as_deref(), Some("anthropic/claude-opus-4-5"));
    assert_eq!((agent.mode, agent.allowance.turns), (Some(Mode::Plan), NonZeroU64::new(7)));
    assert_eq!(agent.skills, ["one", "two"]);
    assert_eq!(agent.guidance, Guidance::Omitted);
    assert_eq!(agent.manner.effort, Some(Effort::Low));
    assert_eq!(agent.isolation, Isolation::Worktree);
    let tools: Vec<_> = agent.access.names().collect();
    let bash = ["read_file", "read_output", "run_command", "search_files", "stop_command"];
    assert_eq!(tools, [&bash[..], &["write_input"]].concat());
    assert_eq!(agent.line("maxTurns"), Some(7));
}

#[test]
fn what_cannot_be_honoured_is_dropped_in_its_line() {
    let told = read(
        "hooks:\n  Stop: []\ncolor: red\ninitialPrompt: go\nexperimental: {cacheTtl: 5m}\n\
         background: true\neffort: max\npermissionMode: bypassPermissions\nunheardOf: 1",
    )
    .told();
    let starts: Vec<_> = told.iter().map(|it| it.split('`').take(2).collect::<String>()).collect();
    let expected = [
        "11 dropped permissionMode",
        "10 dropped effort",
        "9 dropped background",
        "4 dropped hooks",
        "6 dropped color",
        "7 dropped initialPrompt",
        "8 dropped experimental",
        "12 dropped unheardOf",
    ];
    assert_eq!(starts, expected);
    assert_eq!(read("effort: max").agent().manner.effort, Some(Effort::High));
    assert_eq!(read("effort: much").agent().manner.effort, None);
}

#[test]
fn a_family_is_its_newest_model() {
    let model = |name: &str| read(&format!("model: {name}")).agent().model;
    assert_eq!(model("opus").unwrap(), "anthropic/claude-opus-5-5");
    assert_eq!(model("fable").unwrap(), "anthropic/claude-fable-5-1");
    assert_eq!(model("haiku").unwrap(), "anthropic/claude-haiku-5-5");
    assert_eq!(model("sonnet[1m]").unwrap(), "anthropic/claude-sonnet-5-5");
    assert_eq!(model("openai/gpt-5").unwrap(), "openai/gpt-5");
    assert_eq!(model("gpt-5").unwrap(), "gpt-5");
    assert_eq!(model("inherit"), None);
    assert_eq!(read("model: 5").told(), ["4 dropped `model` has to be text"]);
}

#[test]
fn a_mode_is_never_freer_than_it_was_written() {
    let mode = |name: &str| read(&format!("permissionMode: {name}")).agent().mode;
    assert_eq!(mode("default"), Some(Mode::Ask));
    assert_eq!(mode("manual"), Some(Mode::Ask));
    assert_eq!(mode("acceptEdits"), Some(Mode::Ask));
    assert_eq!(mode("dontAsk"), Some(Mode::Ask));
    assert_eq!(mode("auto"), Some(Mode::Auto));
    assert_eq!(mode("bypassPermissions"), None);
    assert_eq!(mode("plan"), Some(Mode::Plan));
    for name in ["acceptEdits", "dontAsk", "bypassPermissions"] {
        let told = read(&format!("permissionMode: {name}")).told();
        assert!(told[0].starts_with("4 dropped `permissionMode` is"), "{told:?}");
    }
    for wrong in ["free", "1", "[plan]", "{a: b}"] {
        assert!(read(&format!("permissionMode: {wrong}")).refusal().starts_with("4: "), "{wrong}");
    }
}

#[test]
fn tools_are_a_list_or_words_with_commas() {
    let expected = ["read_file", "search_files"];
    assert_eq!(access("tools: Read, Grep"), expected);
    assert_eq!(access("tools: [Read, Grep]"), expected);
    assert_eq!(access("tools:\n  - Read\n  - search_files"), expected);
    assert_eq!(access("tools: [\"Read, Grep\"]"), expected);
    assert_eq!(access("tools: []"), [""; 0]);
    assert_eq!(read("tools: '*'").agent().access, Access::Inherit);
    assert_eq!(read("color: red").agent().access, Access::Inherit);
    for wrong in ["tools:", "tools: ''", "tools: 3", "tools: {Read: true}", "tools: [1]"] {
        let why = read(wrong).refusal();
        assert!(why.starts_with("4: `tools` has to be names"), "{wrong}: {why}");
    }
}

#[test]
fn a_tool_there_is_not_is_dropped_and_none_at_all_is_refused() {
    let loaded = read("tools: Read, TodoWrite");
    assert_eq!(loaded.told(), ["4 dropped `tools` names `TodoWrite`, which there is not here"]);
    assert_eq!(loaded.agent().access.names().collect::<Vec<_>>(), ["read_file"]);
    let why = read("tools: TodoWrite, Skill").refusal();
    assert_eq!(why, "4: `tools` leaves it no tool there is");
    let why = read("tools: Read\ndisallowedTools: Read").refusal();
    assert_eq!(why, "4: `tools` leaves it no tool there is");
}

#[test]
fn what_is_disallowed_is_taken_from_what_there_is() {
    assert_eq!(access("tools: Read, Grep\ndisallowedTools: Grep"), ["read_file"]);
    assert_eq!(access("tools: Read, Bash\ndisallowedTools: [\"Bash(rm *)\"]"), ["read_file"]);
    assert_eq!(access("tools: Read, mcp__a__b\ndisallowedTools: mcp__*"), ["read_file"]);
    let agent = read("disallowedTools: Bash(rm *), WebFetch").agent();
    assert_eq!(command(&agent, "ls"), Verdict::Deny);
    let denied: Vec<_> = agent.access.names().collect();
    assert!(matches!(agent.access, Access::DenyList { .. }) && denied.contains(&"web_fetch"));
    let agent = read("tools: mcp__a\ndisallowedTools: mcp__a__b").agent();
    assert_eq!(agent.rules.deny.iter().map(ToString::to_string).collect::<Vec<_>>(), ["mcp__a__b"]);
    for wrong in ["disallowedTools:", "disallowedTools: 1", "disallowedTools: '*'"] {
        assert!(read(wrong).refusal().starts_with("4: `disallowedTools` ha"), "{wrong}");
    }
}

#[test]
fn whom_it_may_call_is_said_among_its_tools() {
    let callable = |fields: &str| read(fields).agent().callable;
    let only = |names: &[&str]| Callable::Only(names.iter().map(|it| (*it).to_owned()).collect());
    assert_eq!(callable("color: red"), Callable::All);
    assert_eq!(callable("tools: Read"), Callable::Nobody);
    assert_eq!(callable("tools: Read, Agent"), Callable::All);
    assert_eq!(callable("tools: Task"), Callable::All);
    assert_eq!(callable("tools: Agent(a, b c), Task(d)"), only(&["a", "b-c", "d"]));
    assert_eq!(callable("tools: Agent(a), Task"), Callable::All);
    let denied = read("disallowedTools: Agent").agent();
    assert_eq!((denied.callable, denied.children.depth), (Callable::Nobody, Some(0)));
    assert_eq!(access("tools: Agent(a)"), [""; 0]);
}

#[test]
fn a_tool_that_is_named_whole_and_in_part_is_there_in_part() {
    let loaded = read("tools: Bash, Bash(git *)");
    assert!(
        loaded.told()[0].starts_with("4 warning `tools` names `run_command` whole and in part")
    );
    let agent = loaded.agent();
    assert_eq!(command(&agent, "ls"), Verdict::Deny);
    assert_eq!(command(&agent, "git log"), Verdict::Allow);
}

#[test]
#[cfg(feature = "mcp")]
fn servers_are_names_or_its_own() {
    let agent = read(
        "tools: Read\nmcpServers:\n  - git hub\n  - own:\n      type: stdio\n      command: serve\n      \
         args: [-x]",
    )
    .clean();
    assert_eq!(agent.access.names().collect::<Vec<_>>(), ["mcp__git_hub__*", "read_file"]);
    assert_eq!(agent.servers[0].to_string(), "own: serve -x");
    let told = read("mcpServers:\n  - own: {type: sse, url: u}\n  - 3").told();
    assert!(told[0].starts_with("4 dropped `mcpServers` has `own`, which has the type `sse`"));
    assert!(told[1].contains("neither a name nor a server"), "{told:?}");
}

#[test]
fn who_names_servers_has_the_tools_of_no_others() {
    let verdict = |fields: &str, name: &str| {
        let (description, parameters) = (String::new(), serde_json::Value::Null);
        let effect = Effect::Reach;
        let tool = ToolSpec { name: name.to_owned(), description, parameters, effect };
        grant(&read(fields).agent(), Path::new("/")).judge(&tool, &[]).verdict
    };
    let named = "mcpServers:\n  - git hub\n  - own: {type: stdio, command: serve}";
    let own = if cfg!(feature = "mcp") { Verdict::Allow } else { Verdict::Deny };
    for (fields, name, expected) in [
        (named, "mcp__git_hub__look", Verdict::Allow),
        (named, "mcp__own__look", own),
        (named, "mcp__other__look", Verdict::Deny),
        (named, "read_file", Verdict::Allow),
        ("mcpServers: []", "mcp__other__look", Verdict::Deny),
        ("mcpServers:", "mcp__other__look", Verdict::Allow),
        ("color: red", "mcp__other__look", Verdict::Allow),
    ] {
        assert_eq!(verdict(fields, name), expected, "{fields}: {name}");
    }
}

#[test]
fn memory_is_that_of_its_runs() {
    for whose in ["user", "project", "local"] {
        let loaded = read(&format!("memory: {whose}"));
        assert!(loaded.told()[0].starts_with("4 warning `memory` is"));
        assert!(loaded.agent().memory.is_some());
    }
    let loaded = read("memory: global");
    assert!(loaded.told()[0].starts_with("4 dropped `memory`"));
    assert_eq!(loaded.agent().memory, None);
}

#[test]
fn limits_that_are_none_are_refused() {
    for wrong in ["maxTurns: many", "maxTurns: 0", "maxTurns: -1", "isolation: container"] {
        assert!(read(wrong).refusal().starts_with("4: "), "{wrong}");
    }
}

#[test]
fn the_usual_line_with_a_colon_is_read_and_said() {
    let text = "---\nname: a\ndescription: Use when: tests fail. Example: \"run\" # 1\n\
                tools: Read\ncolor: red\n---\nText";
    let loaded = load(Format::Claude, text);
    let told = loaded.told();
    assert!(told[0].starts_with("3 warning `description` is not YAML"), "{told:?}");
    assert!(told[1].starts_with("5 dropped `color`"), "{told:?}");
    let agent = loaded.agent();
    assert_eq!(agent.description, "Use when: tests fail. Example: \"run\" # 1");
    assert_eq!(agent.access.names().collect::<Vec<_>>(), ["read_file"]);
    let odd = load(Format::Claude, "---\nname: a\ndescription: x: y\ntools: *\n---\nText");
    assert!(odd.refusal().starts_with("4: is not YAML"), "{}", odd.refusal());
    let text = "---\nname: a\ndescription: d\ntools: Read, Bash(a: b)\n---\nText";
    let agent = load(Format::Claude, text).agent();
    assert_eq!((command(&agent, "a: b"), command(&agent, "a")), (Verdict::Allow, Verdict::Deny));
}

#[test]
fn files_that_are_no_agents_are_refused_in_their_line() {
    let refused = [
        ("", "1: is empty"),
        (" \n\n", "1: is empty"),
        ("# Title\n", "1: has no fields"),
        ("---\nname: a\n", "1: begins with `---`, and there is no second"),
        ("\n\n---\nname: a\n---\n", "3: the `---` before the fields has to be the first line"),
        ("Hello\n---\nname: a\n---\n", "1: has no fields"),
        ("---\n- a\n- b\n---\n", "2: what stands before"),
        ("---\njust words\n---\n", "2: what stands before"),
        ("---\nname: a\n\nname: b\n---\n", "4: `name` is there twice"),
        ("---\nname: a\ntools:\n\t- Read\n---\n", "4: is not YAML"),
        ("---\nname: 5\n---\n", "2: `name` has to be text"),
        ("---\nname: -x\n---\n", "2: `name` is `-x`"),
        ("---\nname: \"\"\n---\n", "2: `name` must not be empty"),
        ("---\nname: a\n...\nname: b\n---\n", "is not YAML"),
        ("---\nname: [a\n---\n", "is not YAML"),
        ("---\nname: *a\n---\n", "2: is not YAML"),
    ];
    for (text, why) in refused {
        let refusal = load(Format::Claude, text).refusal();
        assert!(refusal.contains(why), "{text:?}: {refusal}");
    }
}

#[test]
fn what_only_looks_odd_is_read() {
    let crlf = "\u{feff}---\r\nname: a\r\ndescription: d\r\n---\r\nOne.\r\nTwo.\r\n";
    assert_eq!(load(Format::Claude, crlf).clean().prompt, "One.\nTwo.");
    let emoji = "---\nname: 🦀-prüfer\ndescription: \"🦀: d\"\nmodel: null\ntools: Read\n---\n🦀\n---\nmore";
    let agent = load(Format::Claude, emoji).clean();
    assert_eq!((&*agent.name, &*agent.prompt), ("🦀-prüfer", "🦀\n---\nmore"));
    let tabs = "---\nname:\ta\ndescription:\td\n---\n\ttext";
    assert_eq!(load(Format::Claude, tabs).clean().name, "a");
    let block = "---\nname: a\ndescription: >\n  one: two\n  three\n---\ntext";
    assert_eq!(load(Format::Claude, block).clean().description, "one: two three\n");
    let huge = format!("---\nname: a\ndescription: d\n---\n{}", "x".repeat(900_000));
    assert_eq!(load(Format::Claude, &huge).clean().prompt.len(), 900_000);
    let merged = "---\nname: a\ndescription: &d words\ncolor: *d\n---\ntext";
    assert_eq!(load(Format::Claude, merged).agent().description, "words");
}

#[test]
fn names_that_cannot_be_typed_are_made_to() {
    let named = |name: &str| {
        let text = format!("---\nname: \"{name}\"\ndescription: d\n---\nText");
        let loaded = load(Format::Claude, &text);
        assert!(loaded.told()[0].starts_with("2 warning `name` is "), "{:?}", loaded.told());
        loaded.agent().name
    };
    assert_eq!(named("plugin:agent"), "plugin-agent");
    assert_eq!(named("Code Reviewer"), "Code-Reviewer");
    assert_eq!(named("a/b"), "a-b");
}

#[test]
fn what_is_missing_is_made_up_for_and_said() {
    let loaded = load_named(Format::Claude, "dir/reviewer", "---\ntools: Read\n---\n");
    let told = loaded.told();
    assert!(told[0].starts_with("- warning `prompt` is missing"), "{told:?}");
    assert!(told[1].starts_with("- warning `description` is missing"), "{told:?}");
    assert_eq!(loaded.agent().name, "reviewer");
}

#[test]
fn what_stands_for_ever_more_is_refused() {
    let mut bomb = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    bomb += "---\n";
    assert!(load(Format::Claude, &bomb).refusal().contains("is not YAML"));
    let deep = format!("---\na: {}{}\n---\n", "[".repeat(5000), "]".repeat(5000));
    assert!(load(Format::Claude, &deep).refusal().contains("is not YAML"));
    let block: String = (0..100).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    let deep = load(Format::Claude, &format!("---\n{block}---\n"));
    assert!(deep.refusal().contains("is not YAML"));
    let recursive = "---\na: &a [*a]\n---\n";
    assert!(load(Format::Claude, recursive).refusal().contains("is not YAML"));
}

#[test]
fn what_restricts_and_is_called_otherwise_is_refused() {
    for (wrong, right) in [
        ("Tools: Read", "tools"),
        ("tool: Read", "tools"),
        ("allowed-tools: Read", "tools"),
        ("allowedTools: Read", "tools"),
        ("disallowed_tools: Bash", "disallowedTools"),
        ("DisallowedTool: Bash", "disallowedTools"),
        ("permission-mode: plan", "permissionMode"),
        ("max_turns: 1", "maxTurns"),
    ] {
        let loaded = read(wrong);
        let why = loaded.refusal();
        assert!(why.starts_with("4: ") && why.contains("freer than written"), "{wrong}: {why}");
        let hint = loaded.problems[0].hint.as_deref().unwrap();
        assert_eq!(hint, format!("the field is called `{right}`"));
    }
    let loaded = read("colour: red\nhidden-role: 1");
    let dropped = ["4 dropped `colour` is not known", "5 dropped `hidden-role` is not known"];
    let mut told = loaded.told();
    told.sort();
    assert_eq!(told, dropped);
    let hints: Vec<_> = loaded.problems.iter().filter_map(|it| it.hint.as_deref()).collect();
    assert_eq!(hints, ["did you mean `color`?"]);
}

#[test]
fn what_may_be_meant_to_restrict_is_refused() {
    let fields = "the fields that restrict an agent are: `disallowedTools`, `maxTurns`, \
                  `mcpServers`, `permissionMode`, `tools`";
    for (wrong, right) in [
        ("disalowedTools: Bash", "the field is called `disallowedTools`"),
        ("toolz: Read", "the field is called `tools`"),
        ("tols: Read", "the field is called `tools`"),
        ("maxTurnz: 3", "the field is called `maxTurns`"),
        ("mode: plan", "the field is called `permissionMode`"),
        ("blockedTools: Bash", fields),
        ("disabledTools: Bash", "the field is called `disallowedTools`"),
        ("deniedTools: Bash", fields),
        ("denied_tools: Bash", fields),
        ("denyTools: Bash", fields),
        ("excludeTools: Bash", fields),
        ("DENY: Bash", fields),
        ("denied: Bash", fields),
        ("permits: Bash", fields),
        ("allow: Read", fields),
        ("sandboxed: true", fields),
        ("approval: always", fields),
        ("approveFirst: true", fields),
        ("restrictTo: src", fields),
        ("disabled: true", fields),
        ("exclude: Bash", fields),
    ] {
        let loaded = read(wrong);
        assert!(loaded.refusal().starts_with("4: "), "{wrong}: {}", loaded.refusal());
        assert_eq!(loaded.problems[0].hint.as_deref(), Some(right), "{wrong}");
    }
    for other in ["role: x", "provider: x", "tags: [x]", "version: 1", "hidden: true"] {
        assert!(read(other).told()[0].starts_with("4 dropped"), "{other}");
    }
}

#[test]
fn a_part_of_a_tool_that_is_kept_from_it_is_told_to_be_the_whole() {
    let loaded = read("disallowedTools: Bash(rm:*), Read");
    let told = ["4 warning `disallowedTools` has `Bash(rm:*)`, which takes all of `Bash` away"];
    assert_eq!(loaded.told(), told);
    assert!(read("disallowedTools: Bash(*)").told().is_empty());
}
