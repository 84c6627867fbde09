//! Which system calls a command may not make.

use std::{env::consts::ARCH, error::Error};

use seccompiler::{BpfProgram, SeccompAction, apply_filter, compile_from_json, sock_filter};
use serde_json::{Value, json};

use super::{
    Network,
    confine::{Fence, Orders},
};

/// What no build needs and what has opened many a sandbox: other processes, mounts,
/// namespaces, the kernel's own programs, keys and modules, and what goes past this filter.
const DENIED: &str = "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp \
    mount umount2 pivot_root move_mount fsopen fsconfig fsmount fspick open_tree mount_setattr \
    setns open_by_handle_at quotactl quotactl_fd acct swapon swapoff \
    bpf perf_event_open userfaultfd fanotify_init io_uring_setup io_uring_enter io_uring_register \
    keyctl add_key request_key init_module finit_module delete_module kexec_load kexec_file_load \
    reboot syslog settimeofday clock_settime clock_adjtime sethostname setdomainname vhangup";

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
const CLONE_NEWUSER: u64 = 0x1000_0000;
/// Makes a program run with the rights of its owner, whoever starts it. Those of its group are
/// less, and the same bit of a directory is what git needs where a repository is shared.
const PRIVILEGED: u64 = 0o4000;
/// Make a file, with a name or without: `O_CREAT` and `O_TMPFILE`.
const MAKING: [u64; 2] = [0o100, 0o20_000_000];
/// Calls that set a file's mode, and which argument it is.
const MODES: &[(&str, u8)] = &[
    ("fchmod", 1),
    ("fchmodat", 2),
    ("fchmodat2", 2),
    ("mknodat", 2),
    #[cfg(target_arch = "x86_64")]
    ("chmod", 1),
    #[cfg(target_arch = "x86_64")]
    ("creat", 1),
    #[cfg(target_arch = "x86_64")]
    ("mknod", 1),
];
/// Calls that may make a file, and which argument its mode is; the one before it says so.
const OPENINGS: &[(&str, u8)] = &[
    ("openat", 3),
    #[cfg(target_arch = "x86_64")]
    ("open", 2),
];
/// Types into a terminal as if the person did: `TIOCSTI` and `TIOCLINUX`.
const TYPING: [u64; 2] = [0x5412, 0x541c];
const UNIX: u64 = 1;
/// IPv4, IPv6 and the kernel's own account of the network.
const NETWORK: [u64; 3] = [2, 10, 16];

/// Restricts this process and those it starts.
pub(super) fn apply(orders: &Orders) -> Result<(), Box<dyn Error>> {
    // What they are to do is out of sight; who is told that they do not exist uses `clone` and
    // `openat`.
    let hidden = json!([{ "syscall": "clone3" }, { "syscall": "openat2" }]);
    apply_filter(&foreign())?;
    apply_filter(&filter(&hidden, ENOSYS)?)?;
    apply_filter(&filter(&Value::Array(denied(orders)), EPERM)?)?;
    Ok(())
}

fn denied(orders: &Orders) -> Vec<Value> {
    let mut rules: Vec<_> =
        DENIED.split_whitespace().map(|name| json!({ "syscall": name })).collect();
    for name in ["clone", "unshare"] {
        let operator = json!({ "masked_eq": CLONE_NEWUSER });
        rules.push(json!({ "syscall": name, "args": [argument(0, &operator, CLONE_NEWUSER)] }));
    }
    rules.extend(privileged());
    for request in TYPING {
        rules.push(json!({ "syscall": "ioctl", "args": [argument(1, &json!("eq"), request)] }));
    }
    let others = families(orders).into_iter().map(|family| argument(0, &json!("ne"), family));
    let others: Vec<_> = others.collect();
    // A rule without conditions must not even have a list of them.
    rules.push(json!({ "syscall": "socket", "args": (!others.is_empty()).then_some(others) }));
    rules
}

/// Returns the calls that would leave a program with somebody's rights behind, for anybody who
/// finds it outside the sandbox.
fn privileged() -> Vec<Value> {
    let has = |index, bit: u64| argument(index, &json!({ "masked_eq": bit }), bit);
    let rule = |name, conditions: &[Value]| json!({ "syscall": name, "args": conditions });
    let modes = MODES.iter().map(|(name, mode)| rule(name, &[has(*mode, PRIVILEGED)]));
    let openings = OPENINGS.iter().flat_map(|(name, mode)| {
        MAKING.map(|flag| rule(name, &[has(mode - 1, flag), has(*mode, PRIVILEGED)]))
    });
    modes.chain(openings).collect()
}

/// Returns what sockets a command may have. In a network namespace of its own it may have them
/// all, since there is nobody else. Alone it may have none to programs of this machine, since
/// there are some that do anything they are told.
fn families(orders: &Orders) -> Vec<u64> {
    match (orders.fence, orders.network) {
        (Fence::Within, _) => [&[UNIX][..], &NETWORK].concat(),
        (Fence::Alone, Network::On) => NETWORK.to_vec(),
        (Fence::Alone, Network::Off) => vec![],
    }
}

fn argument(index: u8, operator: &Value, value: u64) -> Value {
    json!({ "index": index, "type": "dword", "op": operator, "val": value })
}

/// Makes a filter against calls that go by other numbers (`x32`), which the others do not know.
/// They do not know those of another processor either, but end whoever makes them.
fn foreign() -> BpfProgram {
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let (load, is_at_least, answer) = (0x20, 0x35, 0x06);
    vec![
        step(load, 0, 0),
        step(is_at_least, 1, 0x4000_0000),
        step(answer, 0, SeccompAction::Allow.into()),
        step(answer, 0, SeccompAction::Errno(EPERM).into()),
    ]
}

/// Makes a filter that answers some calls with an error.
fn filter(rules: &Value, errno: u32) -> Result<BpfProgram, Box<dyn Error>> {
    let filter = json!({ "only": {
        "mismatch_action": "allow",
        "match_action": { "errno": errno },
        "filter": rules,
    } });
    let mut filters = compile_from_json(filter.to_string().as_bytes(), ARCH.try_into()?)?;
    Ok(filters.remove("only").unwrap_or_default())
}
