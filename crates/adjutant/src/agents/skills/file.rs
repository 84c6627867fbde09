//! A file named SKILL.md.

use std::path::Path;

use adjutant_tools::skills::{Invocation, Skill, Whose};
use serde_json::Value;

use crate::agents::{
    definition::Owner,
    fields::Fields,
    front_matter,
    problem::{Problem, Severity},
    text,
};

/// The longest a name, a description and what is said of compatibility should be, in characters.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
const LONGEST_COMPATIBILITY: usize = 500;

/// What other products do with a skill, and nobody does here.
const NOT_HONOURED: [&str; 14] = [
    "when_to_use",
    "argument-hint",
    "arguments",
    "user-invocable",
    "disallowed-tools",
    "model",
    "effort",
    "context",
    "agent",
    "background",
    "hooks",
    "paths",
    "shell",
    "version",
];

/// How a skill comes to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// By its description.
    Listed,
    /// By the path of its file, which somebody wrote.
    Named,
}

/// Reads a skill. Without one, one of the problems is an error.
pub(crate) fn read(file: &Path, owner: &Owner, known: Known) -> (Option<Skill>, Vec<Problem>) {
    let wrong = |why: String| (None, vec![Problem::of(Severity::Error, file, why)]);
    let real = match file.canonicalize() {
        Ok(real) => real,
        Err(error) => return wrong(format!("cannot be read: {error}")),
    };
    if let Owner::Project(project) = owner
        && !project.canonicalize().is_ok_and(|project| real.starts_with(project))
    {
        return wrong(format!("leads out of the project, to {}", real.display()));
    }
    let text = match text::read(file) {
        Ok(text) => text,
        Err(problem) => return (None, vec![problem]),
    };
    let (mut fields, body) = match front_matter::read(file, &text) {
        Ok(parts) => parts,
        Err(problem) => return (None, vec![problem]),
    };
    let whose = match owner {
        Owner::User => Whose::User,
        Owner::Project(_) => Whose::Project,
    };
    let skill = Skill {
        name: name(&mut fields, file),
        description: description(&mut fields, known),
        compatibility: compatibility(&mut fields),
        invocation: match fields.flag("disable-model-invocation") {
            Some(true) => Invocation::People,
            Some(false) | None => Invocation::Anybody,
        },
        text: body.to_owned(),
        file: real,
        whose,
    };
    drop_rest(&mut fields);
    let problems = fields.end(Severity::Dropped);
    let is_refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    ((!is_refused).then_some(skill), problems)
}

/// Returns the name of the directory, which the file should say too.
fn name(fields: &mut Fields<'_>, file: &Path) -> String {
    let directory = file.parent().and_then(Path::file_name).unwrap_or_default();
    let Some(directory) = directory.to_str().filter(|it| !it.contains(char::is_control)) else {
        fields.wrong("name", "is the directory's, which is no plain text");
        return String::new();
    };
    match fields.text("name") {
        None => fields.warn("name", format!("is not said; it is `{directory}`"), None),
        Some(name) if name != directory => {
            let why = format!("is `{name}`, and the directory is `{directory}`, which counts");
            fields.warn("name", why, Some("give both the same name"));
        }
        Some(_) => {}
    }
    if !is_name(directory) {
        let why = format!("should be 1 to {LONGEST_NAME} of a-z, 0-9 and single hyphens inside");
        fields.warn("name", why, None);
    }
    directory.to_owned()
}

fn is_name(name: &str) -> bool {
    let is_fit = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-');
    (1..=LONGEST_NAME).contains(&name.len())
        && name.chars().all(is_fit)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

fn description(fields: &mut Fields<'_>, known: Known) -> String {
    let description = fields.text("description").unwrap_or_default();
    let length = description.chars().count();
    if description.trim().is_empty() && known == Known::Listed {
        fields.wrong("description", "is missing: nobody would know when to use the skill");
    }
    if length > LONGEST_DESCRIPTION {
        let why =
            format!("is {length} characters long; it should be {LONGEST_DESCRIPTION} at most");
        fields.warn("description", why, None);
    }
    description
}

fn compatibility(fields: &mut Fields<'_>) -> Option<String> {
    let compatibility = fields.text("compatibility")?;
    let length = compatibility.chars().count();
    if length > LONGEST_COMPATIBILITY {
        let most = LONGEST_COMPATIBILITY;
        let why = format!("is {length} characters long; it should be {most} at most");
        fields.drop("compatibility", why, None);
        return None;
    }
    Some(compatibility)
}

/// Takes what changes nothing, and tells of what would change something elsewhere.
fn drop_rest(fields: &mut Fields<'_>) {
    fields.take("license");
    if fields.take("metadata").is_some_and(|it| !matches!(it, Value::Object(_) | Value::Null)) {
        fields.drop("metadata", "has to be fields", None);
    }
    if fields.take("allowed-tools").is_some() {
        let hint = "`permissions.allow` in your configuration does";
        fields.drop("allowed-tools", "allows nothing here", Some(hint));
    }
    for name in NOT_HONOURED {
        if fields.take(name).is_some() {
            fields.drop(name, "has no effect here", None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_text(directory: &str, text: &[u8], known: Known) -> (Option<Skill>, String) {
        let keep = tempfile::tempdir().unwrap();
        let file = keep.path().join(directory).join("SKILL.md");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let (skill, problems) = read(&file, &Owner::User, known);
        let place = file.display().to_string();
        let problems = problems.iter().map(|it| it.to_string().replace(&place, "F") + "\n");
        (skill, problems.collect())
    }

    fn listed(directory: &str, text: &str) -> (Option<Skill>, String) {
        read_text(directory, text.as_bytes(), Known::Listed)
    }

    #[test]
    fn a_skill_is_what_its_file_says() {
        let text = "\u{feff}---\r\nname: pdf-forms\r\ndescription: |\r\n  Fills\r\n  forms.\r\n\
                    license: MIT\r\ncompatibility: needs python\r\nmetadata:\r\n  version: '1'\r\n\
                    ---\r\n\r\n# How\r\n";
        let (skill, problems) = listed("pdf-forms", text);
        let skill = skill.unwrap();
        assert_eq!(problems, "");
        assert_eq!((skill.name.as_str(), skill.text.as_str()), ("pdf-forms", "\n# How\n"));
        assert_eq!(skill.description, "Fills\nforms.\n");
        assert_eq!(skill.compatibility.as_deref(), Some("needs python"));
        assert_eq!((skill.invocation, skill.whose), (Invocation::Anybody, Whose::User));
    }

    #[test]
    fn what_has_no_effect_is_told_of() {
        let text = "---\nname: a\ndescription: b\nallowed-tools: Bash(git *) Read\nmodel: opus\n\
                    hooks: {}\ncolour: red\nmetadata: [1]\n---\n";
        let (skill, problems) = listed("a", text);
        assert!(skill.is_some());
        let expected = "F:8: dropped: `metadata` has to be fields\n\
                        F:4: dropped: `allowed-tools` allows nothing here\n\
                        F:5: dropped: `model` has no effect here\n\
                        F:6: dropped: `hooks` has no effect here\n\
                        F:7: dropped: `colour` is not known\n";
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_skill_has_the_name_of_its_directory() {
        let (skill, problems) = listed("real", "---\nname: other\ndescription: b\n---\n");
        assert_eq!(skill.unwrap().name, "real");
        assert!(problems.starts_with("F:2: warning: `name` is `other`, and the"), "{problems}");
        for odd in ["Upper", "a--b", "-a", "a-", "a b", "é", &"a".repeat(65)] {
            let (skill, problems) =
                listed(odd, &format!("---\nname: {odd:?}\ndescription: b\n---\n"));
            assert_eq!(skill.unwrap().name, odd);
            assert!(problems.contains("`name` should be 1 to 64"), "{problems}");
        }
        let (skill, problems) = listed("a", "---\ndescription: b\n---\n");
        assert!(skill.is_some());
        assert!(problems.contains("`name` is not said; it is `a`"), "{problems}");
    }

    #[test]
    fn who_may_think_of_a_skill_is_never_looser_than_written() {
        let text = |said: &str| {
            format!("---\nname: a\ndescription: b\ndisable-model-invocation: {said}\n---\n")
        };
        let invocation = |said| listed("a", &text(said)).0.map(|skill| skill.invocation);
        assert_eq!(invocation("true"), Some(Invocation::People));
        assert_eq!(invocation("false"), Some(Invocation::Anybody));
        assert_eq!(invocation("maybe"), None);
    }

    #[test]
    fn a_skill_that_nobody_could_find_is_refused_unless_it_is_named() {
        for text in ["", "words\n", "---\nname: a\n---\nwords\n", "---\ndescription: ' '\n---\n"] {
            let (skill, problems) = listed("a", text);
            assert_eq!(skill, None);
            assert!(problems.contains("error: `description` is missing"), "{problems}");
            assert!(read_text("a", text.as_bytes(), Known::Named).0.is_some());
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let first = |text: &[u8]| {
            let (skill, problems) = read_text("a", text, Known::Listed);
            assert_eq!(skill, None, "{problems}");
            problems
        };
        assert!(first(b"---\nname: a\nb: [c\n---\n").starts_with("F:3: error: is not YAML"));
        assert!(first(b"---\nname: \xff\n---\n").starts_with("F:2: error: is not UTF-8"));
        assert!(first(b"---\nname: [a]\ndescription: b\n---\n").starts_with("F:2: error: `name`"));
        let long = format!("---\ndescription: {}\n---\n", "é".repeat(1025));
        let (skill, problems) = listed("a", &long);
        assert!(skill.is_some());
        assert!(problems.contains("warning: `description` is 1025 characters"), "{problems}");
    }
}
