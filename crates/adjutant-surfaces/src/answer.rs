//! The answer, alone where it is written.

use std::io::{self, Write};

use adjutant_core::Outcome;

use crate::sanitize::clean;

/// Where the answer goes.
pub struct Output {
    /// What takes it; usually the standard output.
    pub writer: Box<dyn Write + Send>,
    /// Who reads it there.
    pub reader: Reader,
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
    /// Writes the root's last words, and ends their line if they do not.
    pub(crate) fn write(&mut self, outcome: &Outcome) -> io::Result<()> {
        let text = match self.reader {
            Reader::Program => outcome.text.clone(),
            Reader::Person => clean(&outcome.text),
        };
        self.writer.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            self.writer.write_all(b"\n")?;
        }
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Paper;

    fn written(text: &str, reader: Reader) -> String {
        let paper = Paper::default();
        let mut output = Output { writer: Box::new(paper.clone()), reader };
        output.write(&Outcome::completed(text)).unwrap();
        paper.text()
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
