//! A commit of what the agents changed, and of nothing else.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::repository::Repository;

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
pub(super) fn commit(
    repository: &Repository,
    files: &BTreeSet<PathBuf>,
    task: &str,
    session: &str,
) -> Result<String, String> {
    if let Some((_, what)) = UNDERWAY.iter().find(|(it, _)| repository.directory.join(it).exists())
    {
        return Err(format!("{what} is under way"));
    }
    let branch = repository
        .git(["symbolic-ref", "--short", "HEAD"])
        .map_err(|_| "there is no current branch".to_owned())?;
    let below: Vec<_> =
        files.iter().filter_map(|it| it.strip_prefix(&repository.top).ok()).collect();
    let tracked = list(repository, &[], &below)?;
    let new = list(repository, &["--others", "--exclude-standard"], &below)?;
    let names: Vec<_> = tracked.iter().chain(&new).map(String::as_str).collect();
    let is_same = repository.git([&["status", "--porcelain", "--"][..], &names].concat());
    if names.is_empty() || is_same?.is_empty() {
        return Ok("nothing to commit: no file that git knows or would know was changed".to_owned());
    }
    let new: Vec<_> = new.iter().map(String::as_str).collect();
    if !new.is_empty() {
        repository.git([&["add", "--intent-to-add", "--"][..], &new].concat())?;
    }
    let (subject, trailer) = (subject(task), format!("Adjutant-Session: {session}"));
    let message = ["commit", "--quiet", "--only", "--no-verify", "--no-gpg-sign", "-m", &subject];
    let trailer = ["--trailer", &trailer, "--"];
    let committed = repository.git([&message[..], &trailer, &names].concat());
    if committed.is_err() && !new.is_empty() {
        // What went wrong first is what matters.
        let _ = repository.git([&["reset", "--quiet", "--"][..], &new].concat());
    }
    committed?;
    let id = repository.git(["rev-parse", "--short", "HEAD"])?;
    Ok(format!("committed {} files on {branch} as {id}", names.len()))
}

/// Lists those of some files that git knows, or would.
fn list(repository: &Repository, options: &[&str], files: &[&Path]) -> Result<Vec<String>, String> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let files: Vec<_> = files.iter().filter_map(|file| file.to_str()).collect();
    let listed = repository.git([&["ls-files", "-z"], options, &["--"], &files].concat())?;
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
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
