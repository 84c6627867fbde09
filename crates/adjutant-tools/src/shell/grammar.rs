//! Reads commands: lists, loops, conditions, functions.
//!
//! Only what runs is noted; how the commands hang together is not. A text that bash would
//! refuse may be read, and then more is noted than runs.

use super::{
    Odd, Read,
    found::Clarity,
    quoting::Arithmetic,
    reading,
    script::{Dialect, Script},
    word::{Word, is_name},
};

/// What may stand between two commands.
const SEPARATORS: [(&str, Dialect); 6] = [
    ("&&", Dialect::Posix),
    ("||", Dialect::Posix),
    ("|&", Dialect::Bash),
    ("|", Dialect::Posix),
    ("&", Dialect::Posix),
    (";", Dialect::Posix),
];

/// The end of a text, as an end of a list.
pub(super) const END: &str = "";

impl Script<'_> {
    /// Reads commands up to one of the ends, and returns which it was.
    pub(super) fn list(&mut self, ends: &[&'static str]) -> Read<&'static str> {
        self.deeper(|script| {
            loop {
                if let Some(end) = script.item(ends)? {
                    return Ok(end);
                }
            }
        })
    }

    /// Reads a command, what stands between two, or the end.
    fn item(&mut self, ends: &[&'static str]) -> Read<Option<&'static str>> {
        self.gap()?;
        let end = |end: &str| ends.iter().find(|it| **it == end).copied();
        let Some(c) = self.peek() else { return end(END).ok_or(Odd).map(Some) };
        if [";;&", ";;", ";&"].into_iter().any(|stop| self.take_text(stop)) {
            return end(";;").ok_or(Odd).map(Some);
        }
        if self.redirection()? {
            self.simple(None)?;
        } else if let Some((_, dialect)) = SEPARATORS.iter().find(|it| self.take_text(it.0)) {
            self.only_in(*dialect)?;
        } else if c == ')' {
            self.bump();
            return end(")").ok_or(Odd).map(Some);
        } else if c == '(' {
            self.parentheses()?;
        } else {
            let word = self.word()?;
            if let Some(end) = word.keyword().and_then(end) {
                return Ok(Some(end));
            }
            if self.is_descriptor(&word) || !self.compound(&word)? {
                self.simple(Some(word))?;
            }
        }
        Ok(None)
    }

    /// Reads a command that begins with a word of the shell's own, if the word is one.
    fn compound(&mut self, word: &Word) -> Read<bool> {
        match word.keyword().unwrap_or_default() {
            "{" => self.list(&["}"]).map(|_| ())?,
            "if" => self.condition()?,
            "while" | "until" => {
                self.list(&["do"])?;
                self.list(&["done"])?;
            }
            "for" => self.repetition()?,
            "select" => {
                self.only_in(Dialect::Bash)?;
                self.repetition()?;
            }
            "case" => self.cases()?,
            "[[" => self.test()?,
            "function" => {
                self.only_in(Dialect::Bash)?;
                self.blanks();
                let name = self.word()?;
                self.blanks();
                self.function(&name)?;
            }
            "!" => return Ok(true),
            "time" => return self.timed().map(|()| true),
            "}" | "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "coproc" => {
                return Err(Odd);
            }
            _ => return Ok(false),
        }
        self.redirections()?;
        Ok(true)
    }

    /// Reads what follows `time`, up to the command that is timed.
    fn timed(&mut self) -> Read {
        // In the middle of a pipeline it is a program.
        self.found.say(&[Word::literal("time")], self.place.clarity);
        self.blanks();
        let mut options = ["-p", "--"].into_iter();
        while self.peek() == Some('-') {
            let option = self.word()?;
            options.find(|it| option.keyword() == Some(*it)).ok_or(Odd)?;
            self.blanks();
        }
        Ok(())
    }

    fn parentheses(&mut self) -> Read {
        let start = self.at;
        self.bump();
        if self.take('(') {
            self.only_in(Dialect::Bash)?;
            self.arithmetic(Arithmetic::Expression)?;
            self.say_arithmetic(start);
        } else {
            self.list(&[")"])?;
        }
        self.redirections()
    }

    /// Notes the arithmetic that was just read. A variable in it may hold a substitution.
    fn say_arithmetic(&mut self, start: usize) {
        let text = self.text[start..self.at].to_owned();
        self.found.say_text(text, Clarity::Doubtful);
    }

    fn condition(&mut self) -> Read {
        self.list(&["then"])?;
        loop {
            match self.list(&["elif", "else", "fi"])? {
                "elif" => self.list(&["then"])?,
                "else" => return self.list(&["fi"]).map(|_| ()),
                _ => return Ok(()),
            };
        }
    }

    /// Reads what follows `for` and `select`.
    fn repetition(&mut self) -> Read {
        self.blanks();
        let start = self.at;
        if self.take('(') {
            self.only_in(Dialect::Bash)?;
            if !self.take('(') {
                return Err(Odd);
            }
            self.arithmetic(Arithmetic::Loop)?;
            self.say_arithmetic(start);
        } else {
            self.word()?.keyword().filter(|name| is_name(name)).ok_or(Odd)?;
        }
        self.separation()?;
        let mut word = self.word()?;
        if word.keyword() == Some("in") {
            self.words()?;
            self.separation()?;
            word = self.word()?;
        }
        let end = match word.keyword() {
            Some("do") => "done",
            Some("{") => "}",
            _ => return Err(Odd),
        };
        self.list(&[end]).map(|_| ())
    }

    fn separation(&mut self) -> Read {
        self.gap()?;
        self.take(';');
        self.gap()
    }

    /// Reads words up to what no word begins with.
    pub(super) fn words(&mut self) -> Read<Vec<Word>> {
        let mut words = Vec::new();
        while self.is_at_word() {
            words.push(self.word()?);
        }
        Ok(words)
    }

    fn cases(&mut self) -> Read {
        self.blanks();
        self.word()?;
        self.gap()?;
        self.word()?.keyword().filter(|word| *word == "in").ok_or(Odd)?;
        loop {
            self.gap()?;
            let is_open = self.take('(');
            self.blanks();
            let pattern = self.word()?;
            if pattern.keyword() == Some("esac") && !is_open {
                return Ok(());
            }
            self.blanks();
            while self.take('|') {
                self.blanks();
                self.word()?;
                self.blanks();
            }
            if !self.take(')') {
                return Err(Odd);
            }
            if self.list(&[";;", "esac"])? == "esac" {
                return Ok(());
            }
        }
    }

    /// Reads what follows `[[`.
    fn test(&mut self) -> Read {
        self.only_in(Dialect::Bash)?;
        let (start, mut clarity) = (self.at, Clarity::Clear);
        loop {
            self.blanks();
            match self.peek().ok_or(Odd)? {
                '\n' if self.documents.is_empty() => {
                    self.bump();
                }
                '\n' | ';' | '#' => return Err(Odd),
                '<' | '>' if self.is_process_substitution() => {
                    self.word()?;
                    clarity = Clarity::Doubtful;
                }
                '(' | ')' | '|' | '&' | '<' | '>' => {
                    self.bump();
                }
                _ => {
                    let word = self.word()?;
                    if word.keyword() == Some("]]") {
                        break;
                    }
                    clarity = clarity.max(word.clarity()).max(reading::tested(&word));
                }
            }
        }
        let text = format!("[[{}", &self.text[start..self.at]);
        self.found.say_text(text, clarity);
        Ok(())
    }

    /// Reads a function from the parentheses behind its name on.
    fn function(&mut self, name: &Word) -> Read {
        if self.take('(') {
            self.blanks();
            if !self.take(')') {
                return Err(Odd);
            }
        }
        self.found.redefine(name.text().ok_or(Odd)?);
        self.deeper(|script| script.item(&[])).map(|_| ())
    }

    /// Reads a command of assignments, words and redirections, its first word being read.
    fn simple(&mut self, first: Option<Word>) -> Read {
        let (mut assignments, mut words, mut next) = (Vec::new(), Vec::<Word>::new(), first);
        loop {
            let mut word = match next.take() {
                Some(word) => word,
                None if !self.is_at_word() => break,
                None if self.redirection()? => continue,
                None if self.peek() == Some('(') => match words.as_slice() {
                    [name] if assignments.is_empty() => return self.function(name),
                    _ => return Err(Odd),
                },
                None => self.word()?,
            };
            if self.is_descriptor(&word) {
                continue;
            }
            let is_assignment = words.is_empty() && word.assigns()?;
            if word.begins_array()
                && self.peek() == Some('(')
                && (is_assignment || words.first().is_some_and(reading::declares))
            {
                self.array(&mut word)?;
            }
            if is_assignment { assignments.push(word) } else { words.push(word) }
        }
        reading::note(&assignments, &words, self.place, self.found)
    }

    /// Reads the elements of an array.
    fn array(&mut self, word: &mut Word) -> Read {
        self.only_in(Dialect::Bash)?;
        let start = self.at;
        self.bump();
        self.gap()?;
        let mut elements = Vec::new();
        while !self.take(')') {
            elements.push(self.word()?);
            self.gap()?;
        }
        let source = &self.text[start..self.at];
        word.append(source, &elements);
        let has_ended = self.peek().is_none_or(|c| " \t\n;&|)".contains(c));
        // In a substitution bash does not see a backslash in an array.
        if has_ended && !source.contains('\\') { Ok(()) } else { Err(Odd) }
    }

    /// Skips blanks, comments and ends of lines.
    fn gap(&mut self) -> Read {
        loop {
            self.blanks();
            match self.peek() {
                Some('#') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                Some('\n') => self.newline()?,
                _ => return Ok(()),
            }
        }
    }

    /// Skips blanks, and reports whether the command goes on behind them.
    fn is_at_word(&mut self) -> bool {
        self.blanks();
        let is_redirection = self.text[self.at..].starts_with("&>");
        let is_end = |c: char| matches!(c, '\n' | ';' | '|' | '&' | ')' | '#');
        is_redirection || self.peek().is_some_and(|c| !is_end(c))
    }
}
