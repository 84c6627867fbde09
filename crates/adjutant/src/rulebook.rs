//! Rules a person gave for good, written into the project's file.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use adjutant_core::{Pattern, Rulebook};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use crate::{
    CliError, Surroundings,
    agreement::Agreements,
    config::{find_project, project_of},
    screen::say,
    whole_file,
};

/// The project's file, with the person's agreement to what is added to it.
#[derive(Debug)]
pub struct ProjectRulebook {
    file: PathBuf,
    agreements: Agreements,
    /// One rule is written at a time.
    writing: Mutex<()>,
}

impl ProjectRulebook {
    /// Finds the project's file, or where it would be.
    pub fn find(around: &Surroundings, directory: &Path) -> Result<Self, CliError> {
        let file = match find_project(directory)? {
            Some((file, _)) => file,
            None => directory.join(".adjutant/config.toml"),
        };
        Ok(Self { file, agreements: Agreements::of(around), writing: Mutex::new(()) })
    }

    fn write(&self, rules: &[Pattern]) -> Result<(), String> {
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error.to_string()),
        };
        let text = with_rules(&text, rules)?;
        whole_file::write(&self.file, &text).map_err(|error| error.to_string())
    }
}

impl Rulebook for ProjectRulebook {
    fn add(&self, rules: &[Pattern]) -> Result<(), String> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        // Agreed to first: a rule that is in the file and was not agreed to does not hold.
        let agreed = self.agreements.agree(project_of(&self.file), |agreed| {
            agreed.allow.extend(rules.iter().map(ToString::to_string));
        });
        let added = agreed.map_err(|error| error.to_string()).and_then(|()| self.write(rules));
        added.inspect_err(|why| {
            say(&format!("warning: not written into {}: {why}", self.file.display()));
        })
    }
}

/// Adds rules to the list of what is allowed. All else stays as it was written.
fn with_rules(text: &str, rules: &[Pattern]) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let permissions = document.entry("permissions").or_insert_with(|| Item::Table(Table::new()));
    let permissions = permissions.as_table_like_mut().ok_or("`permissions` is not a table")?;
    let allow = permissions.entry("allow").or_insert_with(|| Item::Value(Array::new().into()));
    let allow = allow.as_array_mut().ok_or("`permissions.allow` is not a list")?;
    for rule in rules.iter().map(ToString::to_string) {
        let is_there = allow.iter().any(|value| value.as_str() == Some(&rule));
        if !is_there {
            allow.push_formatted(Value::from(rule).decorated("\n    ", ""));
        }
    }
    allow.set_trailing_comma(true);
    allow.set_trailing("\n");
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Pattern> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_rule_is_added_and_all_else_stays() {
        let before = "# ours\nmode = \"plan\" # tame\n\n[permissions]\ndeny = [\"web_fetch\"]\n";
        let after = with_rules(before, &rules(&["run_command(make \"a b\")"])).unwrap();
        assert!(after.starts_with(before), "{after}");
        let read: toml::Table = after.parse().unwrap();
        let allow = read["permissions"]["allow"].as_array().unwrap();
        assert_eq!(allow[0].as_str(), Some("run_command(make \"a b\")"));
    }

    #[test]
    fn a_rule_is_added_once() {
        let once = with_rules("", &rules(&["a", "b"])).unwrap();
        assert_eq!(once, "[permissions]\nallow = [\n    \"a\",\n    \"b\",\n]\n");
        assert_eq!(with_rules(&once, &rules(&["b", "a"])).unwrap(), once);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() {
        for wrong in ["permissions = 3", "[permissions]\nallow = 3", "[[["] {
            assert!(with_rules(wrong, &rules(&["a"])).is_err(), "{wrong}");
        }
    }
}
