//! The last step before a command: a process that gives up what the command must not have,
//! and becomes the command.
//!
//! ```text
//!  bubblewrap ──▶ confiner ══▶ command        (══▶ the same process)
//! ```
//!
//! It is the same program started again, since what a process gives up it cannot get back.

use std::{ffi::OsString, path::PathBuf};

use super::Network;

/// What else holds the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// It is in namespaces of its own.
    Within,
    /// Nothing.
    Alone,
}

/// What a confiner is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Orders {
    /// What else holds the command.
    pub(super) fence: Fence,
    /// Whether it may talk to other machines.
    pub(super) network: Network,
    /// Where it may write.
    pub(super) writable: Vec<PathBuf>,
    /// What it may not even read, where nothing may be put in the place of what is there either.
    pub(super) hidden: Vec<PathBuf>,
}

/// Divides the parts of the orders, and those from the command. No absolute path looks like it.
const END: &str = "--";

impl Orders {
    /// Returns the words a confiner is told them in.
    pub(super) fn words(self) -> impl Iterator<Item = OsString> {
        let fence = match self.fence {
            Fence::Within => "within",
            Fence::Alone => "alone",
        };
        let network = match self.network {
            Network::Off => "off",
            Network::On => "on",
        };
        let writable = self.writable.into_iter().map(OsString::from).chain([END.into()]);
        let hidden = self.hidden.into_iter().map(OsString::from).chain([END.into()]);
        [fence, network].map(OsString::from).into_iter().chain(writable).chain(hidden)
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::{
        convert::Infallible, error::Error, ffi::OsString, io, os::unix::process::CommandExt as _,
        path::PathBuf, process::Command, thread::available_parallelism,
    };

    use rustix::{
        process::{Resource, Rlimit, getrlimit, setrlimit},
        thread::{CapabilitySet, CapabilitySets, set_capabilities},
    };

    use super::{
        super::{Network, landlock, seccomp},
        END, Fence, Orders,
    };

    impl Orders {
        /// Returns the orders and the command.
        fn read(words: &[OsString]) -> Option<(Self, &[OsString])> {
            let [fence, network, words @ ..] = words else { return None };
            let fence = match fence.to_str()? {
                "within" => Fence::Within,
                "alone" => Fence::Alone,
                _ => return None,
            };
            let network = match network.to_str()? {
                "off" => Network::Off,
                "on" => Network::On,
                _ => return None,
            };
            let (writable, words) = paths(words)?;
            let (hidden, words) = paths(words)?;
            Some((Self { fence, network, writable, hidden }, words))
        }
    }

    /// Returns the paths up to the end of a part, and what comes after it.
    fn paths(words: &[OsString]) -> Option<(Vec<PathBuf>, &[OsString])> {
        let end = words.iter().position(|word| word == END)?;
        Some((words[..end].iter().map(Into::into).collect(), &words[end + 1..]))
    }

    /// Gives up what a command must not have, and becomes the command. Returns only if that
    /// failed. The process must have no other threads.
    pub fn confine(words: &[OsString]) -> io::Result<Infallible> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "the orders cannot be read");
        let (orders, command) = Orders::read(words).ok_or_else(wrong)?;
        let [program, arguments @ ..] = command else { return Err(wrong()) };
        give_up(&orders).map_err(|error| io::Error::other(format!("cannot confine: {error}")))?;
        let error = Command::new(program).args(arguments).exec();
        Err(io::Error::new(error.kind(), format!("{}: {error}", program.display())))
    }

    /// How many processes and threads a command may have, at least and for each processor: far
    /// more than a build, and less than a machine can bear.
    const PROCESSES: [u64; 2] = [4096, 256];

    /// Limits the number of processes, where those of others do not count.
    fn limit_processes(orders: &Orders) -> io::Result<()> {
        let [least, each] = PROCESSES;
        let most = available_parallelism().map_or(least, |it| least.max(each * it.get() as u64));
        let Rlimit { current, maximum } = getrlimit(Resource::Nproc);
        let [current, maximum] =
            [current, maximum].map(|it| Some(it.map_or(most, |it| it.min(most))));
        if orders.fence == Fence::Within {
            setrlimit(Resource::Nproc, Rlimit { current, maximum })?;
        }
        Ok(())
    }

    fn give_up(orders: &Orders) -> Result<(), Box<dyn Error>> {
        limit_processes(orders)?;
        landlock::apply(orders)?;
        let none = CapabilitySet::empty();
        set_capabilities(
            None,
            CapabilitySets { effective: none, permitted: none, inheritable: none },
        )?;
        seccomp::apply(orders)?;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
pub use imp::confine;
