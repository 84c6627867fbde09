//! Making what models and tools say safe to show on a terminal.

use std::iter::Peekable;

/// Takes out of a text all that a terminal would obey instead of show: control
/// characters other than line feed and tab, escape sequences, and characters that
/// reorder or hide others.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut rest),
            '\n' | '\t' => clean.push(c),
            c if c.is_control() || is_invisible(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// Does the same and makes one line of it.
pub fn one_line(text: &str) -> String {
    let clean = clean(text);
    let words: Vec<_> = clean.split_whitespace().collect();
    words.join(" ")
}

/// Writes out what [`clean`] would take away, for texts a person decides by: an
/// escape sequence must not hide a part of a command.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => visible.push(c),
            c if c.is_control() || is_invisible(c) => visible.extend(c.escape_unicode()),
            c => visible.push(c),
        }
    }
    visible
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Skips what follows an escape character and belongs to it.
fn skip_sequence(rest: &mut Peekable<impl Iterator<Item = char>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            rest.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(rest),
        _ => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}

/// Skips a string for the terminal, such as a title. One that does not end takes no
/// more than its line with it.
fn skip_string(rest: &mut Peekable<impl Iterator<Item = char>>) {
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' if rest.next_if_eq(&'\\').is_some() => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_obeys_gets_through() {
        let cases = [
            ("plain, ünï, 漢字 ✓", "plain, ünï, 漢字 ✓"),
            ("a\tb\nc", "a\tb\nc"),
            ("over\rwritten\u{8}\u{7}", "overwritten"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[1;1Hgone?", "gone?"),
            ("\u{1b}[?25l\u{1b}[>4;2mx", "x"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}P1$r0m\u{1b}\\after", "after"),
            ("\u{1b}]52;c;never closed\nnext line", "\nnext line"),
            ("\u{1b}cb\u{1b}(Bd\u{1b}", "bd"),
            ("\u{9b}31mred\u{9d}0;t\u{9c}\u{85}", "31mred0;t"),
            ("\u{7f}\0x", "x"),
            ("abc\u{202e}fed\u{2066}\u{200b}", "abcfed"),
        ];
        for (said, shown) in cases {
            assert_eq!(clean(said), shown, "{said:?}");
        }
    }

    #[test]
    fn an_unfinished_sequence_does_not_swallow_other_words() {
        assert_eq!(clean("\u{1b}[31\u{1b}[0mred"), "red");
        assert_eq!(clean("\u{1b}[1é"), "é");
        assert_eq!(clean("\u{1b}ésumé"), "ésumé");
    }

    #[test]
    fn what_a_person_decides_by_is_shown_whole() {
        let command = "ls \u{1b}]; rm -rf ~ \u{7}\u{202e}";
        assert_eq!(visible(command), r"ls \u{1b}]; rm -rf ~ \u{7}\u{202e}");
        assert_eq!(visible("cd \"a b\"\n\tmake\r"), "cd \"a b\"\n\tmake\\u{d}");
    }

    #[test]
    fn a_text_becomes_one_line() {
        assert_eq!(one_line("  read\n\tthis \u{1b}[1mfile\r\n"), "read this file");
    }
}
