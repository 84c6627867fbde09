//! Where an agent works, and the files and skills it is told.

use std::path::Path;

use adjutant_tools::ContextFiles;

use super::{Definition, Findings, Linter};
use crate::agents::definition::Owner;

impl Linter<'_> {
    /// Checks that the directory an agent works in is there, and the files it is told.
    pub(super) fn check_places(&self, definition: &Definition, findings: &mut Findings<'_>) {
        let place = match &definition.workdir {
            None => Some(self.agents.directory.clone()),
            Some(named) => self.workdir(named, definition, findings),
        };
        if let Some(place) = place {
            self.check_files(definition, &place, findings);
        }
        if let Err((field, why)) = self.agents.check_places(definition) {
            findings.wrong(field, "", why);
        }
    }

    /// Checks that an agent's skills are there.
    pub(super) fn check_skills(&self, definition: &Definition, findings: &mut Findings<'_>) {
        let agents = self.agents;
        // Of one that is shadowed, nobody looks for skills.
        let found = agents.library.get(&definition.name);
        let is_used = found.is_some_and(|it| it.origin.file == definition.origin.file);
        if let (true, Err(why)) = (is_used, agents.told.own_skills(&definition.name)) {
            findings.wrong("skill", "", format!("`skill`: {why}"));
        }
    }

    fn workdir(
        &self,
        named: &Path,
        definition: &Definition,
        findings: &mut Findings<'_>,
    ) -> Option<std::path::PathBuf> {
        let found = match self.agents.workdir(named) {
            Ok(found) => found,
            Err(why) => {
                findings.wrong("workdir", "", why);
                return None;
            }
        };
        if let Owner::Project(project) = &definition.origin.owner
            && !found.starts_with(project)
        {
            let why = format!("`workdir` {} is outside the project", found.display());
            findings.wrong("workdir", "", why);
            return None;
        }
        Some(found)
    }

    fn check_files(&self, definition: &Definition, place: &Path, findings: &mut Findings<'_>) {
        for pattern in &definition.files {
            match ContextFiles::read(std::slice::from_ref(pattern), &self.grant, place) {
                Err(why) => {
                    let problem = findings.wrong("files", pattern, format!("`files`: {why}"));
                    if Path::new(pattern).is_absolute() {
                        let hint = "files are matched from where it works, which `workdir` says";
                        problem.hint = Some(hint.to_owned());
                    }
                }
                Ok(files) => {
                    if !files.idle.is_empty() {
                        let why = format!("`files`: no file fits `{pattern}`");
                        findings.warn("files", pattern, why).hint = Some(format!(
                            "it is matched from {}; what git ignores is left out",
                            place.display()
                        ));
                    }
                    for (name, why) in &files.left_out {
                        findings.warn("files", pattern, format!("`files`: `{name}`: {why}"));
                    }
                }
            }
        }
    }
}
