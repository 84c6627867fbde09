//! What was found in one area, as its surveyor reports it and the root reads it.

use std::fmt;

use super::answer::Answer;
use crate::brief::brief;

const TITLE: &str = "Survey of `";
const SAID: &str = "said ";
/// How many characters a fact has at the most.
const LONGEST: usize = 200;

/// What was found in one area: its name and a few facts, each with a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Survey {
    /// The area.
    pub(crate) area: String,
    facts: Vec<(String, String)>,
}

impl Survey {
    /// Makes a survey without facts.
    pub(crate) fn new(area: &str) -> Self {
        Self { area: area.to_owned(), facts: Vec::new() }
    }

    /// Adds a fact, cut if it is long. There can be several of one name.
    pub(crate) fn note(&mut self, name: &str, fact: impl AsRef<str>) {
        self.facts.push((name.to_owned(), brief(fact.as_ref(), LONGEST)));
    }

    /// Adds what became of the question.
    pub(crate) fn note_answer(&mut self, answer: &Answer) {
        match answer {
            Answer::Said(words) => self.note("person", format!("{SAID}{words}")),
            Answer::Nobody => self.note("person", "did not answer"),
        }
    }

    /// Returns the first fact of a name.
    pub(crate) fn fact(&self, name: &'static str) -> Option<&str> {
        self.facts(name).next()
    }

    /// Returns the facts of a name.
    pub(crate) fn facts(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.facts.iter().filter(move |(known, _)| known == name).map(|(_, fact)| fact.as_str())
    }

    /// Returns what became of the question, if this surveyor asked it.
    pub(crate) fn answer(&self) -> Option<Answer> {
        let fact = self.fact("person")?;
        Some(fact.strip_prefix(SAID).map_or(Answer::Nobody, |words| Answer::Said(words.to_owned())))
    }

    /// Finds the surveys in a text.
    pub(crate) fn parse(text: &str) -> Vec<Self> {
        let mut surveys: Vec<Self> = Vec::new();
        for line in text.lines().map(str::trim) {
            let area = line.strip_prefix(TITLE).and_then(|rest| rest.strip_suffix('`'));
            let fact = line.strip_prefix("- ").and_then(|rest| rest.split_once(": "));
            match (area, fact, surveys.last_mut()) {
                (Some(area), _, _) => surveys.push(Self::new(area)),
                (None, Some((name, fact)), Some(survey)) => survey.note(name, fact),
                _ => {}
            }
        }
        surveys
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{TITLE}{}`", self.area)?;
        self.facts.iter().try_for_each(|(name, fact)| write!(f, "\n- {name}: {fact}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_is_read_back_from_among_other_words() {
        let mut survey = Survey::new("my `odd` area");
        survey.note("files", "3");
        survey.note("trouble", "one: a\nline");
        survey.note_answer(&Answer::Said("loose ends".to_owned()));
        let text = format!("[root.sub-1 completed]\n{survey}\n\n[tokens: 12]\n{survey}");
        assert_eq!(Survey::parse(&text), [survey.clone(), survey.clone()]);
        assert_eq!(survey.answer(), Some(Answer::Said("loose ends".to_owned())));
    }
}
