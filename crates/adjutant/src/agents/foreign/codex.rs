//! Codex's format: TOML, with the keys of its configuration.

use std::collections::BTreeSet;

use adjutant_core::{Access, Manner, Mode};
use adjutant_models::Provider;
use adjutant_tools::DELEGATION_TOOLS;
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

/// Who is asked there, and how freely it acts here; `None` is as freely as whoever runs it.
const APPROVALS: [(&str, Option<Mode>); 4] = [
    ("untrusted", Some(Mode::Ask)),
    ("on-request", Some(Mode::Ask)),
    ("on-failure", Some(Mode::Ask)),
    ("never", None),
];

/// What a feature there comes to here. Of some there is nothing here to be kept from.
const FEATURES: [(&str, &[&str]); 12] = [
    ("shell_tool", &COMMANDS),
    ("shell", &COMMANDS),
    ("unified_exec", &COMMANDS),
    ("web_search", &PAGES),
    ("web_search_request", &PAGES),
    ("web_search_cached", &PAGES),
    ("multi_agent", &DELEGATION_TOOLS),
    ("collab", &DELEGATION_TOOLS),
    ("apps", &[]),
    ("plugins", &[]),
    ("memories", &[]),
    ("personality", &[]),
];
const COMMANDS: [&str; 4] = ["run_command", "read_output", "write_input", "stop_command"];
const PAGES: [&str; 1] = ["web_fetch"];

/// What restricts an agent, as people write it and as it is called.
const RESTRICTING: [(&str, &str); 7] = [
    ("sandbox_mode", "sandbox_mode"),
    ("sandbox", "sandbox_mode"),
    ("permission", "sandbox_mode"),
    ("default_permissions", "sandbox_mode"),
    ("approval_policy", "approval_policy"),
    ("web_search", "web_search"),
    ("features", "features"),
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
        access: access(&mut fields),
        manner: Manner {
            effort: shared::effort(&mut fields, "model_reasoning_effort"),
            ..Manner::default()
        },
        ..Definition::default()
    };
    discard(&mut fields, "nickname_candidates", "agents are told apart by their names");
    shared::refuse_like(&mut fields, &RESTRICTING);
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

/// Takes how freely it acts at most: the less free of what it may change and of who is asked.
fn mode(fields: &mut Fields<'_>) -> Option<Mode> {
    let sandbox = fields.choice("sandbox_mode", &MODES);
    if sandbox == Some(None) {
        let why = "is `danger-full-access`: it acts no more freely than whoever runs it";
        fields.drop("sandbox_mode", why, None);
    }
    let approval = fields.choice("approval_policy", &APPROVALS);
    [sandbox, approval].into_iter().flatten().flatten().min()
}

/// Takes which tools it has.
fn access(fields: &mut Fields<'_>) -> Access {
    let mut denied: BTreeSet<&str> = BTreeSet::new();
    let searches = [("disabled", "disabled"), ("cached", "cached"), ("live", "live")];
    let search = fields.choice("web_search", &searches);
    if search.is_some_and(|search| search != "live") {
        denied.extend(PAGES);
    }
    if search == Some("cached") {
        let why = "is `cached`: nothing keeps pages here, so it fetches none";
        fields.drop("web_search", why, None);
    }
    for (name, value) in fields.table("features").map(|mut it| it.rest()).unwrap_or_default() {
        denied.extend(switched_off(fields, &name, &value));
    }
    match denied.is_empty() {
        true => Access::Inherit,
        false => Access::DenyList { tools: denied.into_iter().map(str::to_owned).collect() },
    }
}

/// Returns the tools that a feature takes away.
fn switched_off(fields: &mut Fields<'_>, name: &str, value: &Value) -> &'static [&'static str] {
    let whole = format!("features.{name}");
    let known = FEATURES.iter().find(|(feature, _)| *feature == name);
    match (value, known) {
        (Value::Bool(false), Some((_, tools))) if !tools.is_empty() => return tools,
        (Value::Bool(false), Some(_)) => {
            fields.drop(&whole, "is about what there is not here", None);
        }
        (Value::Bool(true), _) => {
            fields.drop(&whole, "is `true`: it has no more than whoever runs it", None);
        }
        _ => {
            let features = FEATURES.map(|(name, _)| format!("`{name}`")).join(", ");
            let hint = format!("`false` is understood of {features}");
            fields.refuse(&whole, "cannot be honoured", &hint);
        }
    }
    &[]
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
             notify = ['x']\n[mcp_servers.x]\ncommand = 'y'",
        )
        .told();
        let starts: Vec<_> = told.iter().map(|it| it.split('`').nth(1).unwrap()).collect();
        let expected = ["model_reasoning_effort", "nickname_candidates", "mcp_servers", "notify"];
        assert_eq!(starts, expected);
        assert!(told[0].starts_with("5 dropped") && told[2].starts_with("7 dropped"), "{told:?}");
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
    fn who_is_asked_counts_like_what_may_be_changed() {
        let mode = |fields: &str| read(fields).clean().mode;
        for policy in ["untrusted", "on-request", "on-failure"] {
            assert_eq!(mode(&format!("approval_policy = '{policy}'")), Some(Mode::Ask));
        }
        assert_eq!(mode("approval_policy = 'never'"), None);
        let both = "sandbox_mode = 'read-only'\napproval_policy = 'untrusted'";
        assert_eq!(mode(both), Some(Mode::Plan));
        let both = "sandbox_mode = 'workspace-write'\napproval_policy = 'untrusted'";
        assert_eq!(mode(both), Some(Mode::Ask));
        assert!(read("approval_policy = { granular = {} }").refusal().starts_with("4: "));
    }

    #[test]
    fn what_is_switched_off_there_is_not_had_here() {
        let denied = |fields: &str| match read(fields).agent().access {
            Access::DenyList { tools } => tools.into_iter().collect::<Vec<_>>(),
            access => panic!("{access:?}"),
        };
        for fields in ["web_search = 'disabled'", "web_search = 'cached'"] {
            assert_eq!(denied(fields), ["web_fetch"]);
        }
        assert_eq!(denied("[features]\nweb_search_request = false"), ["web_fetch"]);
        let commands = ["read_output", "run_command", "stop_command", "write_input"];
        for feature in ["shell_tool", "shell"] {
            assert_eq!(denied(&format!("[features]\n{feature} = false")), commands);
        }
        assert!(denied("features.multi_agent = false").contains(&"call_agent".to_owned()));
        let told = read("[features]\nshell = true\napps = false").told();
        assert!(told[0].starts_with("6 dropped") && told[1].starts_with("5 dropped"), "{told:?}");
        assert_eq!(read("web_search = 'live'").clean().access, Access::Inherit);
        for wrong in ["unheard_of = false", "shell = 'off'", "Shell = false"] {
            let why = read(&format!("[features]\n{wrong}")).refusal();
            assert!(why.starts_with("5: `features."), "{why}");
        }
        assert!(read("web_search = 'off'").refusal().starts_with("4: "));
    }

    #[test]
    fn what_restricts_and_is_called_otherwise_is_refused() {
        for (wrong, right) in [
            ("sandbox-mode = 'read-only'", "sandbox_mode"),
            ("sandboxMode = 'read-only'", "sandbox_mode"),
            ("approval-policy = 'untrusted'", "approval_policy"),
            ("feature = { shell = false }", "features"),
        ] {
            let loaded = read(wrong);
            assert!(loaded.refusal().starts_with("4: "), "{wrong}");
            let hint = loaded.problems[0].hint.as_deref().unwrap();
            assert_eq!(hint, format!("the field is called `{right}`"));
        }
    }

    #[test]
    fn what_may_be_meant_to_restrict_is_refused() {
        let fields = "the fields that restrict an agent are: `approval_policy`, `features`, \
                      `sandbox_mode`, `web_search`";
        for (wrong, right) in [
            ("sandbox_mod = 'read-only'", "the field is called `sandbox_mode`"),
            ("aproval_policy = 'untrusted'", "the field is called `approval_policy`"),
            ("websearch = 'disabled'", "the field is called `web_search`"),
            ("[tools]\nweb_search = false", fields),
            ("tools = ['shell']", fields),
            ("disabled_features = ['shell']", fields),
        ] {
            let loaded = read(wrong);
            assert!(loaded.refusal().starts_with("4: "), "{wrong}: {}", loaded.refusal());
            assert_eq!(loaded.problems[0].hint.as_deref(), Some(right), "{wrong}");
        }
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
