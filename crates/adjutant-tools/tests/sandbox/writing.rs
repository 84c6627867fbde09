//! Writing where it is not allowed.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::{PermissionsExt as _, symlink},
    process::{Command, Stdio},
};

use crate::world::{World, prepared, probe};

#[test]
fn nothing_outside_the_scope_can_be_changed() {
    let world = World::new();
    symlink(&world.outside, world.scope.join("way")).unwrap();
    symlink(world.outside.join("file"), world.scope.join("file")).unwrap();
    for script in [
        "echo out > $OUT/new",
        "echo out > $OUT/file",
        "echo out >> way/file",
        "echo out > file",
        "echo out > /proc/self/cwd/../outside/file",
        "echo out > ../outside/file",
        "rm -f $OUT/file",
        "mv $OUT/file here",
        "truncate -s 0 $OUT/file",
        "chmod 777 $OUT/file",
        "chown $(id -u) $OUT/file",
        "touch $OUT/file",
        "touch -d yesterday $OUT",
        "mkdir $OUT/directory",
        "ln -s x $OUT/link",
        "ln $OUT/file here",
        "ln file here && echo out > here",
        "mkfifo $OUT/pipe",
        "mv ../scope ../elsewhere",
        "rm -r $OUT && mkdir $OUT",
        "ln -s $OUT/file soft && ln -L soft hard",
        "cp -l $OUT/file hard",
    ] {
        world.is_refused(script);
    }
}

#[test]
fn the_temporary_directories_are_the_commands_own() {
    let world = World::new();
    let name = world.place().file_name().unwrap().to_str().unwrap().to_owned();
    for place in ["/tmp", "/var/tmp", "/run", "/dev/shm"] {
        let file = format!("{place}/sandbox-{name}");
        world.works(&format!("echo own > {file} && test $(cat {file}) = own"));
        assert!(!fs::exists(&file).unwrap(), "{file}");
        assert_eq!(world.works(&format!("ls {place} | grep -v adjutant; true")), "", "{place}");
    }
}

#[test]
fn what_the_runtime_keeps_for_itself_is_not_seen() {
    let mut world = World::new();
    let own = world.place().join("runtime");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("key"), "secret").unwrap();
    world.runtime = vec![own.clone(), world.outside.join("file")];
    let own = own.display();
    assert_eq!(world.works(&format!("ls {own}")), "");
    world.is_refused(&format!("cat {own}/key"));
    world.is_refused(&format!("echo out > {own}/key"));
    world.is_refused(&format!("rmdir {own}"));
    world.is_refused("cat $OUT/file");
    // What in it stands for the scope is worked in.
    let tree = world.place().join("runtime/tree");
    fs::create_dir(&tree).unwrap();
    (world.workdir, world.copy) = (tree.clone(), Some(tree.clone()));
    world.works("echo in > file");
    assert_eq!(world.works("ls .."), "tree");
    assert_eq!(fs::read_to_string(tree.join("file")).unwrap(), "in\n");
}

#[test]
fn what_the_runtime_keeps_inside_the_scope_is_read_only() {
    let mut world = World::new();
    let own = world.scope.join("deep/own");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("file"), "kept").unwrap();
    world.runtime = vec![own.clone()];
    for script in [
        "echo out > deep/own/file",
        "touch deep/own/new",
        "rm -r deep/own",
        "mv deep/own deep/away",
        "mv deep away && mkdir -p deep/own",
        "chmod 777 deep/own",
    ] {
        world.is_refused(script);
        assert_eq!(fs::read_to_string(own.join("file")).unwrap(), "kept", "{script}");
    }
    world.works("cat deep/own/file && echo in > deep/file");
}

#[test]
fn secrets_of_the_user_are_not_seen() {
    let world = World::new();
    let home = std::env::home_dir().unwrap();
    let policy = world.policy();
    for name in [".ssh", ".aws", ".netrc", ".docker", ".pgpass"] {
        assert!(policy.hidden.contains(&home.join(name)), "{name}");
    }
    for place in [world.scope.clone(), world.place()] {
        fs::create_dir(place.join("directory")).unwrap();
        fs::write(place.join("directory/key"), "secret").unwrap();
        fs::write(place.join("key"), "secret").unwrap();
        let hidden = ["directory", "key", "missing"].map(|name| place.join(name)).to_vec();
        let mut policy = policy.clone();
        policy.hidden = hidden;
        for attempt in ["cat directory/key", "cat key", "echo x > directory/new", "rm key"] {
            let script = format!("cd {} && {attempt}", place.display());
            let outcome = world.under(&policy, &["sh".into(), "-c".into(), script.into()]);
            assert_ne!(outcome.code, Some(0), "{attempt}: {outcome:?}");
            assert_eq!(outcome.output, "", "{attempt}");
        }
    }
}

#[test]
fn a_secret_that_takes_the_place_of_another_is_not_seen_either() {
    let world = World::new();
    let home = world.place().join("home");
    fs::create_dir(&home).unwrap();
    for (name, text) in [("key", "secret"), ("open", "for all")] {
        fs::write(home.join(name), text).unwrap();
    }
    let mut policy = world.policy();
    policy.hidden = ["key", "later"].map(|name| home.join(name)).to_vec();
    let script = "cat open; echo; cat key; echo ready; read go; cat key later > got; cat got open";
    let words = world.sandbox.wrap(&policy, ["sh", "-c", script].map(Into::into).to_vec());
    let script = format!("cd {} && {}", home.display(), script.replace("got", "$SCOPE/got"));
    let words: Vec<_> = words[..words.len() - 1].iter().cloned().chain([script.into()]).collect();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("SCOPE", &world.scope).stdin(Stdio::piped());
    let mut command = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(command.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "for all");
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    for name in ["key", "later"] {
        fs::write(home.join("new"), "secret").unwrap();
        fs::rename(home.join("new"), home.join(name)).unwrap();
    }
    writeln!(command.stdin.take().unwrap(), "go").unwrap();
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert_eq!(rest, ["for all"]);
    command.wait().unwrap();
}

#[test]
fn a_program_of_another_user_gives_nobody_his_rights() {
    let world = World::new();
    let program = world.scope.join("program");
    fs::copy(probe(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
    let of_root = prepared().map(|place| place.join("probe-of-root"));
    let own = rustix::process::geteuid().as_raw();
    for program in [Some(program), of_root].into_iter().flatten() {
        assert_eq!(world.works(&format!("{} user", program.display())), format!("{own} done"));
    }
    let status = world.works("cat /proc/self/status");
    for line in ["NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"] {
        assert!(status.contains(line), "{status}");
    }
}
