//! A text that is read as a script, and how far it is read.

use super::{
    Odd, Read,
    found::{Clarity, Found},
    grammar,
    redirection::Document,
};

/// How deep one thing may stand in another.
const DEEPEST: usize = 64;

/// Which shell reads a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Bash.
    Bash,
    /// Some `sh`: what only some of them know is odd.
    Posix,
}

/// Where a script stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) dialect: Dialect,
    /// How well what is noted can be told at best.
    pub(super) clarity: Clarity,
    pub(super) depth: usize,
}

impl Place {
    /// Where the text of a call stands.
    pub(super) fn top(dialect: Dialect) -> Self {
        Self { dialect, clarity: Clarity::Clear, depth: 0 }
    }

    /// Returns a place inside this one.
    pub(super) fn inside(self) -> Read<Self> {
        let depth = self.depth + 1;
        if depth > DEEPEST { Err(Odd) } else { Ok(Self { depth, ..self }) }
    }
}

/// A text that is read as a script.
pub(super) struct Script<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Here-documents whose text begins on the next line.
    pub(super) documents: Vec<Document>,
    /// Where the text of the first here-document of the innermost substitution ended.
    pub(super) behind_document: Option<usize>,
    pub(super) place: Place,
    pub(super) found: &'a mut Found,
}

impl<'a> Script<'a> {
    pub(super) fn new(text: &'a str, place: Place, found: &'a mut Found) -> Self {
        Self { text, at: 0, documents: Vec::new(), behind_document: None, place, found }
    }

    /// Reads the whole text.
    pub(super) fn read(mut self) -> Read {
        self.list(&[grammar::END])?;
        if self.documents.is_empty() { Ok(()) } else { Err(Odd) }
    }

    /// Reads another text as a script that stands in this one.
    pub(super) fn script(&mut self, text: &str) -> Read {
        Script::new(text, self.place.inside()?, self.found).read()
    }

    pub(super) fn blanks(&mut self) {
        while self.peek().is_some_and(|c| matches!(c, ' ' | '\t')) {
            self.bump();
        }
    }

    pub(super) fn is_process_substitution(&self) -> bool {
        let rest = &self.text[self.at..];
        rest.starts_with("<(") || rest.starts_with(">(")
    }

    /// Refuses what not every shell knows, where the shell is not known.
    pub(super) fn only_in(&self, dialect: Dialect) -> Read {
        let is_known = dialect == Dialect::Posix || self.place.dialect == Dialect::Bash;
        if is_known { Ok(()) } else { Err(Odd) }
    }

    /// Reads something that stands in something else.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let place = self.place;
        self.place = place.inside()?;
        let result = read(self);
        self.place = place;
        result
    }

    /// Returns the next character. A line that is continued on the next ends nowhere.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.text[self.at..].starts_with("\\\n") {
            self.at += 2;
        }
        self.text[self.at..].chars().next()
    }

    /// Takes the next character, whatever it is.
    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Takes a character if it is the next.
    pub(super) fn take(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        if is_next {
            self.bump();
        }
        is_next
    }

    /// Takes a text if it is the next.
    pub(super) fn take_text(&mut self, text: &str) -> bool {
        let is_next = self.text[self.at..].starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Takes everything before a character, and the character.
    pub(super) fn until(&mut self, end: char) -> Read<&'a str> {
        let rest = &self.text[self.at..];
        let (taken, _) = rest.split_once(end).ok_or(Odd)?;
        self.at += taken.len() + end.len_utf8();
        Ok(taken)
    }
}
