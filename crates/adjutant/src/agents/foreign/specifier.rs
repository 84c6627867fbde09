//! What another product's file leaves of a tool: `Bash(git *)`, `Edit(src/**)`.
//!
//! It scopes: the agent has the tool, and of its calls those that fit. It allows nothing.

use std::path::Path;

use adjutant_core::{
    Pattern, our_names,
    rule::{NETWORK, UNCONFINED},
};

use crate::agents::{definition::Owner, idle_rules::KNOWN};

/// Tools that take the path of one file.
const FILES: [&str; 5] = ["read_file", "write_file", "edit_file", "multi_edit", "delete_file"];
/// Tools that take the path of a directory.
const DIRECTORIES: [&str; 3] = ["list_dir", "find_files", "search_files"];

/// What begins the names of servers' tools.
const SERVERS: &str = "mcp__";

/// A tool as a file names it, and which part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Specifier<'a> {
    pub(super) tool: &'a str,
    pub(super) part: Option<&'a str>,
}

/// What there is of a tool here.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Our names for it; a star at the end stands for any ending.
    pub(super) tools: Vec<String>,
    /// All that is left of it.
    pub(super) only: Vec<Pattern>,
}

/// Splits a list at the commas that are not within parentheses.
pub(super) fn split(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let items = list.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    items.map(str::trim).filter(|item| !item.is_empty()).collect()
}

impl<'a> Specifier<'a> {
    /// Reads `Tool` or `Tool(part)`.
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
        let text = text.trim();
        let Some((tool, rest)) = text.split_once('(') else {
            return Ok(Self { tool: text, part: None });
        };
        let part = rest.strip_suffix(')').ok_or_else(|| format!("`{text}`: `)` is missing"))?;
        Ok(Self { tool: tool.trim_end(), part: Some(part.trim()) })
    }

    /// Returns our names for the tool, if there is one.
    pub(super) fn tools(self) -> Option<Vec<String>> {
        let name = self.tool;
        if let Some(rest) = name.strip_prefix(SERVERS) {
            let is_server = !rest.contains("__") && !rest.contains('*') && !rest.is_empty();
            return Some(vec![if is_server { format!("{name}__*") } else { name.to_owned() }]);
        }
        if KNOWN.contains(name) {
            return Some(vec![name.to_owned()]);
        }
        our_names(name).map(|ours| ours.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Returns what is left of the tool; `None` if there is no such tool.
    pub(super) fn scope(self, owner: &Owner) -> Result<Option<Scope>, String> {
        let Some(mut tools) = self.tools() else { return Ok(None) };
        let Some(part) = self.part.filter(|part| *part != "*") else {
            return Ok(Some(Scope { tools, only: Vec::new() }));
        };
        let wrong = |why: &str| format!("`{}({part})`: {why}", self.tool);
        if part.is_empty() {
            return Err(wrong("there is nothing between the parentheses"));
        }
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        let patterns = if has("run_command") {
            // What it reads from another could be anything.
            tools.retain(|tool| tool != "write_input");
            commands(part)
        } else if has("web_fetch") {
            addresses(part).map_err(|why| wrong(&why))?
        } else if tools.iter().all(|tool| is_about_paths(tool)) {
            let pattern = path(part, owner).map_err(|why| wrong(&why))?;
            tools.iter().flat_map(|tool| on_paths(tool, &pattern)).collect()
        } else {
            return Err(wrong("the tool cannot be had in part"));
        };
        let only = patterns.iter().map(|pattern| pattern.parse::<Pattern>());
        let only = only.collect::<Result<_, _>>().map_err(|why| wrong(&why.to_string()))?;
        Ok(Some(Scope { tools, only }))
    }
}

fn is_about_paths(tool: &str) -> bool {
    FILES.contains(&tool) || DIRECTORIES.contains(&tool)
}

fn on_paths(tool: &str, pattern: &str) -> Vec<String> {
    let mut patterns = vec![format!("{tool}({pattern})")];
    // Who looks for what is in a directory names the directory.
    if let Some(directory) = pattern.strip_suffix("/**")
        && DIRECTORIES.contains(&tool)
    {
        patterns.push(format!("{tool}({directory})"));
    }
    patterns
}

/// Returns the patterns of the commands that are meant. On the network and without a sandbox they
/// are the same commands; whether they may go there is not said here.
fn commands(part: &str) -> Vec<String> {
    let words = match part.strip_suffix(":*") {
        Some(start) => vec![literal(start), format!("{} *", literal(start))],
        None => vec![literal(part)],
    };
    let ways =
        |words: String| ["", NETWORK, UNCONFINED].map(|way| command(&format!("{way}{words}")));
    words.into_iter().flat_map(ways).collect()
}

/// Returns the pattern of a command.
fn command(words: &str) -> String {
    format!("run_command({words})")
}

/// Returns words as a pattern in which only a star is more than itself, and several are one.
pub(super) fn literal(words: &str) -> String {
    let mut pattern = String::new();
    for c in words.chars() {
        match c {
            '*' if pattern.ends_with('*') => {}
            '?' | '[' | ']' | '{' | '}' | '\\' => pattern.extend(['[', c, ']']),
            c => pattern.push(c),
        }
    }
    pattern
}

/// Returns the pattern of the paths that are meant.
fn path(part: &str, owner: &Owner) -> Result<String, String> {
    let part = part.replace('{', "[{]").replace('}', "[}]");
    if part.split('/').any(|step| step == "..") {
        return Err("it leads upwards: write `//` and a whole path".to_owned());
    }
    let home = || std::env::home_dir().ok_or_else(|| "there is no home directory".to_owned());
    let below = |directory: &Path, rest: &str| format!("{}/{rest}", exact(directory));
    let pattern = if let Some(rest) = part.strip_prefix("//") {
        format!("/{rest}")
    } else if let Some(rest) = part.strip_prefix("~/") {
        below(&home()?, rest)
    } else if let Some(rest) = part.strip_prefix('/') {
        match owner {
            Owner::Project(project) => below(project, rest),
            Owner::User => rest.to_owned(),
        }
    } else {
        part.trim_start_matches("./").to_owned()
    };
    Ok(match &*pattern {
        "" | "." => "**".to_owned(),
        pattern if pattern.ends_with('/') => format!("{pattern}**"),
        _ => pattern,
    })
}

/// Returns a path as a pattern of itself alone.
fn exact(path: &Path) -> String {
    let pattern = literal(&path.to_string_lossy()).replace('*', "[*]");
    pattern.trim_end_matches('/').to_owned()
}

/// Returns the patterns of the pages that are meant: those of one host.
fn addresses(part: &str) -> Result<Vec<String>, String> {
    let host = part.strip_prefix("domain:").ok_or("expected `domain:` and a host")?.trim();
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let (name, port) =
        host.split_once(':').map_or((&*host, None), |(name, port)| (name, Some(port)));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err("a host is letters, digits, `-` and `.`, and no pattern".to_owned());
    }
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err("the port has to be a number".to_owned());
    }
    let usual = [("https", "443"), ("http", "80")];
    let patterns = usual.into_iter().flat_map(|(scheme, usual)| {
        let plain = format!("web_fetch({scheme}://{name}/*)");
        match port {
            None => vec![plain, format!("web_fetch({scheme}://{name}:*)")],
            Some(port) if port == usual => vec![plain],
            Some(port) => vec![format!("web_fetch({scheme}://{name}:{port}/*)")],
        }
    });
    Ok(patterns.collect())
}

#[cfg(test)]
mod tests {
    use adjutant_core::Verdict;
    use serde_json::json;

    use super::{
        super::testing::{command, load, verdict},
        *,
    };
    use crate::agents::{definition::Definition, format::Format};

    fn agent(tools: &str) -> Definition {
        let text = format!("---\nname: a\ndescription: d\ntools: '{tools}'\n---\nText\n");
        load(Format::Claude, &text).clean()
    }

    fn refusal(tools: &str) -> String {
        let text = format!("---\nname: a\ndescription: d\ntools: '{tools}'\n---\nText\n");
        load(Format::Claude, &text).refusal()
    }

    #[test]
    fn commas_within_parentheses_divide_nothing() {
        assert_eq!(
            split("Read, Bash(a, b(c, d)),,Agent(x,y) "),
            ["Read", "Bash(a, b(c, d))", "Agent(x,y)"]
        );
        assert_eq!(split("a),b(,c"), ["a)", "b(,c"]);
        assert_eq!(split(" , "), [""; 0]);
    }

    #[test]
    fn of_commands_only_those_that_fit_are_left() {
        let git = agent("Bash(git *)");
        assert_eq!(command(&git, "git status"), Verdict::Allow);
        for other in [
            "ls",
            "git",
            "gitx status",
            "git status && rm x",
            "git status; rm x",
            "git status | sh",
            "git log $(rm x)",
            "git log `rm x`",
            "git log > x",
            "$x status",
            "rm x # git log",
            "eval rm x",
        ] {
            assert_eq!(command(&git, other), Verdict::Deny, "{other}");
        }
        let exact = agent("Bash(git status)");
        assert_eq!(command(&exact, "git status"), Verdict::Allow);
        assert_eq!(command(&exact, "git status -s"), Verdict::Deny);
    }

    #[test]
    fn a_prefix_is_the_command_alone_or_with_more_words() {
        let test = agent("Bash(npm run test:*)");
        assert_eq!(command(&test, "npm run test"), Verdict::Allow);
        assert_eq!(command(&test, "npm run test -- --watch"), Verdict::Allow);
        assert_eq!(command(&test, "npm run testing"), Verdict::Deny);
        assert_eq!(command(&test, "npm run test && rm x"), Verdict::Deny);
    }

    #[test]
    fn a_part_allows_nothing_that_is_not_allowed_anyway() {
        let text =
            "---\nname: a\ndescription: d\ntools: Bash(rm *)\npermissionMode: plan\n---\nx\n";
        let agent = load(Format::Claude, text).clean();
        assert!(agent.rules.allow.is_empty());
        assert_eq!(command(&agent, "rm x"), Verdict::Deny);
    }

    #[test]
    fn what_a_scoped_program_reads_cannot_be_given_to_it() {
        let agent = agent("Bash(python *)");
        let input = json!({ "job": "x", "text": "rm" });
        assert_eq!(verdict(&agent, Path::new("/"), "write_input", &input), Verdict::Deny);
        let text = "---\nname: a\ndescription: d\ntools: Bash\n---\nx\n";
        let whole = load(Format::Claude, text).clean();
        let input = json!({ "job": "x", "text": "rm" });
        assert_eq!(verdict(&whole, Path::new("/"), "write_input", &input), Verdict::Allow);
    }

    #[test]
    fn only_a_star_is_more_than_itself() {
        let agent = agent("Bash(echo [a] {b,c} ?)");
        assert_eq!(command(&agent, "echo a b x"), Verdict::Deny);
        assert_eq!(literal("a**b*?[{\\"), "a*b*[?][[][{][\\]");
        assert!(format!("run_command({})", literal("a[]{}?\\")).parse::<Pattern>().is_ok());
    }

    #[test]
    fn paths_start_where_they_say() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let read = |agent: &Definition, path: &str| {
            verdict(agent, &top, "read_file", &json!({ "path": path }))
        };
        let src = agent("Read(src/**)");
        assert_eq!(read(&src, "src/a/b.rs"), Verdict::Allow);
        for other in ["a.rs", "src/../a.rs", "/etc/src/a", "srcs/a"] {
            assert_eq!(read(&src, other), Verdict::Deny, "{other}");
        }
        let one = agent("Read(./x)");
        assert_eq!((read(&one, "x"), read(&one, "y")), (Verdict::Allow, Verdict::Deny));
        let whole = agent(&format!("Read(/{}/a/*)", top.display()));
        assert_eq!((read(&whole, "a/x"), read(&whole, "a/b/x")), (Verdict::Allow, Verdict::Deny));
        let directory = agent("Read(docs/)");
        assert_eq!(read(&directory, "docs/a/b"), Verdict::Allow);
        let braces = agent("Read({a,b})");
        assert_eq!((read(&braces, "a"), read(&braces, "{a,b}")), (Verdict::Deny, Verdict::Allow));
        let rooted = agent("Read(/a)");
        assert_eq!((read(&rooted, "a"), read(&rooted, "b")), (Verdict::Allow, Verdict::Deny));
        assert!(refusal("Read(../x)").contains("it leads upwards"));
    }

    #[test]
    fn a_rooted_path_of_a_project_is_below_the_project() {
        let project = Owner::Project("/p/[q]*".into());
        assert_eq!(path("/src/**", &project).unwrap(), "/p/[[]q[]][*]/src/**");
        let home = std::env::home_dir().unwrap();
        assert_eq!(path("~/x", &project).unwrap(), format!("{}/x", home.display()));
    }

    #[test]
    fn who_looks_into_a_directory_may_name_it() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let agent = agent("Grep(src/**), Edit(src/**)");
        let find = |path: &str| json!({ "pattern": "x", "path": path });
        assert_eq!(verdict(&agent, &top, "search_files", &find("src")), Verdict::Allow);
        assert_eq!(verdict(&agent, &top, "search_files", &find(".")), Verdict::Deny);
        let edit = |path: &str| json!({ "path": path, "old_text": "a", "new_text": "b" });
        assert_eq!(verdict(&agent, &top, "edit_file", &edit("src/a")), Verdict::Allow);
        assert_eq!(verdict(&agent, &top, "edit_file", &edit("src")), Verdict::Deny);
        assert_eq!(
            verdict(&agent, &top, "write_file", &json!({ "path": "src/a", "content": "" })),
            Verdict::Deny
        );
    }

    #[test]
    fn a_domain_is_one_host() {
        let fetch = |agent: &Definition, url: &str| {
            verdict(agent, Path::new("/"), "web_fetch", &json!({ "url": url }))
        };
        let one = agent("WebFetch(domain:Example.com.)");
        for url in ["https://example.com/a?b", "http://example.com", "https://example.com:8443/x"] {
            assert_eq!(fetch(&one, url), Verdict::Allow, "{url}");
        }
        for url in [
            "https://example.com.evil.org/",
            "https://evil.org/example.com/",
            "https://www.example.com/",
            "https://example.comx/",
            "https://evil.org/?https://example.com/",
        ] {
            assert_eq!(fetch(&one, url), Verdict::Deny, "{url}");
        }
        let port = agent("WebFetch(domain:localhost:3000)");
        assert_eq!(fetch(&port, "http://localhost:3000/x"), Verdict::Allow);
        assert_eq!(fetch(&port, "http://localhost:3001/x"), Verdict::Deny);
        assert_eq!(fetch(&port, "http://localhost/x"), Verdict::Deny);
        for wrong in [
            "WebFetch(example.com)",
            "WebFetch(domain:*.a.com)",
            "WebFetch(domain:a:b)",
            "WebFetch(domain:)",
        ] {
            assert!(refusal(wrong).starts_with("4: `tools` has `WebFetch("), "{wrong}");
        }
    }

    #[test]
    fn tools_that_have_no_parts_are_refused_in_part() {
        for wrong in ["AskUserQuestion(x)", "mcp__a__b(x)", "BashOutput(x)", "Bash()", "Bash(git"] {
            assert!(refusal(wrong).starts_with("4: `tools` has `"), "{wrong}");
        }
    }

    #[test]
    fn servers_tools_are_named_one_by_one_or_all() {
        let agent = agent("mcp__a, mcp__b__*, mcp__c__d");
        let names: Vec<_> = agent.access.names().collect();
        assert_eq!(names, ["mcp__a__*", "mcp__b__*", "mcp__c__d"]);
    }
}
