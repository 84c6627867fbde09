//! Keys are not kept.

/// What stands for a key.
pub(super) const KEY: &str = "[key]";

/// How keys of well-known providers begin, and how many characters follow at least.
const SHAPES: [(&str, usize); 8] = [
    ("sk-", 16),
    ("xai-", 16),
    ("gsk_", 16),
    ("ghp_", 16),
    ("github_pat_", 16),
    ("AKIA", 16),
    ("AIza", 30),
    ("Bearer ", 16),
];

/// Takes keys out of what is to be kept: those the caller knows, and whatever looks like
/// the key of a well-known provider.
pub struct Redactor(Box<dyn Fn(&str) -> String + Send + Sync>);

impl Redactor {
    /// Makes one of a function that takes the keys it knows out of a text. It is asked when
    /// a text is about to be kept, and may by then know more keys than before.
    pub fn new(known: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Box::new(known))
    }

    /// Returns the text without keys.
    pub fn redact(&self, text: &str) -> String {
        let text = (self.0)(text);
        let mut redacted = String::with_capacity(text.len());
        let mut last = ' ';
        let mut rest = text.as_str();
        while let Some(next) = rest.chars().next() {
            let key = if is_key_char(last) { None } else { key(rest) };
            if let Some((kept, length)) = key {
                redacted.extend([kept, KEY]);
                (last, rest) = (']', &rest[length..]);
            } else {
                redacted.push(next);
                (last, rest) = (next, &rest[next.len_utf8()..]);
            }
        }
        redacted
    }
}

impl Default for Redactor {
    /// Makes one that knows no key but by its looks.
    fn default() -> Self {
        Self::new(str::to_owned)
    }
}

/// Returns what may be kept of the key a text begins with, and how long the key is.
fn key(text: &str) -> Option<(&str, usize)> {
    let (prefix, least) = SHAPES.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let is_token = *prefix == "Bearer ";
    let tail = &text[prefix.len()..];
    let is_inside = |c: &char| is_key_char(*c) || is_token && "~+/=.".contains(*c);
    let length = tail.chars().take_while(is_inside).count();
    // A name that only begins like a key is made of words.
    let is_key = length >= *least && tail[..length].contains(|c: char| c.is_ascii_digit());
    is_key.then_some((if is_token { prefix } else { "" }, prefix.len() + length))
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_looks_like_a_key_is_taken_out() {
        let redactor = Redactor::default();
        for key in [
            "sk-proj-abcdefgh12345678",
            "sk-ant-api03-abcdefgh12345678",
            "xai-abcdefgh12345678",
            "gsk_abcdefgh12345678",
            "ghp_abcdefgh12345678",
            "github_pat_abcdefgh12345678",
            "AKIAIOSFODNN7EXAMPLE",
            "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        ] {
            assert_eq!(redactor.redact(&format!("é=\"{key}\".")), "é=\"[key]\".", "{key}");
        }
        assert_eq!(redactor.redact("Bearer abc.def/123456+789=="), "Bearer [key]");
    }

    #[test]
    fn what_only_begins_like_a_key_stays() {
        let redactor = Redactor::default();
        for text in [
            "sk-2 and gsk_3",
            "sk-learn-is-a-library-of-python",
            "task-abcdefgh12345678",
            "AKIAIOSFODNN7",
            "Bearer of bad news",
        ] {
            assert_eq!(redactor.redact(text), text);
        }
    }

    #[test]
    fn known_keys_are_taken_out_first() {
        let redactor = Redactor::new(|text| text.replace("hunter2", KEY));
        assert_eq!(redactor.redact("it is hunter2!"), "it is [key]!");
    }
}
