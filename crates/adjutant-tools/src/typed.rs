//! Tools whose arguments have a type.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use adjutant_core::{Effect, Grant, Host, Order, Tool, ToolError, ToolSpec, Touch};
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A tool that takes its arguments as a struct.
///
/// The struct denies unknown fields (`#[serde(deny_unknown_fields)]`), and the comments on
/// its fields are what the model reads about the parameters.
pub trait TypedTool: Send + Sync + 'static {
    /// The arguments.
    type Args: DeserializeOwned + JsonSchema + Send;

    /// The name the model calls.
    const NAME: &'static str;

    /// The most a call touches.
    const EFFECT: Effect;

    /// Tells the model when and how to call the tool.
    fn description(&self) -> String;

    /// Adds to the schema of the arguments what only this very tool knows.
    fn refine(&self, parameters: &mut Value) {
        let _ = parameters;
    }

    /// Refuses what no call can succeed with.
    fn check(&self, args: &Self::Args) -> Result<(), ToolError> {
        let _ = args;
        Ok(())
    }

    /// Returns what one agent is told, if it is to have the tool at all.
    fn offer(&self, spec: Arc<ToolSpec>, order: &Order, grant: &Grant) -> Option<Arc<ToolSpec>> {
        let _ = (order, grant);
        Some(spec)
    }

    /// Returns what a call would touch; empty is its effect and nothing that could be named.
    fn touches(&self, args: &Self::Args, workdir: &Path) -> Vec<Touch> {
        let _ = (args, workdir);
        Vec::new()
    }

    /// Tells what a person should know before they allow a call, if anything.
    fn caution(&self, args: &Self::Args) -> Option<String> {
        let _ = args;
        None
    }

    /// Tells in a line what a call is about.
    fn summary(&self, args: &Self::Args) -> String;

    /// Does it.
    fn run(
        &self,
        args: Self::Args,
        host: &dyn Host,
    ) -> impl Future<Output = Result<String, ToolError>> + Send;
}

/// Makes a tool the runtime can use of a typed one.
pub fn erase(tool: impl TypedTool) -> Arc<dyn Tool> {
    Arc::new(Erased { tool, spec: OnceLock::new() })
}

struct Erased<T> {
    tool: T,
    spec: OnceLock<Arc<ToolSpec>>,
}

impl<T: TypedTool> Tool for Erased<T> {
    fn spec(&self) -> Arc<ToolSpec> {
        let spec = self.spec.get_or_init(|| {
            let mut parameters = schema::<T::Args>();
            self.tool.refine(&mut parameters);
            let (name, description) = (T::NAME.to_owned(), self.tool.description());
            Arc::new(ToolSpec { name, description, parameters, effect: T::EFFECT })
        });
        Arc::clone(spec)
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        self.tool.check(&fit::<T>(arguments)?)
    }

    fn offer(&self, order: &Order, grant: &Grant) -> Option<Arc<ToolSpec>> {
        self.tool.offer(self.spec(), order, grant)
    }

    // Arguments that do not fit touch nothing: they are refused.
    fn touches(&self, arguments: &Value, workdir: &Path) -> Vec<Touch> {
        read::<T::Args>(arguments).map_or_else(|_| Vec::new(), |a| self.tool.touches(&a, workdir))
    }

    fn caution(&self, arguments: &Value) -> Option<String> {
        read(arguments).ok().and_then(|args| self.tool.caution(&args))
    }

    fn summary(&self, arguments: &Value) -> String {
        read(arguments).map_or_else(|_| T::NAME.to_owned(), |args| self.tool.summary(&args))
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move { self.tool.run(fit::<T>(&arguments)?, host).await })
    }
}

fn fit<T: TypedTool>(arguments: &Value) -> Result<T::Args, ToolError> {
    read(arguments).map_err(|why| ToolError(format!("wrong arguments for `{}`: {why}", T::NAME)))
}

/// Returns the JSON Schema of the arguments, without what only a validator would want.
fn schema<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let settings = settings.with_transform(RecursiveTransform(tidy));
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    schema.to_value()
}

/// Takes out titles, number formats that are not part of JSON Schema, and `null`: an
/// optional parameter is left out.
fn tidy(schema: &mut Schema) {
    for key in ["title", "format"] {
        schema.remove(key);
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice != &json!({ "type": "null" }));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            // What is said of the field goes before what is said of its type.
            for (key, value) in only {
                schema.ensure_object().entry(key).or_insert(value);
            }
        }
    }
}

/// Reads the arguments, or tells which one is wrong and what was expected.
fn read<A: DeserializeOwned>(arguments: &Value) -> Result<A, String> {
    A::deserialize(arguments).map_err(|error| {
        let error = error.to_string();
        let said = plain(&error);
        match culprit::<A>(arguments, &error) {
            Some(field) => format!("`{field}`: {said}"),
            None => said,
        }
    })
}

/// Says what was expected without the names of our types.
fn plain(error: &str) -> String {
    let (error, least) = match error.rsplit_once(", expected ") {
        Some((error, "a nonzero u64" | "a nonzero u32" | "a nonzero usize")) => (error, 1),
        Some((error, "u64" | "u32" | "usize")) => (error, 0),
        _ => return error.to_owned(),
    };
    format!("{error}, expected a whole number of at least {least}")
}

/// Finds the argument an error is about: the one that alone causes the same error. A
/// missing or unknown field is named by the error itself.
fn culprit<'a, A: DeserializeOwned>(arguments: &'a Value, error: &str) -> Option<&'a str> {
    if error.starts_with("missing field") || error.starts_with("unknown field") {
        return None;
    }
    let fails_alike = |(field, value): &(&'a String, &Value)| {
        let alone = json!({ *field: *value });
        A::deserialize(&alone).is_err_and(|alone| alone.to_string() == error)
    };
    arguments.as_object()?.iter().find(fails_alike).map(|(field, _)| field.as_str())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read by serde")]
    struct Args {
        /// Where.
        path: String,
        /// How many.
        limit: Option<NonZeroU64>,
        /// In which order.
        order: Option<Order>,
        /// Which way.
        way: Option<Way>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Way {
        Up,
        Down,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read by serde")]
    struct Order {
        by: Vec<String>,
    }

    fn complaint(arguments: &Value) -> String {
        read::<Args>(arguments).unwrap_err()
    }

    #[test]
    fn a_complaint_names_the_field_and_what_was_expected() {
        let wrong_type = complaint(&json!({ "path": 5, "limit": 1 }));
        assert_eq!(wrong_type, "`path`: invalid type: integer `5`, expected a string");
        let zero = complaint(&json!({ "path": "a", "limit": 0 }));
        assert_eq!(
            zero,
            "`limit`: invalid value: integer `0`, expected a whole number of at least 1"
        );
        let word = complaint(&json!({ "path": "a", "limit": "many" }));
        assert!(word.ends_with("expected a whole number of at least 1"), "{word}");
        assert_eq!(complaint(&json!({ "limit": 1 })), "missing field `path`");
        let unknown = complaint(&json!({ "path": "a", "lines": 1 }));
        assert_eq!(
            unknown,
            "unknown field `lines`, expected one of `path`, `limit`, `order`, `way`"
        );
        assert!(complaint(&json!("a")).contains("expected struct"));
    }

    #[test]
    fn the_schema_has_what_a_model_needs_and_no_more() {
        let expected = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where." },
                "limit": { "type": "integer", "minimum": 1, "description": "How many." },
                "order": {
                    "type": "object",
                    "description": "In which order.",
                    "properties": { "by": { "type": "array", "items": { "type": "string" } } },
                    "required": ["by"],
                    "additionalProperties": false,
                },
                "way": { "type": "string", "enum": ["up", "down"], "description": "Which way." },
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        assert_eq!(schema::<Args>(), expected);
    }
}
