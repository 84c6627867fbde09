//! A program that was built without sub-agents.

use super::{Source, Written, written::Assignment};
use crate::{CliError, error::Kind};

impl Written {
    /// Refuses what is set about agents below the root: there are none.
    pub(super) fn check_alone(&self) -> Result<(), CliError> {
        let is_ours =
            |it: &&Assignment| matches!(it.source, Source::Default | Source::Preset { .. });
        let is_off =
            |it: &&Assignment| it.name() == "sub_agents.enabled" && it.value == false.into();
        let is_about =
            |it: &&Assignment| it.key.name.starts_with("sub_agents.") || it.key.name == "preset";
        let mut written = self.assignments.iter().filter(|it| !is_ours(it) && !is_off(it));
        match written.find(is_about) {
            None => Ok(()),
            Some(it) => {
                let wrong = format!("{}: `{}` sets nothing here", it.source, it.name());
                let hint = "this program was built without the feature `sub-agents`";
                Err(CliError::new(Kind::Config, wrong).hint(hint))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{
        Surroundings,
        assembly::{Kit, is_among_agents, tools},
        config::Config,
    };

    fn config(key: &str, value: bool) -> Result<Config, CliError> {
        let around = Surroundings::bare(Path::new("/").to_owned());
        let settings = [(key.to_owned(), value.into())];
        Config::check(&Written::given(&around, None, &settings)?, &around)
    }

    #[test]
    fn no_tool_starts_another_agent_and_asking_for_one_is_refused() {
        let config = config("sub_agents.enabled", false).unwrap();
        let tools = tools(&config, &std::sync::Arc::default(), &Kit::default());
        assert!(!tools.is_empty());
        assert!(tools.iter().all(|tool| !is_among_agents(&tool.spec().name)));
        for key in ["sub_agents.enabled", "sub_agents.cache"] {
            let error = super::tests::config(key, true).unwrap_err().to_string();
            assert!(error.contains(&format!("`{key}` sets nothing")), "{error}");
        }
    }
}
