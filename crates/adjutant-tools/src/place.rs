//! Where a path really leads.

use std::{
    ffi::OsString,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use adjutant_core::{Effect, Host, Target, ToolError, Touch};

#[cfg(unix)]
use crate::orders;
use crate::{
    brief,
    handle::{self, is_link},
};

/// As many links as Linux follows in one path.
const MOST_LINKS: usize = 40;

/// A file or directory a model named.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Where it really is: absolute, no link and no `..` in it.
    pub(crate) real: PathBuf,
    given: PathBuf,
}

impl Place {
    /// Finds the place that `given` means in a directory that is resolved already. It need
    /// not exist.
    pub(crate) fn find(given: &str, workdir: &Path) -> Self {
        Self { real: resolve(workdir, Path::new(given)), given: given.into() }
    }

    /// Finds the place that `given` itself is, which may be a link.
    pub(crate) fn find_entry(given: &str, workdir: &Path) -> Self {
        let path = Path::new(given);
        match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => {
                Self { real: resolve(workdir, above).join(name), given: path.into() }
            }
            _ => Self::find(given, workdir),
        }
    }

    /// Finds the place that a running call was judged by. It has to be where it was then:
    /// `find` tells where it is now.
    pub(crate) fn judged(
        given: &str,
        host: &dyn Host,
        find: impl FnOnce(&str, &Path) -> Self,
    ) -> Result<Self, ToolError> {
        let is_judged = |path: &Path| {
            let mut targets = host.judged().iter().map(|touch| &touch.target);
            targets.any(|target| matches!(target, Target::Path(judged) if judged == path))
        };
        // If it was judged by the path as it was written, then there was no link in it, and
        // none is followed when it is opened.
        let written = host.workdir().join(given);
        if is_judged(&written) {
            return Ok(Self { real: written.components().collect(), given: given.into() });
        }
        let place = find(given, host.workdir());
        if is_judged(&place.real) { Ok(place) } else { Err(place.moved()) }
    }

    /// Returns what it touches to do something here.
    pub(crate) fn touch(&self, effect: Effect) -> Vec<Touch> {
        vec![Touch { effect, target: Target::Path(self.real.clone()) }]
    }

    /// Returns what it touches to write here.
    #[cfg(unix)]
    pub(crate) fn written(&self) -> Vec<Touch> {
        self.touch(orders::effect_of_writing(&self.real))
    }

    /// Returns an error unless there is a directory here; `why` is said of anything else.
    pub(crate) fn check_directory(&self, why: &str) -> Result<(), ToolError> {
        handle::check_directory(&self.real).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => self.refusal(why),
            _ => self.error(&error),
        })
    }

    /// Returns an error unless there is a directory or a file here.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        match handle::check_directory(&self.real) {
            Err(error) if error.kind() != io::ErrorKind::NotADirectory => Err(self.error(&error)),
            _ => Ok(()),
        }
    }

    /// Says what went wrong here.
    pub(crate) fn error(&self, error: &io::Error) -> ToolError {
        // Links that lead in a circle lead nowhere for the system either.
        let is_circle = || fs::metadata(&self.real).is_err_and(|now| is_link(&now));
        if is_link(error) && !is_circle() {
            return self.moved();
        }
        ToolError(format!("`{}`: {error}", self.given.display()))
    }

    /// Says why something is not done here.
    pub(crate) fn refusal(&self, why: impl fmt::Display) -> ToolError {
        ToolError(format!("`{}` {why}", self.given.display()))
    }

    fn moved(&self) -> ToolError {
        self.refusal("leads somewhere else than when it was judged: try again")
    }

    /// Returns how the model named it.
    pub(crate) fn given(&self) -> impl fmt::Display + '_ {
        self.given.display()
    }

    /// Returns how the model would name a path below this place, or the place itself.
    pub(crate) fn name(&self, real: &Path) -> String {
        let given = self.given.strip_prefix(".").unwrap_or(&self.given);
        match real.strip_prefix(&self.real) {
            Ok(rest) if rest.as_os_str().is_empty() => brief::path(&self.given),
            Ok(rest) => brief::path(&given.join(rest)),
            Err(_) => brief::path(real),
        }
    }
}

/// Follows a path link by link, as the system would, and past the point where nothing
/// exists any more. A dangling link leads to where its target would be made.
pub fn resolve(workdir: &Path, given: &Path) -> PathBuf {
    let mut real = workdir.to_owned();
    let mut ahead = parts(given);
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        // An absolute path starts with `/`, which replaces everything before it.
        real.push(part);
        if links < MOST_LINKS
            && let Ok(target) = fs::read_link(&real)
        {
            links += 1;
            real.pop();
            ahead.extend(parts(&target));
        }
    }
    real
}

/// Returns the parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).filter(|p| p != ".").collect()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Ground {
        _keep: tempfile::TempDir,
        work: PathBuf,
        outside: PathBuf,
    }

    fn ground() -> Ground {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        let (work, outside) = (top.join("work"), top.join("outside"));
        fs::create_dir_all(work.join("sub")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "x").unwrap();
        Ground { _keep: keep, work, outside }
    }

    #[test]
    fn a_link_leads_to_where_it_points() {
        let Ground { work, outside, .. } = &ground();
        symlink(outside, work.join("sub/absolute")).unwrap();
        symlink("../../outside/secret", work.join("sub/relative")).unwrap();
        symlink("sub/absolute", work.join("twice")).unwrap();
        let secret = outside.join("secret");
        for given in ["sub/absolute/secret", "sub/relative", "twice/secret", "./twice//./secret"] {
            assert_eq!(Place::find(given, work).real, secret, "{given}");
        }
    }

    #[test]
    fn what_does_not_exist_is_placed_below_what_does() {
        let Ground { work, outside, .. } = &ground();
        symlink(outside, work.join("link")).unwrap();
        symlink(outside.join("new"), work.join("dangling")).unwrap();
        let cases = [
            ("sub/new/file", work.join("sub/new/file")),
            ("link/new/file", outside.join("new/file")),
            ("dangling/file", outside.join("new/file")),
            ("missing/../link/x", outside.join("x")),
            ("missing/../../outside/secret", outside.join("secret")),
            ("link/../work", work.clone()),
        ];
        for (given, expected) in cases {
            assert_eq!(Place::find(given, work).real, expected, "{given}");
        }
    }

    #[test]
    fn a_circle_of_links_ends() {
        let Ground { work, .. } = &ground();
        symlink("b", work.join("a")).unwrap();
        symlink("a", work.join("b")).unwrap();
        assert!(Place::find("a/x", work).real.starts_with(work));
    }

    #[test]
    fn names_are_given_back_as_the_model_would_write_them() {
        let Ground { work, .. } = &ground();
        let name = |given: &str, below: &str| {
            let place = Place::find(given, work);
            place.name(&place.real.join(below))
        };
        assert_eq!(name(".", "a/b"), "a/b");
        assert_eq!(name("sub", "b"), "sub/b");
        assert_eq!(name("./sub/", "b"), "sub/b");
        assert_eq!(Place::find("sub", work).name(&work.join("sub")), "sub");
    }
}
