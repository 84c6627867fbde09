//! Text made shorter.

/// Returns a text on one line, no longer than so many characters.
pub(crate) fn brief(text: &str, most: usize) -> String {
    // A character and a blank are the least a word takes.
    let line = text.split_whitespace().take(most).collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut short: String = line.chars().take(most.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_a_short_one_is_not() {
        assert_eq!(brief("é é\n é", 5), "é é é");
        assert_eq!(brief("ééééé", 4), "ééé…");
        assert_eq!(brief("éé éé", 4), "éé…");
        assert_eq!(brief("a b c d e f", 3), "a…");
    }
}
