//! An index of our own, in which a tree is put together.
//!
//! Agents can put repositories into the work tree, with settings that have git run programs when
//! it looks into them. So nothing is asked here that does, as `git add` and `git status` would,
//! and none of them is taken in.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use adjutant_tools::git::{Git, Repository, entries};
use tokio::task::spawn_blocking;
use uuid::Uuid;

/// What git writes for another repository.
const REPOSITORY: &str = "160000";

/// An index of our own. It goes when it is dropped.
pub(super) struct Stage {
    pub(super) repository: Repository,
    index: PathBuf,
}

impl Stage {
    pub(super) fn new(repository: Repository, data: &Path) -> Self {
        let index = data.join(format!("index-{}", Uuid::now_v7().simple()));
        Self { repository, index }
    }

    /// Asks git with this index.
    pub(super) fn git(&self) -> Git {
        self.repository.git().index(&self.index)
    }

    /// Begins with what a commit has, or with nothing.
    pub(super) async fn begin(&self, commit: Option<&str>) -> Result<(), String> {
        let above = self.index.parent().map(Path::to_owned);
        let made = spawn_blocking(move || above.map_or(Ok(()), fs::create_dir_all)).await;
        made.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let tree = commit.unwrap_or("--empty");
        self.git().args(["read-tree", tree]).ask(b"").await.map(|_| ())
    }

    /// Takes files in as they are now. Those that are gone go.
    pub(super) async fn take_in(&self, names: BTreeSet<PathBuf>) -> Result<(), String> {
        let top = self.repository.top.clone();
        let look = move || names.into_iter().partition(|name| is_there(&top, name));
        let (there, gone): (Vec<_>, Vec<_>) =
            spawn_blocking(look).await.map_err(|error| error.to_string())?;
        let update = |how: &[&str]| self.git().args(["update-index", "-z"]).args(how);
        // What goes makes room for what comes.
        update(&["--force-remove", "--stdin"]).ask(&listed(&gone)).await?;
        update(&["--add", "--replace", "--stdin"]).ask(&listed(&there)).await.map(|_| ())
    }

    /// Keeps what is in the index, and returns git's name for it.
    pub(super) async fn tree(&self) -> Result<String, String> {
        self.git().args(["write-tree"]).name(b"").await
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What is left over is only in the way.
        let _ = fs::remove_file(&self.index);
    }
}

/// Reports whether there is a file or a link, and not by way of a link.
fn is_there(top: &Path, name: &Path) -> bool {
    let mut above = name.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    let is_kept = |it: fs::Metadata| it.is_file() || it.is_symlink();
    !above.any(|above| top.join(above).is_symlink())
        && fs::symlink_metadata(top.join(name)).is_ok_and(is_kept)
}

fn listed(names: &[PathBuf]) -> Vec<u8> {
    names.iter().flat_map(|name| [name.as_os_str().as_bytes(), b"\0"].concat()).collect()
}

/// An entry of an index.
pub(super) struct Entry {
    pub(super) name: PathBuf,
    /// As git writes it and reads it back.
    pub(super) line: Vec<u8>,
    pub(super) is_in_conflict: bool,
}

/// Returns the files an index has. Other repositories are none.
pub(super) async fn known(git: Git) -> Result<Vec<Entry>, String> {
    let answer = git.args(["ls-files", "-z", "--stage"]).ask(b"").await?;
    let entry = |line: &[u8]| {
        // `100644 ID 0`, a tab, the name.
        let (facts, name) = line.split_at(line.iter().position(|byte| *byte == b'\t')?);
        let facts = String::from_utf8_lossy(facts);
        let is_in_conflict = !facts.ends_with(" 0");
        let name = path(&name[1..]);
        let line = [line, b"\0"].concat();
        (!facts.starts_with(REPOSITORY)).then_some(Entry { name, line, is_in_conflict })
    };
    Ok(entries(&answer).filter_map(entry).collect())
}

/// Returns the files that an index does not have and git does not ignore.
pub(super) async fn new(git: Git) -> Result<Vec<PathBuf>, String> {
    let answer = git.args(["ls-files", "-z", "--others", "--exclude-standard"]).ask(b"").await?;
    // A repository is told as the directory it is.
    Ok(entries(&answer).filter(|name| !name.ends_with(b"/")).map(path).collect())
}

fn path(name: &[u8]) -> PathBuf {
    OsStr::from_bytes(name).into()
}
