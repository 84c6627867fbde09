//! What a fuzzer reaches: what is made of the arguments that a model wrote.

use serde_json::Value;

/// Makes the arguments of a call an object, or tells why they cannot be one.
pub fn repair(arguments: &Value, schema: &Value) -> Result<Value, String> {
    crate::repair::repair(arguments, schema)
}
