//! How bubblewrap is told a policy.
//!
//! The command gets a file system of its own, made of layers, each a mount: everything is
//! there and read-only, and other layers lie over it. Whoever could move a directory away in
//! which something read-only is mounted could put another in its place, so every directory on
//! the way there is a mount itself: what is mounted cannot be moved.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    Network, Policy,
    confine::{Fence, Orders},
    policy::{is_in, real},
};

/// Directories that all programs share, with sockets in them. A command has its own, empty
/// at first and gone when it ends.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/var/run"];
/// Where on some systems all programs are.
const PROGRAMS: &str = "/run/current-system";
/// Where the command finds the program that confines it.
const CONFINER: &str = "/run/adjutant";
/// What holds for every command. What is loaded into a program before its first line must not
/// be loaded into the confiner, and directories that are not there must not be named.
const ALWAYS: &str = "--unshare-user-try --unshare-pid --unshare-ipc --unshare-uts \
    --unshare-cgroup-try --die-with-parent --new-session --cap-drop ALL \
    --unsetenv LD_PRELOAD --unsetenv LD_AUDIT --unsetenv LD_LIBRARY_PATH \
    --unsetenv TMPDIR --unsetenv XDG_RUNTIME_DIR";

/// What lies at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    /// What is there, to be changed.
    Writable,
    /// What is there, not to be changed.
    ReadOnly,
    /// An empty directory of the command's own.
    Private,
    /// Nothing.
    Hidden,
    /// The harmless devices.
    Devices,
    /// The command's own processes.
    Processes,
}

/// Returns the words that run a command under bubblewrap.
pub(super) fn wrap(
    bubblewrap: &Path,
    confiner: &[OsString],
    policy: &Policy,
    command: Vec<OsString>,
) -> Vec<OsString> {
    let (program, arguments) = confiner.split_at(confiner.len().min(1));
    let mut words = vec![bubblewrap.into()];
    words.extend(ALWAYS.split_whitespace().map(OsString::from));
    if policy.network == Network::Off {
        words.push("--unshare-net".into());
    }
    let layers = layers(policy);
    words.extend(layers.iter().flat_map(|(path, layer)| layer.words(path)));
    words.extend(["--ro-bind-try", PROGRAMS, PROGRAMS].map(OsString::from));
    words.extend([&["--ro-bind".into()], program, &[CONFINER.into()]].concat());
    // At last, since other layers may lie in them.
    let hidden = layers.iter().filter(|(path, layer)| **layer == Layer::Hidden && path.is_dir());
    words.extend(hidden.flat_map(|(path, _)| ["--remount-ro".into(), path.into()]));
    words.extend(["--chdir".into(), policy.workdir.clone().into(), "--".into(), CONFINER.into()]);
    words.extend_from_slice(arguments);
    let own = real(PRIVATE.into_iter().chain(["/dev"]));
    let writable = [&policy.writable[..], &own].concat();
    let hidden = policy.hidden.iter().map(|path| nearest(path)).collect();
    let orders = Orders { fence: Fence::Within, network: policy.network, writable, hidden };
    words.extend(orders.words());
    words.extend(command);
    words
}

impl Layer {
    fn words(self, path: &Path) -> Vec<OsString> {
        let bind = |how: &str, what: &Path| vec![how.into(), what.into(), path.into()];
        match self {
            Self::Writable => bind("--bind", path),
            Self::ReadOnly => bind("--ro-bind", path),
            Self::Hidden if !path.is_dir() => bind("--ro-bind", Path::new("/dev/null")),
            Self::Private | Self::Hidden => {
                let options = ["--perms", "1777", "--tmpfs"].map(OsString::from);
                options.into_iter().chain([path.into()]).collect()
            }
            Self::Devices => vec!["--dev".into(), path.into()],
            Self::Processes => vec!["--proc".into(), path.into()],
        }
    }
}

/// Returns what lies where. What lies further down comes later, and so on top.
fn layers(policy: &Policy) -> BTreeMap<PathBuf, Layer> {
    let private = real(PRIVATE);
    let hidden = real(&policy.hidden);
    let mut protected = outermost(real(&policy.protected));
    // What is not seen is not changed either.
    protected.retain(|path| !is_in(path, &hidden));
    let mut writable = real(&policy.writable);
    writable.retain(|path| !is_in(path, &protected));
    let mut needed = real([&policy.workdir]);
    if policy.network == Network::On {
        needed.extend(real(["/etc/resolv.conf"]));
    }
    needed.retain(|path| is_in(path, &private) && !is_in(path, &writable));
    let mut sockets = real(policy.sockets.keys());
    sockets.retain(|path| !is_in(path, &private) && !is_in(path, &writable));
    // Of two for one place, the later counts.
    let layers = [
        (vec!["/".into()], Layer::ReadOnly),
        (vec!["/dev".into()], Layer::Devices),
        (vec!["/proc".into()], Layer::Processes),
        (private, Layer::Private),
        (needed, Layer::ReadOnly),
        (sockets, Layer::Hidden),
        (hidden, Layer::Hidden),
        (ways(&writable, &protected), Layer::Writable),
        (writable, Layer::Writable),
        (protected, Layer::ReadOnly),
    ];
    let each = |(paths, layer): (Vec<_>, _)| paths.into_iter().map(move |path| (path, layer));
    layers.into_iter().flat_map(each).collect()
}

/// Returns the directories on the way to what is protected.
fn ways(writable: &[PathBuf], protected: &[PathBuf]) -> Vec<PathBuf> {
    let above = protected.iter().flat_map(|path| path.ancestors().skip(1));
    above.filter(|path| is_in(path, writable)).map(Path::to_owned).collect()
}

/// Returns where a path leads, or would lead if anything were there.
fn nearest(path: &Path) -> PathBuf {
    let mut ways = path.ancestors();
    let there = ways.find_map(|way| Some((way, way.canonicalize().ok()?)));
    there.map_or_else(
        || path.to_owned(),
        |(way, real)| match path.strip_prefix(way) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => path.to_owned(),
        },
    )
}

/// Leaves out what lies in another.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup_by(|next, kept| next.starts_with(kept));
    paths
}
