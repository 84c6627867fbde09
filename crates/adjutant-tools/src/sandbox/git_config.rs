//! Git's configuration, as far as it matters here.

use std::{
    collections::VecDeque,
    env,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use super::policy::is_in;
use crate::handle;

/// The longest that is read.
const LONGEST: u64 = 1024 * 1024;
/// How many files of settings are read for one repository.
const MOST_FILES: usize = 50;

/// What can be set without making git run a program, read more settings or work elsewhere.
const HARMLESS: [(&str, &str); 12] = [
    ("branch", "description merge pushremote rebase remote"),
    (
        "core",
        "autocrlf bare compression eol filemode ignorecase logallrefupdates precomposeunicode \
         quotepath repositoryformatversion safecrlf sharedrepository sparsecheckout \
         sparsecheckoutcone symlinks",
    ),
    ("extensions", "objectformat partialclone preciousobjects refstorage worktreeconfig"),
    ("gc", "auto"),
    ("init", "defaultbranch"),
    ("maintenance", "auto strategy"),
    ("pull", "ff rebase"),
    ("push", "autosetupremote default followtags"),
    ("receive", "denynonfastforwards"),
    (
        "remote",
        "fetch mirror partialclonefilter promisor prune prunetags push pushurl \
         skipdefaultupdate tagopt url",
    ),
    ("submodule", "active branch ignore path url"),
    ("user", "email name"),
];

/// Something that is set.
#[derive(PartialEq, Eq)]
struct Entry {
    section: String,
    key: String,
    value: String,
}

/// Reports whether a file of settings can only do what a command may do itself. What git might
/// read in another way than it is read here cannot.
pub(super) fn is_harmless(file: &Path, places: &[PathBuf]) -> bool {
    let Ok(text) = text(file) else { return false };
    let is_harmless = |entry: Entry| entry.is_harmless(file, places);
    entries(&text).into_iter().all(|entry| entry.is_some_and(is_harmless))
}

/// Reports whether a file of settings has none that were not there before, but for harmless ones.
pub(super) fn adds_only_harmless(
    before: &[u8],
    now: &[u8],
    file: &Path,
    places: &[PathBuf],
) -> bool {
    let [Ok(before), Ok(now)] = [before, now].map(str::from_utf8) else { return false };
    let before = entries(before);
    let is_fine = |entry: Option<Entry>| {
        entry.is_some_and(|entry| {
            before.iter().flatten().any(|it| *it == entry) || entry.is_harmless(file, places)
        })
    };
    entries(now).into_iter().all(is_fine)
}

/// Returns where settings have git look for hooks of a repository and for more settings: its own,
/// the user's and the system's.
pub fn leads(repository: &Path) -> Vec<PathBuf> {
    // Hooks run at the top of the files.
    let is_usual = repository.ends_with(".git");
    let top = repository.parent().filter(|_| is_usual).unwrap_or(repository);
    let mut files: VecDeque<_> = ["config", "config.worktree"].map(|it| repository.join(it)).into();
    files.extend(everywhere());
    let mut leads = Vec::new();
    for _ in 0..MOST_FILES {
        let Some(file) = files.pop_front() else { break };
        for entry in entries(&text(&file).unwrap_or_default()).into_iter().flatten() {
            match (&*entry.section, &*entry.key) {
                ("core", "hookspath") => leads.extend(entry.path(top)),
                ("include" | "includeif", "path") => {
                    let more = file.parent().and_then(|beside| entry.path(beside));
                    leads.extend(more.clone());
                    files.extend(more);
                }
                _ => {}
            }
        }
    }
    leads
}

/// Returns the files of settings that count for all repositories.
pub(super) fn everywhere() -> Vec<PathBuf> {
    let variable = |name| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let system = variable("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into());
    let own = variable("GIT_CONFIG_GLOBAL").map_or_else(
        || {
            let home = env::home_dir().unwrap_or_default();
            let base = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
            vec![base.join("git/config"), home.join(".gitconfig")]
        },
        |file| vec![file],
    );
    [vec![system], own].concat()
}

impl Entry {
    fn is_harmless(&self, file: &Path, places: &[PathBuf]) -> bool {
        match (&*self.section, &*self.key) {
            ("core", "worktree") => file
                .parent()
                .and_then(|beside| self.path(beside))
                .is_some_and(|path| path.canonicalize().is_ok_and(|real| is_in(&real, places))),
            (section, key) => {
                // An address with two colons names a program.
                let is_program = section == "remote" && self.value.contains("::");
                let mut known = HARMLESS.iter().filter(|it| it.0 == section);
                !is_program && known.any(|it| it.1.split_whitespace().any(|it| it == key))
            }
        }
    }

    /// Returns the path that a value is, as seen from a directory.
    fn path(&self, directory: &Path) -> Option<PathBuf> {
        let value = unquoted(&self.value)?;
        let path = match value.strip_prefix("~/") {
            Some(rest) => env::home_dir()?.join(rest),
            None => directory.join(&value),
        };
        (!value.is_empty()).then(|| straight(&path))
    }
}

/// Returns what a value says, without quotes and the comment after it.
fn unquoted(value: &str) -> Option<String> {
    let (mut said, mut is_quoted, mut rest) = (String::new(), false, value.chars());
    while let Some(next) = rest.next() {
        match next {
            '"' => is_quoted = !is_quoted,
            '\\' => said.push(rest.next()?),
            '#' | ';' if !is_quoted => break,
            next => said.push(next),
        }
    }
    Some(said.trim_end().to_owned())
}

/// Takes the way back out of a path.
fn straight(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut straight, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                straight.pop();
            }
            part => straight.push(part),
        }
        straight
    })
}

/// Returns what a file says, if it is a file and not a huge one.
pub(super) fn text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let (opened, about) = handle::open(file)?;
    if about.len() > LONGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    opened.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns what is set, and nothing for a line of which that is not sure.
fn entries(text: &str) -> Vec<Option<Entry>> {
    let (mut section, mut entries) = (None, Vec::new());
    for line in text.lines() {
        let mut line = line.trim();
        if let Some((head, rest)) = line.strip_prefix('[').and_then(|it| it.split_once(']')) {
            section = name(head);
            if section.is_none() {
                entries.push(None);
            }
            line = rest.trim();
        }
        if !line.is_empty() && !line.starts_with(['#', ';']) {
            entries.push(section.as_ref().and_then(|section| entry(section, line)));
        }
    }
    entries
}

/// Returns a section's name, without that of the branch or remote it is about.
fn name(head: &str) -> Option<String> {
    let (name, about) = match head.split_once('"') {
        Some((name, about)) => (name.trim_end(), about.strip_suffix('"')?),
        None => (head, ""),
    };
    let is_sure = !about.contains(['"', '\\']) && is_word(name);
    is_sure.then(|| name.to_ascii_lowercase())
}

fn entry(section: &str, line: &str) -> Option<Entry> {
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let (key, value) = (key.trim_end(), value.trim().to_owned());
    // A line that ends so goes on in the next.
    let is_sure = is_word(key) && !line.ends_with('\\');
    let (section, key) = (section.to_owned(), key.to_ascii_lowercase());
    is_sure.then_some(Entry { section, key, value })
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn world(config: &str) -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let scope = place.path().canonicalize().unwrap().join("scope");
        fs::create_dir_all(scope.join(".git/modules/sub")).unwrap();
        fs::create_dir(scope.join("sub")).unwrap();
        fs::write(scope.join(".git/config"), config).unwrap();
        (place, scope)
    }

    #[test]
    fn what_git_sets_by_itself_is_harmless() {
        for config in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
            "# a comment\n; another\n[user]\n\tname = Eve # here\n",
            "[remote \"origin\"]\r\n\turl = git@host:a/b.git\r\n\tfetch = +refs/heads/*:refs/x/*",
            "[branch \"a.b/c\"]\n\tremote = origin\n\tmerge = refs/heads/main",
            "[core] bare",
            "[core]\n\tworktree = ../sub",
        ] {
            let (_place, scope) = world(config);
            let file = scope.join(".git/config");
            assert!(is_harmless(&file, std::slice::from_ref(&scope)), "{config}");
        }
    }

    #[test]
    fn what_runs_a_program_or_is_not_understood_is_not_harmless() {
        for config in [
            "[core]\n\tfsmonitor = evil",
            "[core]\n\tbare = false\n\tHOOKSPATH=evil",
            "[core] sshCommand = evil",
            "[user] [core] pager = evil",
            "[core]\n\tbare = \\\n[user]\n\tname = x",
            "[alias]\n\tst = !evil",
            "[filter \"x\"]\n\tclean = evil",
            "[diff \"x\"]\n\ttextconv = evil",
            "[include]\n\tpath = ../evil",
            "[includeIf \"gitdir:/\"]\n\tpath = ../evil",
            "[credential]\n\thelper = evil",
            "[remote \"a\"]\n\turl = ext::evil",
            "[remote \"a\"]\n\tuploadpack = evil",
            "[remote \"a]b\"]\n\turl = x",
            "[remote.a]\n\turl = x",
            "[submodule \"a\"]\n\tupdate = !evil",
            "[core]\n\tworktree = ../..",
            "[core]\n\tworktree = /",
            "name = x",
            "[user\n\tname = x",
            "[user]\n\tname.x = x",
            "\u{feff}[user]\n\tname = x",
        ] {
            let (_place, scope) = world(config);
            let file = scope.join(".git/config");
            assert!(!is_harmless(&file, std::slice::from_ref(&scope)), "{config}");
        }
    }

    #[test]
    fn only_a_file_is_read() {
        let (_place, scope) = world("");
        let file = scope.join(".git/config");
        fs::write(&file, [0xff]).unwrap();
        assert!(!is_harmless(&file, &[]));
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("../sub", &file).unwrap();
        assert!(!is_harmless(&file, &[]));
    }

    #[test]
    fn where_settings_lead_is_told_from_where_git_would_look() {
        let config = "[core]\n\thooksPath = .husky/_ # here\n[include]\n\tpath = \"../own config\"\n\
            [includeIf \"onbranch:x\"]\n\tpath = ~/more\n";
        let (_place, scope) = world(config);
        let home = env::home_dir().unwrap().join("more");
        let expected = [scope.join(".husky/_"), scope.join("own config"), home];
        assert_eq!(leads(&scope.join(".git")), expected);
        fs::write(scope.join("own config"), "[core]\n\thooksPath = more\n").unwrap();
        assert!(leads(&scope.join(".git")).contains(&scope.join("more")));
        fs::rename(scope.join(".git"), scope.join("bare")).unwrap();
        assert_eq!(leads(&scope.join("bare"))[0], scope.join("bare/.husky/_"));
    }
}
