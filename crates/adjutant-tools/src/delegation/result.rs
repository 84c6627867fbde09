//! How a child ended, in words.

use std::fmt::Write as _;

use adjutant_core::{AgentId, AgentPath, Ending, Message, Receipt, Report, State, ToolError};

use super::Style;
use crate::brief;

/// The most bytes of a child's words that are handed on.
const MOST_BYTES: usize = 32 * 1024;
/// How many of a child's calls are told.
const MOST_CALLS: usize = 50;

/// What is told of a child that was waited for.
pub(super) struct Told<'a> {
    pub(super) report: &'a Report,
    /// The named agent it was.
    pub(super) agent: Option<&'a str>,
    /// What it said and did, where that is told too.
    pub(super) log: &'a [std::sync::Arc<Message>],
    pub(super) earlier: bool,
}

impl Style {
    /// Puts into words what came of a child.
    pub(super) fn tell(self, told: &Told<'_>) -> Result<String, ToolError> {
        match self {
            Self::Adjutant => plain(told, ""),
            Self::Opal => plain(told, &log(told.log)),
            Self::Opta => totals(told.report),
            Self::Axe => bare(told),
        }
    }
}

fn plain(told: &Told<'_>, log: &str) -> Result<String, ToolError> {
    let report = told.report;
    let (text, trailer) = (text(report, 0), trailer(told));
    let response = if log.is_empty() { "" } else { "## Sub-agent response\n" };
    match failure(report) {
        None => Ok(format!("{log}{response}{text}\n\n{trailer}")),
        Some(why) => {
            let found = if text.is_empty() { "nothing".to_owned() } else { format!("\n{text}\n") };
            Err(ToolError(format!(
                "{log}the sub-agent did not finish ({why}). Found so far: {found}\n{trailer}\nYou \
                 may try again, with a smaller task or more room, or go on without it."
            )))
        }
    }
}

/// Tells what a child called, and what came of it.
fn log(messages: &[std::sync::Arc<Message>]) -> String {
    let results = messages.iter().flat_map(|message| match &**message {
        Message::Tools { results } => results.as_slice(),
        Message::User { .. } | Message::Assistant { .. } => &[],
    });
    let calls = messages.iter().flat_map(|message| message.calls());
    let mut log = String::new();
    let mut left_out = 0;
    for (count, call) in calls.enumerate() {
        if count >= MOST_CALLS {
            left_out += 1;
            continue;
        }
        let result = results.clone().find(|result| result.call == call.id);
        let result = match result {
            None => "(no result)".to_owned(),
            Some(result) if result.failed => format!("ERROR: {}", run_on(&result.text, 200)),
            Some(result) => run_on(&result.text, 500),
        };
        let arguments = run_on(&call.arguments.to_string(), 200);
        let _ = writeln!(log, "- {}({arguments}): {result}", call.name);
    }
    if log.is_empty() {
        return log;
    }
    if left_out > 0 {
        let _ = writeln!(log, "[{left_out} more calls are left out]");
    }
    format!("## Sub-agent tool log\n{log}\n")
}

/// Puts a text in one line, no longer than `most` characters.
fn run_on(text: &str, most: usize) -> String {
    brief::line(&text.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

fn totals(report: &Report) -> Result<String, ToolError> {
    let (outcome, receipt) = (&report.outcome, &report.receipt);
    let Receipt { calls, tokens, millis, .. } = **receipt;
    let (status, seconds) = (status(outcome.ending), seconds(millis));
    let mark = match outcome.ending {
        Ending::Completed => String::new(),
        _ => format!("[{}] ", status.replace('_', " ").to_uppercase()),
    };
    let mut told = format!(
        "{mark}Sub-agent result: {status} ({calls} tool calls, {tokens} tokens, {seconds})\n"
    );
    let is_wrong = !outcome.ending.has_findings();
    if let (Some(reason), true) = (&outcome.reason, is_wrong) {
        let _ = writeln!(told, "Error: {reason}");
    }
    told.push_str(&text(report, 0));
    for (what, files) in [("read", &receipt.read), ("modified", &receipt.modified)] {
        if !files.is_empty() {
            let files: Vec<_> = files.iter().map(String::as_str).collect();
            let _ = write!(told, "\nFiles {what}: {}", files.join(", "));
        }
    }
    for note in notes(receipt) {
        let _ = write!(told, "\nNote: {note}");
    }
    if is_wrong { Err(ToolError(told)) } else { Ok(told) }
}

/// Returns how a child ended as `spawn_agent` and `delegate_task` know it.
pub(super) fn status(ending: Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::BudgetExceeded => "budget_exceeded",
        Ending::Timeout => "timeout",
        Ending::Cancelled => "cancelled",
        Ending::Failed | Ending::Interrupted => "error",
    }
}

fn bare(told: &Told<'_>) -> Result<String, ToolError> {
    let report = told.report;
    let why = match (report.outcome.ending, &report.outcome.reason) {
        (Ending::Completed, _) => return Ok(text(report, 0)),
        (Ending::Timeout, _) => format!("timeout after {}s", report.receipt.millis / 1000),
        (ending, None) => ending.to_string(),
        (_, Some(reason)) => reason.trim_end_matches('.').to_owned(),
    };
    let agent = told.agent.unwrap_or(report.path.as_str());
    let mut error = format!(
        "Error: sub-agent \"{agent}\" failed — {why}. You may retry or proceed without this result."
    );
    let found = text(report, 0);
    if !found.is_empty() {
        let _ = write!(error, "\n\nWhat it had found:\n{found}");
    }
    Err(ToolError(error))
}

/// Returns a state's name as `agent_status` and its like know it: an agent is running,
/// or it is completed, failed or cancelled.
pub(super) fn state(state: State) -> &'static str {
    match state {
        State::Queued | State::Running | State::Waiting | State::Resting => "running",
        State::Completed => "completed",
        State::Failed | State::Interrupted => "failed",
        State::Cancelled => "cancelled",
    }
}

/// Returns the name people see: the first twelve digits of the id.
pub(super) fn name(kind: &str, id: AgentId) -> String {
    let digits: String = id.to_string().chars().filter(char::is_ascii_hexdigit).take(12).collect();
    format!("{kind}-{digits}")
}

/// Returns the child's words from some byte on, cut if they are many.
pub(super) fn text(report: &Report, from: usize) -> String {
    let words = &report.outcome.text;
    let from = words.floor_char_boundary(from);
    match brief::beginning(&words[from..], MOST_BYTES) {
        (text, 0) => text.to_owned(),
        (text, left_out) => {
            let (id, next) = (report.id, from + text.len());
            format!(
                "{text}\n[cut: {left_out} more bytes, from byte {next} on, are in the transcript of \
                 agent {id}]"
            )
        }
    }
}

/// Returns why the child did not complete.
pub(super) fn failure(report: &Report) -> Option<String> {
    let outcome = &report.outcome;
    match (outcome.ending, &outcome.reason) {
        (Ending::Completed, _) => None,
        (ending, None) => Some(ending.to_string()),
        (ending, Some(reason)) => Some(format!("{ending}: {reason}")),
    }
}

/// Returns the facts in a line, such as
/// `[root.sub-1 (ID) completed: 3 calls, 1234 tokens, 2.1s; read a.rs]`.
fn trailer(told: &Told<'_>) -> String {
    let Report { id, path, outcome, receipt } = told.report;
    let Receipt { calls, tokens, micros, millis, .. } = **receipt;
    let ending = outcome.ending;
    let mut facts = format!("{path} ({id}) {ending}: {calls} calls, {tokens} tokens, ");
    if micros > 0 {
        let _ = write!(facts, "${:.4}, ", micros as f64 / 1e6);
    }
    facts.push_str(&seconds(millis));
    let mut parts = vec![facts];
    if told.earlier {
        parts.push("an earlier result: nothing it looked at has changed since".to_owned());
    }
    if let (Ending::Completed, Some(cut)) = (ending, &outcome.reason) {
        parts.push(cut.clone());
    }
    for (what, files) in [("read", &receipt.read), ("modified", &receipt.modified)] {
        if !files.is_empty() {
            parts.push(format!("{what} {}", some(files.iter().map(String::as_str))));
        }
    }
    parts.extend(notes(receipt));
    format!("[{}]", parts.join("; "))
}

/// Names a few, and tells how many more there are.
fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    let shown = names.len().min(10);
    let mut text = names[..shown].join(", ");
    if shown < names.len() {
        let _ = write!(text, " and {} more", names.len() - shown);
    }
    text
}

pub(super) fn seconds(millis: u64) -> String {
    format!("{}.{}s", millis / 1000, millis % 1000 / 100)
}

/// Returns what did not go as it was meant to.
pub(super) fn notes(receipt: &Receipt) -> Vec<String> {
    let mut notes: Vec<String> = receipt.clamped.iter().map(ToString::to_string).collect();
    if !receipt.unfinished.is_empty() {
        notes.push(format!(
            "did not finish: {}",
            some(receipt.unfinished.iter().map(AgentPath::as_str))
        ));
    }
    if !receipt.uncontained.is_empty() {
        let uncontained = some(receipt.uncontained.iter().map(String::as_str));
        notes.push(format!("may still be running: {uncontained}"));
    }
    notes.extend(receipt.handover.iter().map(ToString::to_string));
    notes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use adjutant_core::{Clamp, Handed, Handover, Outcome};

    use super::*;

    fn tell(outcome: Outcome, receipt: Receipt) -> String {
        let id = "019467d9-7e3a-7000-8000-000000000000".parse().unwrap();
        let (outcome, receipt) = (Arc::new(outcome), Arc::new(receipt));
        let report = Report { id, path: AgentPath::root().child("sub", 1), outcome, receipt };
        trailer(&Told { report: &report, agent: None, log: &[], earlier: false })
    }

    #[test]
    fn the_facts_are_in_a_line_with_what_did_not_go_as_meant() {
        let path = AgentPath::root().child("sub", 1);
        let receipt = Receipt {
            calls: 3,
            tokens: 1234,
            micros: 4500,
            millis: 2199,
            read: (10..22).map(|number| format!("{number}.rs")).collect(),
            modified: ["b.rs".to_owned()].into(),
            clamped: vec![Clamp { what: "tokens".into(), asked: "9".into(), given: "5".into() }],
            unfinished: vec![path.child("sub", 2)],
            uncontained: vec!["sleep 9".into()],
            handover: Some(Handover {
                patch: Some("/kept/a.patch".into()),
                directory: "/project".into(),
                files: vec!["a".into()],
                handed: Handed::Applied,
                left_out: vec!["`sub` was left out".into()],
            }),
            ..Receipt::default()
        };
        let expected = "[root.sub-1 (019467d9-7e3a-7000-8000-000000000000) completed: 3 calls, 1234 \
                        tokens, $0.0045, 2.1s; read 10.rs, 11.rs, 12.rs, 13.rs, 14.rs, 15.rs, \
                        16.rs, 17.rs, 18.rs, 19.rs and 2 more; modified b.rs; tokens 9 was cut to \
                        5; did not finish: root.sub-1.sub-2; may still be running: sleep 9; its \
                        changes are made in `a`; `sub` was left out]";
        assert_eq!(tell(Outcome::completed("done"), receipt), expected);
    }

    #[test]
    fn an_answer_that_was_cut_short_says_so() {
        let reason = Some("the answer was cut off".to_owned());
        let told = tell(Outcome { reason, ..Outcome::completed("do") }, Receipt::default());
        assert!(told.ends_with("0 calls, 0 tokens, 0.0s; the answer was cut off]"), "{told}");
    }
}
