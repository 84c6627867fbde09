//! Changing what git does when a person uses it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use adjutant_tools::sandbox::Guard;

use crate::world::World;

fn git(directory: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    let status = git.arg("-C").arg(directory).args(arguments).stdout(Stdio::null()).status();
    assert!(status.unwrap().success());
}

/// Makes a world with a repository that has a commit.
fn world() -> World {
    let world = World::new();
    git(&world.scope, &["init", "--quiet"]);
    git(&world.scope, &["config", "user.name", "Eve"]);
    git(&world.scope, &["config", "user.email", "eve@localhost"]);
    git(&world.scope, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    world
}

#[test]
fn a_repository_can_be_worked_with() {
    let world = world();
    let script = "echo in > file && git add -A && git commit -qm second && git checkout -qb other \
        && git stash list && git tag here && git log --format=%s && git gc -q && git status -s";
    assert_eq!(world.works(script), "second\nfirst");
    assert!(!world.scope.join(".adjutant").exists());
}

#[test]
fn what_git_takes_orders_from_cannot_be_changed() {
    let world = world();
    let config = fs::read_to_string(world.scope.join(".git/config")).unwrap();
    for script in [
        "echo '[core] fsmonitor = evil' >> .git/config",
        "git config core.fsmonitor evil",
        "rm -f .git/config",
        "mv .git/config .git/other",
        "echo evil > .git/new && mv .git/new .git/config",
        "ln -f .git/HEAD .git/config",
        "echo evil > .git/hooks/pre-commit",
        "mv .git/hooks .git/away",
        "rm -rf .git/hooks && mkdir .git/hooks",
        "echo evil > .git/info/attributes",
        "mv .git away && mkdir -p .git/hooks",
        "rm -rf .git && git init -q",
        "chmod 777 .git/hooks",
    ] {
        world.is_refused(script);
        let git = world.scope.join(".git");
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), config, "{script}");
        assert!(!fs::exists(git.join("hooks/pre-commit")).unwrap(), "{script}");
    }
}

#[test]
fn what_is_missing_cannot_be_made_and_nothing_is_left_behind() {
    let world = world();
    fs::remove_dir_all(world.scope.join(".git/hooks")).unwrap();
    world.is_refused("mkdir .git/hooks");
    world.is_refused("echo evil > .git/hooks/pre-commit");
    world.is_refused("mkdir .adjutant");
    world.is_refused("echo evil > .adjutant/config.toml");
    world.is_refused("mv .adjutant away");
    for name in [".git/hooks", ".adjutant", ".mcp.json"] {
        assert!(!fs::exists(world.scope.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn a_file_that_must_not_be_made_does_not_stay() {
    let world = world();
    world.works("echo evil > .mcp.json");
    assert!(!fs::exists(world.scope.join(".mcp.json")).unwrap());
    let moved = fs::read_to_string(world.scope.join(".mcp.json.refused-1")).unwrap();
    assert_eq!(moved, "evil\n");
}

#[test]
fn a_repository_is_led_nowhere_while_a_command_runs_and_works_as_ever() {
    let world = world();
    for name in [".git/commondir", ".git/config.worktree"] {
        for script in [format!("echo evil > {name}"), format!("rm {name}")] {
            world.is_refused(&script);
            assert!(!fs::exists(world.scope.join(name)).unwrap(), "{script}");
        }
    }
    world.works("echo in > file && git add file && git commit -qm in && git branch other");
    let guard = Guard::of(&world.policy());
    git(&world.scope, &["status"]);
    git(&world.scope, &["worktree", "add", "--quiet", "../further", "other"]);
    git(&world.scope, &["gc", "--quiet"]);
    assert_eq!(guard.end(), [""; 0]);
}

#[test]
fn settings_that_were_replaced_from_outside_are_no_way_out() {
    let world = world();
    let config = world.scope.join(".git/config");
    let before = fs::read_to_string(&config).unwrap();
    let guard = Guard::of(&world.policy());
    let words = world.wrap(&[
        "sh".into(),
        "-c".into(),
        "\
        echo ready; read go; git config core.fsmonitor evil && echo written"
            .into(),
    ]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(&world.scope);
    let mut command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(command.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    git(&world.scope, &["config", "branch.main.remote", "origin"]);
    assert_eq!(guard.check(), [""; 0]);
    writeln!(command.stdin.take().unwrap(), "go").unwrap();
    // This is what cannot be prevented.
    assert_eq!(lines.next().unwrap().unwrap(), "written");
    command.wait().unwrap();
    let told = guard.end();
    assert!(told[0].contains("config.refused-1") && told.len() == 1, "{told:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
}

#[test]
fn a_repository_in_the_scope_is_protected_as_the_scopes_own() {
    let world = World::new();
    let deep = world.scope.join("some/where");
    fs::create_dir_all(&deep).unwrap();
    git(&deep, &["init", "--quiet"]);
    fs::create_dir(world.scope.join("tree")).unwrap();
    fs::write(world.scope.join("tree/.git"), "gitdir: elsewhere\n").unwrap();
    for script in [
        "echo evil >> some/where/.git/config",
        "mv some/where some/other && mkdir -p some/where/.git",
        "mv some other && mkdir -p some/where/.git",
        "echo 'gitdir: /evil' > tree/.git",
        "rm tree/.git",
        "mv tree other",
    ] {
        world.is_refused(script);
        assert!(deep.join(".git/HEAD").exists(), "{script}");
        let pointer = fs::read_to_string(world.scope.join("tree/.git")).unwrap();
        assert_eq!(pointer, "gitdir: elsewhere\n", "{script}");
    }
}

#[test]
fn the_repository_around_a_scope_is_read_only() {
    let mut world = world();
    world.scope = world.scope.join("inner");
    world.workdir = world.scope.clone();
    fs::create_dir(&world.scope).unwrap();
    world.works("echo in > file && git log --format=%s");
    world.is_refused("git add file");
    world.is_refused("git commit --allow-empty -m out");
}

#[test]
fn a_repository_can_be_made_and_worked_with() {
    let world = World::new();
    let script = "git init -q new && cd new && git config user.name Eve && git config user.email e \
        && echo in > file && git add -A && git commit -qm first && git worktree add -q ../tree \
        && git clone -q . ../copy && git clone -q --bare . ../bare && git init -q sub \
        && git remote add origin https://localhost/x && cd ../tree && git status -s";
    world.works(script);
    assert_eq!(refused(&world.scope), [""; 0]);
    // What was made once is protected from then on.
    world.is_refused("git -C new config core.fsmonitor evil");
    world.is_refused("echo evil > tree/.git");
}

#[test]
fn a_submodule_can_be_added() {
    let world = world();
    let add = "git init -q away && cd away && git -c user.name=E -c user.email=e commit -qm first \
        --allow-empty && cd .. && git -c protocol.file.allow=always submodule --quiet add ./away \
        in/sub";
    world.run(add);
    assert!(world.scope.join("in/sub/.git").is_file());
    assert_eq!(refused(&world.scope), [""; 0]);
}

#[test]
fn what_steers_git_in_a_repository_that_was_made_does_not_stay() {
    for (script, name) in [
        ("git init -q new && git -C new config core.fsmonitor evil", "new/.git/config"),
        ("git init -q a/b && git -C a/b config alias.st '!evil'", "a/b/.git/config"),
        ("git init -q --bare new && git -C new config core.hooksPath x", "new/config"),
        ("git init -q new && echo evil > new/.git/hooks/pre-commit", "new/.git/hooks/pre-commit"),
        ("git init -q new && cd new/.git && rm -r hooks && ln -s ../x hooks", "new/.git/hooks"),
        ("mkdir -p new x/.y && echo 'gitdir: ../x/.y' > new/.git", "new/.git"),
        ("mkdir -p x/evil && ln -s x/evil new; mkdir a; ln -s ../x/evil a/.git", "a/.git"),
        (
            "mkdir -p new/objects new/refs; echo ref: refs/heads/x > new/HEAD; echo ../y > \
          new/commondir",
            "new/commondir",
        ),
        ("mkdir new; echo x > new/HEAD; echo ../y > new/commondir", "new/commondir"),
        (
            "mkdir -p a/objects a/b; touch a/HEAD; git init -q a/b; echo x > a/b/.git/hooks/update",
            "a/b/.git/hooks/update",
        ),
        ("mkdir -p deep/.adjutant && touch deep/.adjutant/config.toml", "deep/.adjutant"),
        ("mkdir deep && echo '{}' > deep/.mcp.json", "deep/.mcp.json"),
    ] {
        let world = World::new();
        world.works(script);
        assert_eq!(refused(&world.scope), [format!("{name}.refused-1")], "{script}");
        assert!(!world.scope.join(name).is_symlink() && !world.scope.join(name).exists());
    }
}

/// Returns what was moved aside.
fn refused(scope: &Path) -> Vec<String> {
    let mut find = Command::new("find");
    let found = find.args([".", "-name", "*.refused-*"]).current_dir(scope).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    found.lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}

#[test]
fn what_the_settings_of_a_repository_lead_to_cannot_be_changed() {
    let world = world();
    fs::create_dir(world.scope.join(".husky")).unwrap();
    git(&world.scope, &["config", "core.hooksPath", ".husky"]);
    git(&world.scope, &["config", "include.path", "../own.config"]);
    world.is_refused("echo evil > .husky/pre-commit");
    world.works("echo '[core] fsmonitor = evil' > own.config");
    assert_eq!(refused(&world.scope), ["own.config.refused-1"]);
}

#[test]
fn a_bare_repository_is_protected_too() {
    let world = World::new();
    git(&world.scope, &["init", "--quiet", "--bare"]);
    world.is_refused("git config core.fsmonitor evil");
    world.is_refused("echo evil > hooks/update");
}

#[test]
fn what_cannot_be_protected_is_told() {
    let world = world();
    assert_eq!(world.lack(), None);
    fs::rename(world.scope.join(".git/hooks"), world.scope.join("hooks")).unwrap();
    symlink("../hooks", world.scope.join(".git/hooks")).unwrap();
    let lack = world.lack().unwrap();
    assert!(lack.contains(".git/hooks` is a link"), "{lack}");
}
