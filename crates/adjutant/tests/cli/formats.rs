//! Whatever is spoken with a provider, a tree of agents is carried through, and what is sent
//! is what the provider wants.

use std::fs;

use adjutant_core::Usage;
use serde_json::{Value, json};

use crate::{
    server::{Act, Call, Format, Gemini, Messages, Server, in_each_format},
    support::World,
};

in_each_format! {
    a_tree_is_carried_through
    thoughts_come_back_as_they_were
    each_request_begins_with_the_one_before
}

/// A world in which nothing is tried twice.
fn world(server: &Server) -> World {
    let world = server.set_up(World::new()).variable("ADJUTANT_RETRY_ATTEMPTS", "1");
    world.file("a.txt", "alpha and beta\n")
}

fn read(path: &str) -> Call<'_> {
    ("read_file", json!({ "path": path }))
}

fn ask(prompt: &str) -> Call<'_> {
    ("sub_agent", json!({ "prompt": prompt }))
}

fn a_tree_is_carried_through(format: &'static dyn Format) {
    let look = || Act::Say(format.calls(&[read("a.txt")]));
    let say = |text: &str| Act::Say(format.words(text));
    let delegate = format.calls(&[ask("count"), read("none.txt"), read("a.txt"), ask("count")]);
    let delegate = [format.words("Let us see."), delegate].concat();
    let children = [look(), look(), say("three"), say("three")];
    let acts = [vec![look(), Act::Say(delegate)], children.to_vec(), vec![say("all is well")]];
    let server = Server::strict(format, acts.concat());
    let done = world(&server).run(&["run", "--json", "look"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{}", done.stdout);
    let result: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&result["text"], &result["turns"]), (&"all is well".into(), &7.into()));
    let usage = Usage { input: 7 * 90, output: 7 * 10, cache_read: 7 * 64, ..Usage::default() };
    let cache_write = if format.provider().0 == "anthropic" { 7 * 6 } else { 0 };
    let usage = Usage { cache_write, reasoning: 7 * 4, ..usage };
    assert_eq!(serde_json::from_value::<Usage>(result["tokens"].clone()).unwrap(), usage);
    let asked = server.asked();
    let last = &asked[6].raw;
    assert_eq!((asked.len(), last.matches("alpha and beta").count()), (7, 2), "{last}");
    assert_eq!(last.matches("three").count(), 2, "{last}");
}

fn thoughts_come_back_as_they_were(format: &'static dyn Format) {
    let think = |thought: &str, path| {
        let said = [format.thoughts(thought), format.words("I look."), format.calls(&[read(path)])];
        Act::Say(said.concat())
    };
    let acts = vec![think("one — 1", "a.txt"), think("two \"2\"", "b.txt"), think("three\n", ".")];
    let server = Server::strict(format, [acts, vec![Act::Say(format.words("done"))]].concat());
    let world = world(&server).user("reasoning = 'low'");
    // It is not known of this model that it can be told.
    let figures =
        format!("[providers.{}.models]\ntest-model.thinking = 'level'", format.provider().0);
    fs::write(world.user_file().with_file_name("models.toml"), figures).unwrap();
    let done = world.run(&["run", "--quiet", "look"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "done\n"), "{}", done.stderr);
    let last = server.asked().pop().unwrap().raw;
    assert!(last.contains("\"low\"") && last.matches("+/=_").count() >= 3, "{last}");
}

fn each_request_begins_with_the_one_before(format: &'static dyn Format) {
    let look = |path| Act::Say(format.calls(&[read(path), read("a.txt")]));
    let acts = vec![look("a.txt"), look("b.txt"), look("."), Act::Say(format.words("done"))];
    let server = Server::strict(format, acts);
    assert_eq!(world(&server).run(&["run", "--quiet", "look"]).code, Some(0));
    let unmarked = |raw: &String| raw.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let bodies: Vec<_> = server.asked().iter().map(|asked| unmarked(&asked.raw)).collect();
    for pair in bodies.windows(2) {
        // What follows the conversation may differ.
        let conversation = &pair[0][..=pair[0].rfind(r#"}],""#).unwrap()];
        assert!(pair[1].starts_with(conversation), "{}\n{}", pair[0], pair[1]);
    }
}

#[test]
fn a_child_may_be_with_another_provider() {
    let order = json!({ "prompt": "count the words", "model": "gemini/test-model" });
    let delegate = [Messages.thoughts("whom?"), Messages.calls(&[("sub_agent", order)])].concat();
    let root = Server::strict(
        &Messages,
        vec![Act::Say(delegate), Act::Say(Messages.words("it is three"))],
    );
    let look = Act::Say(Gemini.calls(&[read("a.txt"), read("b.txt")]));
    let child = Server::strict(&Gemini, vec![look, Act::Say(Gemini.words("three"))]);
    let done = root.set_up(world(&child)).run(&["run", "--quiet", "look"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "it is three\n"), "{}", done.stderr);
    let [asked, told] = [child.asked(), root.asked()];
    assert!(asked[0].raw.contains("count the words") && !asked[0].raw.contains("whom?"));
    assert!(asked[1].raw.contains("alpha and beta"), "{}", asked[1].raw);
    assert!(told[1].raw.contains("three"), "{}", told[1].raw);
}
