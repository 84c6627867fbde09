//! How two texts differ, in few lines.

/// How many lines are shown.
const MOST: usize = 30;
/// How many lines around a difference are shown.
const AROUND: usize = 2;
/// How many characters of a line are compared at a time.
const WIDEST: usize = 120;
/// How many lines are compared with one another at most.
const LARGEST: usize = 2_000_000;

/// Returns how two lists of lines differ: what only the first has after `-`, what only the
/// second has after `+`.
pub(super) fn difference(old: &[String], new: &[String]) -> String {
    let (old, new) = (wrapped(old), wrapped(new));
    let marked = compare(&old, &new);
    let is_near = |place: usize| {
        let nearby = &marked[place.saturating_sub(AROUND)..marked.len().min(place + AROUND + 1)];
        nearby.iter().any(|(mark, _)| *mark != ' ')
    };
    let mut shown = Vec::new();
    let mut is_gap = false;
    for (place, (mark, line)) in marked.iter().enumerate() {
        if is_near(place) {
            shown.push(format!("{mark} {line}"));
        } else if !is_gap {
            shown.push("  …".to_owned());
        }
        is_gap = !is_near(place);
    }
    let more = shown.len().saturating_sub(MOST);
    shown.truncate(MOST);
    if more > 0 {
        shown.push(format!("  … and {more} lines more"));
    }
    shown.join("\n")
}

/// Breaks long lines, so that a difference late in one is seen.
fn wrapped(lines: &[String]) -> Vec<String> {
    let mut wrapped = Vec::new();
    for line in lines {
        let mut rest = line.as_str();
        while let Some((end, _)) = rest.char_indices().nth(WIDEST) {
            wrapped.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        wrapped.push(rest.to_owned());
    }
    wrapped
}

type Marked<'a> = Vec<(char, &'a String)>;

fn compare<'a>(old: &'a [String], new: &'a [String]) -> Marked<'a> {
    let common = |pairs: &mut dyn Iterator<Item = (&String, &String)>| {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let start = common(&mut old.iter().zip(new));
    let (same, (old, new)) = (&old[..start], (&old[start..], &new[start..]));
    let end = common(&mut old.iter().rev().zip(new.iter().rev()));
    let (old, same_end) = old.split_at(old.len() - end);
    let new = &new[..new.len() - end];
    let mut marked: Marked<'_> = same.iter().map(|line| (' ', line)).collect();
    if old.len().saturating_mul(new.len()) > LARGEST {
        marked.extend(old.iter().map(|line| ('-', line)));
        marked.extend(new.iter().map(|line| ('+', line)));
    } else {
        align(old, new, &mut marked);
    }
    marked.extend(same_end.iter().map(|line| (' ', line)));
    marked
}

/// Keeps as many lines in common as there can be.
fn align<'a>(old: &'a [String], new: &'a [String], marked: &mut Marked<'a>) {
    let width = new.len() + 1;
    let mut common = vec![0_usize; (old.len() + 1) * width];
    for (row, left) in old.iter().enumerate().rev() {
        for (column, right) in new.iter().enumerate().rev() {
            let at = row * width + column;
            common[at] = if left == right {
                common[at + width + 1] + 1
            } else {
                common[at + width].max(common[at + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < old.len() || column < new.len() {
        let at = row * width + column;
        match (old.get(row), new.get(column)) {
            (Some(left), Some(right)) if left == right => {
                marked.push((' ', left));
                (row, column) = (row + 1, column + 1);
            }
            (Some(left), right) if right.is_none() || common[at + width] >= common[at + 1] => {
                marked.push(('-', left));
                row += 1;
            }
            (_, Some(right)) => {
                marked.push(('+', right));
                column += 1;
            }
            (_, None) => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn shown(old: &str, new: &str) -> String {
        difference(&lines(old), &lines(new)).replace('\n', "|")
    }

    #[test]
    fn lines_in_common_are_found() {
        assert_eq!(shown("a b c", "a b c"), "  …");
        assert_eq!(shown("a b c", "a x c"), "  a|- b|+ x|  c");
        assert_eq!(shown("a b c d", "b x d e"), "- a|  b|- c|+ x|  d|+ e");
        assert_eq!(shown("", "a b"), "+ a|+ b");
        assert_eq!(shown("a b", ""), "- a|- b");
    }

    #[test]
    fn only_what_is_near_a_difference_is_shown() {
        let (old, new) = ("1 2 3 4 a 6 7 8 9 10 b 12", "1 2 3 4 x 6 7 8 9 10 y 12");
        let expected = "  …|  3|  4|- a|+ x|  6|  7|  …|  9|  10|- b|+ y|  12";
        assert_eq!(shown(old, new), expected);
    }

    #[test]
    fn a_large_difference_is_cut() {
        let numbers = |numbers: std::ops::Range<u32>| -> Vec<_> {
            numbers.map(|number| number.to_string()).collect()
        };
        let text = difference(&numbers(0..3000), &numbers(3000..6000));
        assert_eq!(text.lines().count(), MOST + 1);
        assert!(text.ends_with("  … and 5970 lines more"), "{text}");
    }

    #[test]
    fn a_difference_late_in_a_long_line_is_seen() {
        let long = |end: &str| [format!("{}{end}", "é".repeat(10 * WIDEST))];
        let text = difference(&long("old"), &long("new"));
        assert!(text.ends_with("- old\n+ new"), "{text}");
    }
}
