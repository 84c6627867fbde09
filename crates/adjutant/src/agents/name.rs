//! What an agent may be called.

/// The longest name.
const LONGEST: usize = 64;

/// Returns why an agent cannot be called that, as the end of a sentence.
///
/// Names are said by models, typed on command lines and become parts of paths.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("is `{}`, {why}", name.escape_debug()));
    if name.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if name.chars().count() > LONGEST {
        return Err(format!("has more than {LONGEST} characters"));
    }
    if name.contains(['/', '\\']) {
        return wrong("but a name is no path: it has no `/` and no `\\`");
    }
    if name.contains("..") {
        return wrong("but a name is no path: it has no `..`");
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return wrong("but a name is one word: it has no white space and no control characters");
    }
    if [".toml", ".md"].iter().any(|ending| name.ends_with(ending)) {
        return wrong("but a name is no file: it has no `.toml` and no `.md` at its end");
    }
    if name.starts_with('-') {
        return wrong("but a name does not begin like a flag");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_and_no_path() {
        for name in ["reviewer", "code-reviewer_2", "prüfer", "a.b", &"x".repeat(64)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        let wrong = [
            ("", "must not be empty"),
            (&"x".repeat(65), "more than 64"),
            ("a/b", "no path"),
            ("a\\b", "no path"),
            ("a..b", "no `..`"),
            ("a b", "white space"),
            ("a\u{a0}b", "white space"),
            ("a\u{7}", "`a\\u{7}`, but a name is one word"),
            ("a.toml", "no file"),
            ("a.md", "no file"),
            ("-x", "like a flag"),
        ];
        for (name, expected) in wrong {
            let why = check(name).unwrap_err();
            assert!(why.contains(expected), "{name:?}: {why}");
        }
    }
}
