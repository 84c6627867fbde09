//! A server's tool, as one of the runtime's.

use std::sync::Arc;

use adjutant_core::{Grant, Host, Order, Tool, ToolError, ToolSpec};
use futures_util::future::BoxFuture;
use serde_json::{Number, Value};

use super::{line::Line, name::tool_name};
use crate::brief;

/// The most of a description that a model is told. It is a stranger's.
const LONGEST_DESCRIPTION: usize = 4 << 10;
/// The largest schema a model is told.
const LARGEST_SCHEMA: usize = 64 << 10;

/// A server's tool.
pub(crate) struct ServerTool {
    line: Arc<Line>,
    /// What the server calls it.
    name: String,
    spec: Arc<ToolSpec>,
}

impl ServerTool {
    /// Makes a tool of what a server says of it, or says why that cannot be one.
    pub(crate) fn new(line: &Arc<Line>, tool: rmcp::model::Tool) -> Result<Self, String> {
        let server = &line.server;
        let parameters = Value::Object(Arc::unwrap_or_clone(tool.input_schema));
        check(&parameters)?;
        let words = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        let spec = ToolSpec {
            name: tool_name(&server.name, &tool.name),
            description: described(&server.name, words),
            parameters,
            effect: server.effect,
        };
        Ok(Self { line: Arc::clone(line), name: tool.name.into_owned(), spec: Arc::new(spec) })
    }
}

/// Checks the schema of a tool's arguments. What it says of them is the server's business.
fn check(parameters: &Value) -> Result<(), String> {
    if parameters["type"] != "object" {
        return Err("its parameters are no object".to_owned());
    }
    let size = parameters.to_string().len();
    if size > LARGEST_SCHEMA {
        return Err(format!(
            "its parameters take {size} bytes to describe, and {LARGEST_SCHEMA} is the most"
        ));
    }
    Ok(())
}

fn described(server: &str, words: &str) -> String {
    let words: String = words.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    let (words, left_out) = brief::beginning(words.trim(), LONGEST_DESCRIPTION);
    let note = match left_out {
        0 => String::new(),
        left_out => format!(" [{left_out} bytes left out]"),
    };
    format!("[MCP server {server}] {words}{note}")
}

/// Finds a whole number that was too large to be read as one, and is not what it was.
fn changed(arguments: &Value) -> Option<&Number> {
    /// The first that fits no type of whole numbers.
    const TOO_LARGE: f64 = 18_446_744_073_709_551_616.0;
    match arguments {
        Value::Number(number) if number.is_f64() => {
            let is_too_large = |it: f64| it >= TOO_LARGE || it <= -TOO_LARGE / 2.0;
            number.as_f64().is_some_and(is_too_large).then_some(number)
        }
        Value::Array(items) => items.iter().find_map(changed),
        Value::Object(fields) => fields.values().find_map(changed),
        _ => None,
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn offer(&self, order: &Order, _: &Grant) -> Option<Arc<ToolSpec>> {
        self.line.server.is_for(order.agent.as_deref()).then(|| self.spec())
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        match changed(arguments) {
            None => Ok(()),
            Some(number) => Err(ToolError(format!(
                "not run: {number} has more digits than can be passed on unchanged; give it as a \
                 string, if the tool takes one"
            ))),
        }
    }

    fn summary(&self, arguments: &Value) -> String {
        match arguments.as_object() {
            Some(fields) if !fields.is_empty() => brief::line(&arguments.to_string(), 80),
            _ => String::new(),
        }
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let Value::Object(arguments) = arguments else {
                return Err(ToolError("the arguments must be a JSON object".to_owned()));
            };
            let connection = tokio::select! {
                connection = self.line.connection() => connection.map_err(ToolError)?,
                () = host.token().cancelled() => {
                    return Err(ToolError("not run: stopped before it began".to_owned()));
                }
            };
            connection.call(&self.name, arguments, host).await
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_is_bounded_and_cannot_act_on_a_terminal() {
        assert_eq!(
            described("x", " reads\u{1b}[2J\u{7} \n all "),
            "[MCP server x] reads[2J \n all"
        );
        let long = described("x", &"é".repeat(LONGEST_DESCRIPTION));
        assert!(long.len() < LONGEST_DESCRIPTION + 50, "{}", long.len());
        assert!(long.ends_with(" [4096 bytes left out]"), "{long}");
    }

    #[test]
    fn a_number_that_is_not_what_was_written_is_found() {
        let found = |text: &str| changed(&serde_json::from_str(text).unwrap()).is_some();
        for text in ["18446744073709551616", "[{\"a\": -9223372036854775809}]", "1e30"] {
            assert!(found(text), "{text}");
        }
        for text in
            ["[18446744073709551615, -9223372036854775808, 0.5]", "\"99999999999999999999\""]
        {
            assert!(!found(text), "{text}");
        }
    }

    #[test]
    fn a_schema_that_is_no_object_or_too_large_is_refused() {
        assert_eq!(check(&json!({ "type": "object" })), Ok(()));
        assert!(check(&json!({ "type": "array" })).is_err());
        assert!(check(&json!({})).is_err());
        let large = json!({ "type": "object", "description": "x".repeat(LARGEST_SCHEMA) });
        assert!(check(&large).unwrap_err().contains("bytes to describe"));
    }
}
