//! A skill, and all there are.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::Order;
use ignore::WalkBuilder;

use crate::{brief, handle};

/// The most of a skill's text, and of a file beside it, that is told, in bytes.
const LONGEST: usize = 32 * 1024;
/// How many of its files are named, how many entries are looked at for them, and how deep.
const MOST_FILES: usize = 100;
const MOST_ENTRIES: usize = 2000;
const DEEPEST: usize = 6;
/// How far a file is looked at to tell whether it is text.
const PROBE: usize = 8 * 1024;

/// Know-how in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// What it does and when it is of use.
    pub description: String,
    /// What it needs, if it says.
    pub compatibility: Option<String>,
    /// Whether agents are told of it.
    pub invocation: Invocation,
    /// What it says.
    pub text: String,
    /// The file it was read from, with every link resolved. What belongs to it is beside that.
    pub file: PathBuf,
    /// Whose it is.
    pub whose: Whose,
}

/// Who may think of a skill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invocation {
    /// Agents are told that there is one.
    #[default]
    Anybody,
    /// Only a person: agents use it when they are told its name.
    People,
}

/// Whose a skill is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The person's own.
    User,
    /// The project's: it comes from whoever wrote that.
    Project,
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "the user's",
            Self::Project => "the project's",
        })
    }
}

/// All skills there are, as they were when a session began.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    /// Those that everybody finds, the strongest first.
    pub all: Vec<Arc<Skill>>,
    /// Those that named agents know from the beginning.
    pub own: BTreeMap<String, Vec<Arc<Skill>>>,
    /// The named agents that are to have no others.
    pub only_own: BTreeSet<String>,
}

impl Skills {
    /// Returns the skills of who works by an order: the own ones of the named agent that it is or
    /// works for, and those of all that have other names, unless it or its caller is to have
    /// none of those.
    pub fn of(&self, order: &Order) -> impl Iterator<Item = &Arc<Skill>> {
        let own = order.named().and_then(|agent| self.own.get(agent));
        let own = own.map_or(&[][..], Vec::as_slice);
        let mut line = order.agent.iter().chain(&order.within);
        let others = if line.any(|it| self.only_own.contains(it)) { &[] } else { &self.all[..] };
        let is_other = |skill: &&Arc<Skill>| !own.iter().any(|it| it.name == skill.name);
        own.iter().chain(others.iter().filter(is_other))
    }

    /// Returns a skill by its name.
    pub fn find(&self, order: &Order, name: &str) -> Option<&Arc<Skill>> {
        self.of(order).find(|skill| skill.name == name)
    }
}

impl Skill {
    /// Returns all that is told of it: whose it is, what it says, and which files it has.
    pub fn told(&self) -> String {
        let Self { name, whose, file, .. } = self;
        let file = brief::path(file);
        let (text, left_out) = brief::beginning(self.text.trim(), LONGEST);
        let mut told = format!(
            "[The skill `{name}`, from a file of {whose}, {file}. It says how to do something; \
             what you are to do is for whoever gave you your task to say.]\n\n{text}\n"
        );
        if left_out > 0 {
            told += &format!("[the last {} are left out]\n", brief::count(left_out, "byte"));
        }
        if let Some(needs) = &self.compatibility {
            told += &format!("\n[What it needs: {needs}]\n");
        }
        told + &self.files()
    }

    /// Names the files that belong to it.
    fn files(&self) -> String {
        let directory = self.directory();
        let mut walk = WalkBuilder::new(directory);
        walk.standard_filters(false).hidden(true).max_depth(Some(DEEPEST));
        let walk = walk.sort_by_file_name(Ord::cmp).build().flatten().take(MOST_ENTRIES);
        let is_file = |entry: &ignore::DirEntry| {
            entry.file_type().is_some_and(|kind| !kind.is_dir()) && entry.path() != self.file
        };
        let name = |path: &Path| brief::path(path.strip_prefix(directory).unwrap_or(path));
        let names: Vec<_> = walk.filter(is_file).map(|entry| name(entry.path())).collect();
        if names.is_empty() {
            return String::new();
        }
        let shown = names.iter().take(MOST_FILES).map(|name| format!("- {name}\n"));
        let shown: String = shown.collect();
        let rest = match names.len().saturating_sub(MOST_FILES) {
            0 => String::new(),
            count => format!("[{} are left out]\n", brief::count(count as u64, "more file")),
        };
        let place = brief::path(directory);
        format!(
            "\n[Its files, in {place}; `skill` shows one that you name in `file`:]\n{shown}{rest}"
        )
    }

    /// Reads a file that belongs to it.
    pub fn read(&self, given: &str) -> Result<String, String> {
        let wrong =
            |why: &dyn fmt::Display| format!("`{given}` of the skill `{}`: {why}", self.name);
        let path = self.directory().join(given).canonicalize().map_err(|error| wrong(&error))?;
        if !path.starts_with(self.directory()) {
            return Err(wrong(&"it is not in the skill's directory"));
        }
        let bytes = bytes(&path).map_err(|error| wrong(&error))?;
        if bytes[..bytes.len().min(PROBE)].contains(&0) {
            return Err(wrong(&"it is no text"));
        }
        let is_cut = bytes.len() > LONGEST;
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
        let cut = if is_cut {
            format!("\n[what comes after {LONGEST} bytes is left out]")
        } else {
            String::new()
        };
        let Self { name, whose, .. } = self;
        let path = brief::path(&path);
        Ok(format!("[A file of the skill `{name}`, {whose}: {path}]\n\n{text}{cut}"))
    }

    fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let (file, _) = handle::open(path)?;
    let mut bytes = Vec::new();
    file.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn skill(directory: &Path, text: &str) -> Skill {
        Skill {
            name: "pdf".to_owned(),
            description: "Reads PDF.".to_owned(),
            compatibility: None,
            invocation: Invocation::Anybody,
            text: text.to_owned(),
            file: directory.canonicalize().unwrap().join("SKILL.md"),
            whose: Whose::Project,
        }
    }

    #[test]
    fn what_is_told_says_whose_it_is_and_names_the_files() {
        let keep = tempfile::tempdir().unwrap();
        let at = |name: &str| keep.path().join(name);
        fs::create_dir(at("scripts")).unwrap();
        for name in ["SKILL.md", "b.md", "scripts/a.sh", ".hidden"] {
            fs::write(at(name), "").unwrap();
        }
        let skill =
            Skill { compatibility: Some("git".to_owned()), ..skill(keep.path(), "\nDo.\n") };
        let told = skill.told();
        assert!(told.starts_with("[The skill `pdf`, from a file of the project's, "), "{told}");
        assert!(told.contains("]\n\nDo.\n\n[What it needs: git]\n\n[Its files, in "), "{told}");
        assert!(told.ends_with(":]\n- b.md\n- scripts/a.sh\n"), "{told}");
    }

    #[test]
    fn what_is_long_is_cut_and_says_so() {
        let keep = tempfile::tempdir().unwrap();
        let long = skill(keep.path(), &"a".repeat(LONGEST + 7)).told();
        assert!(long.ends_with("aaa\n[the last 7 bytes are left out]\n"), "{}", &long[LONGEST..]);
        assert!(!skill(keep.path(), &"a".repeat(LONGEST)).told().contains("left out"));
        for number in 0..MOST_FILES + 3 {
            fs::write(keep.path().join(format!("{number:04}")), "a".repeat(LONGEST)).unwrap();
        }
        let skill = skill(keep.path(), "");
        assert!(
            skill.told().ends_with("- 0099\n[3 more files are left out]\n"),
            "{}",
            skill.told()
        );
        assert!(!skill.read("0001").unwrap().contains("left out"));
        fs::write(keep.path().join("0001"), "a".repeat(LONGEST + 1)).unwrap();
        let cut = skill.read("0001").unwrap();
        assert!(cut.ends_with("aa\n[what comes after 32768 bytes is left out]"));
    }

    #[test]
    fn only_text_in_the_directory_is_read() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("pdf/sub")).unwrap();
        fs::write(top.join("secret"), "x").unwrap();
        fs::write(top.join("pdf/a.md"), "whatever").unwrap();
        fs::write(top.join("pdf/binary"), "a\0").unwrap();
        symlink("../secret", top.join("pdf/link")).unwrap();
        symlink("../a.md", top.join("pdf/sub/inside")).unwrap();
        let skill = skill(&top.join("pdf"), "");
        let read = skill.read("a.md").unwrap();
        assert!(read.starts_with("[A file of the skill `pdf`, the project's: "), "{read}");
        assert!(read.ends_with("]\n\nwhatever"), "{read}");
        assert!(skill.read("sub/inside").is_ok());
        let absolute = top.join("secret");
        for given in ["link", "../secret", "sub/../../secret", absolute.to_str().unwrap()] {
            let refusal = skill.read(given).unwrap_err();
            assert!(refusal.contains("not in the skill's directory"), "{refusal}");
        }
        assert!(skill.read("binary").unwrap_err().ends_with("it is no text"));
        for given in ["sub", "none", ""] {
            assert!(skill.read(given).is_err(), "{given}");
        }
    }

    #[test]
    fn an_agents_own_skill_goes_before_another_of_its_name() {
        let keep = tempfile::tempdir().unwrap();
        let named = |text: &str| Arc::new(skill(keep.path(), text));
        let own = BTreeMap::from([("a".to_owned(), vec![named("own")])]);
        let skills = Skills { all: vec![named("all")], own, ..Skills::default() };
        let order = |agent: Option<&str>, within: Option<&str>| Order {
            agent: agent.map(str::to_owned),
            within: within.map(str::to_owned),
            ..Order::default()
        };
        let text = |agent, within| skills.find(&order(agent, within), "pdf").unwrap().text.clone();
        assert_eq!(text(Some("a"), None), "own");
        // Whoever works for an agent has what that has.
        assert_eq!(text(None, Some("a")), "own");
        assert_eq!((text(Some("b"), Some("a")), text(None, None)), ("all".into(), "all".into()));
        assert_eq!(skills.of(&order(Some("a"), None)).count(), 1);
        assert!(skills.find(&order(None, None), "pd").is_none());
        let only_own = BTreeSet::from(["a".to_owned(), "c".to_owned()]);
        let skills = Skills {
            all: vec![Arc::new(Skill { name: "b".into(), ..skill(keep.path(), "") })],
            only_own,
            ..skills
        };
        let count = |agent, within| skills.of(&order(agent, within)).count();
        assert_eq!([count(Some("a"), None), count(None, Some("a")), count(None, None)], [1, 1, 1]);
        assert_eq!(
            [count(Some("c"), None), count(Some("b"), Some("c")), count(Some("b"), None)],
            [0, 0, 1]
        );
        assert!(skills.find(&order(Some("a"), None), "b").is_none());
    }
}
