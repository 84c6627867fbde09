//! The answer an agent owes: JSON that fits a schema.

use std::sync::Arc;

use adjutant_core::Refusal;
use serde_json::Value;

use crate::{notice, schema::Schema};

/// The answer an agent owes.
#[derive(Clone)]
pub(crate) struct Answer {
    schema: Arc<Schema>,
    /// The schema as it was written.
    pub(crate) written: Arc<Value>,
}

impl Answer {
    pub(crate) fn owed(written: &Arc<Value>) -> Result<Self, Refusal> {
        let schema = Schema::compile(written).map_err(Refusal::BadSchema)?;
        Ok(Self { schema: Arc::new(schema), written: Arc::clone(written) })
    }

    /// Adds to a system prompt what the answer has to be, the same in each turn.
    pub(crate) fn ask(&self, instructions: &str) -> Arc<str> {
        let owed = notice::schema(&self.written);
        format!("{instructions}\n\n{owed}").trim_start().into()
    }

    /// Returns the JSON in an answer as it was written, or what is wrong with it.
    pub(crate) async fn read(&self, text: &str) -> Result<String, String> {
        let json = bare(text);
        let value =
            serde_json::from_str(json).map_err(|error| format!("it is not JSON: {error}"))?;
        self.schema.check(value).await?;
        Ok(json.to_owned())
    }
}

/// Takes away a fence of Markdown, and the space around.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```json").and_then(|text| text.strip_suffix("```"));
    inside.map_or(text, str::trim)
}
