use std::{fs, path::Path, time::Duration};

use adjutant_core::{Backoff, Effort};

use super::*;

fn written(text: &str) -> Written {
    let (file, owner) = ("/agents/reviewer.toml".into(), crate::agents::definition::Owner::User);
    Written { file, owner, name: "reviewer".to_owned(), text: text.to_owned() }
}

/// Reads an agent in which nothing is wrong, and returns it with what is odd.
fn loaded(text: &str) -> (Definition, Vec<String>) {
    let (definition, problems) = read(&written(text));
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    (definition.unwrap_or_else(|| panic!("{text}: {problems:?}")), problems)
}

/// Reads an agent that is refused, and returns what is wrong with it.
fn refused(text: &str) -> Vec<String> {
    let (definition, problems) = read(&written(text));
    assert!(definition.is_none(), "{text}");
    let said = |problem: &Problem| match &problem.hint {
        Some(hint) => format!("{problem} ({hint})"),
        None => problem.to_string(),
    };
    problems.iter().map(said).collect()
}

/// An agent with every field.
const WHOLE: &str = r#"
        name = "reviewer"
        description = "Reviews."
        system_prompt = "You review."
        model = "anthropic/x"
        skill = "review"
        files = ["a.md"]
        workdir = "src"
        tools = ["Bash", "read_file"]
        mode = "plan"
        allowed_hosts = ["docs.rs"]
        timeout = 30
        sub_agents = ["helper"]
        isolation = "worktree"
        agents_md = false
        stream = true
        [sub_agents_config]
        max_depth = 0
        parallel = false
        timeout = 9
        [permissions]
        allow = ["read_file"]
        ask = ["write_file"]
        deny = ["delete_file"]
        only = ["run_command(git *)"]
        [params]
        temperature = 0
        top_p = 1.0
        max_tokens = 1_000
        effort = "high"
        [budget]
        max_tokens = 5
        usd = 0.25
        time = 20
        turns = 6
        calls = 7
        [retry]
        max_retries = 0
        backoff = "linear"
        initial_delay_ms = 10
        max_delay_ms = 20
        [memory]
        enabled = true
        path = "m.md"
        last_n = 0
        max_entries = 3
        store_input = true
        [artifacts]
        enabled = true
        dir = "out"
        [variables]
        plain = "x"
        open = { description = "d" }
        blank = { required = false }
        [output_schema]
        type = "object"
        "#;

#[test]
fn every_field_about_what_an_agent_is_and_may_do_is_read() {
    let (agent, problems) = loaded(WHOLE);
    assert_eq!(problems, [""; 0]);
    assert_eq!((&*agent.description, &*agent.prompt), ("Reviews.", "You review."));
    assert_eq!(agent.model.as_deref(), Some("anthropic/x"));
    assert_eq!((agent.skills, agent.files), (vec!["review".to_owned()], vec!["a.md".to_owned()]));
    assert_eq!(agent.workdir.as_deref(), Some(Path::new("src")));
    assert_eq!(agent.access.names().collect::<Vec<_>>(), ["Bash", "read_file"]);
    assert_eq!((agent.mode, agent.isolation), (Some(Mode::Plan), Isolation::Worktree));
    assert_eq!(agent.guidance, Guidance::Omitted);
    let Rules { allow, ask, deny, only } = &agent.rules;
    assert_eq!((allow.len(), ask.len(), deny.len()), (1, 1, 1));
    let only: Vec<_> = only.iter().map(ToString::to_string).collect();
    let hosts = ["web_fetch(http://docs.rs/*)", "web_fetch(https://docs.rs/*)"];
    assert_eq!(only, ["run_command(git *)", hosts[0], hosts[1]]);
}

#[test]
fn every_field_about_limits_is_read() {
    let (agent, _) = loaded(WHOLE);
    let allowance = agent.allowance;
    let numbers = [allowance.tokens, allowance.micros, allowance.millis, allowance.turns];
    assert_eq!(numbers.map(|it| it.map(u64::from)), [5, 250_000, 20_000, 6].map(Some));
    assert_eq!(allowance.calls.map(u64::from), Some(7));
    assert_eq!(agent.callable, Callable::Only(vec!["helper".to_owned()]));
    assert_eq!(agent.children, Children { depth: Some(0), timeout: NonZeroU64::new(9) });
    let manner = agent.manner;
    assert_eq!((manner.calls, manner.effort), (Calls::OneByOne, Some(Effort::High)));
    assert_eq!(manner.temperature.and_then(|it| it.as_u64()), Some(0));
    assert_eq!(manner.top_p.and_then(|it| it.as_f64()), Some(1.0));
    assert_eq!(manner.max_output.map(u64::from), Some(1000));
    let retry = manner.retry.unwrap();
    assert_eq!((retry.attempts, retry.backoff), (1, Backoff::Linear));
    assert_eq!((retry.base, retry.cap), (Duration::from_millis(10), Duration::from_millis(20)));
}

#[test]
fn every_field_about_what_is_kept_or_put_in_is_read() {
    let (agent, _) = loaded(WHOLE);
    let memory = agent.memory.unwrap();
    assert_eq!((memory.path, memory.last), (Some("m.md".into()), None));
    assert_eq!((memory.most.get(), memory.input), (3, Input::Kept));
    assert_eq!(agent.artifacts.unwrap().directory, Some("out".into()));
    let default = |name: &str| agent.variables[name].default.clone();
    assert_eq!((default("plain"), default("open")), (Some("x".to_owned()), None));
    assert_eq!(default("blank"), Some(String::new()));
    assert_eq!(agent.schema.unwrap()["type"], "object");
    assert_eq!(agent.origin.lines["params.top_p"], 28);
}

#[test]
fn a_prompt_alone_is_an_agent_that_narrows_nothing() {
    let (agent, problems) = loaded("system_prompt = 'x'");
    assert_eq!((&*agent.name, problems.len()), ("reviewer", 0));
    assert_eq!((agent.access, agent.mode), (Access::Inherit, None));
    assert_eq!((agent.callable, agent.guidance), (Callable::Nobody, Guidance::Told));
    assert!(agent.manner.retry.is_none() && agent.memory.is_none() && agent.artifacts.is_none());
    let (agent, _) = loaded("tools = []\nsub_agents = []\nskill = ['a', 'b']\n");
    assert_eq!(agent.access, Access::AllowList { tools: Default::default() });
    assert_eq!((agent.callable, agent.skills.len()), (Callable::Nobody, 2));
}

/// Lines that are wrong, and what is said of them.
const WRONG: &[(&str, &str)] = &[
    ("name = 'a b'", "`name` is `a b`, but a name is one word"),
    ("name = ''", "`name` must not be empty"),
    ("name = '../x'", "no path"),
    ("name = 3", "`name` has to be text"),
    ("description = []", "`description` has to be text"),
    ("model = ' '", "`model` must not be empty"),
    ("system_prompt = true", "`system_prompt` has to be text"),
    ("skill = [1]", "`skill` has to be text or a list of texts"),
    ("files = 'a'", "`files` has to be a list of texts"),
    ("workdir = ''", "`workdir` must not be empty"),
    ("tools = 'all'", "`tools` has to be a list of texts"),
    ("tools = ['call_agent']", "comes by itself where `sub_agents` names agents"),
    ("tools = ['Bash(git *)']", "`permissions.only` takes patterns"),
    ("tools = ['']", "a name that is empty"),
    ("mode = 'yolo'", "`mode` is `yolo`; there are: `plan`, `ask`, `auto`, `dangerous`"),
    ("permissions.deny = ['(']", "`permissions.deny` has a wrong rule"),
    ("permissions.denny = []", "did you mean `permissions.deny`?"),
    ("permissions = 'none'", "`permissions` has to be a table"),
    ("allowed_hosts = ['*.rs']", "`allowed_hosts` has `*.rs`, which is no host"),
    ("allowed_hosts = []", "names no host"),
    ("timeout = 0", "`timeout` has to be a whole number of seconds, from 1"),
    ("timeout = 1e3", "`timeout` has to be"),
    ("timeout = 99999999999", "`timeout` has to be"),
    ("sub_agents = 'a'", "`sub_agents` has to be a list of texts"),
    ("sub_agents = ['a/b']", "`sub_agents` has a name that is `a/b`"),
    ("sub_agents_config.max_depth = 6", "`sub_agents_config.max_depth` cannot exceed 5"),
    ("sub_agents_config.max_depth = 300", "cannot exceed 5"),
    ("sub_agents_config.max_depth = -1", "has to be a whole number"),
    ("sub_agents_config.parallel = 1", "has to be `true` or `false`"),
    ("sub_agents_config.timeout = 0", "has to be a whole number of seconds"),
    ("params.temperature = 2.1", "has to be a number from 0 to 2"),
    ("params.temperature = nan", "has to be a number from 0 to 2"),
    ("params.top_p = -0.1", "has to be a number from 0 to 1"),
    ("params.max_tokens = 0", "has to be a whole number of at least 1"),
    ("params.effort = 'max'", "`params.effort` is `max`; there are: `low`"),
    ("params.response_format = 'json'", "`output_schema` has the answer fit a JSON Schema"),
    ("temperature = 1", "did you mean `params.temperature`?"),
    ("budget.usd = 0", "has to be a number from 0.000001"),
    ("budget.max_tokens = 0.5", "has to be a whole number"),
    ("budget.time = 0", "has to be a whole number of seconds"),
    ("budget.turns = 0", "has to be a whole number"),
    ("budget.calls = 0", "has to be a whole number"),
    ("retry.max_retries = 99999999999", "is more than can be counted"),
    ("retry.backoff = 'never'", "`retry.backoff` is `never`; there are: `exponential`"),
    ("retry.initial_delay_ms = 99999999999", "is longer than a day"),
    ("retry.max_delay_ms = 1", "is shorter than the first pause"),
    ("memory.enabled = 'yes'", "`memory.enabled` has to be"),
    ("memory.last_n = -1", "`memory.last_n` has to be"),
    ("memory.max_entries = 0", "`memory.max_entries` has to be"),
    ("memory.store_input = 0", "`memory.store_input` has to be"),
    ("memory.path = ''", "`memory.path` must not be empty"),
    ("artifacts.enabled = 1", "`artifacts.enabled` has to be"),
    ("artifacts.dir = 1", "`artifacts.dir` has to be"),
    ("artifacts.default_write = true", "the tool `write_artifact`"),
    ("variables.x = 1", "`variables.x` has to be text, or a table"),
    ("variables.'a b' = ''", "is no name for a variable"),
    ("variables.x = { defualt = '' }", "has `defualt`, which is not known"),
    ("variables.x = { default = '', required = true }", "so it is not `required`"),
    ("variables.x = { default = 1 }", "has a `default` that is no text"),
    ("variables.x = { required = 'no' }", "has a `required` that is not"),
    ("isolation = 'container'", "`isolation` is `container`; there are: `shared`"),
    ("agents_md = 'no'", "`agents_md` has to be"),
    ("stream = false", "is always taken while it says it"),
    ("output_schema = 3", "has to be a table, or the path of a JSON file"),
    ("output_schema = { type = 'objekt' }", "`output_schema` is no valid JSON Schema"),
    ("output_schema = 'gone.json'", "`output_schema` is `gone.json`, but"),
    ("colour = 'red'", "`colour` is not known"),
    ("name =", "is not TOML"),
];

#[test]
fn a_field_that_is_wrong_is_told_with_its_line() {
    for (line, expected) in WRONG {
        let mut said = refused(&format!("# first\n\n{line}\n"));
        said.retain(|it| it.contains(" error: "));
        assert_eq!(said.len(), 1, "{line}: {said:?}");
        assert!(said[0].starts_with("/agents/reviewer.toml:3: error: "), "{line}: {said:?}");
        assert!(said[0].contains(expected), "{line}: {said:?}");
    }
}

#[test]
fn an_item_of_a_list_is_told_with_its_own_line() {
    let said =
        refused("tools = [\n  'read_file',\n  'call_agent',\n]\n[permissions]\ndeny = [\n'(',\n]");
    assert!(said[0].starts_with("/agents/reviewer.toml:3: "), "{said:?}");
    assert!(said[1].starts_with("/agents/reviewer.toml:7: "), "{said:?}");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    assert_eq!(
        refused("mode = 'x'\ntimeout = 0\nfoo = 1\n[params]\ntop_p = 9\nbar = 2\n").len(),
        5
    );
}

#[test]
fn what_is_odd_is_told_and_holds() {
    let odd = [
        ("name = 'other'", "`name` is `other`, and the file is called `reviewer`"),
        ("memory.last_n = 3", "`memory.enabled` is not `true`"),
        ("artifacts.dir = 'x'", "`artifacts.enabled` is not `true`"),
        ("sub_agents_config.timeout = 3", "is about nobody"),
    ];
    for (line, expected) in odd {
        let (_, said) = loaded(&format!("system_prompt = 'x'\n{line}"));
        assert_eq!(said.len(), 1, "{line}: {said:?}");
        assert!(said[0].contains(" warning: ") && said[0].contains(expected), "{line}: {said:?}");
    }
}

#[test]
fn hosts_are_said_in_one_place() {
    let both = "allowed_hosts = ['docs.rs']\npermissions.only = ['web_*(https://x/*)']";
    assert!(refused(both)[0].contains("say it in one of them"));
}

#[test]
fn a_schema_may_be_in_a_file_beside_the_agents() {
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("project");
    fs::create_dir(&project).unwrap();
    let schema = |name: &str, text: &str| fs::write(project.join(name), text).unwrap();
    schema("good.json", r#"{"type": "object"}"#);
    schema("bad.json", "{\n\"type\": }");
    schema("odd.json", r#"{"type": "objekt"}"#);
    fs::write(directory.path().join("outside.json"), "{}").unwrap();
    let read = |name: &str| {
        let owner = crate::agents::definition::Owner::Project(project.clone());
        let text = format!("system_prompt = 'x'\noutput_schema = '{name}'");
        let written = Written { file: project.join("a.toml"), owner, ..written(&text) };
        let written = Written { name: "a".to_owned(), ..written };
        let (definition, problems) = read(&written);
        (definition.and_then(|it| it.schema), problems.first().map(ToString::to_string))
    };
    assert_eq!(read("good.json").0.unwrap()["type"], "object");
    let wrong = |name: &str| read(name).1.unwrap();
    assert!(wrong("bad.json").contains("bad.json:2: error: is not JSON"), "{}", wrong("bad.json"));
    assert!(wrong("odd.json").contains("a.toml:2: error: `output_schema` is no valid"));
    assert!(wrong("../outside.json").contains("a.toml:2: error: "));
    assert!(wrong("../outside.json").contains("is outside the project"));
}

#[cfg(feature = "mcp")]
#[test]
fn servers_are_read_and_what_is_wrong_with_one_is_told_where_it_is() {
    let (agent, problems) = loaded(
        "system_prompt = 'x'\n[[mcp_servers]]\nname = 'docs'\ntransport = 'streamable-http'\n\
         url = 'https://docs.example/mcp'\nheaders = { A = 'b' }\n\
         [[mcp_servers]]\nname = 'local'\ncommand = 'x'\nargs = ['y']\nenv = { Z = '1' }",
    );
    let names: Vec<_> = agent.servers.iter().map(|server| server.name()).collect();
    assert_eq!((names, problems.len()), (vec!["docs", "local"], 0));
    let first = "[[mcp_servers]]\nname = 'a'\ncommand = 'x'\n";
    let wrong = [
        ("[[mcp_servers]]\ncommand = 'x'", 4, "has no `name`"),
        ("[[mcp_servers]]\nname = 'a'\ncommand = 'y'", 4, "has the name of another"),
        ("[[mcp_servers]]\nname = 'b'", 4, "has neither `command` nor `url`"),
        (
            "[[mcp_servers]]\nname = 'b'\nurl = 'https://x/'\ntransport = 'sse'",
            7,
            "not spoken here",
        ),
        ("[[mcp_servers]]\nname = 'b'\ncommand = 'x'\ntransport = 'http'", 7, "needs a `url`"),
        ("[[mcp_servers]]\nname = 'b'\nurl = 'https://x/'\ntransport = 'stdio'", 7, "a `command`"),
        ("[[mcp_servers]]\nname = 'b'\ncommand = 'x'\nenv = { A = 1 }", 7, "a table of texts"),
        ("[[mcp_servers]]\nname = 'b'\ncommand = 'x'\ntimout = 1", 7, "is not known"),
    ];
    for (text, line, expected) in wrong {
        let said = refused(&format!("{first}{text}"));
        assert!(said[0].contains(expected), "{text}: {said:?}");
        assert!(said[0].starts_with(&format!("/agents/reviewer.toml:{line}: ")), "{said:?}");
    }
    assert!(refused("mcp_servers = 'x'")[0].contains("has to be a list of tables"));
}

#[test]
fn no_text_makes_it_panic() {
    let pieces = [
        "name",
        "=",
        "[",
        "]",
        "[[mcp_servers]]",
        "'",
        "\"",
        "{",
        "}",
        ".",
        "\n",
        "1",
        "é",
        "params",
        "true",
        "#",
        "-",
        "1979-05-27",
        "inf",
        "output_schema",
        "variables",
        ",",
    ];
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..2000 {
        let length = random.usize(0..12);
        let text: String = (0..length).map(|_| pieces[random.usize(0..pieces.len())]).collect();
        let (definition, problems) = read(&written(&text));
        let is_refused = problems.iter().any(|it| it.severity == Severity::Error);
        assert_eq!(definition.is_none(), is_refused, "{text}");
    }
}

#[test]
fn an_agent_says_something_to_its_model() {
    let silent = "/agents/reviewer.toml: error: says nothing to its model: it has neither \
                  `system_prompt` nor `skill`";
    for text in ["", "system_prompt = ' '", "description = 'd'\nskill = []"] {
        assert_eq!(refused(text), [silent], "{text}");
    }
    loaded("skill = 'a'");
    let said = refused("system_promt = 'x'");
    assert!(said.len() == 1 && said[0].contains("`system_promt` is not known"), "{said:?}");
}
