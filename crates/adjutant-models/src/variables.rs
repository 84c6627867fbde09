//! Keys and addresses of providers, as the environment has them.

use std::{collections::BTreeMap, fmt};

use crate::{
    PROVIDERS,
    key::{Key, KeySource},
};

/// The variables that providers look at. What they hold is shown to nobody.
#[derive(Clone, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Takes those of an environment that hold a key or an address.
    pub fn new(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        let is_ours = |name: &str| name.ends_with("_API_KEY") || name.ends_with("_BASE_URL");
        let is_set = |value: &str| !value.trim().is_empty();
        let environment = environment.into_iter();
        Self(environment.filter(|(name, value)| is_ours(name) && is_set(value)).collect())
    }

    /// Returns where providers are, as far as the environment says: the provider, the
    /// variable and its value.
    pub fn base_urls(&self) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
        PROVIDERS.iter().filter_map(|row| {
            let value = self.0.get(row.base_variable)?;
            Some((row.name, row.base_variable, value.trim()))
        })
    }

    /// Returns the key in the first of some variables that is set.
    pub(crate) fn key(&self, variables: &[String]) -> Option<KeySource> {
        variables.iter().find_map(|name| {
            let key = Key::new(self.0.get(name)?);
            Some(KeySource::Variable(name.clone(), key))
        })
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
