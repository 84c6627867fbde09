//! Reads redirections and here-documents.

use super::{
    Odd, Read,
    script::{Dialect, Script},
    word::Word,
};

/// A here-document that was announced.
pub(super) struct Document {
    end: String,
    tabs: Tabs,
    body: Body,
}

/// What becomes of the text of a here-document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Kept,
    Expanded,
}

/// What becomes of the tabs a line of a here-document begins with.
#[derive(Clone, Copy)]
enum Tabs {
    Kept,
    Dropped,
}

/// What a redirection does with the word after it.
#[derive(Clone, Copy)]
enum Redirection {
    Reads,
    Writes,
    /// Writes to a file unless the word is a number.
    Duplicates,
    Document(Tabs),
    /// Nothing: there is no word.
    Closes,
}

/// The longer ones before those they begin with.
const REDIRECTIONS: [(&str, Dialect, Redirection); 14] = [
    ("<&-", Dialect::Posix, Redirection::Closes),
    (">&-", Dialect::Posix, Redirection::Closes),
    ("<<<", Dialect::Bash, Redirection::Reads),
    ("<<-", Dialect::Posix, Redirection::Document(Tabs::Dropped)),
    ("<<", Dialect::Posix, Redirection::Document(Tabs::Kept)),
    ("<&", Dialect::Posix, Redirection::Duplicates),
    ("<>", Dialect::Posix, Redirection::Writes),
    ("<", Dialect::Posix, Redirection::Reads),
    (">>", Dialect::Posix, Redirection::Writes),
    (">&", Dialect::Posix, Redirection::Duplicates),
    (">|", Dialect::Posix, Redirection::Writes),
    (">", Dialect::Posix, Redirection::Writes),
    ("&>>", Dialect::Bash, Redirection::Writes),
    ("&>", Dialect::Bash, Redirection::Writes),
];

impl Script<'_> {
    /// Reads the redirections of a command that is no simple one.
    pub(super) fn redirections(&mut self) -> Read {
        loop {
            self.blanks();
            let start = self.at;
            let may_be_descriptor = |c: char| c.is_ascii_digit() || c == '{';
            if self.peek().is_some_and(may_be_descriptor) {
                let word = self.word()?;
                if !self.is_descriptor(&word) {
                    self.at = start;
                    return Ok(());
                }
            }
            if !self.redirection()? {
                return Ok(());
            }
        }
    }

    /// Reads a redirection, if there is one.
    pub(super) fn redirection(&mut self) -> Read<bool> {
        if self.is_process_substitution() {
            return Ok(false);
        }
        let Some((_, dialect, redirection)) =
            REDIRECTIONS.iter().find(|(sign, ..)| self.take_text(sign))
        else {
            return Ok(false);
        };
        self.only_in(*dialect)?;
        if matches!(redirection, Redirection::Closes) {
            return Ok(true);
        }
        self.blanks();
        let word = self.word()?;
        match redirection {
            Redirection::Reads | Redirection::Closes => {}
            Redirection::Writes => self.write(&word),
            // Bash expands the name of this file twice.
            Redirection::Duplicates if word.hides_substitution() => return Err(Odd),
            Redirection::Duplicates => {
                let number = word.text().map(|text| text.strip_suffix('-').unwrap_or(text));
                if !number.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit())) {
                    self.write(&word);
                }
            }
            Redirection::Document(tabs) => {
                let body = if word.keyword().is_some() { Body::Expanded } else { Body::Kept };
                let end = word.delimiter()?.to_owned();
                self.documents.push(Document { end, tabs: *tabs, body });
            }
        }
        Ok(true)
    }

    fn write(&mut self, file: &Word) {
        if !["/dev/null", "/dev/stdout", "/dev/stderr"].map(Some).contains(&file.text()) {
            self.found.say(&[Word::literal(">"), file.clone()], self.place.clarity);
        }
    }

    /// Reads the end of a line, and the here-documents that begin behind it.
    pub(super) fn newline(&mut self) -> Read {
        self.bump();
        let documents = std::mem::take(&mut self.documents);
        let has_documents = !documents.is_empty();
        for Document { end, tabs, body } in documents {
            let mut text = String::new();
            loop {
                let line = self.line(body)?;
                let line = match tabs {
                    Tabs::Kept => line.as_str(),
                    Tabs::Dropped => line.trim_start_matches('\t'),
                };
                if line == end {
                    break;
                }
                // Inside of a substitution bash takes this for the end.
                if line.starts_with(&end) && line.contains(')') {
                    return Err(Odd);
                }
                text.push_str(line);
                text.push('\n');
            }
            if body == Body::Expanded {
                Script::new(&text, self.place.inside()?, self.found).document()?;
            }
        }
        if has_documents {
            self.behind_document.get_or_insert(self.at);
        }
        Ok(())
    }

    /// Reads a line of a here-document, and those it is continued on.
    fn line(&mut self, body: Body) -> Read<String> {
        let mut line = String::new();
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return Err(Odd);
            }
            let end = rest.find('\n').unwrap_or(rest.len());
            line.push_str(&rest[..end]);
            self.at = (self.at + end + 1).min(self.text.len());
            let backslashes = line.len() - line.trim_end_matches('\\').len();
            if body == Body::Kept || backslashes.is_multiple_of(2) {
                return Ok(line);
            }
            line.pop();
        }
    }

    /// Reports whether a word is the number or name of a redirection that follows at once.
    pub(super) fn is_descriptor(&mut self, word: &Word) -> bool {
        self.peek().is_some_and(|c| matches!(c, '<' | '>')) && word.is_descriptor()
    }
}
