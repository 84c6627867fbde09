//! How a child stands or ended, in words.

use adjutant_core::{AgentId, AgentPath, Ending, Receipt, Report, State};

use crate::brief;

/// The most bytes of a child's words that are handed on.
const MOST_BYTES: usize = 32 * 1024;

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
pub(super) fn name(id: AgentId) -> String {
    let digits: String = id.to_string().chars().filter(char::is_ascii_hexdigit).take(12).collect();
    format!("sub-agent-{digits}")
}

/// Returns the child's words, cut if they are many.
pub(super) fn text(report: &Report) -> String {
    match brief::beginning(&report.outcome.text, MOST_BYTES) {
        (text, 0) => text.to_owned(),
        (text, left_out) => {
            let id = report.id;
            format!("{text}\n[cut: {left_out} more bytes are in the transcript of agent {id}]")
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

/// Returns the facts in a line, such as `[root.sub-1 completed: 3 calls, 1234 tokens, 2.1s]`.
pub(super) fn trailer(report: &Report) -> String {
    let Report { path, outcome, receipt, .. } = report;
    let Receipt { calls, tokens, millis, .. } = **receipt;
    let ending = outcome.ending;
    let seconds = format!("{}.{}s", millis / 1000, millis % 1000 / 100);
    let mut parts = vec![format!("{path} {ending}: {calls} calls, {tokens} tokens, {seconds}")];
    parts.extend(notes(receipt));
    format!("[{}]", parts.join("; "))
}

/// Returns what did not go as it was meant to.
pub(super) fn notes(receipt: &Receipt) -> Vec<String> {
    let mut notes: Vec<String> = receipt.clamped.iter().map(ToString::to_string).collect();
    if !receipt.unfinished.is_empty() {
        let paths: Vec<&str> = receipt.unfinished.iter().map(AgentPath::as_str).collect();
        notes.push(format!("did not finish: {}", paths.join(", ")));
    }
    if !receipt.uncontained.is_empty() {
        notes.push(format!("may still be running: {}", receipt.uncontained.join(", ")));
    }
    notes.extend(receipt.handover.iter().map(ToString::to_string));
    notes
}
