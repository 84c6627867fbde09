//! Which tools a call gives to a child.

use adjutant_core::Access;
use schemars::JsonSchema;
use serde::Deserialize;

/// Empty braces make serde refuse a `tools` that would mean nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ToolAccess {
    Inherit {},
    AllowList { tools: Vec<String> },
    DenyList { tools: Vec<String> },
    ReadOnly {},
}

impl From<ToolAccess> for Access {
    fn from(access: ToolAccess) -> Self {
        match access {
            ToolAccess::Inherit {} => Self::Inherit,
            ToolAccess::AllowList { tools } => {
                Self::AllowList { tools: tools.into_iter().collect() }
            }
            ToolAccess::DenyList { tools } => Self::DenyList { tools: tools.into_iter().collect() },
            ToolAccess::ReadOnly {} => Self::ReadOnly,
        }
    }
}
