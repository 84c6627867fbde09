//! A list that does not grow without bound and does not hide what it leaves out.

use std::{
    fmt::{self, Display, Write},
    io,
    path::Path,
};

use crate::{
    lookup::{Found, Lookup},
    place::Place,
};

/// The most entries shown.
const MOST_ENTRIES: usize = 500;
/// The most troubles shown.
const MOST_TROUBLES: usize = 20;

/// Files and directories, and those that could not be looked at.
#[derive(Default)]
pub(crate) struct Listing {
    entries: Vec<String>,
    left_out: usize,
    pub(crate) troubles: Troubles,
}

impl Listing {
    /// Adds what is at a path, if it is really there.
    pub(crate) fn push(&mut self, path: &Path, describe: impl FnOnce(Found) -> String) {
        match self.troubles.find(path) {
            None => {}
            Some(_) if self.entries.len() == MOST_ENTRIES => self.left_out += 1,
            Some(found) => self.entries.push(describe(found)),
        }
    }

    /// Returns the list as text. `nothing` stands for an empty one; `narrower` tells how to
    /// see the rest of a long one.
    pub(crate) fn render(self, nothing: &str, narrower: &str) -> String {
        let Self { entries, left_out, troubles } = self;
        let mut text = if entries.is_empty() { nothing.to_owned() } else { entries.join("\n") };
        if left_out > 0 {
            let _ = write!(text, "\n[{left_out} more left out; to see them {narrower}]");
        }
        let _ = write!(text, "{troubles}");
        text
    }
}

/// What could not be looked at, one line each.
#[derive(Default)]
pub(crate) struct Troubles {
    lookup: Lookup,
    lines: Vec<String>,
    /// Whether something was no longer where a walk came upon it.
    has_moved: bool,
}

impl Troubles {
    /// Adds something below a place that could not be looked at, if it is really there.
    pub(crate) fn push(&mut self, place: &Place, path: &Path, why: impl Display) {
        if self.find(path).is_some() {
            self.lines.push(format!("{}: {why}", place.name(path)));
        }
    }

    /// Adds what a walk from a place could not look at.
    pub(crate) fn push_walk(&mut self, place: &Place, error: &ignore::Error) {
        let why = error.io_error().map_or(io::ErrorKind::Other, io::Error::kind);
        self.push(place, path_of(error).unwrap_or(&place.real), why);
    }

    fn find(&mut self, path: &Path) -> Option<Found> {
        let found = self.lookup.find(path).ok();
        self.has_moved |= found.is_none();
        found
    }
}

/// Returns what a walk failed at. The error itself would say more than once where that is.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithDepth { err, .. } => path_of(err),
        ignore::Error::WithPath { path, .. } => Some(path),
        _ => None,
    }
}

impl Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for trouble in self.lines.iter().take(MOST_TROUBLES) {
            write!(f, "\n[not read: {trouble}]")?;
        }
        match self.lines.len().saturating_sub(MOST_TROUBLES) {
            0 => {}
            more => write!(f, "\n[not read: {more} more]")?,
        }
        if self.has_moved {
            f.write_str("\n[something was moved or deleted meanwhile: call again to see it]")?;
        }
        Ok(())
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use ignore::WalkBuilder;

    use super::*;

    #[test]
    fn what_a_walk_saw_behind_a_link_is_not_shown() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let (work, outside) = (top.join("work"), top.join("outside"));
        for directory in ["work/turn/deep", "outside/deep"] {
            fs::create_dir_all(top.join(directory)).unwrap();
        }
        fs::write(work.join("turn/deep/file"), "").unwrap();
        fs::write(outside.join("deep/secret"), "").unwrap();
        let (mut listing, mut seen) = (Listing::default(), Vec::new());
        for entry in WalkBuilder::new(&work).build() {
            let path = entry.unwrap().into_path();
            if path.ends_with("turn") {
                fs::rename(&path, top.join("moved")).unwrap();
                symlink(&outside, &path).unwrap();
            }
            seen.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            listing.push(&path, |_| path.display().to_string());
            listing.troubles.push(&Place::find("work", &top), &path, "no");
        }
        assert_eq!(seen, ["work", "turn", "deep", "secret"]);
        let (shown, turn) = (listing.render("", ""), work.join("turn"));
        let expected = format!(
            "{}\n{}\n[not read: work: no]\n[not read: work/turn: no]\n\
             [something was moved or deleted meanwhile: call again to see it]",
            work.display(),
            turn.display()
        );
        assert_eq!(shown, expected);
    }
}
