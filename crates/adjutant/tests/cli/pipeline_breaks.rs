//! Agents in a shell script: what one says is what the next is asked, and codes tell the script
//! how it went.

use std::fs;

use crate::{
    running::Running,
    support::{Done, PROGRAM, World},
};

/// Runs a script in which `adjutant` is the command.
fn shell(world: &World, script: &str) -> Done {
    let script = format!("adjutant() {{ {PROGRAM} \"$@\"; }}\n{script}");
    Running::new(world, world.prepare("/bin/sh", &["-c", &script]), b"").finish()
}

/// Agents that say what is asked for, and only if they are asked what the one before says.
fn world() -> World {
    let reply = |task: &str, text: &str| format!("[[reply]]\ntask = '{task}'\ntext = '{text}'\n");
    ["one", "two", "three"].into_iter().fold(World::new(), |world, name| {
        let (task, text) = match name {
            "one" => ("the beginning", "first words"),
            "two" => ("first words", "second words"),
            _ => ("second words", "last words"),
        };
        let agent = format!("system_prompt = 'x'\nmodel = 'scripted/{name}.script.toml'\n");
        world
            .file(&format!("../../.adjutant/agents/{name}.toml"), &agent)
            .file(&format!("{name}.script.toml"), &reply(task, text))
    })
}

#[test]
fn what_an_agent_says_is_the_task_of_the_next_and_nothing_else_is() {
    let world = world();
    let done = shell(
        &world,
        "printf 'the beginning' | adjutant run -a one | adjutant run -a two | adjutant run -a three",
    );
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "last words\n"), "{}", done.stderr);
    for name in ["one", "two", "three"] {
        assert!(done.stderr.contains(&format!("root ({name}) completed")), "{}", done.stderr);
    }
}

#[test]
fn a_script_decides_by_the_code_of_the_agent_in_the_middle() {
    let world = world()
        .file("two.script.toml", "[[reply]]\nerror = { kind = 'refused', message = 'no' }\n");
    let script = "first=$(printf 'the beginning' | adjutant run --quiet -a one) || exit 91\n\
                  second=$(printf '%s' \"$first\" | adjutant run --quiet -a two)\n\
                  case $? in\n\
                  0) printf '%s' \"$second\" | adjutant run --quiet -a three ;;\n\
                  3) echo \"the model failed after: $first\" ;;\n\
                  *) exit 92 ;;\n\
                  esac";
    let done = shell(&world, script);
    let expected = (Some(0), "the model failed after: first words\n");
    assert_eq!((done.code, done.stdout.as_str()), expected, "{}", done.stderr);
}

#[test]
fn a_last_agent_that_is_told_nothing_says_so_and_does_not_hang() {
    let world = world().file("../../.adjutant/agents/two.toml", "frobnicate = 1");
    let done = shell(
        &world,
        "printf 'the beginning' | adjutant run --quiet -a one | { adjutant run -a two; \
         echo $? > code; } | adjutant run --quiet -a three; echo $? >> code",
    );
    // An empty pipe is no task: the last agent has its usual one, for which its script has no
    // reply.
    assert_eq!((world.read("code").as_str(), done.stdout.as_str()), ("2\n3\n", ""), "{done:?}");
}

#[test]
fn data_goes_with_a_task_through_a_pipe() {
    let world = world();
    let task = "[[reply]]\ntask = 'count these'\ntext = 'two lines'\n";
    fs::write(world.working_directory().join("one.script.toml"), task).unwrap();
    let done =
        shell(&world, "printf 'a\\nb\\n' | adjutant run --quiet -a one --stdin 'count these'");
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "two lines\n"), "{}", done.stderr);
}
