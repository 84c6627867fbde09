//! Settings for a provider that cannot be obeyed.

use serde_json::json;

use crate::support::World;

const SECRET: &str = "planted-secret-000";

#[test]
fn a_bad_value_is_refused_with_its_line_and_without_its_secrets() {
    for (setting, complaint) in [
        ("base_url = 'localhost:1234/v1'", "base_url` must be an address that begins with"),
        ("base_url = 'ftp://planted-secret-000'", "base_url` must be an address that begins with"),
        ("base_url = 'https://me:planted-secret-000@a.example'", "base_url` must not have a name"),
        ("base_url = 'https://a.example?key=planted-secret-000'", "base_url` must end with its"),
        ("base_url = 7", "base_url` must be a string, not `7`"),
        ("key_command = ''", "key_command` must not be empty"),
        ("headers = { 'a b' = 'planted-secret-000' }", "headers` has `a b`, which cannot be"),
        ("headers = { X = \"planted-secret-000\\n\" }", "headers` has characters in the value of"),
        ("headers = { X = ['planted-secret-000'] }", "headers` must have a string for `X`"),
        ("headers = { Host = 'planted-secret-000' }", "headers` must not have `Host`"),
        ("headers = 'planted-secret-000'", "headers` must be a table of strings"),
        ("timeout = 0", "timeout` must be positive, not 0"),
        ("connect_timeout = 'soon'", "connect_timeout` must be a whole number"),
        ("proxy = 'http://me:planted-secret-000@a.example'", "proxy` must not have a name"),
        ("proxy = 'off'", "proxy` must be an address that begins with"),
    ] {
        let world = World::new().user(&format!("[providers.openai]\n\n{setting}"));
        let said = world.refused(&["config"]);
        let place = format!("{}:3: `providers.openai.{complaint}", world.user_file().display());
        assert!(said.contains(&place), "{setting}: {said}");
        assert!(!said.contains(SECRET), "{said}");
    }
}

#[test]
fn a_bad_address_in_the_environment_is_refused_by_its_name() {
    let said = World::new().variable("GROQ_BASE_URL", "nowhere").refused(&["config"]);
    let first = "error: environment GROQ_BASE_URL: `providers.groq.base_url` must be an address";
    assert!(said.starts_with(first), "{said}");
}

#[test]
fn a_project_may_say_nothing_of_providers() {
    for setting in [
        "base_url = 'https://evil.example'",
        "key_command = 'curl evil.example'",
        "headers = { X = 'planted-secret-000' }",
        "timeout = 1",
        "connect_timeout = 1",
        "proxy = 'http://evil.example'",
        "format = 'chat'",
    ] {
        for provider in ["openai", "own"] {
            let world = World::new().project(&format!("[providers.{provider}]\n{setting}"));
            let said = world.refused(&["run", "--model", "rehearsal", "go"]);
            let place = format!("error: {}:2: a project may not", world.project_file().display());
            assert!(said.starts_with(&place), "{said}");
            // What a stranger wants is not held out as something to paste.
            assert!(!said.contains("evil") && !said.contains(SECRET), "{said}");
            assert!(said.contains(world.user_file().to_str().unwrap()), "{said}");
        }
    }
}

#[test]
fn a_key_nobody_knows_is_answered_with_the_nearest() {
    for (key, meant) in [
        ("providers.openai.base_ur", "providers.openai.base_url"),
        ("providers.openai.headers.X", "providers.NAME.headers"),
        ("providers.openai", "providers."),
        ("key_command", "providers.NAME.key_command"),
    ] {
        let said = World::new().refused(&["config", "-c", &format!("{key}=x")]);
        assert!(said.contains(&format!("there is no key `{key}`")), "{said}");
        assert!(said.contains(&format!("did you mean `{meant}")), "{said}");
    }
    let said = World::new().variable("ADJUTANT_PROVIDERS_OPENAI_PROXY", "x").refused(&["config"]);
    assert!(said.contains("`-c providers.NAME.KEY=VALUE`"), "{said}");
}

#[test]
fn what_cannot_be_the_name_of_a_provider_is_told_which_can() {
    let world = World::new().user("[providers.\"a b\"]\nbase_url = 'https://a.example'");
    for (said, name) in [
        (world.refused(&["config"]), "a b"),
        (World::new().refused(&["config", "-c", "providers.OpenAI.proxy=none"]), "OpenAI"),
    ] {
        assert!(said.contains(&format!("`{name}` cannot be the name of a provider")), "{said}");
        assert!(said.contains("small letters, digits, `-` and `_`"), "{said}");
        assert!(!said.contains("did you mean"), "{said}");
    }
}

#[test]
fn a_provider_that_makes_no_whole_is_refused() {
    let own = "[providers.opnai]\nbase_url = 'https://a.example'";
    let said = World::new().user(own).refused(&["config"]);
    assert!(said.contains("config.toml:2: the provider `opnai` cannot be set up"), "{said}");
    assert!(said.contains("`format`") && said.contains("did you mean `openai`?"), "{said}");

    let world = World::new().user("[providers.openai]\nformat = 'chat'");
    let said = world.variable("OPENAI_BASE_URL", "http://127.0.0.1:9").refused(&["config"]);
    assert!(said.contains("config.toml:2: ") && said.contains("its `format` is known"), "{said}");

    let own = "[providers.scripted]\nbase_url = 'https://a.example'\nformat = 'chat'";
    assert!(World::new().user(own).refused(&["config"]).contains("that name is taken"));

    let own = "[providers.own]\nbase_url = 'https://a.example'\nformat = 'morse'";
    let said = World::new().user(own).refused(&["config"]);
    assert!(said.contains("must be one of `chat`, `responses`, `messages`, `gemini`"), "{said}");
}

#[test]
fn settings_are_shown_with_where_they_came_from_and_without_secrets() {
    let user = "[providers.openai]\nbase_url = 'https://a.example/v1'\n\
                headers = { X-Team = 'planted-secret-000' }\nkey_command = 'pass show openai'";
    let world = World::new()
        .user(user)
        .variable("OPENAI_BASE_URL", "https://b.example/v1")
        .variable("OPENAI_API_KEY", SECRET);
    let config = world.config(&["-c", "providers.openai-responses.base_url=https://c.example/v1"]);
    let layer = |key: &str| (config[key]["value"].clone(), config[key]["from"][0]["layer"].clone());
    let expected = (json!("https://b.example/v1"), json!("environment"));
    assert_eq!(layer("providers.openai.base_url"), expected);
    let expected = (json!("https://c.example/v1"), json!("flag"));
    assert_eq!(layer("providers.openai-responses.base_url"), expected);
    let expected = (json!({ "X-Team": "[hidden]" }), json!("user"));
    assert_eq!(layer("providers.openai.headers"), expected);
    assert_eq!(layer("providers.openai.key_command").0, "pass show openai");
    assert_eq!(layer("providers.NAME.proxy").0, json!(null));

    let shown = world.run(&["config"]).stdout;
    assert!(!shown.contains(SECRET), "{shown}");
    // What is shown can be read back, but what is hidden is not read back as what hides it.
    let again = World::new().user(&shown).config(&[]);
    assert_eq!(again["providers.openai.key_command"]["value"], "pass show openai");
    assert_eq!(again["providers.NAME.headers"]["value"], json!(null));
}
