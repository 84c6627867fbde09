//! What is in a directory, as git would keep it: every byte as it is, whatever the attributes
//! of the repository would make of it.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File, Metadata},
    io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tokio_util::sync::CancellationToken;

use super::{aside, told};
use crate::{
    directory::{Directory, Former},
    files::Stamp,
    git::{Git, entries, quoted},
    handle,
};

/// How close to the end of a look a change may be and not show: clocks of filesystems are coarse.
const COARSE: Duration = Duration::from_secs(1);

/// What kind of thing git keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Program,
    Link,
}

impl Kind {
    /// Returns the mode git has for it.
    pub(super) fn mode(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Program => "100755",
            Self::Link => "120000",
        }
    }

    pub(super) fn of(mode: &str) -> Option<Self> {
        [Self::File, Self::Program, Self::Link].into_iter().find(|it| it.mode() == mode)
    }

    fn of_file(metadata: &Metadata) -> Self {
        if metadata.mode() & 0o100 == 0 { Self::File } else { Self::Program }
    }
}

/// A file that was looked at.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) kind: Kind,
    /// Where a link points.
    target: Option<PathBuf>,
    stamp: Stamp,
    /// When anything of it was changed.
    changed: SystemTime,
}

/// What was found, by name from the top, and what was left out.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) seen: BTreeMap<PathBuf, Seen>,
    pub(super) left_out: Vec<String>,
}

/// Returns the names git knows of in a directory, and those it does not know and does not
/// ignore.
pub(super) async fn names(git: Git) -> Result<Vec<PathBuf>, String> {
    let ask = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let answer = git.args(ask).ask(b"").await?;
    let mut names: Vec<_> =
        entries(&answer).map(|name| Path::new(OsStr::from_bytes(name)).into()).collect();
    names.sort();
    // One that is in conflict is there several times.
    names.dedup();
    Ok(names)
}

/// Copies files from one directory to another that is empty.
pub(super) fn copy(
    names: Vec<PathBuf>,
    from: &Path,
    to: &Path,
    token: &CancellationToken,
) -> Result<Found, String> {
    let mut found = Found::default();
    for name in names {
        if token.is_cancelled() {
            return Err("it was stopped".to_owned());
        }
        let copy = to.join(&name);
        let source = match Source::open(&from.join(&name)) {
            Ok(source) => source,
            Err(error) => {
                found.left_out.extend(excuse(&from.join(&name), &name, &error));
                continue;
            }
        };
        let seen = source.write(&copy).and_then(|()| look(&copy));
        found.seen.insert(name.clone(), seen.map_err(|error| told(&name, &error))?);
    }
    Ok(found)
}

/// Says that something was left out, unless it is no file any more.
fn excuse(path: &Path, name: &Path, error: &io::Error) -> Option<String> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => None,
        io::ErrorKind::IsADirectory => is_repository(path)
            .then(|| format!("`{}` is a repository of its own and was left out", name.display())),
        _ => Some(format!("{} was left out", told(name, error))),
    }
}

fn is_repository(path: &Path) -> bool {
    fs::symlink_metadata(path.join(".git")).is_ok()
}

/// A file or a link to be copied.
enum Source {
    File(File, Metadata),
    Link(Vec<u8>),
}

impl Source {
    /// Opens it. No other link is followed, not even one that is put there now.
    fn open(path: &Path) -> io::Result<Self> {
        match (handle::open(path), path.parent(), path.file_name()) {
            (Err(error), Some(above), Some(name)) if handle::is_link(&error) => {
                let former = Directory::open(above)?.read(name)?;
                let link = former.filter(Former::is_link).ok_or(io::ErrorKind::NotFound)?;
                Ok(Self::Link(link.content))
            }
            (opened, ..) => opened.map(|(file, metadata)| Self::File(file, metadata)),
        }
    }

    fn write(self, copy: &Path) -> io::Result<()> {
        copy.parent().map_or(Ok(()), fs::create_dir_all)?;
        match self {
            Self::Link(target) => std::os::unix::fs::symlink(OsStr::from_bytes(&target), copy),
            Self::File(mut file, metadata) => {
                let mut written = File::create_new(copy)?;
                io::copy(&mut file, &mut written)?;
                let mode = metadata.mode() & 0o777 | 0o600;
                written.set_permissions(fs::Permissions::from_mode(mode))
            }
        }
    }
}

/// Looks at files where nothing else is at work. What is found by way of a link is elsewhere.
pub(super) fn look_at(names: Vec<PathBuf>, top: &Path) -> Result<Found, String> {
    let mut found = Found::default();
    let mut above = (PathBuf::new(), true);
    for name in names {
        let path = top.join(&name);
        if let Some(parent) = path.parent().filter(|parent| *parent != above.0) {
            above = (parent.to_owned(), handle::check_directory(parent).is_ok());
        }
        if !above.1 {
            continue;
        }
        match look(&path) {
            Ok(seen) => drop(found.seen.insert(name, seen)),
            Err(error) => match error.kind() {
                io::ErrorKind::IsADirectory if is_repository(&path) => {
                    found.left_out.push(name.display().to_string());
                }
                io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::IsADirectory => {}
                _ => return Err(told(&name, &error)),
            },
        }
    }
    Ok(found)
}

fn look(path: &Path) -> io::Result<Seen> {
    let metadata = fs::symlink_metadata(path)?;
    let target = metadata.is_symlink().then(|| fs::read_link(path)).transpose()?;
    let kind = match (&target, metadata.is_file(), metadata.is_dir()) {
        (Some(_), ..) => Kind::Link,
        (None, true, _) => Kind::of_file(&metadata),
        (None, false, true) => return Err(io::ErrorKind::IsADirectory.into()),
        // Pipes and the like are nothing git would keep.
        (None, false, false) => return Err(io::ErrorKind::NotFound.into()),
    };
    let stamp = Stamp::of(&metadata);
    Ok(Seen { kind, target, changed: stamp.changed(), stamp })
}

impl Seen {
    /// Reports whether a file is surely what it was at an earlier look, which was over at a time.
    pub(super) fn is_surely(&self, former: &Self, over: SystemTime) -> bool {
        let is_old = former.changed + COARSE < over;
        is_old && (self.kind, &self.stamp) == (former.kind, &former.stamp)
    }
}

/// Keeps the contents of files in the repository, and returns their names there, in order.
pub(super) async fn keep<'a>(
    git: Git,
    top: &Path,
    scratch: &Path,
    files: impl Iterator<Item = (&'a PathBuf, &'a Seen)>,
) -> Result<Vec<String>, String> {
    let (mut input, mut links) = (Vec::new(), Vec::new());
    for (number, (name, seen)) in files.enumerate() {
        input.extend(match &seen.target {
            None => quoted(&top.join(name)),
            // What a link points to is its content; git would read what is there.
            Some(target) => {
                let file = scratch.join(format!("link-{number}"));
                links.push((file.clone(), target.clone()));
                quoted(&file)
            }
        });
    }
    let write = aside(move || {
        let write = |(file, target): (PathBuf, PathBuf)| {
            fs::write(&file, target.as_os_str().as_bytes()).map_err(|error| told(&file, &error))
        };
        links.into_iter().try_for_each(write)
    });
    write.await?;
    let order = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
    let answer = git.args(order).ask(&input).await?;
    Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_just_before_the_end_of_a_look_may_have_changed_after_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let seen = look(file.path()).unwrap();
        assert!(!seen.is_surely(&seen, seen.changed));
        assert!(seen.is_surely(&seen, seen.changed + 2 * COARSE));
        file.as_file().set_len(1).unwrap();
        let now = look(file.path()).unwrap();
        assert!(!now.is_surely(&seen, seen.changed + 2 * COARSE));
    }
}
