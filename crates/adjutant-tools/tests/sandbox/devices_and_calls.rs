//! System calls that open doors.

use crate::world::World;

const REFUSED: &str = "Operation not permitted";

/// What must hold with bubblewrap and without.
pub(crate) fn refuses_dangerous_calls(world: &World) {
    for what in ["mount .", "bind .", "remount .", "unmount .", "unshare", "clone", "type"] {
        assert_eq!(world.attempt(what), REFUSED, "{what}");
    }
    assert_ne!(world.attempt("device ./device"), "done");
    assert_eq!(world.attempt("thread"), "done");
    for (name, numbers) in CALLS {
        let number = if cfg!(target_arch = "x86_64") { numbers.0 } else { numbers.1 };
        assert_eq!(world.attempt(&format!("call {number}")), REFUSED, "{name}");
    }
    assert_eq!(world.attempt(&format!("call {CLONE3}")), "Function not implemented");
    if cfg!(target_arch = "x86_64") {
        assert_eq!(world.attempt("x32"), REFUSED);
        assert_eq!(world.attempt("i386"), "");
    }
}

const CLONE3: u32 = 435;

/// Calls, and their numbers on x86_64 and on aarch64.
const CALLS: [(&str, (u32, u32)); 12] = [
    ("ptrace", (101, 117)),
    ("process_vm_writev", (311, 271)),
    ("setns", (308, 268)),
    ("open_tree", (428, 428)),
    ("fsopen", (430, 430)),
    ("bpf", (321, 280)),
    ("userfaultfd", (323, 282)),
    ("keyctl", (250, 219)),
    ("perf_event_open", (298, 241)),
    ("io_uring_setup", (425, 425)),
    ("finit_module", (313, 273)),
    ("pidfd_getfd", (438, 438)),
];

#[test]
fn dangerous_calls_are_refused() {
    refuses_dangerous_calls(&World::new());
}

#[test]
fn there_are_no_devices_but_harmless_ones() {
    let world = World::new();
    assert_eq!(world.works("find /dev -type b"), "");
    let known = "console full null ptmx random tty urandom zero";
    let seen = world.works("find /dev -type c -o -name ptmx | sed 's,.*/,,' | sort -u | xargs");
    assert!(seen.split(' ').all(|name| known.contains(name)), "{seen}");
}
