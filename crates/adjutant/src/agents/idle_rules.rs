//! Rules of agents about tools that there cannot be: they would hold nobody back.

use std::{collections::BTreeSet, sync::LazyLock};

use adjutant_core::{Pattern, our_names};
use adjutant_tools::DELEGATION_TOOLS;

use super::{
    definition::Definition,
    format::Format,
    problem::{Problem, Severity},
};
use crate::{authority::is_about_servers, nearest::close};

/// The names of all tools there can be, but for servers' and those of programs around this one.
pub(super) static KNOWN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let tools = adjutant_tools::all(&adjutant_tools::Settings::default());
    let names = tools.iter().map(|tool| tool.spec().name.clone());
    names.chain(DELEGATION_TOOLS.iter().map(|name| (*name).to_owned())).collect()
});

impl Definition {
    /// Returns what is wrong with its rules, where there are these tools besides those that come
    /// with the program. Of another product's file, which is used as far as it goes, it is only
    /// odd.
    pub(super) fn idle_rules(&self, besides: &BTreeSet<String>) -> Vec<Problem> {
        let severity = match self.origin.format {
            Format::Native => Severity::Error,
            Format::Claude | Format::OpenCode | Format::Codex => Severity::Warning,
        };
        let names: Vec<_> = KNOWN.iter().chain(besides).map(String::as_str).collect();
        let rules = &self.rules;
        let lists = [
            ("permissions.allow", &rules.allow),
            ("permissions.allow", &self.withheld),
            ("permissions.ask", &rules.ask),
            ("permissions.deny", &rules.deny),
            ("permissions.only", &rules.only),
        ];
        let rules = lists.iter().flat_map(|(field, list)| list.iter().map(move |it| (field, it)));
        let wrong = rules.filter_map(|(field, rule)| {
            // Other products' files say with a pattern that there are no more servers.
            let (why, hint) = match is_about_servers(rule) {
                true if severity == Severity::Error => of_servers(rule)?,
                true => return None,
                false => about_nothing(rule, &names)?,
            };
            let line = self.line(&format!("{field}[{rule}]")).or_else(|| self.line(field));
            let why = format!("`{field}` has `{rule}`, {why}");
            Some(Problem::of(severity, &self.origin.file, why).at(line).hint(hint))
        });
        wrong.collect()
    }
}

fn of_servers(rule: &Pattern) -> Option<(&'static str, String)> {
    let hint = "write the name of the tool alone".to_owned();
    let has_pattern = rule.to_string().contains('(');
    has_pattern.then_some(("and servers' tools have no patterns", hint))
}

fn about_nothing(rule: &Pattern, names: &[&str]) -> Option<(&'static str, String)> {
    if names.iter().any(|name| rule.is_about(name)) {
        return None;
    }
    let text = rule.to_string();
    let tool = text.split('(').next().unwrap_or_default();
    let hint = match (our_names(tool), close(tool, names.iter().copied())) {
        // What only reads from a command or ends it needs no rule.
        (Some(["run_command", ..]), _) => "here it is called `run_command`".to_owned(),
        (Some(ours), _) => format!("here it is called `{}`", ours.join("`, `")),
        (None, Some(meant)) => format!("did you mean `{meant}`?"),
        (None, None) => format!("there are: {}", names.join(", ")),
    };
    Some(("which is about no tool there is", hint))
}
