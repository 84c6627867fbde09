//! How much room a text takes on a terminal.

/// Characters that take two columns. Where terminals differ the wider is assumed: a
/// line that is cut too early looks odd, one that wraps breaks the drawing.
const WIDE: &[(char, char)] = &[
    ('\u{1100}', '\u{115f}'),
    ('\u{231a}', '\u{231b}'),
    ('\u{23e9}', '\u{23ec}'),
    ('\u{23f0}', '\u{23f3}'),
    ('\u{25fd}', '\u{25fe}'),
    ('\u{2614}', '\u{2615}'),
    ('\u{2630}', '\u{2637}'),
    ('\u{2648}', '\u{2653}'),
    ('\u{267f}', '\u{267f}'),
    ('\u{268a}', '\u{26fd}'),
    ('\u{2705}', '\u{270b}'),
    ('\u{2728}', '\u{2728}'),
    ('\u{274c}', '\u{274e}'),
    ('\u{2753}', '\u{2757}'),
    ('\u{2795}', '\u{2797}'),
    ('\u{27b0}', '\u{27bf}'),
    ('\u{2b1b}', '\u{2b1c}'),
    ('\u{2b50}', '\u{2b55}'),
    ('\u{2e80}', '\u{303e}'),
    ('\u{3041}', '\u{a4cf}'),
    ('\u{a960}', '\u{a97c}'),
    ('\u{ac00}', '\u{d7a3}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{fe30}', '\u{fe6f}'),
    ('\u{ff01}', '\u{ff60}'),
    ('\u{ffe0}', '\u{ffe6}'),
    ('\u{16fe0}', '\u{18dff}'),
    ('\u{1aff0}', '\u{1b2ff}'),
    ('\u{1d300}', '\u{1d376}'),
    ('\u{1f004}', '\u{1f004}'),
    ('\u{1f0cf}', '\u{1f0cf}'),
    ('\u{1f18e}', '\u{1f1ff}'),
    ('\u{1f200}', '\u{1faff}'),
    ('\u{20000}', '\u{3fffd}'),
];

/// Returns how many columns a clean, one-line text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

fn width(c: char) -> usize {
    match c {
        // Makes a picture, two columns wide, of the narrow character before it.
        '\u{fe0f}' => 1,
        '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0e}' => 0,
        c if WIDE.iter().any(|(first, last)| (*first..=*last).contains(&c)) => 2,
        _ => 1,
    }
}

/// Cuts a text to a width, from the end.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut cut: String = fitting(text.chars(), room).collect();
    cut.extend((room > 0).then_some('…'));
    cut
}

/// Cuts a text to a width, from the beginning.
pub(crate) fn tail(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut tail: Vec<char> = fitting(text.chars().rev(), room).collect();
    tail.extend((room > 0).then_some('…'));
    tail.iter().rev().collect()
}

/// Takes the characters that fit and leave a column free.
fn fitting(characters: impl Iterator<Item = char>, room: usize) -> impl Iterator<Item = char> {
    let mut taken = 0;
    characters.take_while(move |c| {
        taken += width(*c);
        taken < room
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cut_is_wider_than_its_room() {
        for text in ["plain words", "漢字かな交じり文", "✅ done ⚠️ 🦀🦀🦀", "e\u{301}te\u{301}"]
        {
            for room in 0..=columns(text) {
                assert!(columns(&cut(text, room)) <= room, "{text} in {room}");
                assert!(columns(&tail(text, room)) <= room, "{text} in {room}");
            }
            assert_eq!(cut(text, columns(text)), text);
            assert_eq!(tail(text, columns(text)), text);
        }
    }

    #[test]
    fn a_cut_is_marked_where_it_was_made() {
        assert_eq!(cut("read_file", 6), "read_…");
        assert_eq!(tail("read_file", 6), "…_file");
        assert_eq!(cut("漢字漢字", 4), "漢…");
    }
}
