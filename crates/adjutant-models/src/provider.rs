//! Who has models, where, and what is spoken there. A new server is a row here.

use crate::wire::{Dialect, chat::Chat};

/// A provider of models.
#[derive(Clone, Copy, Debug)]
pub struct Provider {
    /// Its name, which comes before the `/` in a model's.
    pub name: &'static str,
    /// Where it is, unless the variable says otherwise.
    pub base_url: &'static str,
    /// The variable that says where it is.
    pub base_variable: &'static str,
    /// The variable that has the key; a server on this machine needs none.
    pub key_variable: Option<&'static str>,
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) quirks: Quirks,
}

/// Where a server does otherwise than most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quirks {
    /// What the limit on the answer is called.
    pub(crate) max_tokens: &'static str,
    /// Whether it can be asked to report what was used.
    pub(crate) reports_usage: bool,
}

pub(crate) const USUAL: Quirks = Quirks { max_tokens: "max_tokens", reports_usage: true };

/// Every provider there is.
pub static PROVIDERS: [Provider; 12] = [
    Provider {
        quirks: Quirks { max_tokens: "max_completion_tokens", ..USUAL },
        ..remote("openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY")
    },
    remote(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_BASE_URL",
        "OPENROUTER_API_KEY",
    ),
    remote("groq", "https://api.groq.com/openai/v1", "GROQ_BASE_URL", "GROQ_API_KEY"),
    remote("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_BASE_URL", "DEEPSEEK_API_KEY"),
    remote("mistral", "https://api.mistral.ai/v1", "MISTRAL_BASE_URL", "MISTRAL_API_KEY"),
    remote("together", "https://api.together.xyz/v1", "TOGETHER_BASE_URL", "TOGETHER_API_KEY"),
    remote("xai", "https://api.x.ai/v1", "XAI_BASE_URL", "XAI_API_KEY"),
    remote("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_BASE_URL", "CEREBRAS_API_KEY"),
    local("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL"),
    local("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL"),
    local("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL"),
    local("vllm", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL"),
];

const fn remote(
    name: &'static str,
    base_url: &'static str,
    base_variable: &'static str,
    key_variable: &'static str,
) -> Provider {
    let key_variable = Some(key_variable);
    Provider { name, base_url, base_variable, key_variable, dialect: &Chat, quirks: USUAL }
}

const fn local(
    name: &'static str,
    base_url: &'static str,
    base_variable: &'static str,
) -> Provider {
    Provider { name, base_url, base_variable, key_variable: None, dialect: &Chat, quirks: USUAL }
}

impl Provider {
    /// Returns the variables it looks at.
    pub fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.key_variable.into_iter().chain([self.base_variable])
    }

    /// Finds a provider by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_row_gets_in_the_way_of_another() {
        let names: HashSet<_> = PROVIDERS.iter().map(|provider| provider.name).collect();
        let variables: HashSet<_> = PROVIDERS.iter().flat_map(Provider::variables).collect();
        assert_eq!(names.len(), PROVIDERS.len());
        assert_eq!(variables.len(), PROVIDERS.iter().flat_map(Provider::variables).count());
        assert!(!names.contains("scripted") && !names.contains("rehearsal"));
    }

    #[test]
    fn a_key_goes_over_an_encrypted_connection_only() {
        for provider in &PROVIDERS {
            let is_encrypted = provider.base_url.starts_with("https://");
            assert_eq!(is_encrypted, provider.key_variable.is_some(), "{}", provider.name);
        }
    }
}
