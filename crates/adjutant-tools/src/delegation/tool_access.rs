//! Which tools a call gives to a child.

use std::borrow::Cow;

use adjutant_core::Access;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, json};

/// A policy, which may be written as a word alone where that says it all.
pub(super) struct ToolAccess(Policy);

/// Empty braces make serde refuse a `tools` that would mean nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "snake_case", deny_unknown_fields)]
enum Policy {
    Inherit {},
    AllowList { tools: Vec<String> },
    DenyList { tools: Vec<String> },
    ReadOnly {},
}

impl<'de> Deserialize<'de> for ToolAccess {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = match Value::deserialize(deserializer)? {
            Value::String(word) => json!({ "policy": word }),
            Value::Object(policy) => Value::Object(policy),
            _ => {
                return Err(D::Error::custom(
                    "expected an object such as {\"policy\": \"inherit\"}",
                ));
            }
        };
        Policy::deserialize(written).map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for ToolAccess {
    fn schema_name() -> Cow<'static, str> {
        Policy::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Policy::json_schema(generator)
    }
}

impl From<ToolAccess> for Access {
    fn from(ToolAccess(policy): ToolAccess) -> Self {
        match policy {
            Policy::Inherit {} => Self::Inherit,
            Policy::AllowList { tools } => Self::AllowList { tools: tools.into_iter().collect() },
            Policy::DenyList { tools } => Self::DenyList { tools: tools.into_iter().collect() },
            Policy::ReadOnly {} => Self::ReadOnly,
        }
    }
}
