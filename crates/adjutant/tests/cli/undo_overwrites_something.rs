//! Undoing takes back what agents did, and nothing that anybody else did.

use std::{fs, os::unix::fs::symlink};

use rustix::process::Signal;

use crate::support::{Done, World};

/// A world in which the root has changed `a.txt` and `b.txt` from `0` to `1`.
fn changed() -> World {
    let edit = |name| {
        format!(
            r#"{{ tool = "edit_file", args = {{ path = "{name}", old_text = "0", new_text = "1" }} }}"#
        )
    };
    let script = format!(
        "[[reply]]\ncalls = [{}, {}]\n[[reply]]\ntext = \"done\"\n",
        edit("a.txt"),
        edit("b.txt")
    );
    let world = World::new().file("a.txt", "0").file("b.txt", "0").script(&script);
    let done = world.run(&["run", "--mode", "auto", "go"]);
    assert_eq!((done.code, world.read("a.txt").as_str()), (Some(0), "1"), "{done:?}");
    world
}

fn path(world: &World, name: &str) -> std::path::PathBuf {
    world.working_directory().join(name)
}

/// Checks that nothing was undone, since something is in conflict with `a.txt`.
fn assert_refused(done: &Done, why: &str) {
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stdout.starts_with("conflict   a.txt: "), "{done:?}");
    assert!(done.stdout.contains(why), "{done:?}");
    assert!(done.stdout.contains("nothing was changed: 1 file in conflict"), "{done:?}");
}

#[test]
fn an_edit_by_hand_is_not_overwritten() {
    let world = changed();
    fs::write(path(&world, "a.txt"), "by hand").unwrap();
    assert_refused(&world.run(&["undo"]), "changed later, by nobody of this session");
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("by hand", "1"));

    let done = world.run(&["undo", "--keep-going"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.stdout.contains("\nrestored   b.txt\n"), "{done:?}");
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("by hand", "0"));
}

#[test]
fn what_is_in_conflict_keeps_nobody_from_going_further_back() {
    let world = changed();
    let script = "[[reply]]\ncalls = [{ tool = 'run_command', args = { command = \
                  'echo 2 > a.txt; echo 2 > b.txt' } }]\n[[reply]]\ntext = 'done'";
    let world = world.script(script);
    assert_eq!(world.run(&["run", "--mode", "dangerous", "go"]).code, Some(0));
    fs::write(path(&world, "b.txt"), "by hand").unwrap();
    assert_eq!(world.run(&["undo", "--keep-going"]).code, Some(1));
    assert_eq!(world.read("a.txt"), "1");
    // The first one is next; in that `b.txt` is in conflict as well.
    let done = world.run(&["undo", "--keep-going"]);
    assert!(done.stdout.contains("restored   a.txt\n"), "{done:?}");
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("0", "by hand"));
    // There is no other, so it is told what is left.
    let done = world.run(&["undo"]);
    assert!(done.stdout.starts_with("conflict   b.txt: "), "{done:?}");
}

#[test]
fn a_new_file_that_is_too_large_stays_and_is_in_nobodys_way() {
    let script = "[[reply]]\ncalls = [{ tool = 'run_command', args = { command = \
                  'echo 1 > a.txt; mkdir new; head -c 17000000 /dev/zero > new/large' } }]\n\
                  [[reply]]\ntext = 'done'";
    let world = World::new().file("a.txt", "0").script(script);
    assert_eq!(world.run(&["run", "--mode", "dangerous", "go"]).code, Some(0));
    let planned = world.run(&["undo", "--dry-run"]);
    assert!(planned.stdout.contains("leave      new/large: is new"), "{planned:?}");
    let done = world.run(&["undo"]);
    assert_eq!((done.code, world.read("a.txt").as_str()), (Some(1), "0"), "{done:?}");
    assert!(done.stdout.contains("left       new/large: is new"), "{done:?}");
    assert!(done.stdout.contains("undid 1 file, 0 in conflict"), "{done:?}");
    assert!(path(&world, "new/large").exists());
    let done = world.run(&["undo"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stdout.starts_with("nothing to undo"), "{done:?}");
}

#[test]
fn what_took_the_place_of_a_file_stays() {
    type Take = fn(&World);
    let takes: [(Take, &str); 4] = [
        (|world| fs::remove_file(path(world, "a.txt")).unwrap(), "is gone"),
        (
            |world| {
                fs::remove_file(path(world, "a.txt")).unwrap();
                fs::create_dir(path(world, "a.txt")).unwrap();
            },
            "is a directory now",
        ),
        (
            |world| {
                fs::rename(path(world, "a.txt"), path(world, "c.txt")).unwrap();
                symlink("c.txt", path(world, "a.txt")).unwrap();
            },
            "is a link now",
        ),
        (
            |world| {
                let directory = world.working_directory();
                let aside = directory.with_file_name("aside");
                fs::rename(&directory, &aside).unwrap();
                fs::create_dir(&directory).unwrap();
                fs::copy(aside.join("b.txt"), directory.join("b.txt")).unwrap();
            },
            "is gone",
        ),
    ];
    for (take, why) in takes {
        let world = changed();
        take(&world);
        assert_refused(&world.run(&["undo"]), why);
        assert_eq!(world.read("b.txt"), "1", "{why}");
    }
}

#[test]
fn no_link_on_the_way_is_followed() {
    let world = changed();
    let directory = world.working_directory();
    let elsewhere = directory.with_file_name("elsewhere");
    fs::rename(&directory, &elsewhere).unwrap();
    symlink(&elsewhere, &directory).unwrap();
    let cwd = directory.parent().unwrap().to_str().unwrap().to_owned();
    let done = world.run(&["undo", "--cwd", &cwd, "--keep-going"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(done.stdout.matches("conflict ").count(), 2, "{done:?}");
    let link = format!(": a symbolic link is in the way at `{}`\n", directory.display());
    assert_eq!(done.stdout.matches(&link).count(), 2, "{done:?}");
    assert_eq!(fs::read_to_string(elsewhere.join("a.txt")).unwrap(), "1");
}

#[test]
fn what_another_agent_made_of_it_stays() {
    let world = World::new().file("a.txt", "0").script(
        r#"
        [[reply]]
        agent = "root"
        calls = [{ tool = "sub_agent", args = { prompt = "first" } }]
        [[reply]]
        agent = "root"
        calls = [{ tool = "sub_agent", args = { prompt = "second" } }]
        [[reply]]
        agent = "root"
        text = "done"
        [[reply]]
        task = "first"
        calls = [{ tool = "edit_file", args = { path = "a.txt", old_text = "0", new_text = "1" } }]
        [[reply]]
        task = "second"
        calls = [{ tool = "edit_file", args = { path = "a.txt", old_text = "1", new_text = "2" } }]
        [[reply]]
        times = "any"
        text = "done"
        "#,
    );
    assert_eq!(world.run(&["run", "--mode", "auto", "go"]).code, Some(0));
    assert_eq!(world.read("a.txt"), "2");
    let agents: Vec<_> = world
        .journal()
        .iter()
        .filter(|event| matches!(event.kind, adjutant_core::EventKind::Changed { .. }))
        .map(|event| event.path.to_string())
        .collect();
    let [first, second] = &agents[..] else { panic!("{agents:?}") };

    assert_refused(&world.run(&["undo", first]), &format!("changed later by {second} (call "));
    assert_eq!(world.read("a.txt"), "2");
    assert_eq!(world.run(&["undo", second]).code, Some(0));
    assert_eq!(world.read("a.txt"), "1");
    assert_eq!(world.run(&["undo", first]).code, Some(0));
    assert_eq!(world.read("a.txt"), "0");
}

#[test]
fn a_session_at_work_is_left_alone() {
    let world = World::new().file("a.txt", "0").script(
        r#"
        [[reply]]
        calls = [{ tool = "write_file", args = { path = "new.txt", content = "1" } }]
        [[reply]]
        text = "never"
        delay_ms = 600000
        "#,
    );
    let mut run = world.start(&["run", "--events", "--mode", "auto", "go"]);
    run.read_until(r#""event":"said""#);
    while !path(&world, "new.txt").exists() {
        run.read_until("\n");
    }
    for arguments in [&["undo"][..], &["undo", "--dry-run"]] {
        let done = world.run(arguments);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{done:?}");
        assert!(done.stderr.contains("is still at work"), "{done:?}");
    }
    assert_eq!(world.read("new.txt"), "1");
    run.signal(Signal::KILL);
    run.finish();
    // Killed is not at work.
    let done = world.run(&["undo"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!path(&world, "new.txt").exists());
}

#[test]
fn what_somebody_put_into_a_new_directory_stays() {
    let world = World::new().file("a.txt", "0").file("b.txt", "0").script(
        r#"
        [[reply]]
        calls = [{ tool = "run_command", args = { command = """
            mkdir new && echo > new/file && rm a.txt && mkdir -p a.txt/deep && echo 1 > b.txt""" } }]
        [[reply]]
        text = "done"
        "#,
    );
    assert_eq!(world.run(&["run", "--mode", "dangerous", "go"]).code, Some(0));
    let mine = path(&world, "a.txt/deep/mine");
    fs::write(&mine, "by hand").unwrap();
    fs::write(path(&world, "new/mine"), "by hand").unwrap();
    let why = format!("is a directory, and `{}` is in it", mine.display());
    assert_refused(&world.run(&["undo"]), &why);
    let done = world.run(&["undo", "--keep-going"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(
        (world.read("a.txt/deep/mine"), world.read("new/mine")),
        ("by hand".into(), "by hand".into())
    );
    assert!(!path(&world, "new/file").exists());
    assert_eq!(world.read("b.txt"), "0");
}
