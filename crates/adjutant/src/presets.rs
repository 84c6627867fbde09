//! `adjutant presets`: which tools for delegation there can be, under which limits.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use adjutant_core::{Caller, Definitions, Listed, Order, ToolSpec};
use adjutant_tools::DELEGATION_TOOLS;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value, json};

use crate::{
    CliError, ExitCode, Surroundings,
    arguments::{PresetsArguments, PresetsCommand},
    assembly::{Kit, tools},
    config::{Config, PRESETS, Preset, Written, values},
};

/// The sections a preset can be about.
const SECTIONS: [&str; 3] = ["limits.", "sub_agents.", "breaker."];

/// Lists the presets, or shows one.
pub fn presets(arguments: &PresetsArguments, to: &mut dyn Write) -> Result<ExitCode, CliError> {
    match &arguments.command {
        None if arguments.json => {
            let listed =
                |preset: &Preset| json!({ "name": preset.name, "is": preset.description() });
            write_json(&PRESETS.iter().map(listed).collect(), to)?;
        }
        None => {
            for preset in &PRESETS {
                writeln!(to, "{:9} {}", preset.name, preset.description())?;
            }
        }
        Some(PresetsCommand::Show { name, json }) => {
            let shown = Shown::new(Preset::find(name, "")?)?;
            if *json { shown.write_json(to)? } else { shown.write_text(to)? }
        }
    }
    Ok(ExitCode::Completed)
}

/// A preset, and what it comes to where nobody sets anything else.
struct Shown {
    preset: &'static Preset,
    settings: Vec<(String, toml::Value)>,
    tools: Vec<Arc<ToolSpec>>,
}

impl Shown {
    fn new(preset: &'static Preset) -> Result<Self, CliError> {
        let around = Surroundings::bare(PathBuf::from("/"));
        let chosen = [("preset".to_owned(), preset.name.into())];
        let written = Written::given(&around, None, &chosen)?;
        let config = Config::check(&written, &around)?;
        let kit = Kit { definitions: Some(Arc::new(Nobody)), ..Kit::default() };
        let specs = tools(&config, &Arc::default(), &kit).into_iter().map(|tool| tool.spec());
        let tools = specs.filter(|spec| DELEGATION_TOOLS.contains(&&*spec.name)).collect();
        Ok(Self { preset, settings: values(&written, &SECTIONS), tools })
    }

    /// Writes it as TOML that can be read back, the rest being comments.
    fn write_text(&self, to: &mut dyn Write) -> io::Result<()> {
        write!(to, "{}", self.preset.text)?;
        writeln!(to, "\n# So there are these tools; what has a `?` can be left out:")?;
        for spec in &self.tools {
            writeln!(to, "#   {} {{{}}}", spec.name, parameters(spec).join(", "))?;
        }
        writeln!(to, "# and, with the defaults, these settings:")?;
        for (name, value) in &self.settings {
            writeln!(to, "#   {name} = {}", serde_json::to_string(value)?)?;
        }
        Ok(())
    }

    fn write_json(&self, to: &mut dyn Write) -> io::Result<()> {
        let tool = |spec: &Arc<ToolSpec>| {
            let ToolSpec { name, description, parameters, .. } = &**spec;
            json!({ "name": name, "description": description, "parameters": parameters })
        };
        let settings = self
            .settings
            .iter()
            .map(|(name, value)| Ok((name.clone(), serde_json::to_value(value)?)));
        let settings: Map<String, Value> = settings.collect::<serde_json::Result<_>>()?;
        let shown = json!({
            "name": self.preset.name,
            "is": self.preset.description(),
            "toml": self.preset.text,
            "tools": self.tools.iter().map(tool).collect::<Vec<_>>(),
            "settings": settings,
        });
        write_json(&shown, to)
    }
}

/// Returns the names of what a tool takes, those it needs first.
fn parameters(spec: &ToolSpec) -> Vec<String> {
    let required = spec.parameters["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let properties = spec.parameters["properties"].as_object();
    let (first, others): (Vec<_>, Vec<_>) =
        properties.into_iter().flat_map(Map::keys).cloned().partition(|name| is_required(name));
    first.into_iter().chain(others.into_iter().map(|name| format!("{name}?"))).collect()
}

fn write_json(shown: &Value, to: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, shown)?;
    writeln!(to)
}

/// No agent need have a name for it to be known what a tool takes that calls one.
struct Nobody;

impl Definitions for Nobody {
    fn callable(&self, _: Option<&str>) -> Vec<Listed> {
        Vec::new()
    }

    fn order<'a>(&'a self, _: Caller<'a>, name: &'a str) -> BoxFuture<'a, Result<Order, String>> {
        Box::pin(ready(Err(format!("there is no agent `{name}`"))))
    }
}
