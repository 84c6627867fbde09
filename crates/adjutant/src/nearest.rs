//! What somebody probably meant.

/// Returns the known name that is most like the one that was written.
pub(crate) fn nearest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known.into_iter().min_by_key(|name| gap(written, name))
}

/// Returns the known name that is most like the one that was written, if they differ in little.
pub(crate) fn close<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = written.chars().count();
    nearest(written, known).filter(|name| {
        let gap = gap(written, name);
        gap <= (length / 4).max(2) && gap < length
    })
}

fn gap(written: &str, name: &str) -> usize {
    // People leave the section out: `max_depth` means `limits.max_depth`.
    let last = name.rsplit('.').next().unwrap_or(name);
    distance(written, name).min(distance(written, last))
}

/// Counts the letters to add, take away or replace to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_letters() {
        for (from, to, expected) in
            [("", "abc", 3), ("abc", "", 3), ("mode", "mode", 0), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn a_section_left_out_is_forgiven() {
        let known = ["model", "limits.max_depth", "retry.cap_ms"];
        assert_eq!(nearest("max_dept", known), Some("limits.max_depth"));
        assert_eq!(nearest("limit.max_depth", known), Some("limits.max_depth"));
        assert_eq!(nearest("modle", known), Some("model"));
    }

    #[test]
    fn what_differs_in_much_is_not_close() {
        let known = ["disallowedTools", "model"];
        assert_eq!(close("modle", known), Some("model"));
        assert_eq!(close("disallowd_tools", known), Some("disallowedTools"));
        for other in ["allowed-tools", "hidden", "x", ""] {
            assert_eq!(close(other, known), None, "{other}");
        }
    }
}
