//! A model on the command line does not count for all agents.

use crate::{support::World, told::Recorded};

const CALLS: &str = "[[reply]]\nagent = 'root'\nturn = 1\n\
                     calls = [{ tool = 'call_agent', args = { agent = 'b', task = 'look' } }]\n\
                     [[reply]]\ntimes = 'any'\ntext = 'said by the one that was given'\n";

fn world() -> World {
    World::new()
        .script(CALLS)
        .file("given.toml", CALLS)
        .file("own.toml", "[[reply]]\ntimes = 'any'\ntext = 'said by its own'\n")
        .file(
            ".adjutant/agents/a.toml",
            "system_prompt = 'x'\nsub_agents = ['b']\nmodel = 'scripted/own.toml'",
        )
        .file(".adjutant/agents/b.toml", "system_prompt = 'x'\nmodel = 'scripted/own.toml'")
}

#[test]
fn a_model_on_the_command_line_is_everybodys() {
    for flags in [["--model", "scripted/given.toml"], ["-c", "model=scripted/given.toml"]] {
        let arguments = [&flags[..], &["-a", "a", "go"]].concat();
        let recorded = Recorded::new(&world(), &arguments).everything();
        assert!(recorded.contains("root.b-1"), "{recorded}");
        assert!(!recorded.contains("said by its own"), "{flags:?}: {recorded}");
    }
}

#[test]
fn a_model_in_the_environment_is_the_roots() {
    let recorded = Recorded::new(&world(), &["-a", "a", "go"]).everything();
    assert!(recorded.contains("said by its own"), "{recorded}");
    assert!(recorded.contains("said by the one that was given"), "{recorded}");
}
