//! Walls around a command.
//!
//! A [`Policy`] says what a command may do; a [`Sandbox`] turns a command into one that can do
//! no more.
//!
//! * Linux: bubblewrap gives the command a file system, processes and a network of its own
//!   ([`bubblewrap`]); inside, a process of ours gives up what is left ([`confine`]): writing
//!   elsewhere ([`landlock`]) and dangerous system calls ([`seccomp`]). Where bubblewrap is
//!   missing, that alone.
//! * macOS: Seatbelt ([`seatbelt`]).
//!
//! What cannot be held is told ([`Sandbox::lack`]), so that a person can be asked.

mod bubblewrap;
mod confine;
mod git_config;
mod guard;
mod kept;
#[cfg(target_os = "linux")]
mod landlock;
mod newcomers;
mod policy;
mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod steering;

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

#[cfg(target_os = "linux")]
pub use confine::confine;
use confine::{Fence, Orders};
pub use git_config::leads as git_leads;
pub use guard::Guard;
pub(crate) use guard::is_cover;
pub use kept::Seals;
pub use policy::{Network, Policy, start_up};
pub use steering::Steering;
use steering::{Extent, MOST};

/// Where bubblewrap is looked for. Not on the `PATH`: a command could put one there.
#[cfg(target_os = "linux")]
const BUBBLEWRAP: [&str; 4] =
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// Where Landlock alone lets every command write: what cannot be private and is always needed.
const SHARED: [&str; 11] = [
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// How long a try-out may take.
const LONGEST: Duration = Duration::from_secs(10);
/// How often it is looked whether it has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// What holds a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This bubblewrap, and inside it Landlock and a filter of system calls.
    Bubblewrap(PathBuf),
    /// Landlock and a filter of system calls.
    Landlock,
    /// Seatbelt.
    Seatbelt,
    /// Nothing.
    None,
}

/// What turns a command into one that can do no more than a policy says.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// A program that calls [`confine`], and what it wants to be told first.
    confiner: Vec<OsString>,
    found: Arc<OnceLock<Found>>,
}

/// What holds here, and why nothing better does.
#[derive(Debug)]
struct Found {
    kind: Kind,
    why: String,
}

impl Sandbox {
    /// Returns the best one that works here. That is tried out when it is first needed, or
    /// prepared, which takes some milliseconds, and once.
    pub fn detect(confiner: Vec<OsString>) -> Self {
        Self { confiner, found: Arc::default() }
    }

    /// Returns one that is what it is said to be, whether it works or not.
    pub fn of(kind: Kind, confiner: Vec<OsString>) -> Self {
        let found = Found { kind, why: "it was chosen so".to_owned() };
        Self { confiner, found: Arc::new(found.into()) }
    }

    /// Returns the command that runs a command inside.
    pub fn wrap(&self, policy: &Policy, command: Vec<OsString>) -> Vec<OsString> {
        wrap(&self.found().kind, &self.confiner, policy, command)
    }

    /// Tells in words what does not hold here, whatever the policy, and what would help.
    pub fn weakness(&self) -> Option<String> {
        let Found { kind, why } = self.found();
        match kind {
            Kind::Bubblewrap(_) | Kind::Seatbelt => None,
            Kind::Landlock => Some(format!(
                "only Landlock holds the command, because {why}: it cannot write outside the \
                 scope and the temporary directories, but it can read your secrets, change the \
                 permissions of your other files, and change what steers git and Adjutant"
            )),
            Kind::None => Some(format!(
                "there is no sandbox, because {why}: the command can do whatever you can"
            )),
        }
    }

    /// Tells in words what of a policy does not hold, if anything.
    pub fn lack(&self, policy: &Policy) -> Option<String> {
        let weakness = self.weakness();
        if weakness.is_some() {
            return weakness;
        }
        if policy.steering.extent == Extent::Partial {
            return Some(format!(
                "there are more than {MOST} directories, and of those further down nobody knows \
                 which are repositories and have to be protected"
            ));
        }
        if self.found().kind == Kind::Seatbelt {
            return None;
        }
        let link = policy.protected.iter().find(|path| path.is_symlink())?;
        Some(format!("`{}` is a link, which cannot be protected", link.display()))
    }

    /// Tells in words what holds a command here, and why nothing better does.
    pub fn describe(&self) -> String {
        let Found { kind, why } = self.found();
        match kind {
            Kind::Bubblewrap(path) => format!("bubblewrap ({}) with seccomp", path.display()),
            Kind::Landlock => format!("Landlock with seccomp alone, because {why}"),
            Kind::Seatbelt => "Seatbelt".to_owned(),
            Kind::None => format!("none, because {why}"),
        }
    }

    fn found(&self) -> &Found {
        self.found.get_or_init(|| find(&self.confiner))
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::of(Kind::None, Vec::new())
    }
}

fn wrap(
    kind: &Kind,
    confiner: &[OsString],
    policy: &Policy,
    command: Vec<OsString>,
) -> Vec<OsString> {
    match kind {
        Kind::Bubblewrap(path) => bubblewrap::wrap(path, confiner, policy, command),
        Kind::Landlock => {
            let writable = [&policy.writable[..], &policy::real(SHARED)].concat();
            let orders =
                Orders { fence: Fence::Alone, network: policy.network, writable, hidden: vec![] };
            confiner.iter().cloned().chain(orders.words()).chain(command).collect()
        }
        Kind::Seatbelt => seatbelt::wrap(policy, &policy::real([env::temp_dir()]), command),
        Kind::None => command,
    }
}

#[cfg(target_os = "linux")]
fn find(confiner: &[OsString]) -> Found {
    let installed = BUBBLEWRAP.iter().map(PathBuf::from).find(|path| path.exists());
    let best = installed.ok_or_else(|| {
        "bubblewrap is not installed (`apt install bubblewrap` or the like helps)".to_owned()
    });
    let best = best.and_then(|path| {
        let kind = Kind::Bubblewrap(path);
        // A mount that vanishes meanwhile ends bubblewrap. Once is bad luck.
        let works =
            try_out(kind.clone(), confiner, LONGEST).or_else(|_| try_out(kind, confiner, LONGEST));
        works.map_err(|error| format!("bubblewrap does not work here ({error})"))
    });
    best.unwrap_or_else(|why| match try_out(Kind::Landlock, confiner, LONGEST) {
        Ok(found) => Found { why, ..found },
        Err(error) => {
            let why = format!("{why}, and Landlock does not work here ({error})");
            Found { kind: Kind::None, why }
        }
    })
}

#[cfg(target_os = "macos")]
fn find(confiner: &[OsString]) -> Found {
    try_out(Kind::Seatbelt, confiner, LONGEST).unwrap_or_else(|error| Found {
        kind: Kind::None,
        why: format!("Seatbelt does not work here ({error})"),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn find(_: &[OsString]) -> Found {
    Found { kind: Kind::None, why: "none is known for this system".to_owned() }
}

/// Runs a command that does nothing.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn try_out(kind: Kind, confiner: &[OsString], limit: Duration) -> Result<Found, String> {
    let policy = Policy::strictest("/".into());
    let words = wrap(&kind, confiner, &policy, ["/bin/sh", "-c", ":"].map(Into::into).into());
    let (program, arguments) = words.split_first().ok_or("there is no command")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if begun.elapsed() > limit {
            // What cannot be killed is not waited for.
            let _ = child.kill();
            return Err(format!("it did not end within {limit:?}"));
        }
        thread::sleep(PAUSE);
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(Found { kind, why: String::new() })
    } else {
        Err(error.lines().next().unwrap_or("it says nothing").to_owned())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_try_out_has_an_end() {
        let endless = ["/bin/sh", "-c", "exec sleep 1000"].map(OsString::from);
        let tried = try_out(Kind::Landlock, &endless, Duration::ZERO);
        assert_eq!(tried.unwrap_err(), "it did not end within 0ns");
    }

    #[test]
    fn what_is_too_large_to_be_looked_through_is_told() {
        let sandbox = Sandbox::of(Kind::Bubblewrap("/usr/bin/bwrap".into()), Vec::new());
        let mut policy = Policy::strictest("/".into());
        assert_eq!(sandbox.lack(&policy), None);
        policy.steering.extent = Extent::Partial;
        assert!(sandbox.lack(&policy).unwrap().contains("more than 200000 directories"));
    }
}
