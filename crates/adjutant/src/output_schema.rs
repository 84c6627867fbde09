//! The schema an answer has to fit, from a file.

use std::{fs, path::Path, sync::Arc};

use adjutant_engine::Schema;
use serde_json::Value;

use crate::{CliError, error::Kind};

/// Reads a schema and checks it. A relative path starts at `directory`.
pub(crate) fn read(directory: &Path, path: &Path) -> Result<Arc<Value>, CliError> {
    let name = path.display();
    let wrong = |message: String| CliError::new(Kind::Usage, message);
    let text = fs::read_to_string(directory.join(path));
    let text = text.map_err(|error| wrong(format!("{name}: cannot be read: {error}")))?;
    let schema: Value = serde_json::from_str(&text).map_err(|error| {
        let (line, column, why) = (error.line(), error.column(), error.to_string());
        let why = why.split(" at line ").next().unwrap_or_default();
        wrong(format!("{name}:{line}:{column}: is not JSON: {why}"))
    })?;
    match Schema::compile(&schema) {
        Ok(_) => Ok(Arc::new(schema)),
        Err(why) => Err(wrong(format!("{name}: is no valid JSON Schema: {why}"))),
    }
}
