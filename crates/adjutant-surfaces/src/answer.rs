//! The answer, alone where it is written.

use std::io::{self, Write};

use adjutant_core::{AgentPath, Ending};

use crate::{Ended, sanitize::clean};

/// Where the answer goes.
pub struct Output {
    /// What takes it; usually the standard output.
    pub writer: Box<dyn Write + Send>,
    /// Who reads it there.
    pub reader: Reader,
    /// What takes the words of a tree that did not complete instead, where nothing is to be
    /// written but what was asked for.
    pub otherwise: Option<Box<dyn Write + Send>>,
}

/// Who reads an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A program or a file: every character is theirs.
    Program,
    /// A person at a terminal, which must not obey what a model says.
    Person,
}

impl Output {
    /// Has a writer take whatever there is in the end.
    pub fn new(writer: Box<dyn Write + Send>, reader: Reader) -> Self {
        Self { writer, reader, otherwise: None }
    }

    /// Writes the root's last words, and ends their line if they do not. Of a tree that
    /// was stopped it writes what the others had found as well.
    pub(crate) fn write(&mut self, ended: &Ended) -> io::Result<()> {
        let otherwise = self.otherwise.as_mut();
        let otherwise = otherwise.filter(|_| ended.outcome.ending != Ending::Completed);
        let (writer, reader) = match otherwise {
            Some(otherwise) => (otherwise, Reader::Person),
            None => (&mut self.writer, self.reader),
        };
        let text = found(ended);
        let text = match reader {
            Reader::Program => text,
            Reader::Person => clean(&text),
        };
        writer.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            writer.write_all(b"\n")?;
        }
        writer.flush()
    }
}

/// Puts together what is known at the end.
fn found(ended: &Ended) -> String {
    let Ended { outcome, tree, .. } = ended;
    let mut text = outcome.text.clone();
    if outcome.ending != Ending::Cancelled {
        return text;
    }
    for node in tree.nodes().iter().filter(|node| node.path != AgentPath::root()) {
        let Some(outcome) = &node.outcome else { continue };
        if !outcome.text.trim().is_empty() {
            let title = format!("[{} {}]", node.path, outcome.ending);
            text = format!("{}\n\n{title}\n{}", text.trim_end(), outcome.text.trim_end());
        }
    }
    text.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use adjutant_core::{Outcome, Receipt};

    use super::*;
    use crate::fixture::{Paper, Story};

    fn written(text: &str, reader: Reader) -> String {
        let paper = Paper::default();
        let mut output = Output::new(Box::new(paper.clone()), reader);
        output.write(&Story::default().start("root", "x").complete("root", text).end()).unwrap();
        paper.text()
    }

    #[test]
    fn a_tree_that_was_stopped_tells_what_each_had_found() {
        let stopped = |text: &str| Outcome::short(Ending::Cancelled, text, "it was stopped");
        let story = Story::default()
            .start("root", "x")
            .start("root.a-1", "x")
            .start("root.b-2", "x")
            .start("root.c-3", "x")
            .complete("root.a-1", "line 12\n")
            .finish("root.b-2", stopped("half"), Receipt::default())
            .finish("root.c-3", stopped(""), Receipt::default())
            .finish("root", stopped(""), Receipt::default());
        let paper = Paper::default();
        let mut output = Output::new(Box::new(paper.clone()), Reader::Program);
        output.write(&story.end()).unwrap();
        assert_eq!(paper.text(), "[root.a-1 completed]\nline 12\n\n[root.b-2 cancelled]\nhalf\n");
    }

    #[test]
    fn where_only_an_answer_is_wanted_other_words_go_elsewhere() {
        let written = |outcome: Outcome| {
            let (answer, aside) = (Paper::default(), Paper::default());
            let output = Output::new(Box::new(answer.clone()), Reader::Program);
            let mut output = Output { otherwise: Some(Box::new(aside.clone())), ..output };
            let story = Story::default().start("root", "x");
            output.write(&story.finish("root", outcome, Receipt::default()).end()).unwrap();
            (answer.text(), aside.text())
        };
        let failed = Outcome::short(Ending::Failed, "\u{1b}[2Jno", "it does not fit");
        assert_eq!(written(failed), (String::new(), "no\n".to_owned()));
        assert_eq!(written(Outcome::completed("{}")), ("{}\n".to_owned(), String::new()));
    }

    #[test]
    fn an_answer_is_written_as_it_is_with_its_line_ended() {
        assert_eq!(written("four", Reader::Program), "four\n");
        assert_eq!(written("four\n", Reader::Program), "four\n");
        assert_eq!(written("", Reader::Program), "");
        assert_eq!(written("\u{1b}[1mfour", Reader::Program), "\u{1b}[1mfour\n");
    }

    #[test]
    fn a_terminal_does_not_obey_an_answer() {
        assert_eq!(written("\u{1b}[2Jfour", Reader::Person), "four\n");
    }
}
