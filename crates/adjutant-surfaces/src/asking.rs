//! Asking a person, one question at a time.

use std::{
    collections::HashSet,
    io::{self, Write},
};

use adjutant_core::{AgentPath, Answer, Ask, Pattern, QuestionId, Tree, tree::Question};
use adjutant_engine::{Attendance, Session};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    reply,
    sanitize::{clean, one_line, visible},
};

/// A person who can be asked.
pub struct Person {
    presence: Presence,
    asking: Asking,
}

/// That a person is there. The engine is told by the drop when they are not.
pub(crate) struct Presence {
    pub(crate) lines: mpsc::Receiver<String>,
    _attendance: Attendance,
}

/// What a person types on. What was typed before a question was seen cannot be meant
/// for it, and is thrown away.
pub struct Keyboard {
    /// The lines that were typed; they end when the person is gone.
    pub lines: mpsc::Receiver<String>,
    /// Throws away what was typed and is not a line yet; on a terminal,
    /// [`forget_typed`](crate::forget_typed).
    pub forget: Box<dyn Fn() + Send>,
}

impl Person {
    /// Attends a session and asks on `writer`. To miss no question, this comes before
    /// the root begins.
    pub fn attend(session: &Session, keyboard: Keyboard, writer: Box<dyn Write + Send>) -> Self {
        let Keyboard { lines, forget } = keyboard;
        let presence = Presence { lines, _attendance: session.attend() };
        Self { presence, asking: Asking::new(writer, forget) }
    }

    pub(crate) fn split(self) -> (Presence, Asking) {
        (self.presence, self.asking)
    }
}

/// The question a person looks at, and those they are done with.
pub(crate) struct Asking {
    writer: Box<dyn Write + Send>,
    forget: Box<dyn Fn() + Send>,
    open: Option<Question>,
    // A question stays in the tree for the moment between the answer and its event.
    answered: HashSet<QuestionId>,
}

impl Asking {
    pub(crate) fn new(writer: Box<dyn Write + Send>, forget: Box<dyn Fn() + Send>) -> Self {
        Self { writer, forget, open: None, answered: HashSet::new() }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the oldest question the person has not seen yet.
    pub(crate) fn next(&self, tree: &Tree) -> Option<Question> {
        tree.questions().iter().find(|question| !self.answered.contains(&question.id)).cloned()
    }

    pub(crate) fn ask(&mut self, question: Question) -> io::Result<()> {
        (self.forget)();
        write!(self.writer, "{}{}", question_text(&question), prompt(&question.ask))?;
        self.open = Some(question);
        self.writer.flush()
    }

    /// Takes a line for the answer to the open question. One that cannot be
    /// understood is asked for again.
    pub(crate) fn hear(
        &mut self,
        line: &str,
    ) -> io::Result<Option<(AgentPath, QuestionId, Answer)>> {
        let Some(question) = self.open.take() else { return Ok(None) };
        match reply::read(&question.ask, line) {
            Ok(answer) => {
                self.answered.insert(question.id);
                Ok(Some((question.path, question.id, answer)))
            }
            Err(complaint) => {
                write!(self.writer, "{complaint}{}", prompt(&question.ask))?;
                self.open = Some(question);
                self.writer.flush()?;
                Ok(None)
            }
        }
    }

    /// Asks a question again whose answer was not taken.
    pub(crate) fn reopen(&mut self, question: QuestionId) {
        self.answered.remove(&question);
    }

    /// Lets go of the open question if it needs no answer any more.
    pub(crate) fn check(&mut self, tree: &Tree) -> io::Result<()> {
        let is_there = |open: &Question| tree.questions().iter().any(|other| other.id == open.id);
        match self.open.take_if(|open| !is_there(open)) {
            None => Ok(()),
            Some(gone) => self.tell(&format!("\n{} needs no answer any more", gone.path)),
        }
    }

    pub(crate) fn tell(&mut self, news: &str) -> io::Result<()> {
        writeln!(self.writer, "{news}")?;
        self.writer.flush()
    }

    pub(crate) fn leave(mut self) -> io::Result<()> {
        match self.open.take() {
            None => Ok(()),
            Some(open) => self.tell(&format!("\nnobody is there to answer {}", open.path)),
        }
    }
}

fn question_text(question: &Question) -> String {
    let path = &question.path;
    match &*question.ask {
        Ask::Question { prompt, choices } => {
            let mut text = format!("{path} asks: {}\n", indented(&clean(prompt)));
            let mark = reply::mark(choices);
            for (number, choice) in (1..).zip(choices) {
                text += &format!("  {mark}{number}) {}\n", one_line(choice));
            }
            text
        }
        Ask::Permission { call, effect, because, rules } => {
            let (name, because) = (visible(&call.name), one_line(because));
            let (arguments, standing) = (arguments(&call.arguments), standing(&name, rules));
            format!("{path} wants to call {name} ({effect})\n{arguments}  {because}\n{standing}")
        }
    }
}

/// Tells what a yes would allow that stands for longer than the call.
fn standing(tool: &str, rules: &[Pattern]) -> String {
    if rules.is_empty() {
        return String::new();
    }
    let rules: Vec<_> = rules.iter().map(|rule| visible(&rule.to_string())).collect();
    let rules = indented(&rules.join(", "));
    format!("  s and a allow {rules} from now on; or say what: s {tool}(PATTERN)\n")
}

/// Shows arguments with nothing of them hidden: they are what a person agrees to.
fn arguments(arguments: &Value) -> String {
    let shown = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        indented(&visible(&text))
    };
    match arguments {
        Value::Object(arguments) => arguments
            .iter()
            .map(|(name, value)| format!("  {}: {}\n", visible(name), shown(value)))
            .collect(),
        other => format!("  {}\n", shown(other)),
    }
}

/// Keeps the lines of a text apart from what the front end itself says.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

fn prompt(ask: &Ask) -> &'static str {
    match ask {
        Ask::Question { choices, .. } if reply::mark(choices) == "#" => {
            "[a value, or # and the number of a choice] > "
        }
        Ask::Question { .. } => "> ",
        Ask::Permission { rules, .. } if rules.is_empty() => {
            "allow? [y = once, n = no, or n and why not] "
        }
        Ask::Permission { .. } => {
            "allow? [y = once, s = this session, a = always, n = no, or n and why not] "
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use uuid::Uuid;

    use super::*;

    #[test]
    fn where_choices_are_numbers_it_is_said_how_to_choose() {
        let choices = ["2", "4"].map(str::to_owned).into();
        let ask = Arc::new(Ask::Question { prompt: "how many?".to_owned(), choices });
        let id = Uuid::from_u128(1).into();
        let question = Question { path: AgentPath::root(), id, ask: Arc::clone(&ask) };
        assert_eq!(question_text(&question), "root asks: how many?\n  #1) 2\n  #2) 4\n");
        assert_eq!(prompt(&ask), "[a value, or # and the number of a choice] > ");
    }
}
