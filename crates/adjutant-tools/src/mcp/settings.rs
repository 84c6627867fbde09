//! What is said of a server before it is started.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use adjutant_core::Effect;
use globset::{Glob, GlobMatcher};
use reqwest::{Url, header::HeaderName};

use super::{
    expand::expand,
    name::{LONGEST_SERVER, prefix},
};

/// How long a call may take where nobody says.
const CALL: Duration = Duration::from_secs(60);
/// How long a server may take to start where nobody says.
const START: Duration = Duration::from_secs(10);

/// Headers that are part of what is spoken with a server.
const SPOKEN: [&str; 6] = [
    "accept",
    "content-length",
    "content-type",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
];

/// What a person or a project wrote about a server.
#[derive(Clone, Debug, Default)]
pub struct ServerSettings {
    /// The program to start.
    pub command: Option<String>,
    /// What it is told.
    pub args: Vec<String>,
    /// What it has in its environment, besides what every program needs.
    pub env: Private,
    /// Where the server is, if it is not started.
    pub url: Option<String>,
    /// What goes with each request to it.
    pub headers: Private,
    /// Which of its tools are offered; without a list, all.
    pub tools: Option<Vec<ToolPattern>>,
    /// What becomes of the run if the server cannot be used.
    pub on_failure: OnFailure,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// How long it may take to start.
    pub startup_timeout: Option<Duration>,
    /// What its tools are judged by.
    pub effect: Option<Effect>,
}

/// What becomes of a run without one of its servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It goes on, with a warning.
    #[default]
    Warn,
    /// It fails.
    Fail,
}

/// Names with values that are shown to nobody.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Private(pub BTreeMap<String, String>);

impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A glob that tells which tools of a server are offered, by the server's own names.
#[derive(Clone, Debug)]
pub struct ToolPattern(GlobMatcher);

impl PartialEq for ToolPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.glob() == other.0.glob()
    }
}

impl FromStr for ToolPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let glob = Glob::new(text).map_err(|error| format!("`{text}`: {}", error.kind()))?;
        Ok(Self(glob.compile_matcher()))
    }
}

/// A server that can be started.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub(crate) name: String,
    pub(crate) reach: Reach,
    /// Where its program runs; without it, where the session does.
    pub(crate) directory: Option<PathBuf>,
    tools: Option<Vec<ToolPattern>>,
    pub(crate) on_failure: OnFailure,
    pub(crate) timeout: Duration,
    pub(crate) startup_timeout: Duration,
    pub(crate) effect: Effect,
    /// The named agents that alone have its tools; without them, all.
    users: Option<BTreeSet<String>>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reach {
    /// It is started, and spoken to through pipes.
    Process { command: String, args: Vec<String>, env: Private },
    /// It runs somewhere.
    Http { url: String, headers: Private },
}

impl Server {
    /// Makes a server of what was written about it, or says what is wrong with that.
    pub fn new(name: &str, settings: ServerSettings) -> Result<Self, String> {
        check_name(name)?;
        let ServerSettings { tools, on_failure, timeout, startup_timeout, effect, .. } = &settings;
        Ok(Self {
            name: name.to_owned(),
            tools: tools.clone(),
            on_failure: *on_failure,
            timeout: timeout.unwrap_or(CALL),
            startup_timeout: startup_timeout.unwrap_or(START),
            effect: effect.unwrap_or(Effect::Reach),
            directory: None,
            users: None,
            reach: Reach::new(settings)?,
        })
    }

    /// Returns the server with its program running in a directory of its own.
    pub(crate) fn at(self, directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()), ..self }
    }

    /// Returns the server for these named agents alone.
    #[must_use]
    pub fn only_for(self, users: BTreeSet<String>) -> Self {
        Self { users: Some(users), ..self }
    }

    /// Reports whether some named agents alone have its tools.
    pub fn is_private(&self) -> bool {
        self.users.is_some()
    }

    /// Reports whether its tools are for the agent of that name; `None` is one without a name.
    pub fn is_for(&self, agent: Option<&str>) -> bool {
        let has = |users: &BTreeSet<String>| agent.is_some_and(|agent| users.contains(agent));
        self.users.as_ref().is_none_or(has)
    }

    /// Returns where its program runs, if that is not where the session does.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns what its program is told, with its name and its environment; nothing if there is
    /// no program, or none that could be started.
    pub fn words(&self, variables: &BTreeMap<String, String>) -> Vec<String> {
        match self.reach.expanded(variables) {
            Ok(Reach::Process { command, args, env }) => {
                std::iter::once(command).chain(args).chain(env.0.into_values()).collect()
            }
            Ok(Reach::Http { .. }) | Err(_) => Vec::new(),
        }
    }

    /// Returns what is started as it was written: what variables hold may be secret.
    pub(crate) fn written(&self) -> String {
        match &self.reach {
            Reach::Process { command, args, .. } => {
                std::iter::once(command).chain(args).cloned().collect::<Vec<_>>().join(" ")
            }
            Reach::Http { url, .. } => url.clone(),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what the names of all its tools begin with.
    pub fn prefix(&self) -> String {
        prefix(&self.name)
    }

    /// Returns what its tools are judged by.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns what becomes of a run without it.
    pub fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// Reports whether a tool of the server is offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|glob| glob.0.is_match(tool)))
    }

    /// Reports whether no tool is offered, whatever the server has.
    pub fn offers_none(&self) -> bool {
        self.tools.as_ref().is_some_and(Vec::is_empty)
    }
}

impl Reach {
    /// Puts the values of variables into what was written.
    pub(crate) fn expanded(&self, variables: &BTreeMap<String, String>) -> Result<Self, String> {
        let expanded = |key: &str, text: &str| {
            expand(text, variables).map_err(|why| format!("its `{key}` {why}"))
        };
        let all = |key: &str, of: &Private| {
            let pairs = of.0.iter();
            let pairs = pairs.map(|(name, value)| Ok((name.clone(), expanded(key, value)?)));
            pairs.collect::<Result<_, String>>().map(Private)
        };
        Ok(match self {
            Self::Process { command, args, env } => Self::Process {
                command: expanded("command", command)?,
                args: args.iter().map(|word| expanded("args", word)).collect::<Result<_, _>>()?,
                env: all("env", env)?,
            },
            Self::Http { url, headers } => {
                Self::Http { url: expanded("url", url)?, headers: all("headers", headers)? }
            }
        })
    }

    fn new(settings: ServerSettings) -> Result<Self, String> {
        let ServerSettings { command, args, env, url, headers, .. } = settings;
        let refuse = |is_there: bool, what: &str, of: &str| match is_there {
            true => Err(format!("has `{what}`, which a server with `{of}` has no use for")),
            false => Ok(()),
        };
        match (command, url) {
            (Some(_), Some(_)) => Err("has both `command` and `url`: expected one".to_owned()),
            (None, None) => Err("has neither `command` nor `url`: expected one".to_owned()),
            (Some(command), None) => {
                refuse(!headers.0.is_empty(), "headers", "command")?;
                Ok(Self::Process { command, args, env })
            }
            (None, Some(url)) => {
                refuse(!args.is_empty(), "args", "url")?;
                refuse(!env.0.is_empty(), "env", "url")?;
                check_url(&url)?;
                check_headers(&headers)?;
                Ok(Self::Http { url, headers })
            }
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("has a name that nobody could write".to_owned());
    }
    if name.chars().count() > LONGEST_SERVER {
        return Err(format!("has too long a name: {LONGEST_SERVER} characters at most"));
    }
    Ok(())
}

/// Checks an address, unless only its variables make it one.
fn check_url(url: &str) -> Result<(), String> {
    if url.contains("${") {
        return Ok(());
    }
    parse_url(url).map(|_| ())
}

pub(crate) fn parse_url(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| format!("has a `url` that is none: {error}"))?;
    match parsed.scheme() {
        "http" | "https" if parsed.has_host() => Ok(parsed),
        _ => Err("has a `url` that begins with neither `http://` nor `https://`".to_owned()),
    }
}

/// Refuses headers that are none, and those that are part of what is spoken.
fn check_headers(headers: &Private) -> Result<(), String> {
    for name in headers.0.keys() {
        let wrong = |what: &str| Err(format!("has `{name}` in `headers`, {what}"));
        match HeaderName::from_str(name) {
            Err(_) => return wrong("and that is no header"),
            Ok(header) if SPOKEN.contains(&header.as_str()) => {
                return wrong("which is not for anybody to set");
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

impl fmt::Display for Server {
    /// Tells what would be started or spoken to, as it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = match &self.reach {
            Reach::Process { command, args, env } => {
                let env = env.0.iter().map(|(name, value)| quoted(&format!("{name}={value}")));
                env.chain(std::iter::once(command).chain(args).map(|word| quoted(word))).collect()
            }
            Reach::Http { url, headers } => {
                let headers = headers.0.iter().map(|(name, value)| format!("{name}: {value}"));
                std::iter::once(url.clone()).chain(headers).map(|word| quoted(&word)).collect()
            }
        };
        write!(f, "{}: {}", self.name, words.join(" "))
    }
}

/// Shows a word so that it can be told where it ends and nothing in it is hidden.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,${}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Private {
        let owned = list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Private(owned.collect())
    }

    fn server(settings: ServerSettings) -> Result<Server, String> {
        Server::new("x", settings)
    }

    fn with_command() -> ServerSettings {
        ServerSettings { command: Some("serve".into()), ..ServerSettings::default() }
    }

    fn with_url(url: &str) -> ServerSettings {
        ServerSettings { url: Some(url.into()), ..ServerSettings::default() }
    }

    #[test]
    fn a_server_is_either_started_or_reached() {
        assert!(server(with_command()).is_ok());
        assert!(server(with_url("http://localhost:1/mcp")).is_ok());
        assert!(server(with_url("${WHERE}/mcp")).is_ok());
        let both = ServerSettings { url: Some("http://a".into()), ..with_command() };
        let headers = ServerSettings { headers: pairs(&[("A", "b")]), ..with_command() };
        let url = with_url("http://a");
        let refused = [
            (ServerSettings::default(), "neither `command` nor `url`"),
            (both, "both `command` and `url`"),
            (headers, "`headers`, which a server with `command`"),
            (ServerSettings { args: vec!["a".into()], ..url.clone() }, "`args`, which"),
            (ServerSettings { env: pairs(&[("A", "b")]), ..url.clone() }, "`env`, which"),
            (
                ServerSettings { headers: pairs(&[("A b", "c")]), ..url.clone() },
                "`A b` in `headers`",
            ),
            (ServerSettings { headers: pairs(&[("Accept", "c")]), ..url }, "`Accept` in `headers`"),
            (with_url("ftp://a/b"), "neither `http://` nor"),
            (with_url("nonsense"), "`url` that is none"),
        ];
        for (settings, why) in refused {
            let refusal = server(settings).unwrap_err();
            assert!(refusal.contains(why), "{refusal}");
        }
    }

    #[test]
    fn a_name_can_be_written_and_leaves_room() {
        let longest = "n".repeat(LONGEST_SERVER);
        assert!(Server::new(&longest, with_command()).is_ok());
        for name in ["", "a\nb", &format!("{longest}n")] {
            assert!(Server::new(name, with_command()).is_err(), "{name:?}");
        }
    }

    #[test]
    fn patterns_tell_which_tools_are_offered() {
        let offers = |patterns: Option<&[&str]>, tool: &str| {
            let tools = patterns.map(|list| list.iter().map(|it| it.parse().unwrap()).collect());
            server(ServerSettings { tools, ..with_command() }).unwrap().offers(tool)
        };
        assert!(offers(None, "anything"));
        assert!(offers(Some(&["get_*", "list"]), "get_issue"));
        assert!(offers(Some(&["get_*", "list"]), "list"));
        assert!(!offers(Some(&["get_*", "list"]), "lists"));
        assert!(!offers(Some(&[]), "list"));
        assert!("[".parse::<ToolPattern>().is_err());
    }

    #[test]
    fn what_would_be_started_is_shown_whole_and_secrets_are_not_debugged() {
        let settings = ServerSettings {
            args: vec!["-e".into(), "a b\u{1b}[2K".into(), String::new()],
            env: pairs(&[("NODE_OPTIONS", "--require ./x.js"), ("TOKEN", "${TOKEN}")]),
            ..with_command()
        };
        assert!(!format!("{settings:?}").contains("require"));
        let shown = "x: 'NODE_OPTIONS=--require ./x.js' TOKEN=${TOKEN} serve -e \
                     'a b\\u{1b}[2K' ''";
        assert_eq!(server(settings).unwrap().to_string(), shown);
        let http = ServerSettings { headers: pairs(&[("A", "b")]), ..with_url("http://h/m") };
        assert_eq!(server(http).unwrap().to_string(), "x: http://h/m 'A: b'");
    }
}
