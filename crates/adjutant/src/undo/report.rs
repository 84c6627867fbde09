//! What undoing did, or would do.

use std::{
    io::{self, Write},
    path::Path,
};

use adjutant_core::{CallId, SessionId};
use adjutant_surfaces::sanitize::visible;
use serde_json::{Value, json};

use super::{
    plan::{Plan, Verdict, is_directory},
    trail::{REDO, Step},
};
use crate::ExitCode;

/// What undoing did, or would do.
pub(super) struct Report {
    session: Option<SessionId>,
    state: Progress,
    files: Vec<(String, Plan)>,
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
        Self { session: None, state: Progress::Nothing(why), files: Vec::new() }
    }

    /// Directories are left out: whether they go is seen when it is done.
    pub(super) fn planned(session: SessionId, mut files: Vec<(String, Plan)>) -> Self {
        files.retain(|(_, plan)| !is_directory(&plan.present));
        Self { session: Some(session), state: Progress::Planned, files }
    }

    pub(super) fn refused(session: SessionId, mut files: Vec<(String, Plan)>) -> Self {
        files.retain(|(_, plan)| plan.is_conflict());
        Self { session: Some(session), state: Progress::Refused, files }
    }

    pub(super) fn done(session: SessionId, call: CallId, files: Vec<(String, Plan)>) -> Self {
        Self { session: Some(session), state: Progress::Done(call), files }
    }

    pub(super) fn code(&self) -> ExitCode {
        let is_short = self.files.iter().any(|(_, plan)| plan.is_conflict());
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
                Verdict::Restored | Verdict::Removed | Verdict::Recreated => String::new(),
            };
            writeln!(to, "{:<10} {shown}{why}", self.word(&plan.verdict))?;
        }
        writeln!(to, "{}", self.sum())
    }

    /// Writes it for programs: one object.
    pub(super) fn write_json(&self, _: &Path, to: &mut dyn Write) -> io::Result<()> {
        let file = |(file, plan): &(String, Plan)| {
            let why = match &plan.verdict {
                Verdict::Conflict(why) => Value::from(why.as_str()),
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
        let report = json!({
            "state": state, "session": self.session, "call": call, "files": files,
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
        let is_change = |plan: &Plan| !plan.is_conflict() && plan.verdict != Verdict::Unchanged;
        let others = self.files.iter().filter(|(_, plan)| is_change(plan)).count();
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
            Self::Conflict(_) => "conflict",
        }
    }

    fn planned(&self) -> &'static str {
        match self {
            Self::Restored => "restore",
            Self::Removed => "remove",
            Self::Recreated => "recreate",
            Self::Unchanged => "unchanged",
            Self::Conflict(_) => "conflict",
        }
    }
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
