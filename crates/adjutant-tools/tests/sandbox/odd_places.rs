//! Scopes, directories and words that are out of the ordinary.

use std::{fs, os::unix::fs::symlink};

use crate::world::World;

#[test]
fn a_directory_may_have_any_name() {
    for name in ["with space", "quo\"te's", "new\nline", "ünïcödé 🎈", "-dash", "--", "$HOME;`id`"]
    {
        let mut world = World::new();
        world.scope = world.scope.join(name);
        world.workdir = world.scope.clone();
        fs::create_dir_all(world.scope.join(".git/hooks")).unwrap();
        fs::write(world.scope.join(".git/config"), "").unwrap();
        fs::write(world.scope.join(".git/HEAD"), "").unwrap();
        world.works("echo in > file");
        world.is_refused("echo evil > .git/config");
        world.is_refused("echo out > ../file");
        assert!(world.scope.join("file").exists());
    }
}

#[test]
fn a_scope_may_be_a_file() {
    let mut world = World::new();
    let file = world.scope.join("file");
    fs::write(&file, "").unwrap();
    fs::write(world.scope.join("other"), "").unwrap();
    world.scope = file.clone();
    world.works("echo in > file");
    assert_eq!(fs::read_to_string(file).unwrap(), "in\n");
    world.is_refused("echo out > other");
    world.is_refused("echo out > new");
}

#[test]
fn a_scope_that_is_not_there_opens_nothing() {
    let mut world = World::new();
    world.scope = world.scope.join("missing");
    world.works("true");
    world.is_refused("mkdir missing");
    world.is_refused("echo out > file");
}

#[test]
fn a_scope_that_is_a_link_opens_nothing() {
    let mut world = World::new();
    symlink(&world.outside, world.scope.join("link")).unwrap();
    world.scope = world.scope.join("link");
    world.is_refused("echo out > $OUT/file");
    world.is_refused("echo out > link/file");
}

#[test]
fn a_link_that_was_put_there_since_ends_the_command() {
    let world = World::new();
    let mut policy = world.policy();
    symlink(&world.outside, world.scope.join("link")).unwrap();
    policy.writable.push(world.scope.join("link"));
    let outcome = world.under(&policy, &["sh", "-c", "echo out > $OUT/new"].map(Into::into));
    assert_ne!(outcome.code, Some(0));
    assert!(!world.outside.join("new").exists());
    assert!(outcome.error.contains("there is a link in"), "{outcome:?}");
}

#[test]
fn a_scope_in_a_temporary_directory_is_there_and_its_neighbours_are_not() {
    let place = tempfile::tempdir().unwrap();
    let real = place.path().canonicalize().unwrap();
    let (scope, neighbour) = (real.join("scope"), real.join("neighbour"));
    fs::create_dir(&scope).unwrap();
    fs::create_dir(&neighbour).unwrap();
    let mut world = World { workdir: scope.clone(), scope, ..World::new() };
    world.works("echo in > file");
    assert_eq!(fs::read_to_string(world.scope.join("file")).unwrap(), "in\n");
    assert_eq!(world.works("ls .."), "scope");
    world.workdir = neighbour;
    assert_eq!(world.works("pwd"), real.join("neighbour").display().to_string());
    world.is_refused("echo out > file");
}

#[test]
fn words_may_be_many_and_long() {
    let world = World::new();
    let long = "x".repeat(120_000);
    let mut command = ["sh", "-c", "echo $# ${#1}", "sh"].map(Into::into).to_vec();
    command.extend(std::iter::once(long.into()).chain((1..3000).map(|_| "-".into())));
    assert_eq!(world.start(&command).output, "3000 120000");
    // More than bubblewrap takes: nothing is run, and somebody says so.
    command.extend((0..10_000).map(|_| "-".into()));
    let outcome = world.start(&command);
    assert_ne!(outcome.code, Some(0));
    assert_ne!(outcome.error, "");
}

#[test]
fn what_would_be_loaded_into_every_program_is_not_loaded_into_the_confiner() {
    let world = World::new();
    assert_eq!(world.works("echo ${LD_PRELOAD-none}"), "none");
    let source = "#include <unistd.h>\n#include <stdlib.h>\n\
        __attribute__((constructor)) void loaded(void) { \
        if (getppid() == 1) { if (write(1, \"loaded\\n\", 7)) _exit(0); } }";
    fs::write(world.scope.join("evil.c"), source).unwrap();
    world.works("cc -shared -fPIC evil.c -o evil.so");
    let evil = world.scope.join("evil.so");
    let command = ["echo", "after"].map(Into::into);
    let outcome = world.with(&world.policy(), &command, &[("LD_PRELOAD", evil.as_os_str())]);
    assert_eq!(outcome.output, "after");
}

#[test]
fn a_temporary_directory_that_is_not_there_is_not_used() {
    let world = World::new();
    let command = ["sh", "-c", "mktemp"].map(Into::into);
    let outcome = world.with(&world.policy(), &command, &[("TMPDIR", "/tmp/user/1".as_ref())]);
    assert!(outcome.output.starts_with("/tmp/tmp."), "{outcome:?}");
}
