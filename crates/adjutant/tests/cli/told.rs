//! What agents were told before their task, as it was recorded.

use serde_json::Value;

use crate::support::{Done, World};

/// A run that was recorded.
pub(crate) struct Recorded {
    pub(crate) done: Done,
    cassette: Value,
}

impl Recorded {
    /// Runs with arguments and records.
    pub(crate) fn new(world: &World, arguments: &[&str]) -> Self {
        let done = world.run(&[&["run", "--record", "tape.json"], arguments].concat());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        Self { done, cassette: serde_json::from_str(&world.read("tape.json")).unwrap() }
    }

    /// Returns what an agent was told.
    pub(crate) fn system(&self, agent: &str) -> String {
        text(self.of(agent, "system", "systems"))
    }

    /// Returns the names of the tools that an agent had.
    pub(crate) fn tools(&self, agent: &str) -> Vec<String> {
        let tools = self.of(agent, "tools", "tools").as_array().unwrap();
        tools.iter().map(|tool| text(&tool["name"])).collect()
    }

    /// Returns all of it.
    pub(crate) fn everything(&self) -> String {
        self.cassette.to_string()
    }

    fn of(&self, agent: &str, number: &str, list: &str) -> &Value {
        let agents = self.cassette["agents"].as_array().unwrap();
        let stretch = agents.iter().find(|stretch| stretch["agent"] == agent).unwrap();
        let number = stretch[number].as_u64().unwrap();
        &self.cassette[list][usize::try_from(number).unwrap() - 1]
    }
}

/// Returns a text, which is in lines if there are several.
fn text(value: &Value) -> String {
    match value["lines"].as_array() {
        Some(lines) => lines.iter().map(|it| it.as_str().unwrap()).collect::<Vec<_>>().join("\n"),
        None => value.as_str().unwrap().to_owned(),
    }
}
