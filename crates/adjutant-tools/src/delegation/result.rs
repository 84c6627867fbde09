//! How a child ended, in words.

use std::{fmt::Write as _, time::Duration};

use adjutant_core::{AgentId, Ending, Message, ReadOn, Receipt, Report, State, ToolError};

use super::Style;
use crate::brief;

/// How many of a child's calls are told.
const MOST_CALLS: usize = 50;

/// What is told of a child that was waited for.
pub(super) struct Told<'a> {
    pub(super) report: &'a Report,
    /// The named agent it was.
    pub(super) agent: Option<&'a str>,
    /// How much time it had.
    pub(super) limit: Option<Duration>,
    /// What it said and did, where that is told too.
    pub(super) log: &'a [std::sync::Arc<Message>],
    pub(super) earlier: bool,
    pub(super) read_on: ReadOn,
}

impl Told<'_> {
    fn words(&self) -> String {
        self.report.words(0, self.read_on)
    }
}

impl Style {
    /// Puts into words what came of a child.
    pub(super) fn tell(self, told: &Told<'_>) -> Result<String, ToolError> {
        match self {
            Self::Adjutant => plain(told, ""),
            Self::Opal => plain(told, &log(told.log)),
            Self::Opta => totals(told),
            Self::Axe => bare(told),
        }
    }
}

fn plain(told: &Told<'_>, log: &str) -> Result<String, ToolError> {
    let report = told.report;
    let (text, trailer) = (told.words(), trailer(told));
    let response = if log.is_empty() { "" } else { "## Sub-agent response\n" };
    match failure(report) {
        None => Ok(format!("{log}{response}{text}\n\n{trailer}")),
        // A named agent is called like a function, and fails like one.
        Some(_) if told.agent.is_some() => {
            bare(told).map_err(|ToolError(error)| ToolError(format!("{log}{error}\n\n{trailer}")))
        }
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

fn totals(told: &Told<'_>) -> Result<String, ToolError> {
    let Report { outcome, receipt, .. } = told.report;
    let Receipt { calls, tokens, millis, .. } = **receipt;
    let (status, seconds) = (status(outcome.ending), seconds(millis));
    let mark = match outcome.ending {
        Ending::Completed => String::new(),
        _ => format!("[{}] ", status.replace('_', " ").to_uppercase()),
    };
    let mut text = format!(
        "{mark}Sub-agent result: {status} ({calls} tool calls, {tokens} tokens, {seconds})\n"
    );
    let is_wrong = !outcome.ending.has_findings();
    if let (Some(reason), true) = (&outcome.reason, is_wrong) {
        let _ = writeln!(text, "Error: {reason}");
    }
    text.push_str(&told.words());
    for (what, files) in [("read", &receipt.read), ("modified", &receipt.modified)] {
        if !files.is_empty() {
            let files: Vec<_> = files.iter().map(String::as_str).collect();
            let _ = write!(text, "\nFiles {what}: {}", files.join(", "));
        }
    }
    for note in receipt.notes() {
        let _ = write!(text, "\nNote: {note}");
    }
    if is_wrong { Err(ToolError(text)) } else { Ok(text) }
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
        (Ending::Completed, _) => return Ok(told.words()),
        (Ending::Timeout, _) => format!("timeout after {}s", time(told).as_secs()),
        (ending, None) => ending.to_string(),
        (_, Some(reason)) => reason.trim_end_matches('.').to_owned(),
    };
    let agent = told.agent.unwrap_or(report.path.as_str());
    let mut error = failed(agent, &why);
    let found = told.words();
    if !found.is_empty() {
        let _ = write!(error, "\n\nWhat it had found:\n{found}");
    }
    Err(ToolError(error))
}

/// Tells that a named agent failed.
pub(super) fn failed(agent: &str, why: &str) -> String {
    format!(
        "Error: sub-agent \"{agent}\" failed — {why}. You may retry or proceed without this result."
    )
}

/// Returns the time after which a child's was up: what it had, though it ended a little earlier if
/// there was nothing to say in the part that is kept for last words; less, if its parent had less.
fn time(told: &Told<'_>) -> Duration {
    let passed = Duration::from_millis(told.report.receipt.millis);
    told.limit.filter(|limit| passed >= limit.mul_f64(0.85)).unwrap_or(passed)
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

/// Returns the name people see: the last twelve digits of the id. The first are the time, which
/// siblings share.
pub(super) fn name(kind: &str, id: AgentId) -> String {
    let id = id.to_string().replace('-', "");
    format!("{kind}-{}", &id[id.len().saturating_sub(12)..])
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
    let ending = outcome.ending;
    let mut parts = vec![format!("{path} ({id}) {ending}: {}", receipt.totals())];
    if told.earlier {
        parts.push("an earlier result: nothing it looked at has changed since".to_owned());
    }
    if let (Ending::Completed, Some(cut)) = (ending, &outcome.reason) {
        parts.push(cut.clone());
    }
    parts.extend(receipt.facts());
    format!("[{}]", parts.join("; "))
}

pub(super) fn seconds(millis: u64) -> String {
    format!("{}.{}s", millis / 1000, millis % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use adjutant_core::{AgentPath, Outcome};

    use super::*;

    fn tell(outcome: Outcome, receipt: Receipt) -> String {
        let id = "019467d9-7e3a-7000-8000-000000000000".parse().unwrap();
        let (outcome, receipt) = (Arc::new(outcome), Arc::new(receipt));
        let report = Report { id, path: AgentPath::root().child("sub", 1), outcome, receipt };
        let read_on = ReadOn::Transcript;
        trailer(&Told {
            report: &report,
            agent: None,
            limit: None,
            log: &[],
            earlier: false,
            read_on,
        })
    }

    #[test]
    fn the_facts_are_in_a_line() {
        let receipt = Receipt {
            calls: 3,
            tokens: 1234,
            millis: 2199,
            read: ["a.rs".to_owned()].into(),
            uncontained: vec!["sleep 9".into()],
            ..Receipt::default()
        };
        let expected = "[root.sub-1 (019467d9-7e3a-7000-8000-000000000000) completed: 3 calls, 1234 \
                        tokens, 2.1s; read a.rs; may still be running: sleep 9]";
        assert_eq!(tell(Outcome::completed("done"), receipt), expected);
    }

    #[test]
    fn an_answer_that_was_cut_short_says_so() {
        let reason = Some("the answer was cut off".to_owned());
        let told = tell(Outcome { reason, ..Outcome::completed("do") }, Receipt::default());
        assert!(told.ends_with("0 calls, 0 tokens, 0.0s; the answer was cut off]"), "{told}");
    }

    #[test]
    fn those_started_in_the_same_millisecond_have_different_names() {
        let [one, other] = ["a1", "b2"].map(|end| {
            name("fork", format!("019467d9-7e3a-7000-8000-0000000000{end}").parse().unwrap())
        });
        assert_eq!((one.as_str(), other.as_str()), ("fork-0000000000a1", "fork-0000000000b2"));
    }
}
