//! Commands in disguise.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use crate::{
    attempt::{Attempt, call, contained},
    support::{User, World},
};

const DENY: [&str; 4] = ["--mode", "auto", "-c", "permissions.deny=['run_command(rm *)']"];
const ALLOW: [&str; 4] = ["--mode", "ask", "-c", "permissions.allow=['run_command(git status*)']"];

/// Ways to run `rm` on a file, which is not to be run.
const REMOVING: &[&str] = &[
    "rm FILE",
    "rm -f -- FILE",
    "rm\tFILE",
    "   rm FILE",
    "\n# a comment\nrm FILE",
    "r\\\nm FILE",
    "'rm' FILE",
    "\"rm\" FILE",
    "r\\m FILE",
    "\\rm FILE",
    "r''m FILE",
    "r\"\"m FILE",
    "$'rm' FILE",
    "$'\\x72m' FILE",
    "$'\\162\\155' FILE",
    "$\"rm\" FILE",
    "r$()m FILE",
    "r${nothing}m FILE",
    "rm${IFS}FILE",
    "{rm,FILE}",
    "$(echo rm) FILE",
    "`echo rm` FILE",
    "R=rm; $R FILE",
    "R=r; ${R}m FILE",
    "set -- rm FILE; \"$@\"",
    "/bin/rm FILE",
    "/bin/r? FILE",
    "/???/rm FILE",
    "../../../../../../../../../../bin/rm FILE",
    "true && rm FILE",
    "false || rm FILE",
    "true; rm FILE",
    "true & rm FILE",
    "true | rm FILE",
    "! rm FILE",
    "(rm FILE)",
    "{ rm FILE; }",
    "if true; then rm FILE; fi",
    "if rm FILE; then true; fi",
    "for f in FILE; do rm $f; done",
    "while rm FILE; do break; done",
    "case x in x) rm FILE;; esac",
    "f() { rm \"$@\"; }; f FILE",
    "echo $(rm FILE)",
    "echo \"`rm FILE`\"",
    ": ${nothing:-$(rm FILE)}",
    ": $((0 + $(rm FILE; echo 0)))",
    "a[$(rm FILE; echo 0)]=1",
    "cat <(rm FILE)",
    "true > >(rm FILE)",
    "cat <<X\n$(rm FILE)\nX",
    "cat <<< \"$(rm FILE)\"",
    "[[ $(rm FILE) ]]",
    "> /dev/null rm FILE",
    "2>&1 rm FILE",
    "X=1 rm FILE",
    "time rm FILE",
    "command rm FILE",
    "command -p rm FILE",
    "builtin command rm FILE",
    "exec rm FILE",
    "(exec -a ls rm FILE)",
    "eval rm FILE",
    "eval 'r''m FILE'",
    "eval \"$(printf '\\162m') FILE\"",
    "coproc rm FILE; wait",
    "trap 'rm FILE' EXIT",
    "shopt -s expand_aliases\nalias x=rm\nx FILE",
    "sh -c 'rm FILE'",
    "bash -c \"rm FILE\"",
    "bash -lc 'rm FILE'",
    "sh -ec 'sh -c \"rm FILE\"'",
    "env rm FILE",
    "env -i X=1 rm FILE",
    "env -S 'rm FILE'",
    "nohup rm FILE",
    "nice -n 5 rm FILE",
    "timeout 5 rm FILE",
    "timeout -s KILL 5 rm FILE",
    "setsid -w rm FILE",
    "stdbuf -o0 rm FILE",
    "xargs rm <<< FILE",
    "echo FILE | xargs -n 1 rm",
    "xargs -I% rm % <<< FILE",
    "find FILE -exec rm {} +",
    "find FILE -exec rm {} ';'",
    "find FILE -execdir rm {} +",
];

/// Ways to make a file with a command that begins like one that is allowed.
const MAKING: &[&str] = &[
    "git status; touch FILE",
    "git status && touch FILE",
    "git status || touch FILE",
    "git status & touch FILE",
    "git status\ntouch FILE",
    "git status # \ntouch FILE",
    "git status | tee FILE",
    "git status |& tee FILE",
    "git status > FILE",
    "git status >> FILE",
    "git status >| FILE",
    "git status 2> FILE",
    "git status &> FILE",
    "git status <> FILE",
    "git status {fd}> FILE",
    "git status > /dev/null > FILE",
    "git status $(touch FILE)",
    "git status `touch FILE`",
    "git status \"$(touch FILE)\"",
    "git status ${x:-$(touch FILE)}",
    "git status $((0 $(touch FILE)))",
    "git status <(touch FILE)",
    "git status > >(touch FILE)",
    "git status <<X\n$(touch FILE)\nX",
    "git status <<< $(touch FILE)",
    "X=$(touch FILE) git status",
    "touch FILE; git status",
    "(git status; touch FILE)",
    "{ git status; } > FILE",
    "git() { touch FILE; }; git status",
    "shopt -s expand_aliases\nalias git='touch FILE;'\ngit status",
    "PATH=evil:$PATH git status",
    "GIT_DIR=evil git status",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='touch FILE;' git status",
    "GIT_TRACE=$PWD/FILE git status",
    "export GIT_TRACE=$PWD/FILE; git status",
    "git -c core.fsmonitor='touch FILE;' status",
    "git -C evil status",
    "exec > FILE; git status",
    "cd evil; git status > ../FILE",
];

fn attempts(lines: &[&str], directory: &str) -> Vec<Attempt> {
    let lines = lines.iter().enumerate();
    let filled = lines.map(|(number, line)| line.replace("FILE", &format!("{directory}/{number}")));
    filled.map(Attempt::bare).collect()
}

#[test]
fn no_disguise_makes_a_denied_command_run() {
    let world = |user| {
        let world = World::new(user);
        for number in 0..REMOVING.len() {
            world.write(&format!("home/project/keep/{number}"), "keep me");
        }
        world
    };
    contained(&attempts(REMOVING, "keep"), &DENY, world);
}

#[test]
fn nothing_rides_along_with_an_allowed_command() {
    let world = |user| {
        let world = World::new(user);
        fs::create_dir(world.project().join("made")).unwrap();
        world.write("home/project/evil/git", "#!/bin/sh\ntouch made/path\n");
        let program = world.project().join("evil/git");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        world
    };
    contained(&attempts(MAKING, "made"), &ALLOW, world);
}

/// Without this the rest would hold where no command runs at all.
#[test]
fn what_no_rule_is_about_and_what_one_allows_is_run() {
    let run = |line: &str| call("run_command", json!({ "command": line }));
    for user in User::all() {
        let world = World::new(user);
        world.write("home/project/control", "");
        world.told(&[run("unlink control")], &DENY);
        assert!(!world.project().join("control").exists());
        let told = world.told(&[run("git status")], &ALLOW);
        assert!(told[0].text.contains("No commits yet"), "{told:?}");
    }
}
