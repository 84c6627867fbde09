//! `skill`: how to do something, as people wrote it down.

use std::{fmt::Write as _, path::Path, sync::Arc};

use adjutant_core::{Effect, Grant, Host, Order, Target, ToolError, ToolSpec, Touch};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Invocation, Skills};
use crate::{blocking, brief, typed::TypedTool};

/// How many skills are described, and in how many characters each.
const MOST_LISTED: usize = 60;
const LONGEST_DESCRIPTION: usize = 250;
/// How many are named when there is none of a name.
const MOST_NAMED: usize = 300;

/// The tool.
pub(crate) struct SkillTool(pub(crate) Arc<Skills>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The skill's name.
    name: String,
    /// A file of the skill, from its directory (default: what the skill itself says).
    file: Option<String>,
}

impl SkillTool {
    /// Lists what an agent is told of, by name and description.
    fn list(&self, order: &Order) -> String {
        let listed = || self.listed(order);
        let mut list = String::new();
        for skill in listed().take(MOST_LISTED) {
            let words: Vec<_> = skill.description.split_whitespace().collect();
            let description = brief::line(&words.join(" "), LONGEST_DESCRIPTION);
            let _ = write!(list, "\n- {}: {description}", skill.name);
        }
        match listed().skip(MOST_LISTED).count() {
            0 => list,
            count => list + &format!("\n[and {count} more: the name `?` lists all names]"),
        }
    }

    fn listed(&self, order: &Order) -> impl Iterator<Item = &Arc<super::Skill>> {
        self.0.of(order).filter(|skill| skill.invocation == Invocation::Anybody)
    }

    /// Says that there is no skill of a name.
    fn missing(&self, order: &Order, name: &str) -> ToolError {
        let names: Vec<_> = self.listed(order).map(|skill| skill.name.as_str()).collect();
        let shown = names[..names.len().min(MOST_NAMED)].join(", ");
        let rest = match names.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        ToolError(format!("there is no skill `{name}`; there are: {shown}{rest}"))
    }
}

impl TypedTool for SkillTool {
    type Args = Args;
    const NAME: &'static str = "skill";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Tells how to do something, as people wrote it down. Call this before you do what one of \
         the skills is about. With `file` it shows a file that belongs to the skill; a script of \
         one is run like any other command."
            .into()
    }

    /// Offered to an agent for which there are skills, with a list of them.
    fn offer(&self, spec: Arc<ToolSpec>, order: &Order, _: &Grant) -> Option<Arc<ToolSpec>> {
        self.0.of(order).next()?;
        let list = self.list(order);
        if list.is_empty() {
            return Some(spec);
        }
        let mut spec = ToolSpec::clone(&spec);
        spec.description += &format!(" The skills there are:{list}");
        Some(Arc::new(spec))
    }

    fn touches(&self, args: &Args, _: &Path) -> Vec<Touch> {
        vec![Touch { effect: Effect::Read, target: Target::Words(args.name.clone()) }]
    }

    fn summary(&self, args: &Args) -> String {
        match &args.file {
            Some(file) => format!("{}: {file}", args.name),
            None => args.name.clone(),
        }
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let skill = self.0.find(host.order(), &args.name);
        let skill = Arc::clone(skill.ok_or_else(|| self.missing(host.order(), &args.name))?);
        blocking::run(move || match args.file {
            Some(file) => skill.read(&file).map_err(ToolError),
            None => Ok(skill.told()),
        })
        .await
    }
}
