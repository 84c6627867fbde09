//! A commit of what the agents changed, and of nothing else.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use adjutant_tools::git::{Repository, entries};
use tokio::task::spawn_blocking;

use super::stage::{self, Stage};

/// How long the first line of a message is at most.
const LONGEST: usize = 72;

/// What is there while git is in the middle of something.
const UNDERWAY: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
];

/// Commits files on the current branch as they are now. What else is staged or changed stays as
/// it is. Returns what a person should know of it.
pub(super) async fn commit(
    stage: &Stage,
    files: &BTreeSet<PathBuf>,
    task: &str,
    session: &str,
) -> Result<String, String> {
    let repository = &stage.repository;
    check(repository.directory.clone()).await?;
    let branch = repository.git().args(["symbolic-ref", "--short", "HEAD"]).name(b"").await;
    let branch = branch.map_err(|_| "there is no current branch".to_owned())?;
    let head = repository.head().await;
    stage.begin(head.as_deref()).await?;
    let names = wanted(stage, files).await?;
    let before = stage.tree().await?;
    stage.take_in(names.clone()).await?;
    let after = stage.tree().await?;
    let differing = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", &before, &after];
    let differing = entries(&stage.git().args(differing).ask(b"").await?).count();
    if differing == 0 {
        return Ok("nothing to commit: no file that git knows or would know was changed".to_owned());
    }
    let subject = subject(task);
    let message = format!("{subject}\n\nAdjutant-Session: {session}\n");
    let parent = head.iter().flat_map(|head| ["-p", head]);
    let commit = stage.git().args(["commit-tree", &after]).args(parent);
    let id = commit.name(message.as_bytes()).await?;
    let reason = format!("commit: {subject}");
    // Only if nobody else has committed meanwhile.
    let moved = ["update-ref", "-m", &reason, "HEAD", &id, head.as_deref().unwrap_or_default()];
    stage.git().args(moved).ask(b"").await?;
    let short = stage.git().args(["rev-parse", "--short", &id]).name(b"").await?;
    let said = format!("committed {differing} files on {branch} as {short}");
    Ok(match unstage(stage, &names, &id).await {
        Ok(()) => said,
        Err(why) => format!("warning: {said}, but `git status` is not up to date: {why}"),
    })
}

/// Refuses while git is in the middle of something.
async fn check(directory: PathBuf) -> Result<(), String> {
    let look = move || UNDERWAY.iter().find(|(it, _)| directory.join(it).exists());
    match spawn_blocking(look).await.map_err(|error| error.to_string())? {
        None => Ok(()),
        Some((_, what)) => Err(format!("{what} is under way")),
    }
}

/// Returns the names of those files that git knows, or would.
async fn wanted(stage: &Stage, files: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, String> {
    let Repository { top, .. } = &stage.repository;
    let files: BTreeSet<&Path> = files.iter().filter_map(|it| it.strip_prefix(top).ok()).collect();
    let theirs = stage::known(stage.repository.git()).await?;
    let in_conflict = theirs.iter().find(|it| it.is_in_conflict && files.contains(&*it.name));
    if let Some(entry) = in_conflict {
        return Err(format!("`{}` is in conflict", entry.name.display()));
    }
    let known = stage::known(stage.git()).await?.into_iter().chain(theirs).map(|it| it.name);
    let all = known.chain(stage::new(stage.repository.git()).await?);
    Ok(all.filter(|name| files.contains(&**name)).collect())
}

/// Has the person's index agree with a commit about files.
async fn unstage(stage: &Stage, names: &BTreeSet<PathBuf>, commit: &str) -> Result<(), String> {
    let gone = names.iter().flat_map(|name| {
        let name = name.as_os_str().as_encoded_bytes();
        [format!("0 {}\t", "0".repeat(commit.len())).as_bytes(), name, b"\0"].concat()
    });
    let entries = stage::known(stage.git()).await?;
    let entries = entries.iter().filter(|entry| names.contains(&entry.name));
    // First none of them is there, and then those that are.
    let lines: Vec<_> = gone.chain(entries.flat_map(|entry| entry.line.clone())).collect();
    let update = stage.repository.git().args(["update-index", "-z", "--index-info"]);
    update.ask(&lines).await.map(|_| ())
}

fn subject(task: &str) -> String {
    let line = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("Work");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    if line.chars().count() <= LONGEST {
        return line;
    }
    let cut: String = line.chars().take(LONGEST - 1).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}…", &cut[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_short_line() {
        assert_eq!(subject("\n  fix it \nand more"), "fix it");
        assert_eq!(subject(" \n"), "Work");
        assert_eq!(subject("a\u{1b}[31mb"), "a[31mb");
        let long = subject(&"word ".repeat(40));
        assert!(long.chars().count() <= LONGEST, "{long}");
        assert!(long.ends_with("word…"), "{long}");
    }
}
