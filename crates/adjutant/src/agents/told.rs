//! What files besides its own tell an agent.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_tools::skills::{Skill, Skills};

use super::{
    definition::Definition,
    format::Format,
    library::Library,
    problem::{Problem, Severity},
    skills::SkillLibrary,
};
use crate::{Surroundings, assembly::Kit, guidance::AgentsMd};

/// What files besides their own tell agents, as they were when a session began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The skills there are, and those that agents know from the beginning.
    pub(crate) skills: Arc<Skills>,
    /// What a person should know of the files of skills.
    pub(crate) problems: Vec<Problem>,
    /// Why an agent's own skills are not all there, by its name.
    missing: BTreeMap<String, String>,
    /// What AGENTS.md say, by where agents work.
    guidance: BTreeMap<PathBuf, AgentsMd>,
}

impl Told {
    /// Reads what there is for a session in a directory and for the agents that it may have.
    /// Skills that there are not are taken out of other products' files, which say so.
    pub(crate) fn read(around: &Surroundings, directory: &Path, agents: &mut Library) -> Self {
        let mut library = SkillLibrary::read(around, directory);
        let (mut own, mut missing) = (BTreeMap::new(), BTreeMap::new());
        let skilled = agents.iter().filter(|agent| !agent.skills.is_empty());
        for agent in skilled.cloned().collect::<Vec<_>>() {
            let found = library.of(&agent);
            let absent = found.iter().find_map(|it| it.as_ref().err());
            match absent {
                Some(why) if agent.origin.format == Format::Native => {
                    missing.insert(agent.name.clone(), why.clone());
                    continue;
                }
                Some(_) => agents.forget_skills(&agent, &found),
                None => {}
            }
            own.insert(agent.name.clone(), found.into_iter().flatten().collect());
        }
        let workdirs = agents.iter().filter_map(|agent| agent.workdir.as_deref());
        let workdirs = workdirs.filter_map(|it| directory.join(it).canonicalize().ok());
        let places = workdirs.chain([directory.to_owned()]);
        let guidance = places.map(|place| (place.clone(), AgentsMd::read(around, &place)));
        let SkillLibrary { skills: all, problems, .. } = library;
        let only_own = agents.iter().filter(|agent| agent.has_only_own_skills());
        let only_own = only_own.map(|agent| agent.name.clone()).collect();
        Self {
            skills: Arc::new(Skills { all, own, only_own }),
            problems,
            missing,
            guidance: guidance.collect(),
        }
    }

    /// Adds what a session in a directory has of it.
    pub(crate) fn add_to(&self, kit: Kit, directory: &Path) -> Kit {
        let guidance = self.guidance(directory).map(str::to_owned);
        Kit { skills: Arc::clone(&self.skills), guidance, ..kit }
    }

    /// Has nobody be told what AGENTS.md say.
    pub(crate) fn forget_guidance(&mut self) {
        self.guidance.clear();
    }

    /// Returns what AGENTS.md say to who works in a directory.
    pub(crate) fn guidance(&self, directory: &Path) -> Option<&str> {
        self.guidance.get(directory)?.text.as_deref()
    }

    /// Returns what an agent knows from the beginning.
    pub(crate) fn own_skills(&self, agent: &str) -> Result<&[Arc<Skill>], String> {
        match self.missing.get(agent) {
            Some(why) => Err(why.clone()),
            None => Ok(self.skills.own.get(agent).map_or(&[], Vec::as_slice)),
        }
    }

    /// Returns what a person should know of the skills that an agent knows from the beginning.
    pub(crate) fn problems_of(&self, agent: &str) -> Vec<&Problem> {
        let own = self.skills.own.get(agent).map_or(&[][..], Vec::as_slice);
        let is_own = |file: &Path| own.iter().any(|skill| skill.file == file);
        let of_own = |it: &&Problem| it.file.canonicalize().is_ok_and(|file| is_own(&file));
        self.problems.iter().filter(of_own).collect()
    }

    /// Returns what a person should know before a session begins.
    pub(crate) fn warnings(&self, directory: &Path) -> Vec<String> {
        let errors = self.problems.iter().filter(|problem| problem.severity == Severity::Error);
        let guidance = self.guidance.get(directory).into_iter().flat_map(|it| it.warnings.clone());
        errors.map(Problem::aside).chain(guidance).collect()
    }
}

impl Library {
    /// Takes the skills that were not found out of an agent, and says so.
    fn forget_skills(&mut self, agent: &Definition, found: &[Result<Arc<Skill>, String>]) {
        let pairs = agent.skills.iter().zip(found);
        let skills = pairs.filter(|(_, found)| found.is_ok()).map(|(name, _)| name.clone());
        let problems = found.iter().filter_map(|found| found.as_ref().err()).map(|why| {
            let problem =
                Problem::of(Severity::Dropped, &agent.origin.file, format!("`skills`: {why}"));
            problem.at(agent.line("skills")).hint("it runs without that skill")
        });
        let problems: Vec<_> = problems.collect();
        self.replace(Definition { skills: skills.collect(), ..agent.clone() }, &problems);
    }
}
