//! What a file of opencode's lets an agent do.
//!
//! There the last entry that matches counts; here a deny beats an ask and an ask beats the rest,
//! whatever their order. What comes out differently comes out stricter, and is said.

use std::collections::BTreeSet;

use adjutant_core::{
    Access, Mode, Pattern, Verdict,
    rule::{NETWORK, UNCONFINED},
};
use adjutant_tools::DELEGATION_TOOLS;
use serde_json::Value;

use crate::{
    agents::{
        definition::{Callable, Definition},
        fields::{Fields, is_like},
        foreign::{shared::called, specifier::literal},
    },
    nearest::close,
};

/// The most stars in one pattern of paths.
const MOST_STARS: usize = 8;

/// What is matched by the patterns below a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matched {
    Commands,
    Paths,
    Addresses,
    Names,
    /// What cannot be told here before a call.
    Unseen,
}

/// The keys that are about tools there are here too.
const KEYS: [(&str, Matched, &[&str]); 9] = [
    ("read", Matched::Paths, &["read_file"]),
    ("edit", Matched::Paths, &["edit_file", "multi_edit", "write_file", "delete_file"]),
    ("list", Matched::Paths, &["list_dir"]),
    ("glob", Matched::Unseen, &["find_files"]),
    ("grep", Matched::Unseen, &["search_files"]),
    ("bash", Matched::Commands, &["run_command", "read_output", "write_input", "stop_command"]),
    ("webfetch", Matched::Addresses, &["web_fetch"]),
    ("skill", Matched::Names, &["skill"]),
    ("question", Matched::Unseen, &["ask_user"]),
];

/// Keys about what there is not here, so that nobody has to be kept from it.
const ABSENT: [&str; 6] = ["todowrite", "todoread", "websearch", "codesearch", "lsp", "doom_loop"];

/// Keys about what is no tool of its own.
const OTHERS: [&str; 2] = ["task", "external_directory"];

/// What some tools are called in the old list, all of which are `edit` now.
const EDITS: [&str; 5] = ["write", "edit", "patch", "multiedit", "apply_patch"];

/// What is said of what a pattern matches.
#[derive(Clone, Debug)]
struct Entry {
    pattern: String,
    verdict: Verdict,
}

/// What is said of a tool, or of all.
#[derive(Clone, Debug)]
struct Group {
    key: String,
    entries: Vec<Entry>,
}

/// Takes what an agent may do, by its new name and its old one.
pub(super) fn read(fields: &mut Fields<'_>, definition: &mut Definition) {
    let mut groups = old(fields);
    groups.extend(new(fields));
    let mut removed = BTreeSet::new();
    for (key, matched, tools) in KEYS {
        let entries = about(&groups, key);
        Translation { fields, definition, key, matched, tools, removed: &mut removed }.add(entries);
    }
    calls(fields, definition, about(&groups, "task"));
    outside(fields, definition, about(&groups, "external_directory"));
    definition.access = access(fields, definition, &groups, removed);
    let has_allow = groups.iter().flat_map(|it| &it.entries).any(|it| it.verdict == Verdict::Allow);
    if has_allow && fields.lines().contains_key("permission") {
        let why = "allows no more than whoever runs the agent may do without asking";
        fields.warn("permission", why, None);
    }
}

/// Returns what is said of a key, in the order in which it counts.
fn about(groups: &[Group], key: &str) -> Vec<Entry> {
    let groups = groups.iter().filter(|group| group.key == "*" || group.key == key);
    groups.flat_map(|group| group.entries.clone()).collect()
}

/// Takes the old list of tools: `true` or `false` for each.
fn old(fields: &mut Fields<'_>) -> Vec<Group> {
    let tools = match fields.take("tools") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(tools)) => tools,
        Some(_) => {
            fields.wrong("tools", "has to be `true` or `false` for each tool");
            return Vec::new();
        }
    };
    let mut groups = Vec::new();
    for (name, value) in tools {
        let Some(is_there) = value.as_bool() else {
            fields.wrong(&format!("tools.{name}"), "has to be `true` or `false`");
            continue;
        };
        let verdict = if is_there { Verdict::Allow } else { Verdict::Deny };
        if !is_key(fields, ("tools", &name), Some(verdict)) {
            continue;
        }
        let line = fields.lines().get(&format!("tools.{name}")).copied();
        let key = if EDITS.contains(&&*name) { "edit".to_owned() } else { name };
        // What is said of all is said before what is said of one; a tool that several names are
        // about is there if none of them says otherwise.
        let place = (key != "*", key == "edit" && verdict == Verdict::Deny, line);
        groups.push((place, Group { key, entries: vec![Entry::all(verdict)] }));
    }
    groups.sort_by_key(|(place, _)| *place);
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Takes the permissions: one for all, or one or several for each key.
fn new(fields: &mut Fields<'_>) -> Vec<Group> {
    let keys = match fields.take("permission") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::String(verdict)) => {
            let entries = verdict_of(fields, "permission", &verdict).map(Entry::all);
            let entries = entries.into_iter().collect();
            return vec![Group { key: "*".to_owned(), entries }];
        }
        Some(Value::Object(keys)) => keys,
        Some(_) => {
            fields.wrong("permission", "has to be `allow`, `ask`, `deny` or a key for each");
            return Vec::new();
        }
    };
    let mut groups = Vec::new();
    for (key, value) in keys {
        let name = format!("permission.{key}");
        let entries = entries(fields, &name, value);
        let strictest = entries.iter().map(|entry| entry.verdict).min();
        if is_key(fields, ("permission", &key), strictest) {
            groups.push((place(fields, &name, strictest), Group { key, entries }));
        }
    }
    ordered(fields, "permission", groups)
}

/// Reports whether a key is one there may be. Refuses one that is probably meant to be another, or
/// that would keep nobody from anything.
fn is_key(fields: &mut Fields<'_>, (field, key): (&str, &str), strictest: Option<Verdict>) -> bool {
    let of_tools = KEYS.iter().flat_map(|(key, _, tools)| tools.iter().map(|tool| (*tool, *key)));
    let edits = EDITS.map(|name| (name, if field == "tools" { name } else { "edit" }));
    let others = OTHERS.map(|key| (key, key));
    let keys = KEYS.iter().map(|(key, ..)| (*key, *key));
    let known: Vec<_> = keys.chain(others).chain(edits).chain(of_tools).collect();
    let rights: Vec<_> = known.iter().map(|(_, right)| *right).collect();
    if key == "*" || ABSENT.contains(&key) || rights.contains(&key) {
        return true;
    }
    let is_strict = strictest.is_some_and(|it| it != Verdict::Allow);
    let like = known.iter().find(|(name, _)| is_like(name, key)).map(|(_, right)| *right);
    let hint = match like.or_else(|| meant(key, &rights).filter(|_| is_strict)) {
        Some(right) => format!("the key is called `{right}`"),
        None if is_strict && of_servers(key).is_empty() => {
            let keys = KEYS.iter().map(|(key, ..)| *key).chain(OTHERS);
            let keys = keys.map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            format!("there are: {keys}, and `SERVER_TOOL` and `SERVER_*` of servers")
        }
        None => return true,
    };
    let why = "is no key there is, and without it the agent would be freer than written";
    fields.refuse(&format!("{field}.{key}"), why, &hint);
    false
}

/// Returns a key that another may be meant to be: one that its star stands for too, or one that
/// is close and just as little or much the name of a server's tool.
fn meant<'a>(key: &str, rights: &[&'a str]) -> Option<&'a str> {
    let mut rights = rights.iter().copied();
    match key.strip_suffix('*') {
        Some(start) => rights.find(|right| right.starts_with(start)),
        None => close(key, rights.filter(|right| right.contains('_') == key.contains('_'))),
    }
}

/// Takes what is said of a key: one thing, or one for each pattern.
fn entries(fields: &mut Fields<'_>, name: &str, value: Value) -> Vec<Entry> {
    match value {
        Value::String(verdict) => {
            verdict_of(fields, name, &verdict).map(Entry::all).into_iter().collect()
        }
        Value::Object(patterns) => {
            let mut entries = Vec::new();
            for (pattern, verdict) in patterns {
                let whole = format!("{name}.{pattern}");
                let verdict = verdict.as_str().unwrap_or_default();
                let Some(verdict) = verdict_of(fields, &whole, verdict) else { continue };
                entries.push((place(fields, &whole, Some(verdict)), Entry { pattern, verdict }));
            }
            ordered(fields, name, entries)
        }
        _ => {
            fields.wrong(name, "has to be `allow`, `ask`, `deny` or one of them for each pattern");
            Vec::new()
        }
    }
}

fn verdict_of(fields: &mut Fields<'_>, name: &str, word: &str) -> Option<Verdict> {
    match word {
        "allow" => Some(Verdict::Allow),
        "ask" => Some(Verdict::Ask),
        "deny" => Some(Verdict::Deny),
        _ => {
            let word = word.escape_debug();
            fields.wrong(name, format!("is `{word}`; there are: `allow`, `ask`, `deny`"));
            None
        }
    }
}

/// Where something is said, in the order in which it counts. Of what stands in one line nobody
/// can tell any more which came first: the strictest counts.
type Place = (Option<usize>, std::cmp::Reverse<Option<Verdict>>);

fn place(fields: &Fields<'_>, name: &str, verdict: Option<Verdict>) -> Place {
    (fields.lines().get(name).copied(), std::cmp::Reverse(verdict))
}

/// Puts what is said into the order in which it counts.
fn ordered<T>(fields: &mut Fields<'_>, name: &str, mut said: Vec<(Place, T)>) -> Vec<T> {
    said.sort_by_key(|(place, _)| *place);
    let is_unsure = |pair: &[(Place, T)]| pair[0].0.0 == pair[1].0.0 && pair[0].0.1 != pair[1].0.1;
    if said.windows(2).any(is_unsure) {
        let why = "says several things in one line, of which the strictest counts";
        fields.drop(name, why, Some("write one a line"));
    }
    said.into_iter().map(|(_, it)| it).collect()
}

impl Entry {
    fn all(verdict: Verdict) -> Self {
        Self { pattern: "*".to_owned(), verdict }
    }

    /// Reports whether something may match this and another.
    fn overlaps(&self, other: &Self) -> bool {
        let start = |entry: &Self| entry.pattern.split(['*', '?']).next().map(str::to_owned);
        let (one, two) = (start(self).unwrap_or_default(), start(other).unwrap_or_default());
        one.starts_with(&two) || two.starts_with(&one)
    }
}

/// What is said of all, and what is said of some after that.
fn settled(mut entries: Vec<Entry>) -> (Option<Verdict>, Vec<Entry>) {
    let last = entries.iter().rposition(|entry| entry.pattern == "*");
    let rest = entries.split_off(last.map_or(0, |last| last + 1));
    (last.and_then(|last| entries.get(last)).map(|entry| entry.verdict), rest)
}

/// Makes rules of what is said of a key.
struct Translation<'a, 'b> {
    fields: &'a mut Fields<'b>,
    definition: &'a mut Definition,
    key: &'static str,
    matched: Matched,
    tools: &'static [&'static str],
    /// The tools that the agent has not.
    removed: &'a mut BTreeSet<String>,
}

impl Translation<'_, '_> {
    fn add(mut self, entries: Vec<Entry>) {
        let (base, rest) = settled(entries);
        let (base, rest) = match self.matched {
            Matched::Unseen if !rest.is_empty() => (self.strictest(base, &rest), Vec::new()),
            _ => (base, rest),
        };
        self.tell(base, &rest);
        let loose = rest.iter().filter(|entry| entry.verdict != Verdict::Deny);
        match base {
            Some(Verdict::Deny) if loose.clone().next().is_none() => {
                self.removed.extend(self.tools.iter().map(|tool| (*tool).to_owned()));
                return;
            }
            Some(Verdict::Deny) => {
                // What it gives a program to read could be anything.
                self.removed.extend(
                    self.tools.iter().find(|it| **it == "write_input").map(|it| (*it).to_owned()),
                );
                let only: Vec<_> = loose.flat_map(|entry| self.patterns(entry, &WAYS)).collect();
                self.push(only, |definition| &mut definition.rules.only);
            }
            Some(Verdict::Ask) => {
                let whole = self.tools.iter().map(|tool| (*tool).to_owned()).collect();
                self.push(whole, |definition| &mut definition.rules.ask);
            }
            Some(Verdict::Allow) | None => {}
        }
        for entry in &rest {
            let patterns = self.patterns(entry, &[""]);
            match entry.verdict {
                Verdict::Deny => self.push(patterns, |definition| &mut definition.rules.deny),
                Verdict::Ask => self.push(patterns, |definition| &mut definition.rules.ask),
                Verdict::Allow => {}
            }
        }
    }

    /// Returns the one thing that is said of a tool of which no part can be told.
    fn strictest(&mut self, base: Option<Verdict>, rest: &[Entry]) -> Option<Verdict> {
        let strictest = base.into_iter().chain(rest.iter().map(|entry| entry.verdict)).min();
        let why = "cannot be told apart by patterns here, so the strictest counts for all";
        self.fields.drop(&format!("permission.{}", self.key), why, None);
        strictest
    }

    /// Says what comes out stricter than it was written.
    fn tell(&mut self, base: Option<Verdict>, rest: &[Entry]) {
        let is_asked =
            |entry: &Entry| base == Some(Verdict::Ask) && entry.verdict == Verdict::Allow;
        for (place, entry) in rest.iter().enumerate() {
            let mut before = rest[..place].iter();
            let is_beaten = before.any(|it| it.verdict < entry.verdict && it.overlaps(entry));
            if is_beaten || is_asked(entry) {
                let name = format!("permission.{}.{}", self.key, entry.pattern);
                let why = "comes after what is stricter and may be about the same, which counts";
                self.fields.drop(&name, why, None);
            }
        }
    }

    fn push(&mut self, patterns: Vec<String>, list: impl Fn(&mut Definition) -> &mut Vec<Pattern>) {
        for text in patterns {
            match text.parse() {
                Ok(pattern) => list(self.definition).push(pattern),
                Err(error) => self.fields.wrong(&format!("permission.{}", self.key), error),
            }
        }
    }

    /// Returns rules about what a pattern matches.
    fn patterns(&self, entry: &Entry, ways: &[&str]) -> Vec<String> {
        let words = literal(&entry.pattern).replace("[?]", "?");
        match self.matched {
            Matched::Commands => {
                // There, a command that may have arguments may have none.
                let alone = words.strip_suffix(" *").map(str::to_owned);
                let words = alone.into_iter().chain([words]);
                let way = |words: String| {
                    ways.iter().map(move |way| format!("run_command({way}{words})"))
                };
                words.flat_map(way).collect()
            }
            Matched::Addresses | Matched::Names => {
                self.tools.iter().map(|tool| format!("{tool}({words})")).collect()
            }
            Matched::Paths => {
                let pattern = crossing(&words);
                self.tools.iter().map(|tool| format!("{tool}({pattern})")).collect()
            }
            Matched::Unseen => Vec::new(),
        }
    }
}

/// What a command may be besides itself.
const WAYS: [&str; 3] = ["", NETWORK, UNCONFINED];

/// Returns a pattern of paths in which a star does not stop at `/`.
fn crossing(pattern: &str) -> String {
    if pattern.matches('*').count() > MOST_STARS {
        // No rule, which is refused.
        return "[".to_owned();
    }
    pattern.replace('*', "{*,*/**/*}")
}

/// Takes whom it may call.
fn calls(fields: &mut Fields<'_>, definition: &mut Definition, entries: Vec<Entry>) {
    let (base, rest) = settled(entries);
    let is_plain = |entry: &Entry| !entry.pattern.contains(['*', '?']);
    let is_partly_denied =
        base != Some(Verdict::Deny) && rest.iter().any(|entry| entry.verdict == Verdict::Deny);
    if is_partly_denied || rest.iter().any(|entry| !is_plain(entry)) {
        let why = "is about some agents by pattern or all but some, which cannot be said here";
        fields.drop("permission.task", why, Some("name those that may be called"));
    }
    let loose = rest.iter().filter(|entry| entry.verdict != Verdict::Deny);
    let denied: Vec<_> =
        rest.iter().filter(|it| it.verdict == Verdict::Deny).map(|it| &it.pattern).collect();
    let names = loose.filter(|it| is_plain(it) && !denied.contains(&&it.pattern));
    let names: Vec<_> = names.map(|entry| called(&entry.pattern)).collect();
    definition.callable = match base {
        Some(Verdict::Deny) if !names.is_empty() => Callable::Only(names),
        Some(Verdict::Deny) => Callable::Nobody,
        _ if is_partly_denied => Callable::Nobody,
        _ => Callable::All,
    };
    if definition.callable == Callable::Nobody {
        definition.children.depth = Some(0);
    }
    let is_asked = rest.iter().map(|it| it.verdict).chain(base).any(|it| it == Verdict::Ask);
    if is_asked {
        definition.rules.ask.extend(DELEGATION_TOOLS.iter().flat_map(|tool| tool.parse()));
    }
}

/// Takes what it may do outside of where it works.
fn outside(fields: &mut Fields<'_>, definition: &mut Definition, entries: Vec<Entry>) {
    let (base, rest) = settled(entries);
    if !rest.is_empty() {
        let why = "cannot be told apart by patterns here, so the strictest counts for all";
        fields.drop("permission.external_directory", why, None);
    }
    match rest.iter().map(|entry| entry.verdict).chain(base).min() {
        Some(Verdict::Deny) => {
            let paths = KEYS.iter().filter(|(_, matched, _)| *matched == Matched::Paths);
            let tools = paths.flat_map(|(_, _, tools)| tools.iter().copied());
            for tool in tools.chain(["find_files", "search_files"]) {
                bind(definition, tool);
            }
        }
        Some(Verdict::Ask) => definition.mode = Some(Mode::Auto),
        Some(Verdict::Allow) | None => {}
    }
}

/// Leaves of a tool what is inside the scope.
fn bind(definition: &mut Definition, tool: &str) {
    let only = &mut definition.rules.only;
    let is_bound = only.iter().any(|rule| rule.is_about(tool));
    only.retain(|rule| !(rule.is_about(tool) && rule.to_string().contains("(/")));
    let is_left = only.iter().any(|rule| rule.is_about(tool));
    let rule = match (is_bound, is_left) {
        (false, _) => format!("{tool}(**)"),
        (true, true) => return,
        (true, false) => {
            definition.rules.deny.extend(tool.parse());
            return;
        }
    };
    only.extend(rule.parse());
}

/// Returns which tools it has, and notes what is said of servers'.
fn access(
    fields: &mut Fields<'_>,
    definition: &mut Definition,
    groups: &[Group],
    removed: BTreeSet<String>,
) -> Access {
    let is_strict = |group: &&Group| group.entries.iter().any(|it| it.verdict != Verdict::Allow);
    for group in groups.iter().filter(|it| ABSENT.contains(&&*it.key)).filter(is_strict) {
        say_absent(fields, &group.key);
    }
    let (others, _) = settled(about(groups, ""));
    let mut servers = BTreeSet::new();
    let is_known = |key: &str| {
        key == "*"
            || OTHERS.contains(&key)
            || ABSENT.contains(&key)
            || KEYS.iter().any(|(known, ..)| *known == key)
    };
    for group in groups.iter().filter(|group| !is_known(&group.key)) {
        let tools = of_servers(&group.key);
        if tools.is_empty() {
            say_absent(fields, &group.key);
        }
        let strictest = group.entries.iter().map(|entry| entry.verdict).min();
        let rules = tools.iter().filter_map(|tool| tool.parse::<Pattern>().ok());
        match strictest {
            Some(Verdict::Deny) => definition.rules.deny.extend(rules),
            Some(Verdict::Ask) => definition.rules.ask.extend(rules),
            Some(Verdict::Allow) | None => {}
        }
        if strictest > Some(Verdict::Deny) {
            servers.extend(tools);
        }
    }
    match others {
        Some(Verdict::Deny) => {
            let ours = KEYS.iter().flat_map(|(_, _, tools)| tools.iter().copied());
            let left = ours.filter(|tool| !removed.contains(*tool)).map(str::to_owned);
            Access::AllowList { tools: left.chain(servers).collect() }
        }
        Some(Verdict::Ask) => {
            definition.rules.ask.extend("mcp__*".parse());
            excluding(removed)
        }
        Some(Verdict::Allow) | None => excluding(removed),
    }
}

fn say_absent(fields: &mut Fields<'_>, key: &str) {
    let names = [format!("permission.{key}"), format!("tools.{key}")];
    let [new, old] = &names;
    let name = if fields.lines().contains_key(new) { new } else { old };
    fields.drop(name, "is about what there is not here", None);
}

fn excluding(removed: BTreeSet<String>) -> Access {
    match removed.is_empty() {
        true => Access::Inherit,
        false => Access::DenyList { tools: removed },
    }
}

/// Returns what tools of servers may be called here that are called `SERVER_TOOL` there. Where the
/// server's name ends cannot be told.
fn of_servers(key: &str) -> Vec<String> {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name = key.strip_suffix('*').unwrap_or(key);
    if !name.chars().all(is_taken) {
        return Vec::new();
    }
    let splits = key.match_indices('_').filter(|(at, _)| *at > 0 && *at + 1 < key.len());
    let splits = splits.map(|(at, _)| format!("mcp__{}__{}", &key[..at], &key[at + 1..]));
    // A star may begin within the server's name.
    let begun =
        (key != name && !name.is_empty() && !name.ends_with('_')).then(|| format!("mcp__{key}"));
    splits.chain(begun).collect()
}
