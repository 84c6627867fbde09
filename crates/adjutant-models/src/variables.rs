//! Keys and addresses of providers, as the environment has them.

use std::{collections::BTreeMap, fmt};

use crate::{Key, PROVIDERS, Provider};

/// The variables that providers look at. What they hold is shown to nobody.
#[derive(Clone, Default)]
pub struct Variables(BTreeMap<&'static str, String>);

impl Variables {
    /// Takes what a look-up knows of them.
    pub fn read(look_up: impl Fn(&str) -> Option<String>) -> Self {
        let variables = PROVIDERS.iter().flat_map(Provider::variables);
        let known = variables.filter_map(|name| Some((name, look_up(name)?)));
        Self(known.filter(|(_, value)| !value.trim().is_empty()).collect())
    }

    /// Returns where a provider is.
    pub(crate) fn base_url(&self, provider: &Provider) -> String {
        let set = self.0.get(provider.base_variable).map(|url| url.trim().to_owned());
        set.unwrap_or_else(|| provider.base_url.to_owned())
    }

    /// Returns the key in a variable.
    pub(crate) fn key(&self, variable: &str) -> Option<Key> {
        self.0.get(variable).map(|key| Key::new(key))
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
