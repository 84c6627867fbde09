//! `adjutant agents new`: a file for a new agent, in which every field is explained.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{
    CliError, Surroundings,
    agents::{Library, name},
    error::Kind,
    lineage::lineage,
};

/// What is written.
pub(super) const TEMPLATE: &str = include_str!("template.toml");

/// Where agents are in a project.
const OF_PROJECTS: &str = ".adjutant";

/// A new agent.
pub(super) struct New<'a> {
    pub(super) name: &'a str,
    pub(super) description: Option<&'a str>,
}

impl New<'_> {
    /// Writes its file, in the project or for the user, and tells where. Nothing is overwritten.
    pub(super) fn write(
        &self,
        around: &Surroundings,
        directory: &Path,
        is_users: bool,
        to: &mut dyn Write,
    ) -> Result<(), CliError> {
        let name = self.name;
        if let Err(why) = name::check(name) {
            return Err(CliError::new(Kind::Usage, format!("the name of the agent {why}")));
        }
        let base = match is_users {
            true => around.config_home.join("adjutant"),
            false => project(around, directory).join(OF_PROJECTS),
        };
        let place = base.join("agents");
        let library = Library::read(around, directory, &[]);
        let mut namesakes = library.entries.iter().filter(|entry| entry.name() == name);
        if let Some(here) = namesakes.clone().find(|entry| entry.file.starts_with(&place)) {
            let why = format!("there is an agent `{name}` already: {}", here.file.display());
            return Err(CliError::new(Kind::Usage, why).hint("give it another name"));
        }
        let file = place.join(format!("{name}.toml"));
        let wrong = |error: io::Error| {
            CliError::new(Kind::Usage, format!("{} cannot be made: {error}", file.display()))
        };
        make(&[&base, &place], &file, &self.text()).map_err(wrong)?;
        writeln!(to, "{}", file.display())?;
        if let Some(other) = namesakes.next() {
            let other = other.file.display();
            writeln!(to, "there is one of that name in {other} too: the nearest one counts")?;
        }
        writeln!(to, "edit it, then: `adjutant agents check {name}`, `adjutant run -a {name}`")?;
        Ok(())
    }

    /// Returns what is written.
    pub(super) fn text(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let description = self.description.unwrap_or("Say in one line what it is good for.");
        TEMPLATE.replacen("NAME", &quoted(self.name), 1).replacen(
            "DESCRIPTION",
            &quoted(description),
            1,
        )
    }
}

/// Returns the directory of the project: the nearest that has something of ours, or is the top
/// of a repository.
fn project(around: &Surroundings, directory: &Path) -> PathBuf {
    let above = lineage(directory, around.home.as_deref());
    let has = |name: &str| above.iter().find(|it| it.join(name).exists()).cloned();
    has(OF_PROJECTS).or_else(|| has(".git")).unwrap_or_else(|| directory.to_owned())
}

/// Makes a file that is not there yet. No link is followed that somebody left on the way.
fn make(directories: &[&Path], file: &Path, text: &str) -> io::Result<()> {
    for directory in directories {
        fs::create_dir_all(directory)?;
        if directory.is_symlink() {
            let why = format!("`{}` is a link", directory.display());
            return Err(io::Error::other(why));
        }
    }
    File::create_new(file)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{
        definition::Owner, fields::Fields, native, problem::Severity, text::Written,
    };

    fn written(text: String) -> Written {
        let (file, name) = ("/agents/helper.toml".into(), "helper".to_owned());
        Written { file, owner: Owner::User, name, text }
    }

    /// Returns the template with every field in it.
    fn whole() -> String {
        let text = New { name: "helper", description: None }.text();
        let line = |line: &str| match line.strip_prefix('#') {
            Some(field) if !field.starts_with(' ') => field.to_owned(),
            _ => line.to_owned(),
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_new_agent_says_nothing_but_what_it_is() {
        let new = New { name: "helper", description: Some("Says \"hi\"\nand more") };
        let (definition, problems) = native::read(&written(new.text()));
        let definition = definition.unwrap();
        assert_eq!(problems, []);
        assert_eq!(definition.name, "helper");
        assert_eq!(definition.description, "Says \"hi\"\nand more");
        assert_eq!(definition.model, None);
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn every_field_of_the_template_is_known_and_right() {
        let (definition, problems) = native::read(&written(whole()));
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, [""; 0]);
        assert!(definition.is_some());
    }

    #[test]
    fn every_field_that_is_known_is_in_the_template() {
        let (whole, empty) = (written(whole()), written("[[mcp_servers]]".to_owned()));
        let shown = Fields::of_toml(&whole).unwrap();
        let mut fields = Fields::of_toml(&empty).unwrap();
        native::definition(&mut fields, &empty);
        let refused = ["params.response_format", "artifacts.default_write"];
        let known = fields.known().iter().filter(|name| !refused.contains(&name.as_str()));
        let known: Vec<_> = known.collect();
        assert!(known.len() > 40, "{known:?}");
        for name in known {
            let second = name.replace("[0]", "[1]");
            let lines = shown.lines();
            assert!(lines.contains_key(name) || lines.contains_key(&second), "{name}");
        }
        assert!(!fields.end(Severity::Error).is_empty(), "a server has a name");
    }
}
