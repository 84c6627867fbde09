//! Variables in what is written about a server: `${NAME}` and `${NAME:-otherwise}`.

use std::collections::BTreeMap;

/// Puts the values of variables into a text. What they bring is not looked at again.
pub(crate) fn expand(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, after) = after.split_once('}').ok_or("has a `${` without a `}`")?;
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        if !is_name(name) {
            return Err(format!("has `${{{inside}}}`, and that is no variable"));
        }
        // An empty variable is as good as none, as in a shell.
        let value = variables.get(name).map(String::as_str);
        let value = value.filter(|value| otherwise.is_none() || !value.is_empty()).or(otherwise);
        expanded += before;
        expanded += value.ok_or_else(|| {
            format!("needs the variable `{name}`, which is not set (`${{{name}:-otherwise}}` does without)")
        })?;
        rest = after;
    }
    Ok(expanded + rest)
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        let set = [("HOME", "/home/a"), ("EMPTY", ""), ("NEST", "${HOME}")];
        let set = set.map(|(name, value)| (name.to_owned(), value.to_owned()));
        expand(text, &set.into())
    }

    #[test]
    fn variables_become_their_values() {
        let cases = [
            ("${HOME}/x:${HOME}", "/home/a/x:/home/a"),
            ("${NONE:-b}${HOME:-b}", "b/home/a"),
            ("[${EMPTY}][${EMPTY:-c}][${NONE:-}]", "[][c][]"),
            ("${NEST}", "${HOME}"),
            ("$HOME $ {} }", "$HOME $ {} }"),
            ("${NONE:-a:-b}", "a:-b"),
        ];
        for (text, expected) in cases {
            assert_eq!(expanded(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_expanded_is_refused() {
        assert!(expanded("a${NONE}").unwrap_err().contains("the variable `NONE`, which is not"));
        for text in ["${HOME", "${}", "${a b}", "${1A}", "${HOME-x}"] {
            assert!(expanded(text).is_err(), "{text}");
        }
    }
}
