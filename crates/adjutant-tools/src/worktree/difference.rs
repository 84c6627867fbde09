//! How one state of a directory differs from another, and what comes of two that differ from
//! the same third.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{aside, told, tree::Kind};
use crate::git::{Git, entries};

/// A file at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) kind: Kind,
    pub(super) content: Arc<[u8]>,
}

/// A file that an agent changed, made or removed.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    /// Its name, from the top.
    pub(super) name: PathBuf,
    pub(super) before: Option<Version>,
    pub(super) after: Option<Version>,
}

/// What is to become of a file that others may have changed as well.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Merged {
    /// It is as it has to be.
    Same,
    /// This.
    Becomes(Option<Version>),
    /// Nobody can tell.
    Conflict,
}

/// One side of a difference, with git's name for the content.
type Side = Option<(Kind, String)>;

/// A file that differs, with git's names for its contents.
pub(super) struct Differing {
    name: PathBuf,
    before: Side,
    after: Side,
}

/// Returns which files differ between two trees.
pub(super) async fn differing(
    git: Git,
    before: &str,
    after: &str,
) -> Result<Vec<Differing>, String> {
    let ask = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", before, after];
    let answer = git.args(ask).ask(b"").await?;
    let mut fields = entries(&answer);
    let mut files = Vec::new();
    while let (Some(facts), Some(name)) = (fields.next(), fields.next()) {
        let name = Path::new(OsStr::from_bytes(name));
        let (before, after) = read(facts)
            .ok_or_else(|| format!("git says nothing useful of `{}`", name.display()))?;
        files.push(Differing { name: name.to_owned(), before, after });
    }
    Ok(files)
}

/// Returns files that differ with their contents, if these are not too much to be held at once.
pub(super) async fn contents(git: Git, files: Vec<Differing>) -> Result<Vec<Difference>, String> {
    let wanted = files.iter().flat_map(|file| [&file.before, &file.after]).flatten();
    let wanted: String = wanted.flat_map(|(_, id)| [id, "\n"]).collect();
    let answer = git.args(["cat-file", "--batch"]).ask(wanted.as_bytes()).await?;
    let mut contents = Contents(&answer);
    let mut version = |side: Side| match side {
        None => Ok(None),
        Some((kind, id)) => {
            let content = contents.next().ok_or_else(|| format!("git has lost {id}"))?;
            Ok::<_, String>(Some(Version { kind, content: content.into() }))
        }
    };
    let versions = files.into_iter().map(|Differing { name, before, after }| {
        Ok(Difference { name, before: version(before)?, after: version(after)? })
    });
    versions.collect()
}

/// Reads `:100644 100755 ID ID M`.
fn read(facts: &[u8]) -> Option<(Side, Side)> {
    let facts = str::from_utf8(facts).ok()?.strip_prefix(':')?;
    let mut facts = facts.split(' ');
    let [before, after, old, new] = [facts.next()?, facts.next()?, facts.next()?, facts.next()?];
    let side = |mode: &str, id: &str| match mode {
        "000000" => Some(None),
        mode => Some(Some((Kind::of(mode)?, id.to_owned()))),
    };
    Some((side(before, old)?, side(after, new)?))
}

/// Contents as git writes them: `ID blob LENGTH`, a new line, the content, a new line.
struct Contents<'a>(&'a [u8]);

impl<'a> Iterator for Contents<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = self.0.split_at(end);
        let length = str::from_utf8(line).ok()?.rsplit(' ').next()?.parse().ok()?;
        let (content, rest) = rest.get(1..)?.split_at_checked(length)?;
        self.0 = rest.get(1..)?;
        Some(content)
    }
}

impl Difference {
    /// Finds out what is to become of the file, as it is now.
    pub(super) async fn merge(
        &self,
        now: Option<&Version>,
        scratch: &Path,
    ) -> Result<Merged, String> {
        let Self { before, after, .. } = self;
        if now == after.as_ref() {
            return Ok(Merged::Same);
        }
        if now == before.as_ref() {
            return Ok(Merged::Becomes(after.clone()));
        }
        let (Some(before), Some(after), Some(now)) = (before, after, now) else {
            return Ok(Merged::Conflict);
        };
        if [before, after, now].iter().any(|version| version.kind == Kind::Link) {
            return Ok(Merged::Conflict);
        }
        let content = merge_contents([now, before, after].map(|it| &it.content), scratch).await?;
        let kind = if before.kind == after.kind { now.kind } else { after.kind };
        let merged = content.map(|content| Version { kind, content: content.into() });
        Ok(merged.map_or(Merged::Conflict, |merged| Merged::Becomes(Some(merged))))
    }
}

/// Merges two contents that were made of a third, which is the one in the middle, if they
/// differ from it in different places.
async fn merge_contents(
    contents: [&Arc<[u8]>; 3],
    scratch: &Path,
) -> Result<Option<Vec<u8>>, String> {
    let names = ["now", "before", "after"];
    let (contents, place) = (contents.map(Arc::clone), scratch.to_owned());
    let write = aside(move || {
        let mut files = names.iter().zip(&contents);
        files
            .try_for_each(|(name, content)| fs::write(place.join(name), content))
            .map_err(|error| told(&place, &error))
    });
    write.await?;
    let merge = Git::at(scratch).args(["merge-file", "-p", "-q"]).args(names);
    let merge = merge.answer(b"").await?;
    // What it cannot merge, such as a picture, is a conflict too.
    Ok(merge.status.success().then_some(merge.text))
}
