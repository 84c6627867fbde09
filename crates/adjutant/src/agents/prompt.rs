//! All an agent is told before its task.

use std::{fmt::Write as _, path::Path, sync::Arc};

use adjutant_core::Grant;
use adjutant_tools::{ContextFiles, skills::Skill};
use tokio::task::spawn_blocking;

use super::definition::Definition;

/// What stands between what comes from different files.
pub(crate) const BETWEEN: &str = "\n\n---\n\n";

/// How many files are named that are left out.
const MOST_NAMED: usize = 20;

/// What an agent is told besides what its own file says.
pub(super) struct Besides<'a> {
    /// The skills that it knows from the beginning.
    pub(super) skills: &'a [Arc<Skill>],
    /// What it remembers.
    pub(super) memory: Option<String>,
    /// What AGENTS.md say.
    pub(super) guidance: Option<&'a str>,
}

/// Puts together what an agent is told before its task. If that cannot be done, returns the field
/// that is wrong, and why.
pub(super) async fn assemble(
    definition: &Definition,
    besides: Besides<'_>,
    grant: &Grant,
    workdir: &Path,
) -> Result<String, (&'static str, String)> {
    let Besides { skills, memory, guidance } = besides;
    let skills = skills.to_vec();
    let (patterns, grant) = (definition.files.clone(), grant.clone());
    let workdir = workdir.to_owned();
    let read = spawn_blocking(move || {
        let files = match patterns.is_empty() {
            true => Ok(ContextFiles::default()),
            false => ContextFiles::read(&patterns, &grant, &workdir),
        };
        (skills.iter().map(|skill| skill.told()).collect(), files)
    });
    let (skills, files): (Vec<String>, _) =
        read.await.map_err(|error| ("files", error.to_string()))?;
    let files = files.map_err(|why| ("files", why))?;
    let prompt = Some(definition.prompt.clone()).filter(|prompt| !prompt.trim().is_empty());
    let skills = (!skills.is_empty()).then(|| format!("## Skill\n\n{}", skills.join("\n\n")));
    let guidance = guidance.map(str::to_owned);
    let sections = [prompt, skills, context(&files), memory, guidance];
    Ok(sections.into_iter().flatten().collect::<Vec<_>>().join(BETWEEN))
}

/// Shows files, and names those that are left out.
fn context(files: &ContextFiles) -> Option<String> {
    let ContextFiles { told, left_out, .. } = files;
    if told.is_empty() && left_out.is_empty() {
        return None;
    }
    let mut section = "## Context Files".to_owned();
    for (name, text) in told {
        let fence = fence(text);
        let ending = Path::new(name).extension().and_then(|it| it.to_str()).unwrap_or_default();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(section, "\n\n### {name}\n\n{fence}{ending}\n{text}{end}{fence}");
    }
    if !left_out.is_empty() {
        section += "\n\nLeft out:";
    }
    for (name, why) in left_out.iter().take(MOST_NAMED) {
        let _ = write!(section, "\n- {name}: {why}");
    }
    if let more @ 1.. = left_out.len().saturating_sub(MOST_NAMED) {
        let _ = write!(section, "\n- and {more} more");
    }
    Some(section)
}

/// Returns a fence that is longer than any in a text.
fn fence(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(3.max(longest + 1))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use adjutant_core::{Access, Charter, Mode};
    use adjutant_tools::skills::{Invocation, Whose};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "there is no root above this one")]
    fn grant(scope: PathBuf) -> Grant {
        Grant::mint(Charter {
            mode: Mode::Ask,
            rules: Vec::new(),
            access: Access::Inherit,
            scope: vec![scope],
            protected: Vec::new(),
            shown: Vec::new(),
            depth: 0,
        })
    }

    const NOTHING: Besides<'static> = Besides { skills: &[], memory: None, guidance: None };

    async fn told(definition: &Definition, besides: Besides<'_>, top: &Path) -> String {
        assemble(definition, besides, &grant(top.to_owned()), top).await.unwrap()
    }

    #[tokio::test]
    async fn what_comes_from_different_files_is_told_apart_and_in_order() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        fs::write(top.join("a.rs"), "fn main() {}").unwrap();
        fs::write(top.join("b.md"), "````\n```\n").unwrap();
        let skill = Skill {
            name: "s".to_owned(),
            description: String::new(),
            compatibility: None,
            invocation: Invocation::People,
            text: "How.".to_owned(),
            file: top.join("none/SKILL.md"),
            whose: Whose::User,
        };
        let files = vec!["*.rs".to_owned(), "*.md".to_owned(), "*.none".to_owned()];
        let definition =
            Definition { prompt: "You review.".to_owned(), files, ..Definition::default() };
        let skills = [Arc::new(skill)];
        let besides = Besides {
            skills: &skills,
            memory: Some("## Memory".to_owned()),
            guidance: Some("## AGENTS.md"),
        };
        let text = told(&definition, besides, &top).await;
        let sections: Vec<_> = text.split(BETWEEN).collect();
        let [prompt, skill, files, memory, guidance] = sections[..] else { panic!("{text}") };
        assert_eq!((prompt, memory, guidance), ("You review.", "## Memory", "## AGENTS.md"));
        assert!(skill.starts_with("## Skill\n\n[The skill `s`, "), "{skill}");
        assert!(skill.ends_with("]\n\nHow.\n"), "{skill}");
        let expected = "## Context Files\n\n### a.rs\n\n```rs\nfn main() {}\n```\n\n\
                        ### b.md\n\n`````md\n````\n```\n`````";
        assert_eq!(files, expected);
    }

    #[tokio::test]
    async fn an_agent_that_is_told_nothing_more_has_its_prompt_alone() {
        let keep = tempfile::tempdir().unwrap();
        let prompt = "  You review.\n".to_owned();
        let definition = Definition { prompt: prompt.clone(), ..Definition::default() };
        assert_eq!(told(&definition, NOTHING, keep.path()).await, prompt);
        let files = vec!["*.none".to_owned()];
        let definition = Definition { files, ..definition };
        assert_eq!(told(&definition, NOTHING, keep.path()).await, prompt);
    }

    #[tokio::test]
    async fn files_that_are_left_out_are_named_as_far_as_there_is_room() {
        let keep = tempfile::tempdir().unwrap();
        let top = keep.path().canonicalize().unwrap();
        for number in 0..MOST_NAMED + 3 {
            fs::write(top.join(format!("{number:02}")), "\0").unwrap();
        }
        let definition = Definition { files: vec!["*".to_owned()], ..Definition::default() };
        let text = told(&definition, NOTHING, &top).await;
        assert!(text.starts_with("## Context Files\n\nLeft out:\n- 00: it is no text\n"), "{text}");
        assert!(text.ends_with("- 19: it is no text\n- and 3 more"), "{text}");
    }

    #[tokio::test]
    async fn a_pattern_that_leads_out_is_refused() {
        let keep = tempfile::tempdir().unwrap();
        let definition = Definition { files: vec!["../*".to_owned()], ..Definition::default() };
        let grant = grant(keep.path().to_owned());
        let refusal = assemble(&definition, NOTHING, &grant, keep.path()).await.unwrap_err();
        assert_eq!(refusal.0, "files");
        assert!(refusal.1.contains("`../*` is not a pattern"), "{}", refusal.1);
    }
}
