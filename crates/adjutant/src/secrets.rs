//! What must not be kept: keys, and what variables hold whose names say that it is secret.

use std::{env, sync::Arc};

use adjutant_models::{Providers, cassette::Redactor};
use adjutant_tools::Environment;

use crate::source::redactor;

/// What stands for a secret.
const SECRET: &str = "[secret]";

/// Takes secrets out of what is to be kept.
pub(crate) struct Secrets {
    redactor: Redactor,
    /// What variables hold, the longest first: one may contain another.
    values: Vec<String>,
}

impl Secrets {
    /// Knows the keys of providers and the secret variables of this process.
    pub(crate) fn new(providers: &Arc<Providers>, environment: &Environment) -> Self {
        let mut values = environment.secrets(env::vars_os());
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { redactor: redactor(providers), values }
    }

    /// Returns a text without secrets.
    pub(crate) fn hide(&self, text: &str) -> String {
        let text = self.redactor.redact(text);
        self.values.iter().fold(text, |text, value| text.replace(value, SECRET))
    }
}
