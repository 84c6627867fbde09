//! More connections than a process has room for when it starts.

use serde_json::json;

use crate::{
    running::Running,
    server::{Act, Server, calls, words},
    support::{PROGRAM, World},
};

const CHILDREN: usize = 40;
/// Runs a command that may have fewer files open than that, unless it asks for more.
const FEW_FILES: &str = r#"ulimit -Sn 32 && exec "$0" "$@""#;

#[test]
fn there_is_room_for_a_connection_of_every_child() {
    let part = |number: usize| ("sub_agent", json!({ "prompt": format!("part {number}") }));
    let parts: Vec<_> = (0..CHILDREN).map(part).collect();
    let mut acts = vec![Act::Say(calls(&parts))];
    acts.resize(1 + CHILDREN, Act::Wait(words("so far")));
    let server = Server::start(acts);
    let world = server.set_up(World::new());
    let limits = ["concurrent_agents", "children_per_agent", "concurrent_ops", "model_calls"];
    let limits = limits.map(|limit| format!("limits.max_{limit}={CHILDREN}"));
    let run = ["-c", FEW_FILES, PROGRAM, "run", "--quiet", "look"].into_iter();
    let run: Vec<_> = run.chain(limits.iter().flat_map(|limit| ["-c", limit])).collect();
    let _running = Running::new(&world, world.prepare("/bin/sh", &run), b"");
    let held: Vec<_> = (0..CHILDREN).map(|_| server.held()).collect();
    assert!(!held.iter().any(|held| held.is_left()));
}
