//! What a provider is sent, whatever the conversation.

use std::sync::Arc;

use adjutant_core::{AgentPath, Effect, Effort, Manner, Request, ToolChoice, ToolSpec, WireLog};
use adjutant_models::fuzz::{origin, write};
use serde_json::Value;

use super::{conversation::Source, hash, various};
use crate::Target;

pub(super) const TARGET: Target = Target { name: "request", words: &["\0", "\u{1}", "é"], check };

/// Takes turns on a conversation: each request is JSON, begins with what lasts of the one
/// before, and is the same when nothing is known of those before. Where the roles have to take
/// turns, they do.
fn check(input: &[u8]) -> u64 {
    let mut source = Source::new(input);
    let providers: Vec<_> = various().collect();
    let provider = providers[source.below(providers.len())];
    source.origin = origin(provider).into();
    let (path, system, messages) = (AgentPath::root(), source.text(), source.messages());
    let spec = ToolSpec {
        name: source.text(),
        description: source.text(),
        parameters: source.value(3),
        effect: Effect::Read,
    };
    let tools = &[Arc::new(spec)][..source.below(2)];
    let (mut log, mut lasting) = (WireLog::default(), Vec::new());
    for upto in 1..=messages.len() {
        let schema = source.value(4);
        let temperature = [None, Some(source.number().into())][source.below(2)].clone();
        let manner = Manner { temperature, ..Manner::default() };
        let request = Request {
            agent: &path,
            turn: upto as u64,
            system: &system,
            messages: &messages[..upto],
            tools,
            choice: [ToolChoice::Free, ToolChoice::None][source.below(2)],
            schema: Some(&schema).filter(|schema| schema.is_object()),
            max_output: source.number(),
            manner: &manner,
        };
        let effort = Effort::ALL.get(source.below(4)).map(|(_, effort)| *effort);
        let sent = write(provider, effort, &request, &mut log);
        let body = String::from_utf8_lossy(&sent.body);
        let json = serde_json::from_slice::<Value>(&sent.body);
        let json = json.unwrap_or_else(|error| panic!("{}: {error}: {body}", provider.name));
        if ["anthropic", "gemini"].contains(&provider.name) {
            assert_turns(&json);
        }
        assert!(sent.lasting.starts_with(&lasting), "{body} does not begin with what was sent");
        let anew = write(provider, effort, &request, &mut WireLog::default());
        assert_eq!(anew.lasting, sent.lasting, "{body} is another when it is written anew");
        lasting = sent.lasting;
    }
    hash((provider.name, lasting.len().ilog2(), messages.len()))
}

fn assert_turns(body: &Value) {
    let messages = body["messages"].as_array().or(body["contents"].as_array());
    let roles: Vec<_> = messages.into_iter().flatten().map(|message| &message["role"]).collect();
    let take_turns = roles.windows(2).all(|pair| pair[0] != pair[1]);
    assert!(take_turns && roles.first().is_some_and(|role| *role == "user"), "{body}");
}
