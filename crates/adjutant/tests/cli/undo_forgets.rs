//! Undoing makes everything what it was, and is remembered itself.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    running::Running,
    support::{PROGRAM, World},
    terminal::Terminal,
};

/// What is in a directory: each path with its mode, and its content or where it leads.
fn tree(directory: &Path) -> BTreeMap<String, (u32, String)> {
    let mut tree = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let held = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().display().to_string()
        } else if metadata.is_dir() {
            tree.extend(self::tree(&path));
            String::new()
        } else {
            fs::read_to_string(&path).unwrap()
        };
        tree.insert(path.display().to_string(), (metadata.permissions().mode(), held));
    }
    tree
}

const EVERYTHING: &str = r#"
    [[reply]]
    agent = "root"
    calls = [
        { tool = "write_file", args = { path = "new/deep/a.txt", content = "new" } },
        { tool = "edit_file", args = { path = "tool.sh", old_text = "one", new_text = "two" } },
        { tool = "delete_file", args = { path = "gone.txt" } },
        { tool = "delete_file", args = { path = "link" } },
        { tool = "sub_agent", args = { prompt = "help" } },
    ]
    [[reply]]
    agent = "root"
    text = "done"
    [[reply]]
    task = "help"
    calls = [{ tool = "edit_file", args = { path = "crlf.txt", old_text = "one", new_text = "2" } }]
    [[reply]]
    text = "helped"
"#;

/// A world with files of all kinds, and a script that changes each.
fn everything() -> World {
    let world = World::new()
        .file("tool.sh", "one")
        .file("gone.txt", "bye")
        .file("crlf.txt", "one\r\ntwo")
        .file("empty/keep", "")
        .script(EVERYTHING);
    let directory = world.working_directory();
    symlink("gone.txt", directory.join("link")).unwrap();
    for (name, mode) in [("tool.sh", 0o750), ("gone.txt", 0o600)] {
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    world
}

fn undo(world: &World, arguments: &[&str]) -> Value {
    let done = world.run(&[&["undo", "--json"], arguments].concat());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn everything_is_as_it_was_and_can_be_redone() {
    let world = everything();
    let directory = world.working_directory();
    let before = tree(&directory);
    let run = world.run(&["run", "--mode", "auto", "go"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let after = tree(&directory);
    assert_eq!(before.len() - 2 + 3, after.len());

    let planned = undo(&world, &["--dry-run"]);
    assert_eq!((planned["state"].as_str(), tree(&directory) == after), (Some("planned"), true));
    let undone = undo(&world, &[]);
    assert_eq!(tree(&directory), before);
    assert_eq!(undone["files"].as_array().unwrap().len(), 7);
    assert_eq!(undone["files"], planned["files"]);

    let call = undone["call"].as_str().unwrap();
    let redone = undo(&world, &[call]);
    assert_eq!(tree(&directory), after);
    undo(&world, &[redone["call"].as_str().unwrap()]);
    assert_eq!(tree(&directory), before);
    assert_eq!(undo(&world, &[])["state"], "nothing");
    assert_eq!(undo(&world, &[call])["state"], "nothing");
}

#[test]
fn a_second_undoing_goes_one_session_further_back() {
    let write = |number: u32| {
        format!(
            "[[reply]]\ncalls = [{{ tool = \"edit_file\", args = {{ path = \"a.txt\", \
             old_text = \"{number}\", new_text = \"{}\" }} }}]\n[[reply]]\ntext = \"done\"\n",
            number + 1
        )
    };
    let mut world = World::new().file("a.txt", "0");
    for number in [0, 1] {
        world = world.script(&write(number));
        assert_eq!(world.run(&["run", "--mode", "auto", "go"]).code, Some(0));
    }
    // Somewhere else nothing was changed.
    let elsewhere = world.data_home().display().to_string();
    assert_eq!(undo(&world, &["--cwd", &elsewhere])["state"], "nothing");
    for expected in ["1", "0"] {
        undo(&world, &[]);
        assert_eq!(world.read("a.txt"), expected);
    }
    assert_eq!(undo(&world, &[])["state"], "nothing");
}

#[test]
fn an_agent_or_a_call_is_undone_by_itself() {
    let world = everything();
    assert_eq!(world.run(&["run", "--mode", "auto", "go"]).code, Some(0));
    let agents = world.journal();
    let child = agents.iter().find(|event| event.path.depth() == 1).unwrap().path.to_string();
    let undone = undo(&world, &[&child]);
    assert_eq!(undone["files"][0]["changes"][0]["agent"], child.as_str());
    assert_eq!(world.read("crlf.txt"), "one\r\ntwo");
    assert_eq!(world.read("tool.sh"), "two");
    // The child had a call of that name, too.
    let refused = world.run(&["undo", "c1-1"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains(&format!("root/c1-1, {child}/c1-1")), "{refused:?}");
    undo(&world, &["c1-2"]);
    assert_eq!(world.read("tool.sh"), "one");
    assert!(!world.working_directory().join("gone.txt").exists());
    assert_eq!(undo(&world, &["c1-2"])["state"], "nothing");
}

#[test]
fn whoever_names_nothing_is_told_what_there_is() {
    let world = everything();
    assert_eq!(world.run(&["run", "--mode", "auto", "go"]).code, Some(0));
    let after = tree(&world.working_directory());
    let no_session = "01900000-0000-7000-8000-000000000000";
    let table: [(&[&str], &str); 6] = [
        (&["undo", "root.nobody-1"], "hint: their calls: c1-1, c1-2, c1-3, c1-4, c1-1"),
        (&["undo", "c"], "say one of: root/c1-1"),
        (&["undo", "--session", no_session], "there is no session"),
        (&["undo", "--session", "latest"], "invalid value 'latest'"),
        (&["undo", "--dry-run", "--keep-going"], "cannot be used with"),
        (&["undo", "-c", "journal=memory"], "`journal = \"memory\"` forgets a run"),
    ];
    for (arguments, expected) in table {
        let done = world.run(arguments);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{arguments:?}: {done:?}");
        assert!(done.stderr.contains(expected), "{arguments:?}: {done:?}");
    }
    assert_eq!(tree(&world.working_directory()), after);
}

#[test]
fn wherever_the_process_dies_everything_can_be_undone() {
    let mut unmade = 0;
    for commit in 1.. {
        let world = everything().variable("ADJUTANT_FAILPOINT", &format!("after_commit:{commit}"));
        let before = tree(&world.working_directory());
        let run = world.run(&["run", "--mode", "auto", "go"]);
        let world = world.variable("ADJUTANT_FAILPOINT", "after_commit:1000000");
        let mut undone = undo(&world, &[]);
        // What it had written beside its place, and directories for it, may be left.
        let mut after = tree(&world.working_directory());
        after.retain(|path, _| !path.contains("/.adjutant-") && !path.contains("/new"));
        assert_eq!(after, before, "{commit}");
        let files = undone["files"].as_array_mut().unwrap();
        unmade += files.iter().filter(|file| file["action"] == "unchanged").count();
        assert_eq!(undo(&world, &[])["state"], "nothing", "{commit}");
        if run.code.is_some() {
            assert_eq!(run.code, Some(0), "{run:?}");
            break;
        }
    }
    assert!(unmade >= 1, "{unmade}");
}

#[test]
fn wherever_an_undoing_dies_it_can_be_done_again() {
    for commit in 1.. {
        let world = everything();
        let before = tree(&world.working_directory());
        assert_eq!(world.run(&["run", "--mode", "auto", "go"]).code, Some(0));
        let world = world.variable("ADJUTANT_FAILPOINT", &format!("after_commit:{commit}"));
        let died = world.run(&["undo"]);
        let world = world.variable("ADJUTANT_FAILPOINT", "after_commit:1000000");
        undo(&world, &[]);
        // A directory that is empty may be left.
        let mut after = tree(&world.working_directory());
        after.retain(|path, _| !path.contains("/new"));
        assert_eq!(after, before, "{commit}");
        if died.code.is_some() {
            break;
        }
    }
}

/// A world with files of all kinds, and a command that changes some.
fn commanded() -> World {
    everything().script(
        r#"
        [[reply]]
        calls = [{ tool = "run_command", args = { command = """
            sed -i s/one/two/ tool.sh && rm gone.txt link && mkdir made &&
            mv crlf.txt made/ && chmod 700 empty/keep""" } }]
        [[reply]]
        text = "done"
        "#,
    )
}

#[test]
fn what_a_command_did_is_undone() {
    let world = commanded();
    let before = tree(&world.working_directory());
    let run = world.run(&["run", "--mode", "dangerous", "go"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_ne!(tree(&world.working_directory()), before);
    undo(&world, &[]);
    assert_eq!(tree(&world.working_directory()), before);
}

#[test]
fn what_a_command_did_is_not_recorded_where_nobody_wants_it() {
    let world = commanded();
    let run = world.run(&["run", "--mode", "dangerous", "-c", "undo.commands=false", "go"]);
    assert_eq!((run.code, world.read("tool.sh").as_str()), (Some(0), "two"), "{run:?}");
    assert_eq!(undo(&world, &[])["state"], "nothing");
}

/// A world in which a command moves directories, and makes files and links of some and some of
/// those.
fn turned() -> World {
    let world = World::new()
        .file("one/a.txt", "a")
        .file("one/deep/run.sh", "b")
        .file("to_file/c", "c")
        .file("to_link/d", "d")
        .file("to_directory", "e")
        .script(
            r#"
            [[reply]]
            calls = [{ tool = "run_command", args = { command = """
                mv one two && mv to_link three && ln -s three to_link && rm -r to_file bare &&
                echo > to_file && rm to_directory && mkdir -p to_directory/deep new/bare &&
                echo > to_directory/deep/f""" } }]
            [[reply]]
            text = "done"
            "#,
        );
    let directory = world.working_directory();
    symlink("a.txt", directory.join("one/link")).unwrap();
    for (name, mode) in [("bare", 0o750), ("one/bare", 0o700)] {
        fs::create_dir(directory.join(name)).unwrap();
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (name, mode) in [("one/deep", 0o711), ("one/deep/run.sh", 0o755), ("one/a.txt", 0o600)] {
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    world
}

#[test]
fn directories_are_as_they_were_and_whatever_took_their_place_is_gone() {
    let world = turned();
    let directory = world.working_directory();
    let before = tree(&directory);
    let run = world.run(&["run", "--mode", "dangerous", "go"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let after = tree(&directory);
    let planned = undo(&world, &["--dry-run"]);
    let undone = undo(&world, &[]);
    assert_eq!(tree(&directory), before);
    assert_eq!(planned["files"], undone["files"]);
    undo(&world, &[undone["call"].as_str().unwrap()]);
    assert_eq!(tree(&directory), after);
    undo(&world, &[]);
    assert_eq!(tree(&directory), before);
    assert_eq!(undo(&world, &[])["state"], "nothing");
}

#[test]
fn wherever_the_undoing_of_directories_dies_it_can_be_done_again() {
    for commit in 1.. {
        let world = turned();
        let before = tree(&world.working_directory());
        assert_eq!(world.run(&["run", "--mode", "dangerous", "go"]).code, Some(0));
        let world = world.variable("ADJUTANT_FAILPOINT", &format!("after_commit:{commit}"));
        let died = world.run(&["undo"]);
        let world = world.variable("ADJUTANT_FAILPOINT", "after_commit:1000000");
        undo(&world, &[]);
        assert_eq!(tree(&world.working_directory()), before, "{commit}");
        if died.code.is_some() {
            assert!(commit > 10, "{commit}");
            break;
        }
    }
}

/// A world in which commands change files and go on, one of them in the background.
fn lasting() -> World {
    World::new().file("a.txt", "0").file("b.txt", "0").script(
        r#"
        [[reply]]
        calls = [
            { tool = "run_command", args = { command = "echo 1 > a.txt; read x", background = true } },
            { tool = "run_command", args = { command = """
                until grep -q 1 a.txt; do sleep 0.01; done; echo 1 > b.txt; echo ready; sleep 600""" } },
        ]
        [[reply]]
        text = "never"
        "#,
    )
}

fn interrupt(world: &World, signal: Signal) {
    let mut run = world.start(&["run", "--events", "--mode", "dangerous", "go"]);
    run.read_until(r#""text":"ready""#);
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("1\n", "1\n"));
    run.signal(signal);
    run.finish();
}

#[test]
fn what_commands_did_until_they_were_interrupted_is_undone() {
    let world = lasting();
    interrupt(&world, Signal::INT);
    let undone = undo(&world, &[]);
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("0", "0"));
    assert_eq!(undone["unfinished"], serde_json::json!([]));
}

#[test]
fn what_commands_did_until_the_terminal_went_away_is_undone() {
    let world = lasting();
    let mut terminal = Terminal::start(&world, &[PROGRAM, "run", "--mode", "dangerous", "go"]);
    terminal.wait_for("ready");
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("1\n", "1\n"));
    assert_eq!(terminal.hang_up(), Some(130));
    let undone = undo(&world, &[]);
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("0", "0"));
    assert_eq!(undone["unfinished"], serde_json::json!([]));
}

#[test]
fn whoever_is_not_to_hear_that_the_terminal_goes_away_goes_on() {
    let world = World::new().script("[[reply]]\ntext = 'done'\ndelay_ms = 300");
    let ignoring = ["-c", "trap '' HUP; exec \"$@\"", "sh", PROGRAM, "run", "--events", "go"];
    let mut run = Running::new(&world, world.prepare("/bin/sh", &ignoring), b"");
    run.read_until(r#""event":"started""#);
    run.signal(Signal::HUP);
    let done = run.finish();
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn a_session_that_died_is_nobodys_in_another_directory() {
    let world = lasting().file("../other/b.txt", "0");
    interrupt(&world, Signal::KILL);
    let elsewhere = world.project_directory().join("src/other").display().to_string();
    assert_eq!(undo(&world, &["--cwd", &elsewhere])["state"], "nothing");
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("1\n", "1\n"));
}

#[test]
fn a_command_whose_end_nobody_saw_is_named() {
    let world = lasting();
    interrupt(&world, Signal::KILL);
    let done = world.run(&["undo"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    for call in ["c1-1", "c1-2"] {
        let told = format!("unknown    run_command call {call} of root was not seen to end");
        assert!(done.stdout.contains(&told), "{done:?}");
        let named = world.run(&["undo", "--json", call]);
        let named: Value = serde_json::from_str(&named.stdout).unwrap();
        assert_eq!(named["unfinished"][0]["call"], call);
        assert_eq!(named["unfinished"].as_array().unwrap().len(), 1);
    }
}
