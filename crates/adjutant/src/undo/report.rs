//! What undoing did, or would do.

use std::{
    io::{self, Write},
    path::Path,
};

use adjutant_core::{CallId, SessionId};
use adjutant_surfaces::sanitize::visible;
use serde_json::{Value, json};

use super::{
    plan::{Plan, Verdict},
    planning::Plans,
    record::Unfinished,
    trail::{REDO, Step},
};
use crate::ExitCode;

/// Why a new file stays.
const LEFT: &str = "is new, and too large or unreadable to be kept; remove it if it is not needed";

/// What undoing did, or would do.
pub(super) struct Report {
    session: Option<SessionId>,
    state: Progress,
    files: Plans,
    /// Commands of which nobody knows what they changed last.
    unfinished: Vec<Unfinished>,
}

/// How far it went.
enum Progress {
    /// There was nothing to do, and why.
    Nothing(&'static str),
    /// It was only planned.
    Planned,
    /// Nothing was done, since something is in the way.
    Refused,
    /// It was done, and is recorded as this call.
    Done(CallId),
}

impl Report {
    pub(super) fn nothing(why: &'static str) -> Self {
        Self {
            session: None,
            state: Progress::Nothing(why),
            files: Vec::new(),
            unfinished: Vec::new(),
        }
    }

    pub(super) fn planned(session: SessionId, files: Plans) -> Self {
        Self { session: Some(session), state: Progress::Planned, files, unfinished: Vec::new() }
    }

    pub(super) fn refused(session: SessionId, mut files: Plans) -> Self {
        files.retain(|(_, plan)| plan.is_conflict());
        Self { state: Progress::Refused, ..Self::planned(session, files) }
    }

    pub(super) fn done(session: SessionId, call: CallId, files: Plans) -> Self {
        Self { state: Progress::Done(call), ..Self::planned(session, files) }
    }

    /// Tells of commands as well.
    pub(super) fn with(self, unfinished: Vec<Unfinished>) -> Self {
        Self { unfinished, ..self }
    }

    pub(super) fn code(&self) -> ExitCode {
        let is_left = |plan: &Plan| plan.is_conflict() || plan.verdict == Verdict::Left;
        let is_short =
            self.files.iter().any(|(_, plan)| is_left(plan)) || !self.unfinished.is_empty();
        if is_short { ExitCode::Failed } else { ExitCode::Completed }
    }

    /// Writes it for people: a line for each file, and one for all.
    pub(super) fn write_text(&self, directory: &Path, to: &mut dyn Write) -> io::Result<()> {
        for (file, plan) in &self.files {
            let shown = Path::new(file).strip_prefix(directory).unwrap_or(Path::new(file));
            let shown = visible(&shown.to_string_lossy()).replace('\n', "\\n");
            let why = match &plan.verdict {
                Verdict::Conflict(why) => format!(": {}", visible(why)),
                Verdict::Unchanged => ": is as it was".to_owned(),
                Verdict::Left => format!(": {LEFT}"),
                Verdict::Restored | Verdict::Removed | Verdict::Recreated => String::new(),
            };
            writeln!(to, "{:<10} {shown}{why}", self.word(&plan.verdict))?;
        }
        for Unfinished { session, agent, call, command, why } in &self.unfinished {
            let line = |text: &str| visible(text).replace('\n', "\\n");
            let told = match why {
                None => format!(
                    "run_command call {call} of {agent} was not seen to end; what it changed \
                     since it was last looked at was not recorded"
                ),
                Some(why) => format!(
                    "from call {call} of {agent} on, what commands changed was not recorded: {}",
                    line(why)
                ),
            };
            writeln!(to, "unknown    {told} (session {session}): {}", line(command))?;
        }
        writeln!(to, "{}", self.sum())
    }

    /// Writes it for programs: one object.
    pub(super) fn write_json(&self, _: &Path, to: &mut dyn Write) -> io::Result<()> {
        let file = |(file, plan): &(String, Plan)| {
            let why = match &plan.verdict {
                Verdict::Conflict(why) => Value::from(why.as_str()),
                Verdict::Left => LEFT.into(),
                _ => Value::Null,
            };
            let by = |step: &Step| json!({ "agent": step.agent, "call": step.call });
            let changes: Vec<_> = plan.steps.iter().map(by).collect();
            let action = plan.verdict.done();
            json!({ "file": file, "action": action, "why": why, "changes": changes })
        };
        let (state, call) = match &self.state {
            Progress::Nothing(_) => ("nothing", None),
            Progress::Planned => ("planned", None),
            Progress::Refused => ("refused", None),
            Progress::Done(call) => ("done", Some(call)),
        };
        let files: Vec<_> = self.files.iter().map(file).collect();
        let command = |it: &Unfinished| {
            let Unfinished { session, agent, call, command, why } = it;
            json!({
                "session": session, "agent": agent, "call": call, "command": command, "why": why,
            })
        };
        let unfinished: Vec<_> = self.unfinished.iter().map(command).collect();
        let report = json!({
            "state": state, "session": self.session, "call": call, "files": files,
            "unfinished": unfinished,
        });
        writeln!(to, "{report}")
    }

    fn word(&self, verdict: &Verdict) -> &'static str {
        match self.state {
            Progress::Planned => verdict.planned(),
            Progress::Nothing(_) | Progress::Refused | Progress::Done(_) => verdict.done(),
        }
    }

    fn sum(&self) -> String {
        let session = self.session.map(|session| session.to_string()).unwrap_or_default();
        let conflicts = self.files.iter().filter(|(_, plan)| plan.is_conflict()).count();
        let others = self.files.iter().filter(|(_, plan)| plan.is_change()).count();
        match &self.state {
            Progress::Nothing(why) => format!("nothing to undo: {why}"),
            Progress::Planned => format!(
                "would change {}, {conflicts} in conflict (session {session})",
                files(others)
            ),
            Progress::Refused => format!(
                "nothing was changed: {} in conflict; `--keep-going` undoes the others \
                 (session {session})",
                files(conflicts)
            ),
            Progress::Done(_) if others == 0 => format!("nothing was changed (session {session})"),
            Progress::Done(call) => {
                let (word, back) =
                    if call.starts_with(REDO) { ("redid", "undoes") } else { ("undid", "redoes") };
                format!(
                    "{word} {}, {conflicts} in conflict (session {session}); \
                     `adjutant undo {call}` {back} it",
                    files(others)
                )
            }
        }
    }
}

impl Verdict {
    fn done(&self) -> &'static str {
        match self {
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Recreated => "recreated",
            Self::Unchanged => "unchanged",
            Self::Left => "left",
            Self::Conflict(_) => "conflict",
        }
    }

    fn planned(&self) -> &'static str {
        match self {
            Self::Restored => "restore",
            Self::Removed => "remove",
            Self::Recreated => "recreate",
            Self::Unchanged => "unchanged",
            Self::Left => "leave",
            Self::Conflict(_) => "conflict",
        }
    }
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
