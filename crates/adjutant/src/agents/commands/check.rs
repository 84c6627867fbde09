//! `adjutant agents check`: what is wrong with agents' files.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use adjutant_surfaces::sanitize::visible;
use serde_json::json;

use super::{Desk, problem};
use crate::{
    CliError, ExitCode,
    agents::{
        check::{Linter, passed_over::passed_over},
        library::{Entry, no_file},
        order::is_file,
        problem::{Problem, Severity},
    },
};

/// Checks the agents that are named, with their skills, or all that there are. There is an error code if there is an error.
pub(super) fn check(
    desk: &Desk<'_>,
    names: &[String],
    json: bool,
    to: &mut dyn Write,
) -> Result<ExitCode, CliError> {
    let linter = Linter::new(&desk.agents, &desk.config, desk.around)?;
    let entries = entries(desk, names)?;
    let mut problems: Vec<_> = entries.iter().flat_map(|entry| linter.lint(entry)).collect();
    let told = &desk.agents.told;
    if names.is_empty() {
        problems.extend(told.problems.iter().cloned());
        problems.extend(passed_over(desk.around, &desk.agents.directory));
    }
    let skills = entries.iter().flat_map(|entry| told.problems_of(&entry.name()));
    problems.extend(skills.cloned());
    problems.sort_by(|one, other| {
        let key = |it: &Problem| (it.file.clone(), it.line, std::cmp::Reverse(it.severity));
        key(one).cmp(&key(other)).then_with(|| one.message.cmp(&other.message))
    });
    problems.dedup();
    let report = Report { checked: entries.len(), problems };
    let write = if json { Report::write_json } else { Report::write_text };
    write(&report, to)?;
    Ok(if report.count(Severity::Error) == 0 { ExitCode::Completed } else { ExitCode::Usage })
}

/// Returns the files that are to be checked.
fn entries<'a>(desk: &'a Desk<'_>, names: &[String]) -> Result<Vec<&'a Entry>, CliError> {
    let library = &desk.agents.library;
    if names.is_empty() {
        return Ok(library.entries.iter().collect());
    }
    let file = |name: &String| -> Result<PathBuf, CliError> {
        let file = desk.around.directory.join(name);
        if is_file(name) {
            return Ok(file);
        }
        if let Some(found) = library.get(name) {
            return Ok(found.origin.file.clone());
        }
        let refused = library.entries.iter().find(|entry| entry.name() == *name);
        match refused {
            Some(refused) => Ok(refused.file.clone()),
            None => library.find(name).map(|found| found.origin.file.clone()),
        }
    };
    let entry = |name: &String| {
        let file = file(name)?;
        library.entry(&file).ok_or_else(|| no_file(&file))
    };
    names.iter().map(entry).collect()
}

/// What was found.
struct Report {
    checked: usize,
    problems: Vec<Problem>,
}

impl Report {
    fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }

    fn write_text(&self, to: &mut dyn Write) -> io::Result<()> {
        for problem in &self.problems {
            writeln!(to, "{problem}")?;
            if let Some(hint) = &problem.hint {
                writeln!(to, "  hint: {}", visible(hint))?;
            }
        }
        let count = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        writeln!(
            to,
            "{} checked: {}, {} dropped, {}",
            count(self.checked, "file", "files"),
            count(self.count(Severity::Error), "error", "errors"),
            self.count(Severity::Dropped),
            count(self.count(Severity::Warning), "warning", "warnings"),
        )
    }

    fn write_json(&self, to: &mut dyn Write) -> io::Result<()> {
        let report = json!({
            "checked": self.checked,
            "errors": self.count(Severity::Error),
            "dropped": self.count(Severity::Dropped),
            "warnings": self.count(Severity::Warning),
            "problems": self.problems.iter().map(problem).collect::<Vec<_>>(),
        });
        super::write_json(&report, to)
    }
}
