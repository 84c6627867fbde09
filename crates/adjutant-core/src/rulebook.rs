//! The port to rules that outlive a session.

use crate::Pattern;

/// Remembers what a person allowed for good.
pub trait Rulebook: Send + Sync {
    /// Adds rules that allow. One that cannot be kept has told the person why.
    fn add(&self, rules: &[Pattern]) -> Result<(), String>;
}

/// Remembers nothing.
pub struct NoRulebook;

impl Rulebook for NoRulebook {
    fn add(&self, _: &[Pattern]) -> Result<(), String> {
        Err("nothing is kept here".to_owned())
    }
}
