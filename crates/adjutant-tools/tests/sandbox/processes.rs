//! Reaching for other processes, and getting away from the keeper.

use std::{
    ffi::OsString,
    io::Read as _,
    process::{Child, Command, Stdio},
};

use crate::world::{World, keeper};

/// A process outside, with a secret in its environment.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        let mut sleep = Command::new("sleep");
        Self(sleep.arg("1000").env("MARK", "well-kept").spawn().unwrap())
    }

    fn is_unharmed(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What must hold with bubblewrap and without.
pub(crate) fn leaves_others_alone(world: &World) {
    let mut other = Bystander::new();
    let pid = other.0.id();
    let own = std::process::id();
    for pid in [pid, own] {
        world.is_refused(&format!("kill -TERM {pid}"));
        world.is_refused(&format!("$PROBE attach {pid}"));
        world.is_refused(&format!("$PROBE look {pid}"));
        world.is_refused(&format!("cat /proc/{pid}/environ"));
        world.is_refused(&format!("cat /proc/{pid}/mem"));
        world.is_refused(&format!("ls /proc/{pid}/root/"));
    }
    let found = world.run("cat /proc/[0-9]*/environ 2>/dev/null | grep -c well-kept");
    assert_eq!(found.output, "0");
    assert!(other.is_unharmed());
}

#[test]
fn processes_outside_are_out_of_reach() {
    leaves_others_alone(&World::new());
}

#[test]
fn processes_outside_are_not_even_seen() {
    let world = World::new();
    // Bubblewrap, the shell and `ls`, and no more.
    let seen = world.works("ls -d /proc/[0-9]* | wc -l");
    assert!(seen.parse::<usize>().unwrap() <= 4, "{seen}");
}

#[test]
fn orders_to_the_kernel_cannot_be_written() {
    let world = World::new();
    // Should it ever succeed, nothing happens.
    for script in [
        "read old < /proc/sys/kernel/core_pattern && echo \"$old\" > /proc/sys/kernel/core_pattern",
        "echo h > /proc/sysrq-trigger",
        "mkdir /sys/fs/cgroup/evil && rmdir /sys/fs/cgroup/evil",
    ] {
        world.is_refused(script);
    }
}

#[test]
fn what_left_its_session_ends_with_the_keeper() {
    let world = World::new();
    let (mut alive, held) = std::io::pipe().unwrap();
    let script = "setsid sh -c 'sleep 1000 & echo away; exec sleep 1000' & sleep 1000";
    let words = world.wrap(&["sh", "-c", script].map(OsString::from));
    // What starts it must not keep the pipe open.
    let mut kept = {
        let mut command = Command::new(keeper());
        command.args(words).stdin(Stdio::piped()).stdout(held).spawn().unwrap()
    };
    let mut away = [0; 5];
    alive.read_exact(&mut away).unwrap();
    assert_eq!(&away, b"away\n");
    drop(kept.stdin.take());
    assert!(kept.wait().unwrap().code().is_some());
    // Everyone who could write has gone.
    assert_eq!(alive.read(&mut away).unwrap(), 0);
}

#[test]
fn what_is_left_ends_with_the_command() {
    // The output ends when the last one who could write has gone.
    let outcome = World::new().run("setsid sh -c 'sleep 30; echo late' & echo begun; exit 3");
    assert_eq!((outcome.code, &*outcome.output), (Some(3), "begun"));
}

#[test]
fn there_are_not_more_processes_than_a_machine_can_bear() {
    let world = World::new();
    let most: u64 = world.works("bash -c 'ulimit -u'").parse().unwrap();
    assert!((1..1_000_000).contains(&most), "{most}");
    let fork = |limit, count| {
        let fork = "defined($p = fork) or exit 7; $p or sleep(1), exit";
        let script =
            format!("bash -c 'ulimit -u {limit}; exec perl -e \"for (1..{count}) {{ {fork} }}\"'");
        world.run(&script.replace('$', "\\$")).code
    };
    assert_eq!(fork(30, 5), Some(0), "those of others do not count");
    // The superuser is beyond that.
    if !rustix::process::geteuid().is_root() {
        assert_eq!(fork(10, 20), Some(7));
    }
}
