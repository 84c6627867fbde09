//! The models a parent may name for a child are told to it, and no other is used.

use serde_json::{Value, json};

use crate::{
    server::{Act, Server, calls, words},
    support::World,
};

#[test]
fn a_parent_is_told_the_models_there_are_and_held_to_them() {
    let ask =
        |model: &str| Act::Say(calls(&[("sub_agent", json!({ "prompt": "x", "model": model }))]));
    let done = || Act::Say(words("done"));
    let server = Server::start(vec![ask("large"), ask("small"), done(), done()]);
    let world = World::new()
        .variable("OLLAMA_BASE_URL", &server.address)
        .variable("ADJUTANT_MODEL", "ollama/root")
        .user("sub_agents.models = ['ollama/small', 'ollama/tiny-*']");
    assert_eq!(world.run(&["run", "--quiet", "go"]).code, Some(0));
    let asked = server.asked();
    let listed = "`ollama/small`, `ollama/tiny-*`";
    let tools = asked[0].body["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["function"]["name"] == "sub_agent").unwrap();
    let told = &tool["function"]["parameters"]["properties"]["model"]["description"];
    assert!(told.as_str().unwrap().contains(listed), "{told}");
    let refused = &asked[1].body["messages"][3]["content"];
    let expected = format!("sub-agents may not run on `ollama/large`: choose one of {listed}");
    assert!(refused.as_str().unwrap().contains(&expected), "{refused}");
    let models: Vec<&Value> = asked[2..].iter().map(|asked| &asked.body["model"]).collect();
    assert!(models.contains(&&json!("small")) && !models.contains(&&json!("large")), "{models:?}");
}
