//! Which session is meant, and what undoing would do to its files.

use std::path::{Path, PathBuf};

use adjutant_core::{Journal, SessionId, Vault};
use adjutant_tools::restore::Spot;

use super::{
    plan::{Plan, Verdict, Wanted, is_directory},
    record::{Named, Record},
    trail::Trail,
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
    Found(Record, Wanted, Vec<(String, Plan)>),
}

impl Search {
    /// Looks for the latest session that is meant and has something to be undone. What is named
    /// is looked for no further than where it is found, undone or not.
    pub(super) async fn run<S>(store: &S, target: &Target<'_>) -> Result<Self, CliError>
    where
        S: Journal + Vault,
    {
        let mut passed: Option<Record> = None;
        for session in sessions(store, target).await? {
            let mut record = Record::read(store, session).await?;
            let is_own =
                |file: &str| target.own_places.iter().any(|it| Path::new(file).starts_with(it));
            record.files.retain(|file, _| !is_own(file));
            if target.session.is_none() && !record.is_below(target.directory) {
                continue;
            }
            let wanted = match target.name.map(|name| record.find(name)) {
                None => Wanted::All,
                Some(Named::One(wanted)) => wanted,
                Some(Named::Several(names)) => return Err(ambiguous(target, &names)),
                Some(Named::Nothing) => {
                    passed.get_or_insert(record);
                    continue;
                }
            };
            let plans = plans(store, &record, &wanted).await?;
            if plans.iter().any(|(_, plan)| plan.is_worth_it()) {
                return Ok(Self::Found(record, wanted, plans));
            }
            if target.name.is_some() {
                return Ok(Self::Nothing("what it changed is undone already"));
            }
        }
        match (target, passed) {
            (Target { name: Some(name), .. }, passed) => Err(unknown(name, passed.as_ref())),
            (Target { session: Some(_), .. }, _) => {
                Ok(Self::Nothing("it changed no file, or all is undone already"))
            }
            _ => Ok(Self::Nothing(
                "no session has changed a file below this directory, or all is undone already",
            )),
        }
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

/// Makes the plan for each file that is concerned.
async fn plans(
    vault: &dyn Vault,
    record: &Record,
    wanted: &Wanted,
) -> Result<Vec<(String, Plan)>, CliError> {
    let mut plans = Vec::new();
    for (file, steps) in &record.files {
        if !steps.iter().any(|step| wanted.covers(step)) {
            continue;
        }
        let plan = match Spot::find(Path::new(file)).map(|spot| spot.state()) {
            Ok(present) => Plan::make(&Trail::follow(steps, &present), wanted, &present),
            Err(error) => Some(Plan::conflict(error.to_string(), steps)),
        };
        let Some(mut plan) = plan else { continue };
        if !plan.is_kept(vault).await? {
            plan = Plan::conflict("what it held was not kept", &plan.steps);
        }
        plans.push((file.clone(), plan));
    }
    Ok(plans)
}

impl Plan {
    /// Reports whether something is left to be done or told. A directory only goes along with
    /// the files that were in it.
    fn is_worth_it(&self) -> bool {
        !self.steps.iter().all(|step| is_directory(&step.before) || is_directory(&step.after))
    }

    /// Reports whether there is something to put back, if something is to be.
    async fn is_kept(&self, vault: &dyn Vault) -> Result<bool, CliError> {
        match (&self.verdict, &self.to) {
            (Verdict::Restored | Verdict::Recreated, Some(to)) if !is_directory(&self.to) => {
                Ok(vault.fetch(&to.digest).await?.is_some())
            }
            _ => Ok(true),
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
