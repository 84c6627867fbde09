//! What git keeps of the work: what the agents changed, and nothing else.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use crate::support::{Done, World};

const SCRIPT: &str = r#"
    [[reply]]
    agent = "root"
    calls = [
        { tool = "edit_file", args = { path = "known.txt", old_text = "0", new_text = "1" } },
        { tool = "write_file", args = { path = "new.txt", content = "new" } },
        { tool = "write_file", args = { path = "ignored.txt", content = "private" } },
        { tool = "delete_file", args = { path = "gone.txt" } },
        { tool = "write_file", args = { path = "[a]*.txt", content = "odd" } },
    ]
    [[reply]]
    agent = "root"
    calls = [{ tool = "sub_agent", args = { prompt = "help" } }]
    [[reply]]
    agent = "root"
    text = "done"
    [[reply]]
    task = "help"
    calls = [{ tool = "edit_file", args = { path = "known.txt", old_text = "1", new_text = "2" } }]
    [[reply]]
    text = "helped"
"#;

fn git(world: &World, arguments: &[&str]) -> String {
    let output = world.prepare("git", arguments).env("PATH", env!("PATH")).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A repository with something staged and something changed.
fn repository() -> World {
    let world = World::new()
        .file("known.txt", "0")
        .file("gone.txt", "bye")
        .file("staged.txt", "0")
        .file("dirty.txt", "0")
        .file(".gitignore", "ignored.txt\n")
        .script(SCRIPT)
        .variable("PATH", env!("PATH"));
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    git(&world, &["config", "user.name", "Ada"]);
    git(&world, &["config", "user.email", "ada@example.org"]);
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "-m", "first"]);
    let directory = world.working_directory();
    fs::write(directory.join("staged.txt"), "1").unwrap();
    git(&world, &["add", "staged.txt"]);
    fs::write(directory.join("dirty.txt"), "1").unwrap();
    fs::write(directory.join("untracked.txt"), "1").unwrap();
    // A hook would be run by an ordinary commit.
    let hook = directory.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    world
}

/// Puts a repository into the work tree that has git run a program when it looks into it, and
/// that the repository around it knows. Returns what is there if it did.
fn trap(world: &World) -> PathBuf {
    let inner = world.working_directory().join("inner");
    let trace = world.working_directory().parent().unwrap().join("sprung");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("file"), "0").unwrap();
    let inside = |arguments: &[&str]| git(world, &[&["-C", "inner"], arguments].concat());
    inside(&["init", "--quiet"]);
    inside(&["add", "file"]);
    inside(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "inner"]);
    git(world, &["add", "inner"]);
    git(world, &["commit", "--quiet", "--no-verify", "-m", "inner", "inner"]);
    let run = format!("sh -c 'echo >> {}; cat'", trace.display());
    inside(&["config", "core.fsmonitor", &run]);
    inside(&["config", "filter.trap.clean", &run]);
    fs::write(inner.join(".gitattributes"), "* filter=trap\n").unwrap();
    fs::write(world.working_directory().join(".gitmodules"), MODULES).unwrap();
    fs::write(inner.join("file"), "1").unwrap();
    // It is one indeed.
    git(world, &["status"]);
    fs::remove_file(&trace).unwrap();
    trace
}

const MODULES: &str = "[submodule \"inner\"]\npath = inner\nurl = ./inner\nignore = none\n";

fn run(world: &World, setting: &str) -> Done {
    let done = world.run(&["run", "--mode", "auto", "-c", setting, "Fix it\nand more"]);
    assert_eq!((done.code, world.read("known.txt").as_str()), (Some(0), "2"), "{done:?}");
    done
}

#[test]
fn what_the_agents_changed_is_committed_and_nothing_else() {
    let world = repository();
    let done = run(&world, "git.auto_commit=true");
    assert!(done.stderr.contains("committed 4 files on main as "), "{done:?}");
    let names = git(&world, &["-c", "core.quotePath=false", "show", "--name-status", "--format="]);
    assert_eq!(names, "A\t[a]*.txt\nD\tgone.txt\nM\tknown.txt\nA\tnew.txt");
    assert_eq!(git(&world, &["log", "-1", "--format=%an %ae %s"]), "Ada ada@example.org Fix it");
    let trailer =
        git(&world, &["log", "-1", "--format=%(trailers:key=Adjutant-Session,valueonly)"]);
    assert_eq!(trailer.trim().len(), 36);
    let status = git(&world, &["status", "--porcelain"]);
    assert_eq!(status, " M dirty.txt\nM  staged.txt\n?? untracked.txt");
}

#[test]
fn nothing_is_committed_unless_it_was_asked_for() {
    let world = repository();
    let head = git(&world, &["rev-parse", "HEAD"]);
    run(&world, "git.auto_commit=false");
    assert_eq!(git(&world, &["rev-parse", "HEAD"]), head);
    assert_eq!(git(&world, &["for-each-ref", "refs/adjutant"]), "");
}

#[test]
fn nothing_is_committed_in_the_middle_of_something() {
    let world = repository();
    let head = git(&world, &["rev-parse", "HEAD"]);
    fs::write(world.working_directory().join(".git/MERGE_HEAD"), format!("{head}\n")).unwrap();
    let done = run(&world, "git.auto_commit=true");
    assert!(
        done.stderr.contains("warning: nothing was committed: a merge is under way"),
        "{done:?}"
    );
    assert_eq!(git(&world, &["rev-parse", "HEAD"]), head);
}

#[test]
fn where_there_is_no_repository_there_is_a_warning() {
    let world = World::new().file("known.txt", "0").file("gone.txt", "").script(SCRIPT);
    let world = world.variable("PATH", env!("PATH"));
    let done = run(&world, "git.auto_commit=true");
    assert!(done.stderr.contains("warning: git keeps nothing of the work: "), "{done:?}");
}

#[test]
fn a_checkpoint_has_everything_and_moves_nothing() {
    let world = repository();
    let (head, status) =
        (git(&world, &["rev-parse", "HEAD"]), git(&world, &["status", "--porcelain"]));
    run(&world, "git.checkpoints=true");
    let names = git(&world, &["for-each-ref", "--format=%(refname)", "refs/adjutant"]);
    let names: Vec<_> = names.lines().collect();
    let [first, second] = &names[..] else { panic!("{names:?}") };
    let show = |name: &str, file: &str| git(&world, &["show", &format!("{name}:./{file}")]);
    assert_eq!((show(first, "known.txt"), show(second, "known.txt")), ("1".into(), "2".into()));
    assert_eq!((show(first, "dirty.txt"), show(first, "untracked.txt")), ("1".into(), "1".into()));
    assert_eq!(
        git(&world, &["rev-parse", &format!("{second}^")]),
        git(&world, &["rev-parse", first])
    );
    assert_eq!(git(&world, &["rev-parse", &format!("{first}^")]), head);
    assert_eq!(git(&world, &["rev-parse", "HEAD"]), head);
    let now = git(&world, &["status", "--porcelain", "--", "staged.txt", "dirty.txt"]);
    assert!(now.lines().all(|line| status.contains(line)), "{now}");
    let left = fs::read_dir(world.data_home().join("adjutant")).unwrap();
    let left =
        left.filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().contains("check"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_repository_inside_has_git_run_nothing() {
    for setting in ["git.auto_commit=true", "git.checkpoints=true"] {
        let world = repository();
        let trace = trap(&world);
        let done = run(&world, setting);
        assert!(!done.stderr.contains("warning"), "{done:?}");
        assert!(!trace.exists(), "{setting}");
    }
}

#[test]
fn a_repository_inside_is_not_taken_in() {
    let world = repository().script(
        r#"
        [[reply]]
        calls = [{ tool = "run_command", args = { command = "git init -q made && echo 2 > known.txt && printf 2 > known.txt" } }]
        [[reply]]
        text = "done"
        "#,
    );
    run(&world, "git.auto_commit=true");
    assert_eq!(git(&world, &["show", "--name-only", "--format="]), "known.txt");
    let world = repository();
    trap(&world);
    run(&world, "git.checkpoints=true");
    let last = git(&world, &["for-each-ref", "--format=%(refname)", "refs/adjutant"]);
    let last = last.lines().last().unwrap();
    let entry = |name: &str| git(&world, &["ls-tree", name, "inner"]);
    assert_eq!(entry(last), entry("HEAD"));
}

#[test]
fn there_need_not_be_a_commit_yet() {
    let world = World::new().file("known.txt", "0").file("gone.txt", "bye").script(SCRIPT);
    let world = world.file("other.txt", "0").variable("PATH", env!("PATH"));
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    git(&world, &["config", "user.name", "Ada"]);
    git(&world, &["config", "user.email", "ada@example.org"]);
    let done = run(&world, "git.auto_commit=true");
    assert!(done.stderr.contains("committed 4 files on main as "), "{done:?}");
    let names = git(&world, &["-c", "core.quotePath=false", "show", "--name-only", "--format="]);
    assert_eq!(names, "[a]*.txt\nignored.txt\nknown.txt\nnew.txt");
    assert_eq!(git(&world, &["diff", "--name-only", "HEAD"]), "");
}

#[test]
fn there_may_be_more_names_than_a_command_line_holds() {
    let world = repository().script(
        r#"
        [[reply]]
        calls = [{ tool = "run_command", args = { command = "d=$(printf %0240d 0); mkdir -p $d/$d/$d/$d; for n in $(seq 2500); do echo $n > $d/$d/$d/$d/$n; done; printf 2 > known.txt" } }]
        [[reply]]
        text = "done"
        "#,
    );
    let done = run(&world, "git.auto_commit=true");
    assert!(done.stderr.contains("committed 2501 files on main as "), "{done:?}");
}

#[test]
fn what_is_in_conflict_is_not_committed() {
    let world = repository();
    let head = git(&world, &["rev-parse", "HEAD"]);
    let blob = git(&world, &["rev-parse", "HEAD:known.txt"]);
    let info = world.working_directory().join("info");
    fs::write(&info, format!("100644 {blob} 1\tknown.txt\n100644 {blob} 2\tknown.txt\n")).unwrap();
    git(&world, &["update-index", "--force-remove", "known.txt"]);
    let mut update = world.prepare("git", &["update-index", "--index-info"]);
    update.env("PATH", env!("PATH")).stdin(fs::File::open(&info).unwrap());
    assert!(update.status().unwrap().success());
    let done = run(&world, "git.auto_commit=true");
    assert!(done.stderr.contains("nothing was committed: `known.txt` is in conflict"), "{done:?}");
    assert_eq!(git(&world, &["rev-parse", "HEAD"]), head);
}
