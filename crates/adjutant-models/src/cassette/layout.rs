//! JSON that people read.

use serde::Serialize;

/// How long a line may be.
const WIDTH: usize = 100;

/// Writes JSON with everything in one line that fits, lists of lines aside.
pub(super) fn lay_out(value: &impl Serialize) -> serde_json::Result<String> {
    let expanded = serde_json::to_string_pretty(value)?;
    let mut lines: Vec<String> = Vec::new();
    let mut open = Vec::new();
    for line in expanded.lines() {
        let bare = line.trim_start();
        if bare.starts_with([']', '}'])
            && let Some(start) = open.pop()
            && let Some(joined) = join(&lines[start..], bare)
        {
            lines.truncate(start);
            lines.push(joined);
            continue;
        }
        if line.ends_with(['[', '{']) {
            open.push(lines.len());
        }
        lines.push(line.to_owned());
    }
    Ok(lines.join("\n") + "\n")
}

/// Puts a list or an object into one line, if it fits and none of it is by the line.
fn join(lines: &[String], end: &str) -> Option<String> {
    let (first, inner) = lines.split_first()?;
    let length =
        first.len() + end.len() + inner.iter().map(|line| line.trim().len() + 1).sum::<usize>();
    if length > WIDTH + 1 || lines.iter().any(|line| line.contains("\"lines\": [")) {
        return None;
    }
    let inner: Vec<_> = inner.iter().map(|line| line.trim()).collect();
    Some(format!("{first}{}{end}", inner.join(" ")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_fits_is_in_one_line_and_lines_are_not() {
        let value = json!({
            "a": { "short": [1, 2, { "x": "}" }], "empty": [] },
            "b": { "text": { "lines": ["one {", "two"] } },
            "c": ["long".repeat(15), "long".repeat(15)],
        });
        let long = "long".repeat(15);
        let expected = format!(
            r#"{{
  "a": {{"empty": [], "short": [1, 2, {{"x": "}}"}}]}},
  "b": {{
    "text": {{
      "lines": [
        "one {{",
        "two"
      ]
    }}
  }},
  "c": [
    "{long}",
    "{long}"
  ]
}}
"#
        );
        assert_eq!(lay_out(&value).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Value>(&expected).unwrap(), value);
    }
}
