//! Reads words: quotes, escapes, and substitutions wherever they may stand.

use super::{
    Odd, Read,
    script::{Dialect, Script},
    word::Word,
};

/// What quotes stand around a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Bare,
    Double,
    /// The text of a here-document.
    Document,
}

/// Where arithmetic stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Expression,
    /// Three of them, as the head of a loop.
    Loop,
}

impl Script<'_> {
    /// Reads a word. There has to be one.
    pub(super) fn word(&mut self) -> Read<Word> {
        self.peek();
        let (start, mut word) = (self.at, Word::begin());
        while let Some(c) = self.peek()
            && self.piece(c, &mut word)?
        {}
        if self.at == start { Err(Odd) } else { Ok(word.end(&self.text[start..self.at])) }
    }

    /// Reads a piece of a word, or reports that the word has ended.
    fn piece(&mut self, c: char, word: &mut Word) -> Read<bool> {
        match c {
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => return Ok(false),
            '<' | '>' if !self.is_process_substitution() => return Ok(false),
            '<' | '>' => {
                self.only_in(Dialect::Bash)?;
                self.at += 2;
                self.substitution()?;
                word.push_expansion();
            }
            '\\' => {
                self.bump();
                let escaped = self.bump().ok_or(Odd)?;
                word.push_quoted(escaped.encode_utf8(&mut [0; 4]));
            }
            '\'' => {
                self.bump();
                let quoted = self.until('\'')?;
                word.push_quoted(quoted);
            }
            '"' => self.double(word)?,
            '$' => self.dollar(Quoting::Bare, word)?,
            '`' => self.backticks(Quoting::Bare, word)?,
            _ => {
                self.bump();
                word.push_bare(c);
            }
        }
        Ok(true)
    }

    /// Reads what stands between double quotes.
    fn double(&mut self, word: &mut Word) -> Read {
        self.bump();
        word.push_quoted("");
        loop {
            match self.peek().ok_or(Odd)? {
                '"' => {
                    self.bump();
                    return Ok(());
                }
                '\\' => {
                    self.bump();
                    let escaped = self.bump().ok_or(Odd)?;
                    if !matches!(escaped, '$' | '`' | '"' | '\\') {
                        word.push_quoted("\\");
                    }
                    word.push_quoted(escaped.encode_utf8(&mut [0; 4]));
                }
                '$' => self.dollar(Quoting::Double, word)?,
                '`' => self.backticks(Quoting::Double, word)?,
                c => {
                    self.bump();
                    word.push_quoted(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// Reads the text of a here-document, for the substitutions in it.
    pub(super) fn document(&mut self) -> Read {
        let mut word = Word::begin();
        while let Some(c) = self.peek() {
            match c {
                '$' => self.dollar(Quoting::Document, &mut word)?,
                '`' => self.backticks(Quoting::Document, &mut word)?,
                '\\' => {
                    self.bump();
                    self.bump();
                }
                _ => {
                    self.bump();
                }
            }
        }
        Ok(())
    }

    /// Reads what begins with a dollar sign.
    fn dollar(&mut self, quoting: Quoting, word: &mut Word) -> Read {
        self.bump();
        self.deeper(|script| match script.peek() {
            Some('(') => {
                script.bump();
                word.push_expansion();
                if script.take('(') {
                    script.arithmetic(Arithmetic::Expression)
                } else {
                    script.substitution()
                }
            }
            Some('{') => {
                script.bump();
                word.push_expansion();
                script.parameter(quoting)
            }
            Some('[') => Err(Odd),
            Some('\'') if quoting == Quoting::Bare => {
                script.only_in(Dialect::Bash)?;
                script.bump();
                let text = script.escapes()?;
                word.push_quoted(&text);
                Ok(())
            }
            Some('"') if quoting == Quoting::Bare => script.only_in(Dialect::Bash),
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                script.bump();
                word.push_expansion();
                Ok(())
            }
            _ => {
                word.push_quoted("$");
                Ok(())
            }
        })
    }

    /// Reads commands up to the parenthesis that closes them.
    pub(super) fn substitution(&mut self) -> Read {
        let (pending, outer) = (std::mem::take(&mut self.documents), self.behind_document.take());
        let start = self.at;
        self.list(&[")"])?;
        // Shells do not agree on which line the text of such a here-document begins.
        let spans_lines = self.text[start..self.at].contains('\n');
        // Bash writes the commands down and reads them again, and forgets a `;` here.
        let behind = self.behind_document.map_or("", |at| &self.text[at..self.at - 1]);
        let is_odd = !self.documents.is_empty()
            || (!pending.is_empty() && spans_lines)
            || behind.contains(|c| !matches!(c, ' ' | '\t' | '\n'));
        (self.documents, self.behind_document) = (pending, outer);
        if is_odd { Err(Odd) } else { Ok(()) }
    }

    /// Reads commands between backticks, where backslashes are taken away once more.
    fn backticks(&mut self, quoting: Quoting, word: &mut Word) -> Read {
        self.bump();
        let mut commands = String::new();
        loop {
            match self.bump().ok_or(Odd)? {
                '`' => break,
                '\\' => match (self.bump().ok_or(Odd)?, quoting) {
                    ('"', Quoting::Document) => return Err(Odd),
                    ('"', Quoting::Double) => commands.push('"'),
                    (c @ ('$' | '`' | '\\'), _) => commands.push(c),
                    (c, _) => commands.extend(['\\', c]),
                },
                c => commands.push(c),
            }
        }
        word.push_expansion();
        self.script(&commands)
    }

    /// Reads a parameter and what is done to it, up to the closing brace.
    fn parameter(&mut self, quoting: Quoting) -> Read {
        let begins_well = |c: char| c.is_ascii_alphanumeric() || "_!#@*?-$".contains(c);
        self.peek().filter(|c| begins_well(*c)).ok_or(Odd)?;
        // The parameter itself may be a dollar sign.
        self.bump();
        let mut inside = Word::begin();
        loop {
            match (self.peek().ok_or(Odd)?, quoting) {
                ('}', _) => {
                    self.bump();
                    return Ok(());
                }
                ('\n' | '{', _) | ('\'', Quoting::Double | Quoting::Document) => return Err(Odd),
                ('"', Quoting::Document) => return Err(Odd),
                (';' | '&' | '|' | '(' | ')' | ' ' | '\t', _) => {
                    self.bump();
                }
                ('<' | '>', _) if !self.is_process_substitution() => {
                    self.bump();
                }
                ('$', _) => self.dollar(quoting, &mut inside)?,
                ('`', _) => self.backticks(quoting, &mut inside)?,
                (c, _) => {
                    self.piece(c, &mut inside)?;
                }
            }
        }
    }

    /// Reads arithmetic up to the two parentheses that close it. What is not plainly
    /// arithmetic might be commands in parentheses.
    pub(super) fn arithmetic(&mut self, sort: Arithmetic) -> Read {
        let (start, mut depth, mut inside) = (self.at, 0, Word::begin());
        loop {
            match self.peek().ok_or(Odd)? {
                '$' => self.dollar(Quoting::Double, &mut inside)?,
                '<' | '>' if self.is_process_substitution() => return Err(Odd),
                '(' => {
                    depth += 1;
                    self.bump();
                }
                ')' if depth > 0 => {
                    depth -= 1;
                    self.bump();
                }
                ')' => {
                    let text = &self.text[start..self.at];
                    self.bump();
                    let is_plain = is_balanced(text) && !text.contains(['\'', '`', '\\', '\n']);
                    let is_closed = self.take(')') && is_plain;
                    return if is_closed { Ok(()) } else { Err(Odd) };
                }
                ';' if sort == Arithmetic::Loop => {
                    self.bump();
                }
                c if c.is_ascii_alphanumeric() || " \t_+-*/%<>=!&|^~?:,[]".contains(c) => {
                    self.bump();
                }
                _ => return Err(Odd),
            }
        }
    }

    /// Reads the text of `$'…'`.
    fn escapes(&mut self) -> Read<String> {
        let mut text = String::new();
        loop {
            match self.bump().ok_or(Odd)? {
                '\'' => return Ok(text),
                '\\' => {
                    let escape = self.bump().ok_or(Odd)?;
                    text.push(self.escape(escape)?);
                }
                c => text.push(c),
            }
        }
    }

    /// Returns the character that an escape stands for. Bytes that are no characters, and what
    /// would cut the text off, are odd.
    fn escape(&mut self, escape: char) -> Read<char> {
        let (radix, most) = match escape {
            'a' => return Ok('\u{7}'),
            'b' => return Ok('\u{8}'),
            'e' | 'E' => return Ok('\u{1b}'),
            'f' => return Ok('\u{c}'),
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'v' => return Ok('\u{b}'),
            '\\' | '\'' | '"' | '?' => return Ok(escape),
            '0'..='7' => {
                self.at -= 1;
                (8, 3)
            }
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            _ => return Err(Odd),
        };
        let is_digit = |c: &char| c.is_digit(radix);
        let digits = self.text[self.at..].chars().take(most).take_while(is_digit).count();
        let code = u32::from_str_radix(&self.text[self.at..self.at + digits], radix);
        self.at += digits;
        let is_byte = matches!(escape, '0'..='7' | 'x');
        let code = code.ok().filter(|code| *code != 0 && !(is_byte && *code > 0x7f));
        code.and_then(char::from_u32).ok_or(Odd)
    }
}

/// Reports whether each parenthesis has its other half, whatever it means. Bash goes by that
/// when it looks for the end of arithmetic.
fn is_balanced(text: &str) -> bool {
    let depth = text.chars().try_fold(0_usize, |depth, c| match c {
        '(' => Some(depth + 1),
        ')' => depth.checked_sub(1),
        _ => Some(depth),
    });
    depth == Some(0)
}
