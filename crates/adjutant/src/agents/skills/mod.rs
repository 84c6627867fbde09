//! The skills there are, and where they are looked for.

mod file;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_tools::skills::Skill;

use self::file::Known;
use super::{
    definition::{Definition, Owner},
    problem::{Problem, Severity},
};
use crate::{Surroundings, lineage::lineage, nearest::close};

/// What a skill is written in.
const FILE: &str = "SKILL.md";

/// What is below a project's directory, the strongest first.
const OF_PROJECTS: [&str; 6] = [
    ".adjutant/skills",
    ".agents/skills",
    ".claude/skills",
    ".opencode/skill",
    ".opencode/skills",
    ".codex/skills",
];

/// What is below the user's configuration, the strongest first.
const OF_CONFIGURATIONS: [&str; 3] = ["adjutant/skills", "opencode/skill", "opencode/skills"];

/// What is below the home directory, the strongest first.
const OF_HOMES: [&str; 3] = [".agents/skills", ".claude/skills", ".codex/skills"];

/// Every skill there is. Files that change later change nothing here.
#[derive(Clone, Debug, Default)]
pub(crate) struct SkillLibrary {
    /// The strongest first.
    pub(crate) skills: Vec<Arc<Skill>>,
    /// What a person should know of their files.
    pub(crate) problems: Vec<Problem>,
    /// Where was looked.
    places: Vec<PathBuf>,
    directory: PathBuf,
}

impl SkillLibrary {
    /// Reads all that is there for who works in a directory.
    pub(crate) fn read(around: &Surroundings, directory: &Path) -> Self {
        let mut library = Self { directory: directory.to_owned(), ..Self::default() };
        let home = around.home.as_deref();
        for above in lineage(directory, home) {
            for place in OF_PROJECTS {
                library.add(above.join(place), &Owner::Project(above.clone()));
            }
        }
        let configuration = OF_CONFIGURATIONS.map(|place| around.config_home.join(place));
        let homes = home.into_iter().flat_map(|home| OF_HOMES.map(|place| home.join(place)));
        for place in configuration.into_iter().chain(homes) {
            library.add(place, &Owner::User);
        }
        library
    }

    /// Returns those that an agent knows from the beginning, or why there is none.
    pub(crate) fn of(&mut self, definition: &Definition) -> Vec<Result<Arc<Skill>, String>> {
        definition.skills.iter().map(|named| self.find(named, definition)).collect()
    }

    fn find(&mut self, named: &str, definition: &Definition) -> Result<Arc<Skill>, String> {
        if named.contains('/') || named.ends_with(".md") {
            return self.at_path(named, definition);
        }
        let found = self.skills.iter().find(|skill| skill.name == named);
        found.cloned().ok_or_else(|| match self.refusal(named) {
            Some(problem) => format!("the skill `{named}` is refused: {}", problem.aside()),
            None => self.absence(named),
        })
    }

    /// Returns why a file in the directory of a skill's name is none.
    fn refusal(&self, named: &str) -> Option<&Problem> {
        self.problems.iter().find(|problem| {
            let directory = problem.file.parent().and_then(Path::file_name);
            problem.severity == Severity::Error
                && problem.file.ends_with(FILE)
                && directory.is_some_and(|name| name == named)
        })
    }

    fn absence(&self, named: &str) -> String {
        let names = self.skills.iter().map(|skill| skill.name.as_str());
        let meant = close(named, names).map(|meant| format!(" did you mean `{meant}`?"));
        let places: Vec<_> = self.places.iter().map(|it| it.display().to_string()).collect();
        let (meant, places) = (meant.unwrap_or_default(), places.join(", "));
        format!("there is no skill `{named}`;{meant} looked in: {places}")
    }

    /// Reads the skill at a path: from where the agent is written, or else from where the session
    /// works.
    fn at_path(&mut self, named: &str, definition: &Definition) -> Result<Arc<Skill>, String> {
        let beside = definition.origin.file.parent().unwrap_or(&self.directory);
        let tried = [beside, &self.directory].map(|base| base.join(named));
        let file = |path: &PathBuf| match path.is_dir() {
            true => path.join(FILE),
            false => path.clone(),
        };
        let Some(file) = tried.iter().map(file).find(|file| file.exists()) else {
            let [first, second] = tried.map(|path| path.display().to_string());
            return Err(format!("there is no skill `{named}`; looked for: {first}, {second}"));
        };
        let (skill, problems) = file::read(&file, &definition.origin.owner, Known::Named);
        let Some(skill) = skill else {
            let why = problems.iter().find(|it| it.severity == Severity::Error);
            return Err(why.map(Problem::aside).unwrap_or_default());
        };
        self.problems.extend(problems);
        Ok(Arc::new(skill))
    }

    fn add(&mut self, place: PathBuf, owner: &Owner) {
        let files = match files(&place) {
            Ok(files) => files,
            Err(error) => {
                let why = format!("cannot be looked into: {error}");
                self.problems.push(Problem::of(Severity::Error, &place, why));
                Vec::new()
            }
        };
        self.places.push(place);
        for file in files {
            if !file.ends_with(FILE) {
                let why = format!("is not read: a skill is written in `{FILE}`");
                self.problems.push(Problem::of(Severity::Warning, &file, why));
                continue;
            }
            let (skill, problems) = file::read(&file, owner, Known::Listed);
            self.problems.extend(problems);
            if let Some(skill) = skill {
                self.settle(&file, skill);
            }
        }
    }

    /// Takes in a skill, unless a stronger one has its name.
    fn settle(&mut self, file: &Path, skill: Skill) {
        match self.skills.iter().find(|it| it.name == skill.name) {
            None => self.skills.push(Arc::new(skill)),
            // One that is found by two ways is still one.
            Some(stronger) if stronger.file == skill.file => {}
            Some(stronger) => {
                let why = format!("is not used: {} has its name", stronger.file.display());
                self.problems.push(Problem::of(Severity::Warning, file, why));
            }
        }
    }
}

/// Returns the files of the skills in a directory, sorted, with those whose names are written in
/// other letters.
fn files(place: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let directory = entry?.path();
        let file = directory.join(FILE);
        // A link that leads nowhere is a file too, which cannot be read.
        match file.symlink_metadata().is_ok() {
            true => files.push(file),
            false => files.extend(misnamed(&directory)),
        }
    }
    files.sort();
    Ok(files)
}

fn misnamed(directory: &Path) -> Option<PathBuf> {
    let mut files = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    files.find(|file| file.file_name().is_some_and(|name| name.eq_ignore_ascii_case(FILE)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct World {
        _keep: tempfile::TempDir,
        top: PathBuf,
    }

    impl World {
        fn new() -> Self {
            let keep = tempfile::tempdir().unwrap();
            let top = keep.path().canonicalize().unwrap();
            fs::create_dir_all(top.join("project/.git")).unwrap();
            fs::create_dir_all(top.join("project/sub")).unwrap();
            Self { _keep: keep, top }
        }

        fn skill(&self, directory: &str, description: &str) -> &Self {
            let file = self.top.join(directory).join(FILE);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let name = file.parent().unwrap().file_name().unwrap().display();
            let text = format!("---\nname: {name}\ndescription: {description}\n---\n");
            fs::write(file, text).unwrap();
            self
        }

        fn read(&self) -> SkillLibrary {
            let around = Surroundings {
                home: Some(self.top.clone()),
                config_home: self.top.join("config"),
                ..Surroundings::bare(self.top.join("project/sub"))
            };
            SkillLibrary::read(&around, &around.directory)
        }

        fn problems(&self) -> String {
            let place = self.top.display().to_string();
            let problems = self.read().problems;
            problems.iter().map(|it| it.to_string().replace(&place, "") + "\n").collect()
        }
    }

    #[test]
    fn the_nearest_and_the_projects_own_are_the_strongest() {
        let world = World::new();
        let places = [
            "project/sub/.adjutant/skills",
            "project/sub/.agents/skills",
            "project/sub/.claude/skills",
            "project/sub/.opencode/skill",
            "project/sub/.opencode/skills",
            "project/sub/.codex/skills",
            "project/.adjutant/skills",
            "project/.codex/skills",
            "config/adjutant/skills",
            "config/opencode/skill",
            "config/opencode/skills",
            ".agents/skills",
            ".claude/skills",
            ".codex/skills",
        ];
        for place in places.iter().rev() {
            world.skill(&format!("{place}/a"), place);
            let skills = world.read().skills;
            let strongest = skills.iter().find(|skill| skill.name == "a").unwrap();
            assert_eq!(strongest.description, *place);
        }
        assert!(world.problems().contains("warning: is not used: /project/sub/.adjutant/skills/a"));
    }

    #[test]
    fn a_link_is_followed_but_not_out_of_the_project() {
        let world = World::new();
        let at = |path: &str| world.top.join(path);
        world.skill("project/.agents/skills/a", "x").skill("dotfiles/b", "x");
        fs::create_dir_all(at("project/.claude/skills/d")).unwrap();
        fs::create_dir_all(at(".claude/skills")).unwrap();
        symlink("../../.agents/skills/a", at("project/.claude/skills/a")).unwrap();
        symlink(at("dotfiles/b"), at("project/.claude/skills/c")).unwrap();
        symlink(at("dotfiles/b/SKILL.md"), at("project/.claude/skills/d/SKILL.md")).unwrap();
        symlink(at("dotfiles/b"), at(".claude/skills/b")).unwrap();
        let names: Vec<_> = world.read().skills.iter().map(|skill| skill.name.clone()).collect();
        assert_eq!(names, ["a", "b"]);
        let expected = "/project/.claude/skills/c/SKILL.md: error: leads out of the project, to \
                        /dotfiles/b/SKILL.md\n\
                        /project/.claude/skills/d/SKILL.md: error: leads out of the project, to \
                        /dotfiles/b/SKILL.md\n";
        assert_eq!(world.problems(), expected);
    }

    #[test]
    fn a_file_in_other_letters_is_not_read_and_told_of() {
        let world = World::new();
        fs::create_dir_all(world.top.join(".claude/skills/a")).unwrap();
        fs::write(world.top.join(".claude/skills/a/skill.md"), "---\ndescription: x\n---\n")
            .unwrap();
        assert!(world.read().skills.is_empty());
        let told =
            "/.claude/skills/a/skill.md: warning: is not read: a skill is written in `SKILL.md`\n";
        assert_eq!(world.problems(), told);
    }

    #[test]
    fn what_is_no_file_is_told_of() {
        let world = World::new();
        fs::create_dir_all(world.top.join(".claude/skills/a/SKILL.md")).unwrap();
        fs::create_dir_all(world.top.join(".claude/skills/none")).unwrap();
        fs::create_dir_all(world.top.join(".claude/skills/b")).unwrap();
        fs::write(world.top.join(".codex"), "").unwrap();
        symlink("nowhere", world.top.join(".claude/skills/b/SKILL.md")).unwrap();
        let problems = world.problems();
        let lines: Vec<_> = problems.lines().collect();
        assert!(lines[0].starts_with("/.claude/skills/a/SKILL.md: error: cannot be read: "));
        assert!(lines[1].starts_with("/.claude/skills/b/SKILL.md: error: cannot be read: "));
        assert!(lines[2].starts_with("/.codex/skills: error: cannot be looked into: "));
        assert_eq!(lines.len(), 3, "{problems}");
    }
}
