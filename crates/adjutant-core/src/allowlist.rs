//! Which models agents below the root may run on.

use std::{fmt, str::FromStr};

/// The models a call may name for a child. Where none is listed, any may be named; the
/// list of one provider leaves out the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedModels(Vec<AllowedModel>);

/// A model that may be named: `provider/model`, or `provider/beginning*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedModel(String);

/// The text names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no model: expected something like `openai/gpt-5-mini` or `anthropic/claude-*`, \
     with a star only at the end"
)]
pub struct BadModelName(pub String);

impl AllowedModels {
    /// Reports whether every model is allowed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reports whether a call may name the model.
    pub fn allows(&self, name: &str) -> bool {
        self.is_empty() || self.0.iter().any(|model| model.is(name))
    }

    /// Returns the first model of a provider that is listed by its whole name.
    pub fn first_of(&self, provider: &str) -> Option<&str> {
        let mut whole = self.0.iter().filter_map(AllowedModel::whole);
        whole.find(|name| name.split('/').next() == Some(provider))
    }
}

impl AllowedModel {
    fn is(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == self.0,
        }
    }

    fn whole(&self) -> Option<&str> {
        (!self.0.ends_with('*')).then_some(self.0.as_str())
    }
}

impl FromStr for AllowedModel {
    type Err = BadModelName;

    fn from_str(text: &str) -> Result<Self, BadModelName> {
        let (provider, model) = text.split_once('/').unwrap_or((text, "*"));
        let beginning = model.strip_suffix('*').unwrap_or(model);
        let is_clean = |part: &str| !part.contains(|c: char| c == '*' || c.is_whitespace());
        let is_named = !provider.is_empty() && !model.is_empty();
        if is_named && is_clean(provider) && is_clean(beginning) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadModelName(text.to_owned()))
        }
    }
}

impl FromIterator<AllowedModel> for AllowedModels {
    fn from_iter<I: IntoIterator<Item = AllowedModel>>(models: I) -> Self {
        Self(models.into_iter().collect())
    }
}

impl Extend<AllowedModel> for AllowedModels {
    fn extend<I: IntoIterator<Item = AllowedModel>>(&mut self, models: I) {
        self.0.extend(models);
    }
}

impl fmt::Display for AllowedModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|AllowedModel(name)| format!("`{name}`")).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> AllowedModels {
        names.iter().map(|name| name.parse::<AllowedModel>().unwrap()).collect()
    }

    #[test]
    fn a_list_leaves_out_what_it_does_not_name() {
        let allowed = list(&["anthropic/claude-*", "openai/gpt-5-mini", "rehearsal"]);
        for name in ["anthropic/claude-x", "anthropic/claude-", "openai/gpt-5-mini", "rehearsal"] {
            assert!(allowed.allows(name), "{name}");
        }
        let others = ["anthropic/opus", "openai/gpt-5", "openai/gpt-5-mini-2", "x/claude-1"];
        for name in others.into_iter().chain(["rehearsal/survey", "gpt-5-mini", ""]) {
            assert!(!allowed.allows(name), "{name}");
        }
        assert!(list(&[]).allows("anything/at-all"));
    }

    #[test]
    fn the_first_of_a_provider_has_its_whole_name_in_the_list() {
        let allowed = list(&["a/x*", "ab/y", "a/z", "a/w"]);
        assert_eq!(allowed.first_of("a"), Some("a/z"));
        assert_eq!(allowed.first_of("x"), None);
        assert_eq!(list(&["a/*"]).first_of("a"), None);
    }

    #[test]
    fn what_names_no_model_is_refused() {
        for text in ["", "*", "open*", "/x", "a/", "a/*x", "a/x**", "a b/c", "a/b c"] {
            assert_eq!(text.parse::<AllowedModel>(), Err(BadModelName(text.to_owned())));
        }
        for text in ["a/b", "a/*", "a/b/c:d@e", "a/b/*", "rehearsal"] {
            assert!(text.parse::<AllowedModel>().is_ok(), "{text}");
        }
    }
}
