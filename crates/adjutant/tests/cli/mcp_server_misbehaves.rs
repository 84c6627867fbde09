//! Servers that speak the Model Context Protocol, as a run has them: shared by the tree, started
//! again, left out, filtered and judged.

use std::{fs, path::PathBuf};

use adjutant_core::{Digest, EventKind, Message};

use crate::support::{Done, World};

/// A server in a shell: it notes each start, and has three tools.
const SERVER: &str = r#"
echo $$ >> "$STARTS"
schema='{"type":"object"}'
tools='[{"name":"look","inputSchema":'$schema'},{"name":"crash","inputSchema":'$schema'},'
tools=$tools'{"name":"ask","inputSchema":'$schema'}]'
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},'
        result=$result'"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":'$tools'}' ;;
    *'"name":"crash"'*) exit 1 ;;
    *'"name":"ask"'*)
        schema='{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}'
        params='{"message":"Who are you?","requestedSchema":'$schema'}'
        echo '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":'$params'}'
        read -r answer
        case $answer in
        *'"age":42'*) text='is 42' ;;
        *'"action":"cancel"'*) text='nobody is there' ;;
        *) text='is something else' ;;
        esac
        result='{"content":[{"type":"text","text":"'$text'"}]}' ;;
    *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"seen"}]}' ;;
    *) continue ;;
    esac
    echo '{"jsonrpc":"2.0","id":'$id',"result":'$result'}'
done
# An end of the input is not the end for everybody.
exec sleep 1000
"#;

/// A root and a child who both look.
const BOTH_LOOK: &str = r#"
[[reply]]
agent = "root"
calls = [{ tool = "mcp__s__look" }, { tool = "sub_agent", args = { prompt = "look too" } }]

[[reply]]
task = "look too"
calls = [{ tool = "mcp__s__look" }]

[[reply]]
times = "any"
text = "done"
"#;

/// A root that calls two tools, one after the other.
fn calling(first: &str, second: &str) -> String {
    format!(
        "[[reply]]\ncalls = [{{ tool = '{first}' }}]\n[[reply]]\ncalls = [{{ tool = '{second}' }}]\n\
         [[reply]]\ntext = 'done'\n"
    )
}

struct Served {
    world: World,
    directory: PathBuf,
}

impl Served {
    /// A world with a server `s`, of which more is said.
    fn new(more: &str) -> Self {
        let world = World::new().file("server.sh", SERVER);
        let directory = world.project_directory().join("src/deep");
        let place = directory.display();
        let user = format!(
            "[mcp.s]\ncommand = '/bin/sh'\nargs = ['{place}/server.sh']\n\
             env = {{ STARTS = '{place}/starts' }}\n{more}\n"
        );
        Self { world: world.user(&user), directory }
    }

    /// A world whose project brings the server along.
    fn in_project() -> Self {
        let world = World::new().file("server.sh", SERVER).file(".mcp.json", PROJECT_FILE);
        let directory = world.project_directory().join("src/deep");
        Self { world, directory }
    }

    fn script(self, script: &str) -> Self {
        Self { world: self.world.script(script), ..self }
    }

    /// Returns the processes the server has had.
    fn starts(&self) -> Vec<String> {
        let starts = fs::read_to_string(self.directory.join("starts")).unwrap_or_default();
        starts.lines().map(str::to_owned).collect()
    }

    /// Writes down that the person agreed to a file of servers.
    fn agree(&self, content: &str) {
        let (home, digest) =
            (self.world.data_home().join("adjutant"), Digest::of(content.as_bytes()));
        let book = format!("[projects.\"{}\"]\nmcp = \"{digest}\"\n", self.directory.display());
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("trusted.toml"), book).unwrap();
    }

    /// Runs to a good end and returns what calls came to, and what was said besides.
    fn results(&self, flags: &[&str]) -> (Vec<String>, Done) {
        let done = self.world.run(&[&["run", "--events", "go"], flags].concat());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let mut results = Vec::new();
        for event in done.events() {
            if let EventKind::Said { message } = &event.kind
                && let Message::Tools { results: all } = &**message
            {
                results.extend(all.iter().map(|result| result.text.clone()));
            }
        }
        (results, done)
    }
}

const PROJECT_FILE: &str = r#"{ "mcpServers": { "s": {
    "command": "/bin/sh", "args": ["server.sh"], "env": { "STARTS": "${PLACE:-.}/starts" }
} } }"#;

#[test]
fn the_whole_tree_shares_one_process_that_ends_with_it() {
    let served = Served::new("effect = 'read'").script(BOTH_LOOK);
    let (results, _) = served.results(&[]);
    assert_eq!(results.iter().filter(|text| *text == "seen").count(), 2, "{results:?}");
    let starts = served.starts();
    assert_eq!(starts.len(), 1);
    assert!(!PathBuf::from("/proc").join(&starts[0]).exists());
}

#[test]
fn a_server_that_crashes_is_started_again_for_the_next_call() {
    let script = calling("mcp__s__crash", "mcp__s__look");
    let served = Served::new("effect = 'read'").script(&script);
    let (results, _) = served.results(&[]);
    assert!(results[0].contains("ended before it had answered"), "{results:?}");
    assert_eq!((results[1].as_str(), served.starts().len()), ("seen", 2));
}

#[test]
fn a_server_that_cannot_be_used_is_a_warning_unless_it_is_required() {
    let broken = "[mcp.s]\ncommand = '/bin/sh'\nargs = ['-c', 'echo no licence >&2; exit 3']\n";
    let world = World::new().script("[[reply]]\ntext = 'done'").user(broken);
    let done = world.run(&["run", "--quiet", "go"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"));
    let warning = "warning: MCP server `s` cannot be used: ";
    assert!(done.stderr.starts_with(warning), "{}", done.stderr);
    assert!(done.stderr.ends_with("it said: no licence\n"), "{}", done.stderr);
    assert_eq!(done.stderr.matches("warning: ").count(), 1, "{}", done.stderr);

    let world = World::new().script("[[reply]]\ntext = 'done'").user(broken);
    let refusal = world.refused(&["run", "go", "-c", "mcp.s.required=true"]);
    assert!(refusal.contains("MCP server `s` cannot be used"), "{refusal}");
    assert!(refusal.contains("no licence"), "{refusal}");
}

#[test]
fn what_a_project_brings_along_is_not_started_before_somebody_agreed() {
    let served = Served::in_project().script(&calling("mcp__s__look", "list_dir"));
    let auto = ["-c", "mode=dangerous"];
    let (results, done) = served.results(&auto);
    assert!(results[0].contains("there is no tool named `mcp__s__look`"), "{results:?}");
    let warning =
        "names servers that are not started until you trust this project: `adjutant trust`";
    assert!(done.stderr.contains(warning), "{}", done.stderr);
    assert_eq!(served.starts().len(), 0);

    served.agree("another content");
    assert!(served.results(&auto).1.stderr.contains(warning));
    assert_eq!(served.starts().len(), 0);

    served.agree(PROJECT_FILE);
    let (results, done) = served.results(&auto);
    assert_eq!((results[0].as_str(), served.starts().len()), ("seen", 1));
    assert!(!done.stderr.contains(warning), "{}", done.stderr);
}

#[test]
fn the_users_own_server_counts_before_the_projects() {
    let served = Served::new("effect = 'read'").script(&calling("mcp__s__look", "list_dir"));
    let served = Served { world: served.world.file(".mcp.json", PROJECT_FILE), ..served };
    let (results, done) = served.results(&[]);
    assert_eq!((results[0].as_str(), served.starts().len()), ("seen", 1));
    assert!(!done.stderr.contains("trust"), "{}", done.stderr);
    served.agree(PROJECT_FILE);
    fs::remove_file(served.directory.join("starts")).unwrap();
    let (results, done) = served.results(&[]);
    assert_eq!((results[0].as_str(), served.starts().len()), ("seen", 1));
    assert!(!done.stderr.contains("trust"), "{}", done.stderr);
}

#[test]
fn only_the_tools_that_were_asked_for_are_offered() {
    let served = Served::new("effect = 'read'\ntools = ['lo*']");
    let served = served.script(&calling("mcp__s__crash", "mcp__s__look"));
    let (results, _) = served.results(&[]);
    assert!(results[0].contains("there is no tool named `mcp__s__crash`"), "{results:?}");
    assert_eq!((results[1].as_str(), served.starts().len()), ("seen", 1));
}

#[test]
fn each_tool_is_judged_by_its_name() {
    let script = calling("mcp__s__look", "mcp__s__crash");
    let served = Served::new("").script(&script);
    let allow = ["-c", "permissions.allow=['mcp__s__look']"];
    let (results, _) = served.results(&allow);
    assert_eq!(results[0], "seen");
    assert!(results[1].contains("nobody is there to allow it"), "{results:?}");

    let deny = ["-c", "mode=dangerous", "-c", "permissions.deny=['mcp__s__cr*']"];
    let (results, _) = served.results(&deny);
    assert_eq!(results[0], "seen");
    assert!(results[1].contains("rule `mcp__s__cr*`"), "{results:?}");
}

#[test]
fn a_server_nobody_may_use_is_not_started() {
    let script = "[[reply]]\ntext = 'done'";
    let cases = [
        ("tools = []", "mode=dangerous"),
        ("[permissions]\ndeny = ['mcp__s__*']", "mode=dangerous"),
        ("effect = 'write'", "mode=plan"),
    ];
    for (more, mode) in cases {
        let served = Served::new(more).script(script);
        served.results(&["-c", mode]);
        assert_eq!(served.starts().len(), 0, "{more}");
    }
    let served = Served::new("effect = 'read'").script(script);
    served.results(&["-c", "mode=plan"]);
    assert_eq!(served.starts().len(), 1);
}

#[test]
fn a_server_that_is_required_and_of_no_use_is_an_error() {
    for (more, mode) in [("required = true", "plan"), ("required = true\ntools = []", "auto")] {
        let served = Served::new(more).script("[[reply]]\ntext = 'done'");
        let stderr = served.world.refused(&["run", "--mode", mode, "go"]);
        assert!(
            stderr.contains("MCP server `s` is `required`, and no agent may use it"),
            "{stderr}"
        );
        assert_eq!(served.starts().len(), 0);
    }
}

#[test]
fn a_server_that_asks_hears_that_nobody_is_there() {
    let served = Served::new("effect = 'read'").script(&calling("mcp__s__ask", "list_dir"));
    let (results, _) = served.results(&[]);
    assert_eq!(results[0], "nobody is there");
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_server_asks_reaches_the_person() {
    use crate::{support::PROGRAM, terminal::Terminal};
    let served = Served::new("effect = 'read'").script(&calling("mcp__s__ask", "list_dir"));
    let mut terminal = Terminal::start(&served.world, &[PROGRAM, "run", "go"]);
    terminal.wait_for("MCP server `s` asks: Who are you?");
    terminal.type_in("old\n");
    terminal.wait_for("That does not fit: expected a whole number");
    terminal.type_in("42\n");
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    let results = served.world.journal();
    let is_told = |kind: &EventKind| match kind {
        EventKind::Said { message } => match &**message {
            Message::Tools { results } => results.iter().any(|result| result.text == "is 42"),
            Message::User { .. } | Message::Assistant { .. } => false,
        },
        _ => false,
    };
    assert!(results.iter().any(|event| is_told(&event.kind)), "{screen}");
}

#[test]
fn what_cannot_be_a_server_is_refused_with_its_place() {
    let cases = [
        ("[mcp.s]\ntimeout = 3", "config.toml:2: `mcp.s` has neither `command` nor `url`"),
        ("[mcp.s]\nurl = 'ftp://x'", "`mcp.s` has a `url` that begins with neither"),
        ("[mcp.s]\ncommand = 'a'\nurl = 'http://b'", "`mcp.s` has both `command` and `url`"),
        ("[mcp.s]\neffect = 'execute'", "`mcp.s.effect` must be one of `read`, `write`, `reach`"),
        ("[mcp.s]\nrequired = 'yes'", "`mcp.s.required` must be `true` or `false`"),
        ("[mcp.s]\nargs = 'a'", "`mcp.s.args` must be a list of strings"),
        ("[mcp.s]\ntools = ['[']", "`mcp.s.tools` has an entry that cannot be read"),
        ("[mcp.s]\nenv = { A = 3 }", "`mcp.s.env` must have a string for `A`"),
        ("[mcp.s]\ncomand = 'a'", "did you mean `mcp.s.command`?"),
        ("[mcp.'S s']\ncommand = 'a'", "`S s` cannot be the name of a server"),
        ("permissions.deny = ['mcp__s__look(x)']", "servers' tools have none"),
    ];
    for (user, why) in cases {
        let refusal = World::new().script("").user(user).refused(&["run", "go"]);
        assert!(refusal.contains(why), "{refusal}");
    }
    let project = World::new().script("").project("[mcp.s]\ncommand = 'a'");
    let refusal = project.refused(&["run", "go"]);
    assert!(refusal.contains("a project may not set `mcp.s.command`"), "{refusal}");
}

#[test]
fn secrets_of_servers_are_not_shown() {
    let user = "[mcp.s]\ncommand = 'a'\nenv = { TOKEN = 'hush' }\n\
                [mcp.t]\nurl = 'http://h'\nheaders = { A = 'hush' }";
    let world = World::new().user(user);
    let shown = world.run(&["config"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("mcp.s.env") && shown.stdout.contains("TOKEN"));
    assert!(!shown.stdout.contains("hush"), "{}", shown.stdout);
}
