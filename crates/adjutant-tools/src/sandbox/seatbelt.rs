//! How Seatbelt, the sandbox of macOS, is told a policy.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{Network, Policy, policy::is_in};

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What every program needs to run at all. Services that start programs or show windows are
/// not among it: they would do so outside.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read*)
(allow file-ioctl (regex #"^/dev/tty"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/tty"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.notification_center"))
(allow mach-lookup (global-name "com.apple.system.logger"))
"#;

const NETWORK: &str = r#"(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow system-socket)
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))
(allow mach-lookup (global-name "com.apple.trustd.agent"))
"#;

/// Returns the words that run a command under Seatbelt.
pub(super) fn wrap(
    policy: &Policy,
    temporary: &[PathBuf],
    command: Vec<OsString>,
) -> Vec<OsString> {
    let mut words = vec![PROGRAM.into(), "-p".into(), profile(policy, temporary).into()];
    words.extend(command);
    words
}

/// Returns the profile. Of several rules about one thing, the last counts.
fn profile(policy: &Policy, temporary: &[PathBuf]) -> String {
    let Policy { writable, protected, hidden, network, .. } = policy;
    let (inside, outside): (Vec<_>, Vec<_>) = hidden.iter().partition(|path| is_in(path, writable));
    let rules = [
        ("deny file-read* file-write*", outside),
        ("allow file-read* file-write*", writable.iter().chain(temporary).collect()),
        ("deny file-read* file-write*", inside),
        ("deny file-write*", protected.iter().collect()),
    ];
    // Whoever could move a directory away could put another in its place.
    let ways = protected.iter().flat_map(|path| path.ancestors().skip(1));
    let ways: BTreeSet<_> = ways.filter(|path| is_in(path, writable)).collect();
    let mut profile = BASE.to_owned();
    if *network == Network::On {
        profile.push_str(NETWORK);
    }
    for (what, paths) in rules {
        profile.extend(paths.into_iter().map(|path| rule(what, "subpath", path)));
    }
    profile.extend(ways.into_iter().map(|path| rule("deny file-write-unlink", "literal", path)));
    profile
}

fn rule(what: &str, matches: &str, path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', r"\\").replace('"', r#"\""#);
    format!("({what} ({matches} \"{path}\"))\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(network: Network) -> Policy {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        Policy {
            writable: paths(&["/Users/eve/work", "/Users/eve/.runtime/tree"]),
            protected: paths(&["/Users/eve/work/.git/hooks", r#"/Users/eve/work/a"b\c/.git"#]),
            hidden: paths(&["/Users/eve/.runtime", "/Users/eve/work/.ssh"]),
            network,
            ..Policy::strictest("/Users/eve/work".into())
        }
    }

    #[test]
    fn the_profile_says_what_the_policy_does() {
        let profile = profile(&policy(Network::Off), &["/private/own".into()]);
        insta::assert_snapshot!(profile.strip_prefix(BASE).unwrap(), @r#"
        (deny file-read* file-write* (subpath "/Users/eve/.runtime"))
        (allow file-read* file-write* (subpath "/Users/eve/work"))
        (allow file-read* file-write* (subpath "/Users/eve/.runtime/tree"))
        (allow file-read* file-write* (subpath "/private/own"))
        (deny file-read* file-write* (subpath "/Users/eve/work/.ssh"))
        (deny file-write* (subpath "/Users/eve/work/.git/hooks"))
        (deny file-write* (subpath "/Users/eve/work/a\"b\\c/.git"))
        (deny file-write-unlink (literal "/Users/eve/work"))
        (deny file-write-unlink (literal "/Users/eve/work/.git"))
        (deny file-write-unlink (literal "/Users/eve/work/a\"b\\c"))
        "#);
    }

    #[test]
    fn only_a_network_that_is_on_adds_its_rules() {
        let [off, on] = [Network::Off, Network::On].map(|network| profile(&policy(network), &[]));
        assert!(!off.contains("network"));
        assert_eq!(on.replace(NETWORK, ""), off);
    }

    #[test]
    fn the_command_comes_last() {
        let words = wrap(&policy(Network::Off), &[], vec!["ls".into(), "-l".into()]);
        assert_eq!(words[..2], [PROGRAM, "-p"]);
        assert_eq!(words[3..], ["ls", "-l"]);
    }
}
