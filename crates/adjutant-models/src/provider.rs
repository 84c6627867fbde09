//! Who has models, where, and what is spoken there. A new server is a row here.

use serde::Deserialize;

use crate::wire::{Dialect, chat::Chat, gemini::Gemini, messages::Messages, responses::Responses};

/// A provider of models.
#[derive(Clone, Copy, Debug)]
pub struct Provider {
    /// Its name, which comes before the `/` in a model's.
    pub name: &'static str,
    /// Where it is, unless the variable says otherwise.
    pub base_url: &'static str,
    /// The variable that says where it is.
    pub base_variable: &'static str,
    /// The variables that may have the key. The first that is set counts.
    pub key_variables: &'static [&'static str],
    /// Where it usually is, which tells whether it needs a key.
    pub place: Place,
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) quirks: Quirks,
}

/// Where a provider usually is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Somewhere else: it needs a key.
    Remote,
    /// On this machine: it takes a key if there is one.
    Local,
}

/// Where a server does otherwise than most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quirks {
    /// What the limit on the answer is called.
    pub(crate) max_tokens: &'static str,
    /// Whether it can be asked to report what was used.
    pub(crate) reports_usage: bool,
    /// How it is told how much to think.
    pub(crate) thinking: Thinking,
    /// What it is told of the schema of an answer while there are tools as well.
    pub(crate) schema: Schema,
    /// Whether it takes a name for the beginning of a conversation, to find it in its cache.
    pub(crate) takes_cache_key: bool,
    /// Which ids of calls it takes.
    pub(crate) ids: Ids,
    /// What it wants back of what its model thought.
    pub(crate) thoughts: Thoughts,
}

/// How a model is told how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Thinking {
    /// Not at all: it would refuse the whole request.
    None,
    /// By a word.
    Level,
    /// By a number of tokens.
    Budget,
}

/// Who holds a model to the schema of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Schema {
    /// The provider.
    Native,
    /// Nobody: the model is told in words, and whoever asks checks.
    Told,
}

/// Which ids of calls a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Short ones.
    Short,
    /// Those of exactly nine letters and digits.
    Nine,
}

/// What a server wants back of what its model thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thoughts {
    /// What it gave to be handed back, if anything.
    Given,
    /// All of it, in every message, even where it was nothing.
    All,
}

pub(crate) const USUAL: Quirks = Quirks {
    max_tokens: "max_tokens",
    reports_usage: true,
    thinking: Thinking::None,
    schema: Schema::Told,
    takes_cache_key: false,
    ids: Ids::Short,
    thoughts: Thoughts::Given,
};

pub(crate) const NATIVE: Quirks = Quirks { schema: Schema::Native, ..USUAL };

pub(crate) const THINKING: Quirks = Quirks { thinking: Thinking::Level, ..NATIVE };

pub(crate) const GEMINI: Quirks = Quirks { thinking: Thinking::Level, ..USUAL };

/// Every provider there is, in the order in which one is chosen when nobody says which.
pub static PROVIDERS: &[Provider] = &[
    Provider {
        dialect: &Messages,
        quirks: THINKING,
        ..remote(
            "anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_BASE_URL",
            &["ANTHROPIC_API_KEY"],
        )
    },
    Provider {
        quirks: Quirks { max_tokens: "max_completion_tokens", takes_cache_key: true, ..NATIVE },
        ..remote("openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", &["OPENAI_API_KEY"])
    },
    Provider {
        dialect: &Responses,
        quirks: Quirks { takes_cache_key: true, ..THINKING },
        ..remote(
            "openai-responses",
            "https://api.openai.com/v1",
            "OPENAI_BASE_URL",
            &["OPENAI_API_KEY"],
        )
    },
    Provider {
        dialect: &Gemini,
        quirks: GEMINI,
        ..remote(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            "GEMINI_BASE_URL",
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        )
    },
    Provider {
        // It keeps from a model what that does not take.
        quirks: THINKING,
        ..remote(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_BASE_URL",
            &["OPENROUTER_API_KEY"],
        )
    },
    remote("groq", "https://api.groq.com/openai/v1", "GROQ_BASE_URL", &["GROQ_API_KEY"]),
    Provider {
        quirks: Quirks { thoughts: Thoughts::All, ..USUAL },
        ..remote(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK_BASE_URL",
            &["DEEPSEEK_API_KEY"],
        )
    },
    Provider {
        // It reports usage unasked, and refuses to be asked.
        quirks: Quirks { reports_usage: false, ids: Ids::Nine, ..NATIVE },
        ..remote("mistral", "https://api.mistral.ai/v1", "MISTRAL_BASE_URL", &["MISTRAL_API_KEY"])
    },
    Provider {
        quirks: NATIVE,
        ..remote("xai", "https://api.x.ai/v1", "XAI_BASE_URL", &["XAI_API_KEY"])
    },
    remote("together", "https://api.together.xyz/v1", "TOGETHER_BASE_URL", &["TOGETHER_API_KEY"]),
    remote("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_BASE_URL", &["CEREBRAS_API_KEY"]),
    local("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL", &["OLLAMA_API_KEY"]),
    local("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL", &["LMSTUDIO_API_KEY"]),
    local("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL", &["LLAMACPP_API_KEY"]),
    local("vllm", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL", &["VLLM_API_KEY"]),
];

const fn remote(
    name: &'static str,
    base_url: &'static str,
    base_variable: &'static str,
    key_variables: &'static [&'static str],
) -> Provider {
    let (place, dialect, quirks) = (Place::Remote, &Chat, USUAL);
    Provider { name, base_url, base_variable, key_variables, place, dialect, quirks }
}

const fn local(
    name: &'static str,
    base_url: &'static str,
    base_variable: &'static str,
    key_variables: &'static [&'static str],
) -> Provider {
    Provider { place: Place::Local, ..remote(name, base_url, base_variable, key_variables) }
}

impl Provider {
    /// Finds a provider by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// Returns the row whose settings hold where this one has none: the first at its address.
    pub(crate) fn main(&self) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.base_variable == self.base_variable)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_row_gets_in_the_way_of_another() {
        let names: HashSet<_> = PROVIDERS.iter().map(|provider| provider.name).collect();
        assert_eq!(names.len(), PROVIDERS.len());
        assert!(!names.contains("scripted") && !names.contains("rehearsal"));
    }

    #[test]
    fn rows_share_a_variable_only_if_they_share_an_address() {
        let shares = |one: &Provider, other: &Provider| {
            let is_shared = |variable| other.key_variables.contains(variable);
            one.base_variable == other.base_variable || one.key_variables.iter().any(is_shared)
        };
        for one in PROVIDERS {
            for other in PROVIDERS.iter().filter(|other| shares(one, other)) {
                assert_eq!(one.base_url, other.base_url, "{} and {}", one.name, other.name);
            }
        }
    }

    #[test]
    fn a_key_goes_over_an_encrypted_connection_only() {
        for provider in PROVIDERS {
            let is_encrypted = provider.base_url.starts_with("https://");
            assert_eq!(is_encrypted, provider.place == Place::Remote, "{}", provider.name);
        }
    }
}
