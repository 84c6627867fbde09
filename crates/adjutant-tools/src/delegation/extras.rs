//! What the spawning tools take besides what their documents say.

use std::{num::NonZeroUsize, sync::Arc};

use adjutant_core::{Context, Isolation, Order, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{DelegationSettings, Earlier, Parameters};

/// The names of all these parameters, wherever they stand.
const NAMES: [&str; 10] = [
    "output_schema",
    "isolation",
    "last_n",
    "summary",
    "files",
    "cache",
    "offset",
    "max_seconds",
    "max_usd",
    "budget",
];

/// Where a sub-agent works.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// Where you do.
    Shared,
    /// In a git worktree of its own. When it has completed, what it changed is applied where
    /// you work, or handed to you as a patch if that fails.
    Worktree,
}

/// What a call said besides.
#[derive(Default)]
pub(super) struct Extras {
    pub(super) output_schema: Option<Map<String, Value>>,
    pub(super) isolation: Option<Place>,
    pub(super) last_n: Option<NonZeroUsize>,
}

impl Extras {
    /// Adds them to an order.
    pub(super) fn onto(self, order: Order) -> Order {
        let context = match (order.context, self.last_n) {
            (context, None) => context,
            (Context::Fork, Some(last)) => Context::Cut { last },
            (_, Some(last)) => Context::Quote { last },
        };
        let isolation = match self.isolation {
            Some(Place::Worktree) => Isolation::Worktree,
            Some(Place::Shared) | None => Isolation::Shared,
        };
        let schema = self.output_schema.map(|schema| Arc::new(Value::Object(schema)));
        Order { schema, isolation, context, ..order }
    }
}

impl DelegationSettings {
    /// Takes out of the schema of the arguments what the tools do not take.
    pub(super) fn withhold(&self, kept: &[&str], parameters: &mut Value) {
        if self.parameters == Parameters::All {
            return;
        }
        let Some(properties) = parameters["properties"].as_object_mut() else { return };
        properties
            .retain(|name, _| !NAMES.contains(&name.as_str()) || kept.contains(&name.as_str()));
        for property in properties.values_mut() {
            if let Some(Value::Object(inner)) = property.get_mut("properties") {
                inner.retain(|name, _| !NAMES.contains(&name.as_str()));
            }
        }
    }

    /// Refuses an argument the tools do not take.
    pub(super) fn refuse(&self, given: &[(&str, bool)]) -> Result<(), ToolError> {
        let is_withheld = self.parameters == Parameters::Documented;
        match given.iter().find(|(_, is_given)| *is_given && is_withheld) {
            Some((name, _)) => Err(ToolError(format!("unknown field `{name}`: leave it out"))),
            None => Ok(()),
        }
    }

    /// Reports whether an earlier result will do.
    pub(super) fn uses_earlier(&self, cache: Option<bool>) -> bool {
        self.earlier == Earlier::Used && cache != Some(false)
    }
}
