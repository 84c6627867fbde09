//! What went wrong with a server, in words.

use std::{error::Error, iter::successors};

use adjutant_core::ToolError;
use rmcp::ServiceError;

use crate::brief;

/// The most that is shown of what went wrong.
const LONGEST: usize = 2000;

/// Tells a model what became of its call.
pub(crate) fn of_call(server: &str, error: &ServiceError) -> ToolError {
    ToolError(match error {
        ServiceError::McpError(error) => {
            format!("MCP server `{server}` refused: {}", shortened(&error.message))
        }
        ServiceError::TransportClosed => format!(
            "MCP server `{server}` ended before it had answered, so what the call did is not \
             known; the next call starts it again"
        ),
        ServiceError::UnexpectedResponse => {
            format!("MCP server `{server}` answered with something that is no tool's result")
        }
        error => format!("MCP server `{server}`: {}", whole(error)),
    })
}

/// Tells an error with all its causes.
pub(crate) fn whole(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    for cause in successors(Some(error), |&error| error.source()).map(ToString::to_string) {
        // Some say themselves what caused them.
        if !words.iter().any(|said| said.contains(&cause)) {
            words.push(cause);
        }
    }
    shortened(&words.join(": "))
}

/// Takes from a stranger's words what could act on a terminal, and bounds them.
pub(crate) fn shortened(text: &str) -> String {
    let clean: String = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    match brief::beginning(&clean, LONGEST) {
        (_, 0) => clean,
        (beginning, _) => format!("{beginning}…"),
    }
}
