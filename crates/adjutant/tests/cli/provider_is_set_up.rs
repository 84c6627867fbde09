//! What a user sets for a provider is obeyed.

use std::fs;

use adjutant_core::EventKind;
use serde_json::{Value, json};

use crate::{
    server::{Act, Server, words},
    support::{Done, World},
};

const SECRET: &str = "planted-secret-000";

fn say() -> Act {
    Act::Say(words("done"))
}

/// A world in which nothing is tried twice.
fn world() -> World {
    World::new().variable("ADJUTANT_RETRY_ATTEMPTS", "1")
}

fn run(world: &World, model: &str) -> Done {
    world.run(&["run", "--quiet", "--model", model, "go"])
}

fn header<'a>(headers: &'a [String], name: &str) -> Vec<&'a str> {
    let name = format!("{name}: ");
    headers.iter().filter_map(|line| line.strip_prefix(&name)).collect()
}

#[test]
fn address_headers_and_key_of_the_file_are_used() {
    let server = Server::start(vec![say(), say()]);
    let world = world().variable("OPENAI_API_KEY", "not this one").user(&format!(
        "[providers.openai]\nbase_url = '{}/'\nkey_command = 'echo {SECRET}; echo x >> count'\n\
         headers = {{ X-Team = 'blue', User-Agent = 'me' }}",
        server.address
    ));
    for _ in 0..2 {
        let done = run(&world, "openai/test");
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"), "{}", done.stderr);
    }
    let asked = server.asked();
    assert_eq!(asked[0].headers[0], "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(header(&asked[0].headers, "authorization"), [format!("Bearer {SECRET}")]);
    assert_eq!(header(&asked[0].headers, "x-team"), ["blue"]);
    assert_eq!(header(&asked[0].headers, "user-agent"), ["me"]);
    assert_eq!(world.read("count"), "x\nx\n");
}

#[test]
fn the_environment_comes_before_the_file_and_the_command_line_before_it() {
    let [file, environment, flag] = [0; 3].map(|_| Server::start(vec![say(), say()]));
    let user = format!("[providers.openai]\nbase_url = '{}'", file.address);
    let world = world().variable("OPENAI_API_KEY", SECRET).user(&user);
    let base_url = format!("providers.openai.base_url={}", flag.address);
    assert_eq!(run(&world, "openai/test").code, Some(0));
    let world = world.variable("OPENAI_BASE_URL", &environment.address);
    assert_eq!(run(&world, "openai/test").code, Some(0));
    let done = world.run(&["run", "--model", "openai/test", "-c", &base_url, "go"]);
    assert_eq!(done.code, Some(0));
    for server in [file, environment, flag] {
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn a_provider_of_ones_own_is_spoken_to_in_its_format() {
    let server = Server::start(vec![say()]);
    let user = format!("[providers.own]\nbase_url = '{}'\nformat = 'chat'", server.address);
    let world = world().user(&user).variable("OWN_API_KEY", SECRET);
    let done = run(&world, "own/some/model");
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"), "{}", done.stderr);
    let asked = server.asked();
    assert_eq!(asked[0].body["model"], "some/model");
    assert_eq!(header(&asked[0].headers, "authorization"), [format!("Bearer {SECRET}")]);
}

#[test]
fn an_address_without_a_path_gets_the_usual_one() {
    let server = Server::start(vec![Act::Refuse("400 Bad Request", "", "{}".to_owned()); 3]);
    let address = server.address.strip_suffix("/v1").unwrap();
    for (provider, name) in [("anthropic", "ANTHROPIC"), ("gemini", "GEMINI"), ("groq", "GROQ")] {
        let world = world()
            .variable(&format!("{name}_BASE_URL"), address)
            .variable(&format!("{name}_API_KEY"), SECRET);
        assert_eq!(run(&world, &format!("{provider}/test")).code, Some(3));
    }
    let asked = server.asked();
    let paths: Vec<_> = asked.iter().map(|asked| &asked.headers[0]).collect();
    assert!(paths[0].starts_with("POST /v1/messages "), "{paths:?}");
    assert!(paths[1].starts_with("POST /v1beta/models/test"), "{paths:?}");
    assert!(paths[2].starts_with("POST /openai/v1/chat/completions "), "{paths:?}");
}

#[test]
fn how_much_to_think_is_passed_on_to_who_takes_it() {
    let server = Server::start(vec![say(), say()]);
    let world = world()
        .variable("OPENAI_API_KEY", SECRET)
        .variable("OPENAI_BASE_URL", &server.address)
        .user("reasoning = 'low'");
    for (model, told) in [("openai/gpt-5", Value::from("low")), ("openai/gpt-4o", Value::Null)] {
        assert_eq!(run(&world, model).code, Some(0));
        assert_eq!(server.asked().last().unwrap().body["reasoning_effort"], told, "{model}");
    }
}

#[test]
fn a_key_command_that_fails_is_named_and_its_words_are_not() {
    let user = format!(
        "[providers.openai]\nbase_url = 'http://127.0.0.1:9'\n\
         key_command = 'echo {SECRET}-out; echo {SECRET}-err >&2; exit 7'"
    );
    let done = run(&world().user(&user), "openai/test");
    assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""));
    let why = "`providers.openai.key_command` failed: exit status: 7";
    assert!(done.stderr.contains(why), "{}", done.stderr);
    assert!(!done.stderr.contains(SECRET), "{}", done.stderr);
}

#[test]
fn what_a_header_holds_is_shown_to_nobody() {
    let event = json!({ "error": { "message": format!("odd header {SECRET}") } });
    let refusal = json!({ "error": { "message": format!("bad header {SECRET}") } }).to_string();
    let event = Act::Send(format!("data: {event}\n\n").into_bytes());
    let refusals = [Act::Refuse("400 Bad Request", "", refusal), event];
    for (refusal, shown) in refusals.into_iter().zip(["bad header", "odd header"]) {
        let server = Server::start(vec![refusal]);
        let user = format!(
            "[providers.openai]\nbase_url = '{}'\nheaders = {{ X-Secret = '{SECRET}' }}",
            server.address
        );
        let world = world().user(&user).variable("OPENAI_API_KEY", "k");
        let done = world.run(&["run", "--events", "--model", "openai/test", "go"]);
        assert_eq!(done.code, Some(3), "{}", done.stdout);
        assert!(done.stdout.contains(&format!("{shown} [hidden]")), "{}", done.stdout);
        let kept = format!("{:?}", world.journal());
        for text in [&done.stdout, &done.stderr, &kept] {
            assert!(!text.contains(SECRET), "{text}");
        }
        assert_eq!(header(&server.asked()[0].headers, "x-secret"), [SECRET]);
    }
}

#[test]
fn half_a_secret_is_not_shown_either() {
    let refusal = format!("{}{SECRET}", "x".repeat(490));
    let server = Server::start(vec![Act::Refuse("400 Bad Request", "", refusal)]);
    let world = world().variable("OPENAI_API_KEY", SECRET);
    let done = run(&world.variable("OPENAI_BASE_URL", &server.address), "openai/test");
    assert_eq!(done.code, Some(3));
    assert!(done.stderr.contains("xxx") && !done.stderr.contains(&SECRET[..8]), "{}", done.stderr);
}

#[test]
fn a_header_of_ones_own_stands_in_for_the_key() {
    let server = Server::start(vec![say()]);
    let user = format!(
        "[providers.openai]\nbase_url = '{}'\nheaders = {{ Authorization = 'Basic x' }}",
        server.address
    );
    let world = world().user(&user).variable("OPENAI_API_KEY", SECRET);
    assert_eq!(run(&world, "openai/test").code, Some(0));
    assert_eq!(header(&server.asked()[0].headers, "authorization"), ["Basic x"]);
}

#[test]
fn requests_go_through_the_proxy_that_was_set() {
    let proxy = Server::start(vec![say()]);
    let address = proxy.address.strip_suffix("/v1").unwrap();
    let settings = |url: &str, proxy: &str| {
        format!("[providers.openai]\nbase_url = '{url}'\nproxy = '{proxy}'")
    };
    let with = |settings: &str| world().user(settings).variable("OPENAI_API_KEY", SECRET);
    let plain = with(&settings("http://models.invalid/v1", address));
    assert_eq!(run(&plain, "openai/test").code, Some(0));
    let line = "POST http://models.invalid/v1/chat/completions HTTP/1.1";
    assert_eq!(proxy.asked()[0].headers[0], line);

    let proxy = Server::start(vec![Act::Refuse("403 Forbidden", "", String::new())]);
    let address = proxy.address.strip_suffix("/v1").unwrap();
    let secure = with(&settings("https://models.invalid/v1", address));
    assert_eq!(run(&secure, "openai/test").code, Some(3));
    let asked = proxy.asked();
    assert_eq!(asked[0].headers[0], "CONNECT models.invalid:443 HTTP/1.1");
    assert!(!format!("{asked:?}").contains(SECRET), "{asked:?}");
}

#[test]
fn the_proxy_of_the_system_is_for_others_and_can_be_declined() {
    let [proxy, server] = [0; 2].map(|_| Server::start(vec![say(), say()]));
    let address = proxy.address.strip_suffix("/v1").unwrap();
    let world = |base_url: &str| {
        let world = world().variable("http_proxy", address).variable("OPENAI_API_KEY", SECRET);
        world.variable("OPENAI_BASE_URL", base_url)
    };
    assert_eq!(run(&world("http://models.invalid/v1"), "openai/test").code, Some(0));
    assert_eq!(proxy.asked().len(), 1);
    assert_eq!(run(&world(&server.address), "openai/test").code, Some(0));
    assert_eq!(server.asked().len(), 1);
    let declined = world("http://models.invalid/v1").user("providers.openai.proxy = 'none'");
    assert_eq!(run(&declined, "openai/test").code, Some(3));
    assert_eq!(proxy.asked().len(), 0);
}

#[test]
fn a_provider_that_says_nothing_is_given_up() {
    let begun = Act::Wait(words("so far")[..1].to_vec());
    for (act, why) in [
        (Act::Silence, "it said nothing for 1 s"),
        (begun, "the answer broke off: operation timed out"),
    ] {
        let server = Server::start(vec![act]);
        let user = format!("[providers.openai]\nbase_url = '{}'\ntimeout = 1", server.address);
        let world = world().user(&user).variable("OPENAI_API_KEY", SECRET);
        let done = world.run(&["run", "--events", "--model", "openai/test", "go"]);
        assert_eq!(done.code, Some(3), "{}", done.stdout);
        let wrong = done.events().into_iter().find_map(|event| match event.kind {
            EventKind::Finished { outcome, .. } => outcome.reason.clone(),
            _ => None,
        });
        assert!(wrong.is_some_and(|wrong| wrong.contains(why)), "{}", done.stdout);
        server.was_left();
    }
}

#[test]
fn figures_of_the_users_own_give_a_price_and_so_a_budget() {
    let server = Server::start(vec![say(), say()]);
    let user = |address: &str| format!("[providers.own]\nbase_url = '{address}'\nformat = 'chat'");
    let arguments = ["run", "--json", "--model", "own/test", "-c", "budget.usd=1", "go"];
    let elsewhere = world().user(&user("https://a.example"));
    assert!(elsewhere.refused(&arguments).contains("the price of `own/test` is not known"));
    let world = world().user(&user(&server.address));

    let figures = world.user_file().with_file_name("models.toml");
    fs::write(&figures, "[providers.own.models]\ntest = { input = 100, output = 200 }").unwrap();
    let done = world.run(&arguments);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    // 90 tokens read and 10 written.
    let result: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(result["cost_usd"], 0.011, "{result}");

    fs::write(&figures, "[providers.own.models]\n\ntest = { price = 1 }").unwrap();
    let said = world.run(&arguments);
    assert_eq!(said.code, Some(2));
    let place = format!("error: {}:3: unknown field `price`", figures.display());
    assert!(said.stderr.starts_with(&place), "{}", said.stderr);
}
