//! A key, and whatever else is secret, is told to its provider and to nobody else, though the
//! provider tells it to everybody.

use std::{fs, path::Path};

use serde_json::json;

use crate::{
    server::{Act, Format, KEY, Server, in_each_format},
    support::{Done, World},
};

in_each_format! {
    the_key_is_told_to_nobody
    the_secret_of_a_header_is_told_to_nobody
}

/// As much of a secret as may not be seen.
const HALF: usize = 9;

/// Returns all that a run leaves behind.
fn traces(world: &World, done: &Done) -> Vec<u8> {
    fn files(directory: &Path, bytes: &mut Vec<u8>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, bytes);
            } else {
                bytes.extend(fs::read(&path).unwrap());
            }
        }
    }
    let mut traces = [done.stdout.as_bytes(), done.stderr.as_bytes()].concat();
    files(&world.data_home(), &mut traces);
    files(&world.project_directory(), &mut traces);
    traces
}

fn ensure_hidden(secret: &str, world: &World, done: &Done) {
    let traces = traces(world, done);
    let traces = String::from_utf8_lossy(&traces);
    let shown = traces.find(&secret[..HALF]);
    assert_eq!(shown.map(|at| &traces[traces.floor_char_boundary(at - 99)..][..200]), None);
}

fn the_key_is_told_to_nobody(format: &'static dyn Format) {
    let telling = format.failure(&format!("{KEY}, wait: {KEY}"));
    let busy = Act::Refuse("429 Too Many Requests", "", telling.to_string());
    let denied = Act::Refuse("401 Unauthorized", "", telling.to_string());
    let half = format.begin(&format.words("half"));
    let broken = Act::Send(format!("{half}data: {telling}\n\n").into());
    // Not JSON, so that its beginning is shown: wherever that is cut.
    let nonsense = (81..=89).map(|length| Act::Send(format!("data: {KEY:->length$}\n\n").into()));
    let child = Act::Say(format.calls(&[("sub_agent", json!({ "prompt": "count" }))]));
    let acts = vec![busy, broken, child, denied.clone(), denied.clone()];
    let server = Server::strict(format, nonsense.chain(acts).collect());
    let world = server
        .set_up(World::new())
        .variable("ADJUTANT_RETRY_CAP_MS", "1")
        .variable("ADJUTANT_RETRY_ATTEMPTS", "40");
    let done = world.run(&["run", "--events", "--record", "tape.json", "look"]);
    assert_eq!(done.code, Some(3), "{}", done.stdout);
    for told in [&done.stdout, &world.read("tape.json")] {
        assert!(told.matches("[key], wait: [key]").count() >= 4, "{told}");
    }
    ensure_hidden(KEY, &world, &done);
    for shown in ["--json", "--quiet"] {
        let server = Server::strict(format, vec![denied.clone()]);
        let world = server.set_up(World::new());
        let done = world.run(&["run", shown, "look"]);
        assert_eq!(done.code, Some(3), "{}", done.stdout);
        ensure_hidden(KEY, &world, &done);
    }
}

fn the_secret_of_a_header_is_told_to_nobody(format: &'static dyn Format) {
    let (provider, _) = format.provider();
    let telling = format.failure("no user is called c2VjcmV0OnNlY3JldA== here");
    let broken = Act::Send(format!("data: {telling}\n\n").into());
    let denied = Act::Refuse("401 Unauthorized", "", telling.to_string());
    let server = Server::strict(format, vec![broken, denied]);
    let world = server.set_up(World::new()).user(&format!(
        "[providers.{provider}]\nheaders = {{ X-Gateway = 'Basic c2VjcmV0OnNlY3JldA==' }}"
    ));
    let done = world.run(&["run", "--events", "--record", "tape.json", "look"]);
    assert_eq!(done.code, Some(3), "{}", done.stdout);
    assert!(done.stdout.contains("no user is called [hidden] here"), "{}", done.stdout);
    ensure_hidden("c2VjcmV0OnNlY3JldA==", &world, &done);
}
