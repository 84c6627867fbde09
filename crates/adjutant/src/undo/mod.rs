//! `adjutant undo`: makes files what they were before agents changed them.
//!
//! ```text
//! journal ─▶ Record: every change, by file ─▶ Trail: those that stand ─▶ Plan ─▶ disk
//! ```
//!
//! An undoing is recorded in the session whose changes it undoes, as changes of the root's by a
//! call of its own. So it can be undone like any other.

mod plan;
mod planning;
mod record;
mod report;
mod search;
mod trail;
mod work;

use std::{io::Write, path::Path, sync::Arc};

use adjutant_core::JournalError;
use adjutant_store::{LocalBus, SqliteJournal};
use tokio::runtime::Builder;

use crate::{
    CliError, ExitCode, Surroundings,
    arguments::UndoArguments,
    config::{Config, Journal},
    error::Kind,
    place::working_directory,
    running::Running,
};
use report::Report;
use search::{Search, Target};
use work::Work;

/// Undoes what agents did to files.
pub fn undo(
    arguments: &UndoArguments,
    around: &Surroundings,
    to: &mut dyn Write,
) -> Result<ExitCode, CliError> {
    let directory = working_directory(around, arguments.place.cwd.as_deref())?;
    let config = Config::load(around, &directory, &arguments.place.flags())?;
    if config.journal == Journal::Memory {
        let message = "nothing can be undone: `journal = \"memory\"` forgets a run when it ends";
        return Err(CliError::new(Kind::Config, message));
    }
    let target = Target {
        name: arguments.target.as_deref(),
        session: arguments.session,
        directory: &directory,
        own_places: &config.own_places,
    };
    let runtime = Builder::new_current_thread().build()?;
    let report = if config.journal_path.exists() {
        let bus = Arc::new(LocalBus::default());
        let journal = SqliteJournal::new(&config.journal_path, config.durability, bus);
        runtime.block_on(act(&journal, &target, arguments, &config.journal_path))?
    } else {
        Report::nothing("no agent has changed a file yet")
    };
    let write = if arguments.json { Report::write_json } else { Report::write_text };
    write(&report, &directory, to)?;
    Ok(report.code())
}

async fn act(
    journal: &SqliteJournal,
    target: &Target<'_>,
    arguments: &UndoArguments,
    file: &Path,
) -> Result<Report, CliError> {
    let (found, unfinished) = Search::run(journal, target).await?;
    let report = match found {
        Search::Nothing(why) => Report::nothing(why),
        Search::Found(record, wanted, plans) => {
            let Some(_running) = Running::take(file, record.session)? else {
                let message = format!("session {} is still at work", record.session);
                return Err(CliError::new(Kind::Usage, message).hint("undo when it has ended"));
            };
            if arguments.dry_run {
                Report::planned(record.session, plans)
            } else if !arguments.keep_going && plans.iter().any(|(_, plan)| plan.is_conflict()) {
                Report::refused(record.session, plans)
            } else {
                let (call, done) = Work::new(journal, &record, &wanted).run(plans).await?;
                Report::done(record.session, call, done)
            }
        }
    };
    Ok(report.with(unfinished))
}

impl From<JournalError> for CliError {
    fn from(error: JournalError) -> Self {
        Self::new(Kind::Internal, error.to_string())
    }
}
