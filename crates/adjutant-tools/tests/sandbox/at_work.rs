//! What a command must be able to do.

use std::fs;

use crate::world::World;

#[test]
fn ordinary_work_works() {
    let world = World::new();
    for script in [
        "mkdir -p a/b && echo one > a/b/c && mv a/b/c a/d && cp a/d a/e && rm -r a",
        "printf '#!/bin/sh\\necho ran\\n' > script && chmod +x script && test $(./script) = ran",
        "seq 10 | sort -r | head -3 > sorted && test $(wc -l < sorted) = 3",
        "f=$(mktemp) && echo x > $f && mkdir -p ${TMPDIR:-/tmp}/x && rm $f",
        "ln -s sorted link && ln sorted hard && mkfifo pipe && touch -d yesterday sorted",
        "echo x > /dev/null && head -c 8 /dev/urandom > bytes && test -w /dev/zero",
        "cat /etc/passwd > /dev/null && ls / /usr/bin > /dev/null && ps > processes; true",
        "sleep 1000 & kill $! && ! wait $!",
    ] {
        world.works(script);
    }
    assert!(world.scope.join("script").exists());
}

#[test]
fn a_program_can_be_compiled_and_run() {
    let world = World::new();
    let source = "#include <stdio.h>\nint main(void) { return puts(\"compiled\") < 0; }\n";
    fs::write(world.scope.join("a.c"), source).unwrap();
    assert_eq!(world.works("cc a.c -o a && ./a"), "compiled");
}

#[test]
fn a_repository_can_be_made() {
    let world = World::new();
    let script = "git init -q new && cd new && git config user.name Eve \
        && git config user.email eve@localhost && git commit -q --allow-empty -m first \
        && git log --format=%s";
    assert_eq!(world.works(script), "first");
}

#[test]
fn the_exit_code_the_output_and_the_environment_pass_through() {
    let world = World::new();
    let outcome = world.run("echo said; echo complained >&2; exit 7");
    assert_eq!((outcome.code, &*outcome.output, &*outcome.error), (Some(7), "said", "complained"));
    assert_eq!(world.run("kill -9 $$").code, Some(137));
    assert_eq!(
        world.works("echo $OUT; pwd"),
        format!("{}\n{}", world.outside.display(), world.workdir.display())
    );
}

#[test]
fn a_command_that_is_not_there_says_so() {
    let world = World::new();
    let outcome = world.start(&["no-such-program".into()]);
    assert_ne!(outcome.code, Some(0));
    assert!(outcome.error.contains("no-such-program"), "{outcome:?}");
}
