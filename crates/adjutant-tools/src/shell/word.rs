//! A word of a command, its quotes removed.

use super::{Odd, Read, found::Clarity};

/// A word of a command.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// As it is written.
    source: String,
    /// What the shell makes of it, as far as that can be told.
    text: String,
    /// Where in the text the first quote or expansion is.
    quoted: Option<usize>,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Bare,
    Quoted,
    /// Made by the shell: from a variable, a substitution, a glob, braces or a tilde.
    Expands,
}

impl Word {
    /// Returns a word that stands for itself.
    pub(super) fn literal(text: &str) -> Self {
        Self { source: text.to_owned(), text: text.to_owned(), quoted: Some(0), form: Form::Quoted }
    }

    /// Returns a word of which nothing was read yet.
    pub(super) fn begin() -> Self {
        Self { source: String::new(), text: String::new(), quoted: None, form: Form::Bare }
    }

    /// Adds a character without quotes.
    pub(super) fn push_bare(&mut self, c: char) {
        let is_made = match c {
            '*' | '?' | '[' => true,
            '~' => self.text.is_empty() || self.text.ends_with(['=', ':']),
            ',' => self.text.contains('{'),
            '.' => self.text.contains('{') && self.text.ends_with('.'),
            _ => false,
        };
        if is_made {
            self.form = Form::Expands;
        }
        self.text.push(c);
    }

    /// Adds what is quoted.
    pub(super) fn push_quoted(&mut self, text: &str) {
        self.quoted.get_or_insert(self.text.len());
        self.form = self.form.max(Form::Quoted);
        self.text.push_str(text);
    }

    /// Adds what nobody can tell yet.
    pub(super) fn push_expansion(&mut self) {
        self.quoted.get_or_insert(self.text.len());
        self.form = Form::Expands;
        self.text.push('$');
    }

    /// Ends the word, which was written as `source`.
    pub(super) fn end(mut self, source: &str) -> Self {
        self.source = source.replace("\\\n", "");
        if ["[", "[["].contains(&self.source.as_str()) {
            self.form = Form::Bare;
        }
        self
    }

    /// Adds the elements of an array to the assignment that the word begins.
    pub(super) fn append(&mut self, source: &str, elements: &[Self]) {
        self.source.push_str(source);
        self.text.push_str(source);
        self.form = elements.iter().map(|it| it.form).fold(self.form.max(Form::Quoted), Form::max);
    }

    /// Returns the word as rules see it: without quotes, or as written if it is made by the
    /// shell.
    pub(super) fn said(&self) -> &str {
        self.text().unwrap_or(&self.source)
    }

    /// Returns the word without quotes, if it can be told.
    pub(super) fn text(&self) -> Option<&str> {
        (self.form < Form::Expands).then_some(self.text.as_str())
    }

    /// Returns the word if it has no quotes, as a word has to that means something to the
    /// shell itself.
    pub(super) fn keyword(&self) -> Option<&str> {
        (self.form == Form::Bare).then_some(self.text.as_str())
    }

    pub(super) fn clarity(&self) -> Clarity {
        if self.text().is_some() { Clarity::Clear } else { Clarity::Doubtful }
    }

    /// Reports whether a literal word has a substitution in it, for whoever expands it later.
    pub(super) fn hides_substitution(&self) -> bool {
        self.text().is_some_and(|text| text.contains("$(") || text.contains('`'))
    }

    /// Reports whether the word, in front of a command, sets a variable.
    pub(super) fn assigns(&self) -> Read<bool> {
        let bare = &self.text[..self.quoted.unwrap_or(self.text.len())];
        let name = bare.bytes().take_while(|byte| is_name_byte(*byte)).count();
        if !is_name(&bare[..name]) {
            return Ok(false);
        }
        match &bare[name..] {
            // What stands between the brackets may have blanks and anything else in it.
            rest if rest.starts_with('[') => {
                let is_whole = self.source.contains("]=") || self.source.contains("]+=");
                if is_whole { Ok(true) } else { Err(Odd) }
            }
            rest => Ok(rest.starts_with('=') || rest.starts_with("+=")),
        }
    }

    /// Returns the line that a here-document of this word ends with.
    pub(super) fn delimiter(&self) -> Read<&str> {
        let is_plain = !self.source.contains(['$', '`', '\n']);
        self.text().filter(|_| is_plain).ok_or(Odd)
    }

    /// Reports whether an array's elements may follow.
    pub(super) fn begins_array(&self) -> bool {
        self.quoted.is_none() && self.text.ends_with('=')
    }

    /// Reports whether the word, in front of a redirection, says which file is redirected.
    pub(super) fn is_descriptor(&self) -> bool {
        let Some(text) = self.keyword() else { return false };
        let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        text.bytes().all(|byte| byte.is_ascii_digit()) || inside.is_some_and(is_name)
    }
}

/// Reports whether a variable may be called so.
pub(super) fn is_name(text: &str) -> bool {
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && text.bytes().all(is_name_byte)
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
