//! Codex's format: TOML, with the keys of its configuration.

use adjutant_core::{Manner, Mode};
use adjutant_models::Provider;
use serde_json::Value;

use super::shared::{self, description, discard, text};
use crate::agents::{
    definition::Definition, fields::Fields, format::Format, problem::Problem, text::Written,
};

/// The provider there is without a word, as it is spoken to there.
const USUAL_PROVIDER: &str = "openai-responses";

/// What an agent may change there, and what is not freer here; `None` is as freely as whoever
/// runs it.
const MODES: [(&str, Option<Mode>); 3] = [
    ("read-only", Some(Mode::Plan)),
    ("workspace-write", Some(Mode::Auto)),
    ("danger-full-access", None),
];

/// Reads an agent.
pub(crate) fn read(written: &Written) -> (Option<Definition>, Vec<Problem>) {
    let mut fields = match Fields::of_toml(written) {
        Ok(fields) => fields,
        Err(problem) => return (None, vec![problem]),
    };
    let definition = Definition {
        name: shared::name(&mut fields, &written.name),
        description: description(&mut fields),
        prompt: prompt(&mut fields),
        model: model(&mut fields),
        mode: mode(&mut fields),
        manner: Manner {
            effort: shared::effort(&mut fields, "model_reasoning_effort"),
            ..Manner::default()
        },
        ..Definition::default()
    };
    discard(&mut fields, "nickname_candidates", "agents are told apart by their names");
    shared::finish(definition, fields, (written, Format::Codex))
}

fn prompt(fields: &mut Fields<'_>) -> String {
    match fields.take("developer_instructions") {
        Some(Value::String(prompt)) if !prompt.trim().is_empty() => prompt,
        _ => {
            let why = "has to be text: it is what the agent is told";
            fields.wrong("developer_instructions", why);
            String::new()
        }
    }
}

/// Takes the model: a name at its provider, or a full name.
fn model(fields: &mut Fields<'_>) -> Option<String> {
    let provider = text(fields, "model_provider");
    let model = text(fields, "model")?;
    let provider = match provider.as_deref() {
        _ if model.contains('/') => return Some(model),
        None | Some("openai") => USUAL_PROVIDER,
        Some(named) => match Provider::find(named) {
            Some(provider) => provider.name,
            None => {
                let why = format!("is `{named}`, which there is not here, so `model` is not used");
                fields.drop("model_provider", why, Some("write `model = \"PROVIDER/MODEL\"`"));
                return None;
            }
        },
    };
    Some(format!("{provider}/{model}"))
}

/// Takes how freely it acts at most.
fn mode(fields: &mut Fields<'_>) -> Option<Mode> {
    let mode = fields.choice("sandbox_mode", &MODES)?;
    if mode.is_none() {
        let why = "is `danger-full-access`: it acts no more freely than whoever runs it";
        fields.drop("sandbox_mode", why, None);
    }
    mode
}

#[cfg(test)]
mod tests {
    use adjutant_core::Effort;

    use super::{
        super::testing::{Loaded, load},
        *,
    };

    fn read(fields: &str) -> Loaded {
        let text = "name = 'a'\ndescription = 'd'\ndeveloper_instructions = 'Do.'\n";
        load(Format::Codex, &format!("{text}{fields}"))
    }

    #[test]
    fn what_can_be_honoured_is() {
        let agent =
            read("model = 'gpt-5'\nmodel_reasoning_effort = 'high'\nsandbox_mode = 'read-only'")
                .clean();
        assert_eq!((&*agent.name, &*agent.description, &*agent.prompt), ("a", "d", "Do."));
        assert_eq!(agent.model.as_deref(), Some("openai-responses/gpt-5"));
        assert_eq!((agent.manner.effort, agent.mode), (Some(Effort::High), Some(Mode::Plan)));
    }

    #[test]
    fn other_keys_are_dropped_by_name() {
        let told = read(
            "nickname_candidates = ['x']\nmodel_reasoning_effort = 'xhigh'\n\
             approval_policy = 'never'\n[mcp_servers.x]\ncommand = 'y'",
        )
        .told();
        let starts: Vec<_> = told.iter().map(|it| it.split('`').nth(1).unwrap()).collect();
        let expected =
            ["model_reasoning_effort", "nickname_candidates", "approval_policy", "mcp_servers"];
        assert_eq!(starts, expected);
        assert!(told[0].starts_with("5 dropped") && told[3].starts_with("7 dropped"), "{told:?}");
    }

    #[test]
    fn a_sandbox_makes_nobody_freer() {
        let mode = |name: &str| read(&format!("sandbox_mode = '{name}'")).agent().mode;
        assert_eq!(mode("workspace-write"), Some(Mode::Auto));
        assert_eq!(mode("danger-full-access"), None);
        assert!(read("sandbox_mode = 'danger-full-access'").told()[0].starts_with("4 dropped"));
        assert!(read("sandbox_mode = 'off'").refusal().starts_with("4: "));
        assert!(read("sandbox_mode = true").refusal().starts_with("4: "));
    }

    #[test]
    fn a_model_is_one_of_its_provider() {
        let model = |fields: &str| read(fields).agent().model;
        assert_eq!(model("model = 'anthropic/x'").unwrap(), "anthropic/x");
        assert_eq!(model("model = 'x'\nmodel_provider = 'gemini'").unwrap(), "gemini/x");
        assert_eq!(model("model = 'x'\nmodel_provider = 'azure'"), None);
    }

    #[test]
    fn an_agent_that_is_told_nothing_is_refused() {
        for text in ["", "name = 'a'", "developer_instructions = ' '", "developer_instructions = 1"]
        {
            let why = load(Format::Codex, text).refusal();
            assert!(why.contains("`developer_instructions` has to be text"), "{why}");
        }
        assert!(load(Format::Codex, "name = 'a'\nx").refusal().starts_with("2: is not TOML"));
    }
}
