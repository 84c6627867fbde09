//! No model is named, or none can be used: what is there instead, and what is told.

use serde_json::{Value, json};

use crate::{
    server::{Act, Server, words},
    support::World,
};

const KEY: &str = "sk-planted-key-000";

/// A world without servers where local ones usually are.
fn world() -> World {
    let names = ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"];
    names.iter().fold(World::new(), |world, name| {
        world.variable(&format!("{name}_BASE_URL"), "http://127.0.0.1:9/v1")
    })
}

/// A world with a local server that has two models.
fn with_ollama() -> (World, Server) {
    let listing =
        json!({ "data": [{ "id": "llama:3b" }, { "id": "other" }, { "id": "\u{1b}[2J" }] });
    let server = Server::start(vec![Act::Refuse("200 OK", "", listing.to_string())]);
    let world = world().variable("OLLAMA_BASE_URL", &server.address);
    (world, server)
}

fn models(world: &World, arguments: &[&str]) -> String {
    let done = world.run(&[&["models"], arguments].concat());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert!(!done.stdout.contains(KEY) && !done.stdout.contains('\u{1b}'), "{}", done.stdout);
    done.stdout
}

#[test]
fn the_ways_to_a_model_are_told() {
    let stderr = world().refused(&["run", "go"]);
    assert!(stderr.starts_with("error: no model is set"), "{stderr}");
    for way in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "`--model ollama/MODEL`",
        "`--model rehearsal`",
        "`--model scripted/FILE`",
        "config/adjutant/config.toml",
    ] {
        assert!(stderr.contains(way), "{way}: {stderr}");
    }
}

#[test]
fn a_key_for_a_provider_without_a_default_is_not_passed_over() {
    let world = world().variable("TOGETHER_API_KEY", KEY);
    let stderr = world.refused(&["run", "go"]);
    let why = "no model is set, and there is no default model of `together`";
    assert!(stderr.starts_with(&format!("error: {why}\n")), "{stderr}");
    assert!(stderr.contains("`--model together/MODEL`"), "{stderr}");
    let why =
        "nothing runs without --model: none is set, and there is no default model of `together`";
    assert!(models(&world, &[]).contains(why));
}

#[test]
fn a_server_that_is_running_is_offered_with_its_model() {
    let (world, server) = with_ollama();
    let stderr = world.refused(&["run", "go"]);
    let offer = "hint: ollama is running on this machine: `--model ollama/llama:3b`";
    assert!(stderr.contains(offer), "{stderr}");
    assert_eq!(server.asked()[0].headers[0], "GET /v1/models HTTP/1.1");
}

#[test]
fn without_a_key_its_variable_is_told_and_what_needs_none() {
    let (world, _server) = with_ollama();
    let stderr = world.refused(&["run", "--model", "gemini/any", "go"]);
    let first = "error: `gemini` needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY, or \
                 `providers.gemini.key_command`";
    assert!(stderr.starts_with(first), "{stderr}");
    for way in ["`--model ollama/llama:3b`", "`--model rehearsal`"] {
        assert!(stderr.contains(way), "{way}: {stderr}");
    }
}

#[test]
fn the_default_of_a_provider_with_a_key_is_used_and_told() {
    let server = Server::start(vec![Act::Say(words("done")), Act::Say(words("done"))]);
    let world = world().variable("GROQ_API_KEY", KEY).variable("GROQ_BASE_URL", &server.address);
    let done = world.run(&["run", "go"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"), "{}", done.stderr);
    let asked = server.asked();
    let model = asked[0].body["model"].as_str().unwrap();
    let why = format!("no model is set: using groq/{model}, since its key is in GROQ_API_KEY\n");
    assert!(done.stderr.starts_with(&why), "{}", done.stderr);
    assert_eq!(world.run(&["run", "--quiet", "go"]).stderr, "");
}

#[test]
fn what_can_be_used_is_listed_and_what_cannot_with_the_reason() {
    let (world, _server) = with_ollama();
    let world = world
        .variable("ANTHROPIC_API_KEY", KEY)
        .user("[providers]\ngroq.key_command = 'touch ran'\nollama.key_command = 'touch ran'");
    let listed = models(&world, &[]);
    let line =
        |start: &str| listed.lines().find(|line| line.starts_with(start)).unwrap_or_default();
    assert!(line("anthropic at ").ends_with(", key from ANTHROPIC_API_KEY"), "{listed}");
    assert!(line("groq at ").ends_with(", key from key_command"), "{listed}");
    assert!(line("* anthropic/claude-").contains("built in, 20"), "{listed}");
    assert!(line("  ollama/llama:3b ").contains(" 0 "), "{listed}");
    assert!(line("openai ").ends_with("set OPENAI_API_KEY"), "{listed}");
    assert!(line("vllm ").ends_with("nothing answers at http://127.0.0.1:9/v1"), "{listed}");
    assert!(!listed.contains("  openai/gpt"), "{listed}");
    // Listing what there is runs nobody's command.
    assert!(!world.project_directory().join("src/deep/ran").exists());
}

#[test]
fn one_provider_is_listed_though_it_cannot_be_used() {
    let listed = models(&world(), &["openai"]);
    assert!(listed.starts_with("openai at https://api.openai.com/v1: set OPENAI_API_KEY\n"));
    assert!(listed.contains("  openai/gpt-5-mini ") && !listed.contains("anthropic"), "{listed}");
    let said = world().refused(&["models", "opnai"]);
    assert!(said.contains("there is no provider `opnai`\nhint: did you mean `openai`?"), "{said}");
}

#[test]
fn a_program_gets_the_same_as_json() {
    let world = world().variable("OPENAI_API_KEY", KEY).user("model = 'openai/gpt-5'");
    let figures = world.user_file().with_file_name("models.toml");
    let mine = "[providers.openai.models]\ngpt-5 = { window = 5, output = 9.5 }\nmine = {}";
    std::fs::write(&figures, mine).unwrap();
    let listed: Vec<Value> = serde_json::from_str(&models(&world, &["--json"])).unwrap();
    let of = |name: &str| listed.iter().find(|it| it["provider"] == name).unwrap();
    assert_eq!(of("openai")["key"], "OPENAI_API_KEY");
    assert_eq!(of("openai")["lacks"], json!(null));
    assert_eq!(of("anthropic")["lacks"], "set ANTHROPIC_API_KEY");
    let models = of("openai")["models"].as_array().unwrap();
    let model = |name: &str| models.iter().find(|it| it["name"] == name).unwrap();
    let ours = model("openai/gpt-5");
    assert_eq!((&ours["window"], &ours["default"]), (&json!(5), &json!(true)));
    assert_eq!((&ours["price"]["input"], &ours["price"]["output"]), (&json!(1.25), &json!(9.5)));
    assert_eq!(ours["from"][0], format!("{}:2", figures.display()));
    assert!(ours["from"][1].as_str().unwrap().starts_with("built in, "), "{ours}");
    assert_eq!(model("openai/mine")["price"], json!(null));
}
