//! `adjutant permissions`: what agents may do here, and why.

use std::{
    io::{self, Write},
    sync::Arc,
};

use adjutant_core::{Grant, Judgement, Target, Tool, Touch, grant::Because};
use serde_json::{Map, Value, json};

use crate::{
    CliError, ExitCode, Surroundings,
    arguments::{PermissionsArguments, PermissionsCommand, PermissionsView},
    assembly, authority,
    config::{Config, Written},
    error::Kind,
    nearest::nearest,
    place::working_directory,
};

/// Shows the mode and the rules that hold, or what becomes of one call.
pub fn permissions(
    arguments: &PermissionsArguments,
    around: &Surroundings,
    to: &mut dyn Write,
) -> Result<ExitCode, CliError> {
    match &arguments.command {
        None => list(&arguments.view, around, to)?,
        Some(PermissionsCommand::Explain { tool, arguments, view }) => {
            explain(tool, arguments, view, around)?.write(view, to)?;
        }
    }
    Ok(ExitCode::Completed)
}

fn list(view: &PermissionsView, around: &Surroundings, to: &mut dyn Write) -> Result<(), CliError> {
    let directory = working_directory(around, view.place.cwd.as_deref())?;
    let written = Written::read(around, &directory, &view.flags())?;
    let config = Config::check(&written, around)?;
    let rules = written.rules();
    if view.json {
        let rule = |(list, rule, source): &(_, String, String)| json!({ "list": list, "rule": rule, "from": source });
        let shown = json!({
            "mode": config.mode.name(),
            "scope": [directory],
            "rules": rules.iter().map(rule).collect::<Vec<_>>(),
        });
        serde_json::to_writer_pretty(&mut *to, &shown).map_err(io::Error::from)?;
        return Ok(writeln!(to)?);
    }
    writeln!(to, "mode   {}", config.mode)?;
    writeln!(to, "scope  {}", directory.display())?;
    for (list, rule, source) in rules {
        writeln!(to, "{list:5}  {rule:40} # {source}")?;
    }
    for (rule, source) in &config.untrusted {
        let rule = rule.escape_debug();
        writeln!(to, "-      {rule:40} # {source}, not agreed to: see `adjutant trust`")?;
    }
    Ok(())
}

/// What becomes of a call.
struct Explained {
    tool: String,
    arguments: Value,
    touches: Vec<(Touch, Judgement)>,
    strictest: Judgement,
    written: Written,
}

fn explain(
    name: &str,
    words: &[String],
    view: &PermissionsView,
    around: &Surroundings,
) -> Result<Explained, CliError> {
    let directory = working_directory(around, view.place.cwd.as_deref())?;
    let written = Written::read(around, &directory, &view.flags())?;
    let config = Config::check(&written, around)?;
    let tools = assembly::tools(&config, &Arc::default());
    let Some(tool) = tools.iter().find(|tool| tool.spec().name == name) else {
        let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let meant = nearest(name, names.iter().map(String::as_str)).unwrap_or_default();
        return Err(CliError::new(Kind::Usage, format!("there is no tool `{name}`"))
            .hint(format!("did you mean `{meant}`?"))
            .hint(format!("there are: {}", names.join(", "))));
    };
    let arguments = read(&**tool, words)?;
    let grant = authority::grant(&config, &directory);
    let spec = tool.spec();
    let mut touches = tool.touches(&arguments, &directory);
    if touches.is_empty() {
        touches.push(Touch { effect: spec.effect, target: Target::Nothing });
    }
    let judged = |touch: &Touch| judge(&grant, &**tool, std::slice::from_ref(touch));
    let judged = touches.iter().map(|touch| (touch.clone(), judged(touch))).collect();
    let strictest = judge(&grant, &**tool, &touches);
    Ok(Explained { tool: name.to_owned(), arguments, touches: judged, strictest, written })
}

fn judge(grant: &Grant, tool: &dyn Tool, touches: &[Touch]) -> Judgement {
    grant.judge(&tool.spec(), touches)
}

/// Reads arguments: a JSON object, or words for the parameter that comes first.
fn read(tool: &dyn Tool, words: &[String]) -> Result<Value, CliError> {
    let text = words.join(" ");
    let wrong = |why: String| CliError::new(Kind::Usage, why);
    if text.trim_start().starts_with('{') {
        let read: Result<Map<String, Value>, _> = serde_json::from_str(&text);
        return read
            .map(Value::Object)
            .map_err(|error| wrong(format!("the arguments are not JSON: {error}")));
    }
    let spec = tool.spec();
    let first = spec.parameters["required"][0].as_str().or_else(|| {
        let properties = spec.parameters["properties"].as_object()?;
        properties.keys().next().map(String::as_str)
    });
    match first {
        Some(first) if spec.parameters["properties"][first]["type"] == "string" => {
            Ok(json!({ first: text }))
        }
        _ => Err(wrong(format!("`{}` takes its arguments as a JSON object", spec.name))
            .hint(format!("its parameters: {}", spec.parameters["properties"]))),
    }
}

impl Explained {
    fn write(&self, view: &PermissionsView, to: &mut dyn Write) -> io::Result<()> {
        if view.json {
            serde_json::to_writer_pretty(&mut *to, &self.to_json())?;
            return writeln!(to);
        }
        writeln!(to, "{}{}", self.strictest, self.place(&self.strictest))?;
        for (touch, judgement) in &self.touches {
            let (what, verdict) = (target(touch), judgement.verdict);
            writeln!(to, "  {verdict:7}  {what}{}", self.place(judgement))?;
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let touch = |(touch, judgement): &(Touch, Judgement)| {
            json!({
                "target": target(touch),
                "effect": touch.effect,
                "verdict": judgement.verdict,
                "because": judgement.to_string(),
            })
        };
        json!({
            "tool": self.tool,
            "arguments": self.arguments,
            "verdict": self.strictest.verdict,
            "because": self.strictest.to_string(),
            "touches": self.touches.iter().map(touch).collect::<Vec<_>>(),
        })
    }

    /// Returns where the rule is written that decided.
    fn place(&self, judgement: &Judgement) -> String {
        let Because::Rule(rule) = &judgement.because else { return String::new() };
        let rules = self.written.rules();
        let found = rules.iter().find(|(_, other, _)| other == rule);
        found.map(|(_, _, source)| format!(" ({source})")).unwrap_or_default()
    }
}

fn target(touch: &Touch) -> String {
    let effect = touch.effect;
    match &touch.target {
        Target::Path(path) => format!("{effect}: {}", path.display()),
        Target::Words(words) => format!("{effect}: {}", words.escape_debug()),
        Target::Unclear(words) => {
            format!("{effect}: {} (nobody can tell what this comes to)", words.escape_debug())
        }
        Target::Nothing => effect.to_string(),
    }
}
