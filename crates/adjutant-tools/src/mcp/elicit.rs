//! What a server wants to know from a person, asked as questions of the call that runs.
//!
//! A form is asked field by field. No answer is a yes by accident: whoever declines declines
//! the whole of it, and where nobody is there to ask, the server is told that it was cancelled.

use adjutant_core::{Answer, Ask, Host};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value};

use super::field::Field;

/// How many fields a form may have: more is no question to a person.
const MOST_FIELDS: usize = 20;
/// How often a field is asked again if the answer does not fit.
const TRIES: usize = 3;
/// The most that is shown of what a server says.
const LONGEST_MESSAGE: usize = 2000;

const ACCEPT: &str = "accept";
const DECLINE: &str = "decline";
const DONE: &str = "done";

/// Why there is no answer.
enum No {
    /// The person would not.
    Declined,
    /// Nobody answered.
    Cancelled,
}

/// Asks the person behind a call what a server wants to know.
pub(crate) async fn ask(
    server: &str,
    request: ElicitRequestParams,
    host: &dyn Host,
) -> ElicitResult {
    let accepted = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            form(&opening(server, &message), &requested_schema, host).await.map(Some)
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let prompt = format!("{}\nTo do so, open: {}", opening(server, &message), clean(&url));
            confirm(prompt, DONE, host).await.map(|()| None)
        }
        _ => Err(No::Cancelled),
    };
    match accepted {
        Ok(Some(content)) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
        Ok(None) => ElicitResult::new(ElicitationAction::Accept),
        Err(No::Declined) => ElicitResult::new(ElicitationAction::Decline),
        Err(No::Cancelled) => ElicitResult::new(ElicitationAction::Cancel),
    }
}

fn opening(server: &str, message: &str) -> String {
    format!("MCP server `{server}` asks: {}", clean(message))
}

/// Bounds what a server says, and takes out what could act on a terminal.
fn clean(text: &str) -> String {
    let shown = text.chars().filter(|c| *c == '\n' || !c.is_control());
    shown.take(LONGEST_MESSAGE).collect()
}

async fn form(opening: &str, schema: &ElicitationSchema, host: &dyn Host) -> Result<Value, No> {
    let order = schema.property_order.clone();
    let names = order.unwrap_or_else(|| schema.properties.keys().cloned().collect());
    if names.len() > MOST_FIELDS {
        return Err(No::Cancelled);
    }
    if names.is_empty() {
        confirm(opening.to_owned(), ACCEPT, host).await?;
    }
    let mut content = Map::new();
    for name in names {
        let Some(definition) = schema.properties.get(&name) else { continue };
        let is_required = schema.required.iter().flatten().any(|required| *required == name);
        let definition = serde_json::to_value(definition).map_err(|_| No::Cancelled)?;
        let field = Field { name: &name, definition: &definition, is_required };
        if let Some(value) = ask_field(opening, &field, host).await? {
            content.insert(name, value);
        }
    }
    Ok(Value::Object(content))
}

async fn ask_field(opening: &str, field: &Field<'_>, host: &dyn Host) -> Result<Option<Value>, No> {
    let mut complaint = String::new();
    for _ in 0..TRIES {
        let prompt = format!("{complaint}{opening}\n{}", clean(&field.prompt()));
        let text = words(Ask::Question { prompt, choices: field.choices() }, host).await?;
        match field.read(&text) {
            Ok(value) => return Ok(value),
            Err(why) => complaint = format!("That does not fit: {why}.\n"),
        }
    }
    Err(No::Cancelled)
}

async fn confirm(prompt: String, yes: &str, host: &dyn Host) -> Result<(), No> {
    let choices = vec![yes.to_owned(), DECLINE.to_owned()];
    match words(Ask::Question { prompt, choices }, host).await?.trim() {
        text if text.eq_ignore_ascii_case(yes) || text.eq_ignore_ascii_case("yes") => Ok(()),
        _ => Err(No::Declined),
    }
}

async fn words(question: Ask, host: &dyn Host) -> Result<String, No> {
    match host.ask(question).await {
        Answer::Words { text } => Ok(text),
        Answer::Allow | Answer::AllowFromNowOn { .. } => Ok("yes".to_owned()),
        Answer::Deny { .. } => Err(No::Declined),
        Answer::Unattended => Err(No::Cancelled),
    }
}
