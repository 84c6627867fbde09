//! What a model is told of the tools.

use std::{collections::BTreeSet, path::Path};

use adjutant_core::AllowedModel;
use adjutant_tools::{DelegationSettings, Parameters, Settings};
use serde_json::{Value, json};

use crate::seat::{Seat, tool};

#[test]
fn ask_user_has_the_schema_of_its_document() {
    let expected = json!({
        "type": "object",
        "properties": {
            "question": { "type": "string", "description": "The question to ask." },
            "choices": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Optional list of choices for multiple-choice.",
            },
        },
        "required": ["question"],
        "additionalProperties": false,
    });
    assert_eq!(tool("ask_user").spec().parameters, expected);
}

type Names = &'static [&'static str];

/// Every tool, with what it needs, what it takes besides, and what it takes beyond its document.
const TABLE: [(&str, Names, Names, Names); 30] = [
    ("list_dir", &[], &["path", "recursive"], &[]),
    ("read_file", &["path"], &["offset", "limit", "column"], &[]),
    ("find_files", &["pattern"], &["path"], &[]),
    ("search_files", &["pattern"], &["path", "glob", "context", "case_insensitive"], &[]),
    ("web_fetch", &["url"], &["offset"], &[]),
    ("ask_user", &["question"], &["choices"], &[]),
    ("skill", &["name"], &["file"], &[]),
    (
        "sub_agent",
        &["prompt"],
        &["tools", "model", "system_prompt"],
        &["output_schema", "isolation", "last_n", "files", "budget", "cache"],
    ),
    ("spawn_agent", &["task"], &["scope", "max_tool_calls", "mode"], &[]),
    ("delegate_task", &["plan", "subtasks"], &[], &[]),
    (
        "agent_spawn",
        &["prompt"],
        &["provider", "model", "tool_access", "budget", "system_prompt", "host_mode"],
        &["output_schema", "isolation", "last_n", "files", "cache"],
    ),
    (
        "agent_fork",
        &["prompt"],
        &["provider", "model", "tool_access", "budget_policy"],
        &["last_n", "summary", "output_schema", "isolation"],
    ),
    ("agent_wait", &["agent_ids"], &["mode", "timeout"], &[]),
    ("agent_send", &["agent_id", "message"], &["when"], &[]),
    ("agent_status", &["agent_id"], &[], &["offset"]),
    ("agent_cancel", &["agent_id"], &[], &[]),
    ("agent_list", &[], &[], &[]),
    ("notes_read", &[], &["key"], &[]),
    ("notes_write", &["key"], &["value"], &[]),
    ("send_message", &["to", "message"], &["when"], &[]),
    ("peers", &[], &[], &[]),
    ("write_file", &["path", "content"], &[], &[]),
    ("edit_file", &["path", "old_text", "new_text"], &["replace_all"], &[]),
    ("multi_edit", &["path", "edits"], &[], &[]),
    ("delete_file", &["path"], &[], &[]),
    ("write_artifact", &["name"], &["content", "path"], &[]),
    (
        "run_command",
        &["command"],
        &["directory", "timeout", "background", "network", "unconfined"],
        &[],
    ),
    ("read_output", &["job"], &["wait"], &[]),
    ("write_input", &["job"], &["text", "close"], &[]),
    ("stop_command", &["job"], &[], &[]),
];

fn settings(parameters: Parameters) -> Settings {
    let delegation = DelegationSettings { parameters, ..DelegationSettings::default() };
    Settings { delegation, ..Settings::default() }
}

#[test]
fn each_tool_has_the_parameters_of_its_document_and_others_only_if_told_to() {
    for kind in [Parameters::Documented, Parameters::All] {
        let tools = adjutant_tools::all(&settings(kind));
        assert_eq!(tools.len(), TABLE.len());
        for (tool, (name, required, optional, extra)) in tools.iter().zip(TABLE) {
            let spec = tool.spec();
            assert_eq!(spec.name, name);
            let parameters = &spec.parameters;
            assert_eq!(parameters["additionalProperties"], json!(false), "{name}");
            assert_eq!(strings(&parameters["required"]), set(required), "{name}");
            let properties = parameters["properties"].as_object().unwrap();
            let names: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            let extra = if kind == Parameters::All { extra } else { &[] };
            let all = [required, optional, extra].concat();
            assert_eq!(names, set(&all), "{name}");
            for (property, schema) in properties {
                assert!(schema["description"].is_string(), "{name}.{property}");
            }
        }
    }
}

#[test]
fn nothing_in_a_schema_is_only_for_validators() {
    for kind in [Parameters::Documented, Parameters::All] {
        for tool in adjutant_tools::all(&settings(kind)) {
            let text = tool.spec().parameters.to_string();
            for noise in ["$schema", "title", "$ref", "$defs", "null", "format"] {
                assert!(!text.contains(noise), "{noise} in {text}");
            }
        }
    }
}

#[test]
fn a_model_is_told_which_models_it_may_name() {
    let described = |models: &[&str], name: &str| {
        let models = models.iter().map(|model| model.parse::<AllowedModel>().unwrap()).collect();
        let settings = DelegationSettings { models, ..DelegationSettings::default() };
        let tools = adjutant_tools::all(&Settings { delegation: settings, ..Settings::default() });
        let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
        tool.spec().parameters["properties"]["model"]["description"].as_str().unwrap().to_owned()
    };
    for name in ["sub_agent", "agent_spawn"] {
        let told = described(&["anthropic/claude-*", "openai/gpt-5-mini"], name);
        assert!(told.contains("There are: `anthropic/claude-*`, `openai/gpt-5-mini`;"), "{told}");
        assert!(told.starts_with(&described(&[], name)), "{told}");
        assert!(!described(&[], name).contains("There are"));
    }
}

#[test]
fn a_spec_is_made_once() {
    let tool = tool("read_file");
    assert!(std::sync::Arc::ptr_eq(&tool.spec(), &tool.spec()));
}

#[tokio::test]
async fn an_unknown_argument_is_refused_by_name() {
    let seat = Seat::at(Path::new("/"));
    for tool in adjutant_tools::all(&Settings::default()) {
        let error = tool.call(json!({ "colour": 1 }), &seat).await.unwrap_err().0;
        assert!(error.contains("unknown field `colour`"), "{error}");
        assert!(error.contains(&tool.spec().name), "{error}");
    }
}

fn strings(list: &Value) -> BTreeSet<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn set<'a>(list: &[&'a str]) -> BTreeSet<&'a str> {
    list.iter().copied().collect()
}
