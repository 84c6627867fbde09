//! Which session is meant, and what undoing would do to its files.

use std::path::{Path, PathBuf};

use adjutant_core::{Journal, SessionId, Vault};

use super::{
    plan::Wanted,
    planning::{self, Plans},
    record::{Named, Record, Unfinished},
};
use crate::{CliError, error::Kind};

/// How many names are held out to somebody who gave a wrong one.
const CANDIDATES: usize = 12;

/// What is to be undone, as somebody said it.
pub(super) struct Target<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) session: Option<SessionId>,
    pub(super) directory: &'a Path,
    /// Where the program's own files are, which are nobody's to put back.
    pub(super) own_places: &'a [PathBuf],
}

/// What was found.
pub(super) enum Search {
    /// There is nothing to be done, and why.
    Nothing(&'static str),
    /// Changes, and what undoing them would do to each file.
    Found(Box<Record>, Wanted, Plans),
}

impl Search {
    /// Looks for the latest session that is meant and has something to be undone. What is named
    /// is looked for no further than where it is found, undone or not. A session that was undone
    /// but for what is in conflict counts only if there is no other.
    ///
    /// Also returns the commands that are meant and of which nobody knows what they changed,
    /// those of the latest session before all.
    pub(super) async fn run<S>(
        store: &S,
        target: &Target<'_>,
    ) -> Result<(Self, Vec<Unfinished>), CliError>
    where
        S: Journal + Vault,
    {
        let (mut passed, mut unfinished, mut ours) = (None, Vec::new(), 0);
        let mut undone = None;
        for session in sessions(store, target).await? {
            let mut record = Record::read(store, session).await?;
            let is_own =
                |file: &str| target.own_places.iter().any(|it| Path::new(file).starts_with(it));
            record.files.retain(|file, _| !is_own(file));
            if target.session.is_none() && !record.may_be_below(target.directory) {
                continue;
            }
            ours += 1;
            let wanted = match target.name.map(|name| record.find(name)) {
                None => Wanted::All,
                Some(Named::One(wanted)) => wanted,
                Some(Named::Several(names)) => return Err(ambiguous(target, &names)),
                Some(Named::Nothing) => {
                    passed.get_or_insert(record);
                    continue;
                }
            };
            let plans = planning::plans(store, &record, &wanted).await?;
            let is_found = plans.iter().any(|(_, plan)| plan.is_worth_it());
            if is_found || target.name.is_some() || ours == 1 {
                unfinished.extend(record.unfinished(&wanted));
            }
            let is_undone = record.was_undone() && !plans.iter().any(|(_, plan)| plan.is_change());
            if is_found && is_undone && target.name.is_none() {
                undone.get_or_insert(Self::Found(Box::new(record), wanted, plans));
                continue;
            }
            if is_found {
                return Ok((Self::Found(Box::new(record), wanted, plans), unfinished));
            }
            if target.name.is_some() {
                return Ok((Self::Nothing("what it changed is undone already"), unfinished));
            }
        }
        if let Some(undone) = undone {
            return Ok((undone, unfinished));
        }
        let why = match (target, passed) {
            (Target { name: Some(name), .. }, passed) => {
                return Err(unknown(name, passed.as_ref()));
            }
            (Target { session: Some(_), .. }, _) => "it changed no file, or all is undone already",
            _ => "no session has changed a file below this directory, or all is undone already",
        };
        Ok((Self::Nothing(why), unfinished))
    }
}

async fn sessions(journal: &dyn Journal, target: &Target<'_>) -> Result<Vec<SessionId>, CliError> {
    let known: Vec<_> = journal.sessions().await?.into_iter().map(|it| it.id).collect();
    match target.session {
        None => Ok(known),
        Some(session) if known.contains(&session) => Ok(vec![session]),
        Some(session) => {
            Err(CliError::new(Kind::Usage, format!("there is no session {session} in the journal")))
        }
    }
}

fn ambiguous(target: &Target<'_>, names: &[String]) -> CliError {
    let name = target.name.unwrap_or_default();
    let error = CliError::new(Kind::Usage, format!("`{name}` can mean several things"));
    error.hint(format!("say one of: {}", list(names)))
}

fn unknown(name: &str, latest: Option<&Record>) -> CliError {
    let error = CliError::new(Kind::Usage, format!("no agent and no call `{name}` changed a file"));
    let Some(record) = latest else { return error };
    let calls = record.calls();
    let mut agents: Vec<_> = calls.iter().map(|(agent, _)| agent.to_string()).collect();
    agents.dedup();
    let calls: Vec<_> = calls.iter().map(|(_, call)| call.to_string()).collect();
    error
        .hint(format!("the agents that did in session {}: {}", record.session, list(&agents)))
        .hint(format!("their calls: {}", list(&calls)))
}

fn list(names: &[String]) -> String {
    let shown = &names[..names.len().min(CANDIDATES)];
    let more = names.len() - shown.len();
    let end = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{end}", shown.join(", "))
}
