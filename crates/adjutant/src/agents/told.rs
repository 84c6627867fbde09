//! What files besides its own tell an agent.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_tools::skills::{Skill, Skills};

use super::{
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
    pub(crate) fn read(around: &Surroundings, directory: &Path, agents: &Library) -> Self {
        let mut library = SkillLibrary::read(around, directory);
        let (mut own, mut missing) = (BTreeMap::new(), BTreeMap::new());
        for agent in agents.iter().filter(|agent| !agent.skills.is_empty()) {
            match library.of(agent) {
                Ok(skills) => drop(own.insert(agent.name.clone(), skills)),
                Err(why) => drop(missing.insert(agent.name.clone(), why)),
            }
        }
        let workdirs = agents.iter().filter_map(|agent| agent.workdir.as_deref());
        let workdirs = workdirs.filter_map(|it| directory.join(it).canonicalize().ok());
        let places = workdirs.chain([directory.to_owned()]);
        let guidance = places.map(|place| (place.clone(), AgentsMd::read(around, &place)));
        let SkillLibrary { skills: all, problems, .. } = library;
        Self {
            skills: Arc::new(Skills { all, own }),
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
