//! What an agent of opencode's is told: the text, or a field that may name a file with it.

use std::path::Path;

use crate::agents::{
    definition::Owner,
    fields::Fields,
    foreign::shared,
    text::{self, Written},
};

/// Takes what it is told: the text, or a field if there is none.
pub(super) fn read(fields: &mut Fields<'_>, written: &Written, body: &str) -> String {
    let field = shared::text(fields, "prompt");
    if !body.trim().is_empty() {
        if field.is_some() {
            fields.drop("prompt", "does not count beside the text after the fields", None);
        }
        return body.trim().to_owned();
    }
    let field = field.unwrap_or_default();
    if field.trim().is_empty() {
        fields.warn("prompt", "is missing: there is no text after the fields", None);
    }
    let named = field.trim().strip_prefix("{file:").and_then(|rest| rest.strip_suffix('}'));
    if let Some(named) = named.filter(|named| !named.contains(['{', '}'])) {
        return of_file(written, named.trim()).unwrap_or_else(|why| {
            fields.wrong("prompt", format!("names `{named}`, which {why}"));
            String::new()
        });
    }
    if field.contains("{file:") {
        let why = "has a `{file:…}` among other words, which is told as it is";
        fields.drop("prompt", why, Some("a file has to be all there is"));
    }
    field
}

/// Reads the file that a prompt is in: from where the agent is written, and in its project.
fn of_file(written: &Written, named: &str) -> Result<String, String> {
    let file = written.file.parent().unwrap_or(Path::new(".")).join(named);
    let real = file.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    if let Owner::Project(project) = &written.owner
        && !project.canonicalize().is_ok_and(|project| real.starts_with(project))
    {
        return Err("leads out of the project".to_owned());
    }
    let text = text::read(&real).map_err(|problem| problem.message)?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::agents::format::Format;

    fn told(owner: &Owner, file: &Path, prompt: &str) -> Result<(String, usize), String> {
        let text = format!("---\ndescription: d\nprompt: \"{prompt}\"\n---\n");
        let name = "a".to_owned();
        let written = Written { file: file.to_owned(), owner: owner.clone(), name, text };
        let (definition, problems) = Format::OpenCode.read(&written);
        let said = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        definition.map(|it| (it.prompt, problems.len())).ok_or(said)
    }

    #[test]
    fn a_prompt_in_a_file_is_read_but_not_from_outside_the_project() {
        let keep = tempfile::tempdir().unwrap();
        let agents = keep.path().join("project/.opencode/agents");
        fs::create_dir_all(&agents).unwrap();
        fs::write(agents.join("p.txt"), "Be brief.\n").unwrap();
        fs::write(keep.path().join("secret"), "hidden").unwrap();
        let (file, owner) = (agents.join("a.md"), Owner::Project(keep.path().join("project")));
        let told = |prompt: &str| told(&owner, &file, prompt);
        assert_eq!(told("{file:./p.txt}"), Ok(("Be brief.".to_owned(), 0)));
        let outside = told("{file:../../../secret}").unwrap_err();
        assert!(outside.contains(":3: error: `prompt` names `../../../secret`, which leads out"));
        assert!(told("{file:gone.txt}").unwrap_err().contains("cannot be read: "));
        assert!(told("{file:.}").unwrap_err().contains("it is no file"));
        let words = "Read {file:./p.txt} first.";
        assert_eq!(told(words), Ok((words.to_owned(), 1)));
        assert_eq!(told(" "), Ok((" ".to_owned(), 1)));
    }
}
