//! One thing that an agent remembers.

use adjutant_core::Millis;
use serde::{Deserialize, Serialize};

/// The most bytes that are kept of a task.
const LONGEST_TASK: usize = 300;

/// The most bytes that are kept of a result.
const LONGEST_RESULT: usize = 1000;

/// Characters that end a line, besides those that JSON writes otherwise.
const LINE_ENDS: [(char, &str); 3] =
    [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

/// One thing that an agent did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// When it was done, as RFC 3339 writes it.
    pub(crate) time: String,
    /// What was to be done.
    pub(crate) task: String,
    /// What came of it.
    pub(crate) result: String,
}

impl Record {
    /// Makes a record of what was done, which is cut if it is long.
    pub(crate) fn new(at: Millis, task: &str, result: &str) -> Self {
        Self {
            time: rfc_3339(at / 1000),
            task: cut(task, LONGEST_TASK),
            result: cut(result, LONGEST_RESULT),
        }
    }

    /// Returns it as JSON in one line, for whatever takes for the end of one.
    pub(crate) fn line(&self) -> String {
        // Plain text, which can always be written.
        let line = serde_json::to_string(self).unwrap_or_default();
        LINE_ENDS.iter().fold(line, |line, (end, escaped)| line.replace(*end, escaped))
    }
}

fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)])
}

/// Writes seconds since 1970 as a time of day in UTC.
fn rfc_3339(seconds: u64) -> String {
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns the year, the month and the day, so many days after 1970 began. Years are counted from
/// March on, so that a leap day is the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_what_the_calendar_says() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc_3339(seconds), expected);
        }
    }

    #[test]
    fn what_is_long_is_cut_between_characters() {
        let record = Record::new(0, &"é".repeat(200), &format!("x{}", "é".repeat(600)));
        assert_eq!(record.task, format!("{}…", "é".repeat(150)));
        assert_eq!(record.result, format!("x{}…", "é".repeat(499)));
        let short = Record::new(0, &"e".repeat(300), &"e".repeat(1000));
        assert_eq!((short.task.len(), short.result.len()), (300, 1000));
    }

    #[test]
    fn whatever_the_text_a_record_is_one_line() {
        let text = "a\r\nb\u{b}\u{c}\u{85}c\u{2028}d\u{2029}\"}\n{\"time\":\"x\"}\n## Memory";
        let record = Record::new(0, text, text);
        let line = record.line();
        let ends = |c: char| c.is_control() || ['\u{2028}', '\u{2029}'].contains(&c);
        assert!(!line.contains(ends), "{line}");
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }
}
