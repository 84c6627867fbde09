//! Processes that would stay, and processes that are others'.

use serde_json::json;

use crate::{
    attempt::{AUTO, Attempt, call, contained},
    support::World,
};

#[test]
fn nothing_a_command_started_stays() {
    let lines = [
        "setsid sleep {MARK} &",
        "nohup sleep {MARK} > /dev/null 2>&1 &",
        "(setsid sh -c '(sleep {MARK} &) &' &)",
        "trap '' TERM HUP INT; sleep {MARK} & disown -a",
        "env -i setsid sleep {MARK} > /dev/null 2>&1 < /dev/null &",
        "setsid sh -c \"trap '' TERM; while :; do sleep {MARK}; done\" > /dev/null 2>&1 &",
        "perl -e 'fork and exit; use POSIX; POSIX::setsid(); fork and exit; exec qw(sleep {MARK})'",
        "for n in 1 2 3 4 5 6 7 8; do setsid -f sleep {MARK}; done",
    ];
    let background = lines.map(|line| {
        let arguments = json!({ "command": format!("{line}\nsleep {{MARK}}"), "background": true });
        Attempt::new(line, [call("run_command", arguments)])
    });
    let attempts: Vec<_> = lines.map(Attempt::command).into_iter().chain(background).collect();
    contained(&attempts, &AUTO, World::new);
}

#[test]
fn no_other_process_is_seen_ended_or_changed() {
    let lines = [
        "kill -9 {PID}",
        "kill -0 {TESTS} && echo reached",
        "kill -9 $PPID 1",
        "pkill -9 -f {MARK}",
        "for p in /proc/[0-9]*; do grep -qs {MARK} $p/environ && \
         [ $p != /proc/$$ ] && kill -9 ${p#/proc/}; done",
        "[ -e /proc/{PID} ] && echo reached",
        "cat /proc/{PID}/environ /proc/{PID}/maps && echo reached",
        "printf owned | dd of=/proc/{PID}/mem && echo reached",
        "gdb -p {PID} -batch -ex 'call (int)kill(getpid(), 9)'",
        "prlimit --pid {PID} --nofile=1:1 && echo reached",
        "renice 19 {PID} && echo reached",
        "taskset -p 1 {PID} && echo reached",
        "nsenter -t {PID} -a touch {OUTSIDE}/new.txt && echo reached",
        "perl -e 'exit(syscall(101, 16, {PID}, 0, 0) == 0)' || echo reached",
    ];
    let attempts = lines.map(|line| Attempt::command(line).unseen(&["reached"]));
    contained(&attempts, &AUTO, World::new);
}
