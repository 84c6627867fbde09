//! `adjutant permissions`: what agents may do here, and why.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use adjutant_core::{Effect, Judgement, Rules, Target, Tool, ToolError, Touch, judgement::Because};
use serde_json::{Map, Value, json};

#[cfg(feature = "mcp")]
use crate::servers::Servers;
use crate::{
    CliError, ExitCode, Surroundings,
    agents::{Agents, Lead},
    arguments::{PermissionsArguments, PermissionsCommand, PermissionsView},
    assembly, authority,
    config::{Config, Written},
    error::Kind,
    nearest::nearest,
    place::working_directory,
    programs::Program,
    screen::say,
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

/// What holds for a root.
struct Root {
    written: Written,
    config: Config,
    directory: PathBuf,
    agents: Arc<Agents>,
    /// The named agent it is.
    lead: Option<Lead>,
}

impl Root {
    fn find(view: &PermissionsView, around: &Surroundings) -> Result<Self, CliError> {
        let directory = working_directory(around, view.place.cwd.as_deref())?;
        let written = Written::read(around, &directory, &view.flags())?;
        let mut config = Config::check(&written, around)?;
        let agents = Arc::new(Agents::find(&view.named, around, &directory)?);
        let mut lead = agents.lead(view.named.agent.as_deref(), &around.directory)?;
        if let Some(dropped) = lead.as_mut().and_then(Lead::forget_isolation) {
            say(&format!("warning: {dropped}"));
        }
        let own = lead.as_ref().map(|lead| lead.settle(&mut config, &written)).transpose()?;
        let directory = own.flatten().unwrap_or(directory);
        Ok(Self { written, config, directory, agents, lead })
    }

    fn tools(&mut self) -> Result<Vec<Arc<dyn Tool>>, CliError> {
        let kit = self.agents.kit(&self.directory);
        let tools = assembly::tools(&self.config, &Arc::default(), &kit);
        if let Some(lead) = &mut self.lead {
            lead.check_tools(&tools)?;
        }
        Ok(tools)
    }

    /// Returns the rules that hold: the list, the rule, and where it is written.
    fn rules(&self) -> Vec<(&'static str, String, String)> {
        let mut rules = self.written.rules();
        let Some(lead) = &self.lead else { return rules };
        let Rules { allow, ask, deny, only } = &lead.definition.rules;
        let lists = [("allow", allow), ("ask", ask), ("deny", deny), ("only", only)];
        let own = lists.into_iter().flat_map(|(list, own)| {
            let place = lead.definition.place(&format!("permissions.{list}"));
            own.iter().map(move |rule| (list, rule.to_string(), place.clone()))
        });
        rules.extend(own);
        rules
    }
}

fn list(view: &PermissionsView, around: &Surroundings, to: &mut dyn Write) -> Result<(), CliError> {
    let mut root = Root::find(view, around)?;
    let tools = root.tools()?;
    let is_idle = |rule: &str| rule.parse().is_ok_and(|rule| authority::is_idle(&rule, &tools));
    let rules = root.rules();
    let Root { config, directory, lead, .. } = &root;
    let agent = lead.as_ref().map(|lead| lead.definition.name.as_str());
    let grant = authority::grant(config, directory, &[], lead.as_ref(), None);
    if view.json {
        let rule = |(list, rule, source): &(_, String, String)| json!({ "list": list, "rule": rule, "from": source, "idle": is_idle(rule) });
        let mut shown = json!({
            "mode": grant.mode().name(),
            "scope": [directory],
            "rules": rules.iter().map(rule).collect::<Vec<_>>(),
        });
        if let Some(agent) = agent {
            shown["agent"] = agent.into();
        }
        serde_json::to_writer_pretty(&mut *to, &shown).map_err(io::Error::from)?;
        return Ok(writeln!(to)?);
    }
    if let Some(agent) = agent {
        writeln!(to, "agent  {agent}")?;
    }
    writeln!(to, "mode   {}", grant.mode())?;
    writeln!(to, "scope  {}", directory.display())?;
    for (list, rule, source) in rules {
        let doubt = if is_idle(&rule) { ", about no tool there is" } else { "" };
        writeln!(to, "{list:5}  {rule:40} # {source}{doubt}")?;
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
    owner: Owner,
    arguments: Value,
    touches: Vec<(Touch, Judgement)>,
    strictest: Judgement,
    /// The rules that hold, and where they are written.
    rules: Vec<(&'static str, String, String)>,
}

/// Whose tool it is.
#[derive(PartialEq, Eq)]
enum Owner {
    Us,
    Server,
}

fn explain(
    name: &str,
    words: &[String],
    view: &PermissionsView,
    around: &Surroundings,
) -> Result<Explained, CliError> {
    let mut root = Root::find(view, around)?;
    let tools = root.tools()?;
    let rules = root.rules();
    let Root { config, directory, lead, .. } = root;
    let programs = Program::hooks(&config, &directory);
    #[cfg(feature = "mcp")]
    let servers =
        Servers::find(&config, around, &directory)?.with_agents(&root.agents, lead.as_ref());
    #[cfg(feature = "mcp")]
    let programs: Vec<_> = programs.into_iter().chain(servers.programs(&directory)).collect();
    let grant = authority::grant(&config, &directory, &programs, lead.as_ref(), None);
    let found = tools.iter().find(|tool| tool.spec().name == name);
    #[cfg(feature = "mcp")]
    let theirs = found.is_none().then(|| servers.tool(name)).flatten();
    #[cfg(not(feature = "mcp"))]
    let theirs = None;
    let (spec, arguments, mut touches) = match (found, theirs) {
        (Some(tool), _) => {
            let arguments = read(&**tool, words)?;
            let touches = tool.touches(&arguments, &directory);
            (tool.spec(), arguments, touches)
        }
        (None, Some(spec)) => (Arc::new(spec), object(&words.join(" "))?, Vec::new()),
        (None, None) => return Err(unknown(name, &tools)),
    };
    if touches.is_empty() {
        touches.push(Touch { effect: spec.effect, target: Target::Nothing });
    }
    let judged = |touch: &Touch| grant.judge(&spec, std::slice::from_ref(touch));
    let judged = touches.iter().map(|touch| (touch.clone(), judged(touch))).collect();
    let strictest = grant.judge(&spec, &touches);
    let owner = if found.is_some() { Owner::Us } else { Owner::Server };
    Ok(Explained { tool: name.to_owned(), owner, arguments, touches: judged, strictest, rules })
}

fn unknown(name: &str, tools: &[Arc<dyn Tool>]) -> CliError {
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let error = CliError::new(Kind::Usage, format!("there is no tool `{name}`"));
    if name.starts_with("mcp__") {
        return error.hint("no server with such tools is set up here, or it is not trusted");
    }
    let meant = nearest(name, names.iter().map(String::as_str)).unwrap_or_default();
    error.hint(format!("did you mean `{meant}`?")).hint(format!("there are: {}", names.join(", ")))
}

/// Reads arguments: a JSON object, or words for the parameter that comes first, and nothing for
/// the others.
fn read(tool: &dyn Tool, words: &[String]) -> Result<Value, CliError> {
    let (text, spec) = (words.join(" "), tool.spec());
    let properties = &spec.parameters["properties"];
    let is_text = |name: &str| properties[name]["type"] == "string";
    let required = spec.parameters["required"].as_array();
    let required: Vec<_> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let optional = properties.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
    let first = required.iter().copied().chain(optional).next();
    let is_object = || match object(&text) {
        Ok(_) => true,
        // A script may begin like one.
        Err(_) => text.trim_start().starts_with('{') && spec.effect != Effect::Execute,
    };
    let arguments = match first {
        _ if is_object() => object(&text)?,
        Some(first) if is_text(first) => {
            let rest = required.iter().filter(|name| is_text(name));
            let mut arguments: Map<_, _> =
                rest.map(|name| ((*name).to_owned(), json!(""))).collect();
            arguments.insert(first.to_owned(), json!(text));
            Value::Object(arguments)
        }
        _ => {
            let wrong = format!("`{}` takes its arguments as a JSON object", spec.name);
            return Err(
                CliError::new(Kind::Usage, wrong).hint(format!("its parameters: {properties}"))
            );
        }
    };
    let checked = tool.check(&arguments);
    checked.map_err(|ToolError(why)| CliError::new(Kind::Usage, why))?;
    Ok(arguments)
}

fn object(text: &str) -> Result<Value, CliError> {
    let read: Result<Map<_, _>, _> =
        serde_json::from_str(if text.is_empty() { "{}" } else { text });
    let wrong = |error| format!("the arguments are not JSON: {error}");
    read.map(Value::Object).map_err(|error| CliError::new(Kind::Usage, wrong(error)))
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
        if self.owner == Owner::Server {
            let note = "a server's tool is judged by its name and the server's `effect`, whatever \
                        its arguments; whether there is one is not known before the server runs";
            writeln!(to, "  {note}")?;
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
        let found = self.rules.iter().find(|(_, other, _)| other == rule);
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
