//! What undoing would do to all files together: what is in the way of one may go with another.

use std::{
    fs,
    path::{Path, PathBuf},
};

use adjutant_core::Vault;
use adjutant_tools::restore::{Obstacle, Spot};

use super::{
    plan::{Plan, Verdict, Wanted, is_directory},
    record::Record,
    trail::Trail,
};
use crate::CliError;

/// Files and what undoing would do to each, in the order of their names.
pub(super) type Plans = Vec<(String, Plan)>;

/// Makes the plan for each file that is concerned.
pub(super) async fn plans(
    vault: &dyn Vault,
    record: &Record,
    wanted: &Wanted,
) -> Result<Plans, CliError> {
    let (mut plans, mut obstacles) = (Plans::new(), Vec::new());
    for (file, steps) in &record.files {
        if !steps.iter().any(|step| wanted.covers(step)) {
            continue;
        }
        let path = Path::new(file);
        let present = match (Spot::find(path), Obstacle::find(path)) {
            (Ok(spot), _) => spot.state(),
            (Err(_), Some(obstacle)) => {
                obstacles.push((file, obstacle));
                None
            }
            (Err(error), None) => {
                plans.push((file.clone(), Plan::unreadable(error.to_string(), steps, wanted)));
                continue;
            }
        };
        let plan = Plan::make(&Trail::follow(steps, &present), wanted, &present);
        let Some(mut plan) = plan else { continue };
        if !plan.is_kept(vault).await? {
            plan = Plan::conflict("what it held was not kept", &plan.steps);
        }
        plans.push((file.clone(), plan));
    }
    for (file, obstacle) in obstacles {
        if !find(&plans, &obstacle.path).is_some_and(Plan::makes_way) {
            set_conflict(&mut plans, file, obstacle.to_string());
        }
    }
    clear(&mut plans);
    Ok(plans)
}

/// Leaves out the directories that would not go since others have something in them, which is in
/// the way of what is to take their place.
fn clear(plans: &mut Plans) {
    let has_gone = |path: &Path| find(plans, path).is_some_and(|it| it.verdict == Verdict::Removed);
    let stays: Vec<_> = plans
        .iter()
        .filter(|(_, plan)| is_directory(&plan.present) && !is_directory(&plan.to))
        .filter_map(|(file, plan)| {
            let left = what_stays(Path::new(file), &has_gone)?;
            Some((file.clone(), plan.verdict.clone(), left))
        })
        .collect();
    for (file, verdict, left) in stays {
        if verdict == Verdict::Removed {
            plans.retain(|(other, _)| *other != file);
        } else {
            let why = format!("is a directory, and `{}` is in it", left.display());
            set_conflict(plans, &file, why);
        }
    }
}

/// Returns something in a directory that does not go.
fn what_stays(directory: &Path, goes: &impl Fn(&Path) -> bool) -> Option<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().find_map(|entry| {
        let path = entry.path();
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let below = is_directory.then(|| what_stays(&path, goes)).flatten();
        below.or_else(|| (!goes(&path)).then_some(path))
    })
}

fn find<'a>(plans: &'a Plans, path: &Path) -> Option<&'a Plan> {
    let path = path.to_str()?;
    let place = plans.binary_search_by(|(file, _)| file.as_str().cmp(path)).ok()?;
    Some(&plans[place].1)
}

fn set_conflict(plans: &mut Plans, file: &str, why: String) {
    if let Some((_, plan)) = plans.iter_mut().find(|(other, _)| other == file) {
        *plan = Plan::conflict(why, &plan.steps);
    }
}

impl Plan {
    /// Reports whether something is left to be done or told. A directory that is as it was is
    /// not worth a word.
    pub(super) fn is_worth_it(&self) -> bool {
        let is_of_directories =
            self.steps.iter().all(|step| is_directory(&step.before) || is_directory(&step.after));
        self.verdict != Verdict::Left && (!is_of_directories || self.verdict != Verdict::Unchanged)
    }

    /// Reports whether a directory can be where this is, once it is done.
    fn makes_way(&self) -> bool {
        self.is_change() && self.to.as_ref().is_none_or(|to| to.is_directory())
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
