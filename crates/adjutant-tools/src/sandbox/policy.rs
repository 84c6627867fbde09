//! What a command may do.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use adjutant_core::Grant;

use super::{
    git_config,
    steering::{MOST, Steering, is_among_orders},
};

/// Places below a home directory where people keep what opens other doors. No build needs
/// them, and what a command prints goes to the model's provider.
const SECRETS: [&str; 29] = [
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/op",
    ".config/rclone",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".my.cnf",
    ".mylogin.cnf",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".ssh",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".vault-token",
];

/// Places below a home directory from which shells and sessions are told what to run.
const START_UP: [&str; 20] = [
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/systemd",
    ".gitconfig",
    ".kshrc",
    ".pam_environment",
    ".profile",
    ".ssh",
    ".xprofile",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Returns the files of the user's from which git, shells and sessions are told what to run.
pub fn start_up() -> Vec<PathBuf> {
    let home = env::home_dir().map(|home| START_UP.map(|name| home.join(name)));
    home.into_iter().flatten().chain(git_config::everywhere()).collect()
}

/// Whether a command may talk to other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// It may not.
    Off,
    /// It may, and also to this machine.
    On,
}

/// What a command may do. All paths are absolute.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Where it may write, besides a temporary directory.
    pub writable: Vec<PathBuf>,
    /// Where it may not, though it lies inside. Need not exist.
    pub protected: Vec<PathBuf>,
    /// What of that steers git or the runtime and is there.
    pub steering: Steering,
    /// What it may not even read.
    pub hidden: Vec<PathBuf>,
    /// The sockets of other programs. One can be connected to where it cannot be written.
    pub(super) sockets: BTreeMap<PathBuf, Birth>,
    /// Whether it may talk to other machines.
    pub network: Network,
    /// Where it starts.
    pub workdir: PathBuf,
}

impl Policy {
    /// Returns what a grant means for a command: it may write in the scope, but not what is
    /// protected there, and it does not see the runtime's own places or the user's secrets.
    /// Looks through the scope, and so may take a while.
    pub fn of(grant: &Grant, network: Network, workdir: PathBuf) -> Self {
        // A link can be made to lead anywhere, so only what is really there is the agent's; and
        // who works among git's hooks or the runtime's files may read them.
        let is_own = |path: &&PathBuf| grant.owns(path) && !is_among_orders(path);
        let scope = grant.scope().iter().filter(|path| is_itself(path)).filter(is_own);
        let writable: Vec<_> = scope.cloned().collect();
        let own = grant.protected().iter().cloned();
        let (mut protected, mut hidden): (Vec<_>, Vec<_>) =
            own.partition(|path| is_in(path, &writable));
        // What others of the tree work with is no secret.
        hidden.retain(|path| !is_in(path, grant.whole_scope()));
        let steering = Steering::find(&writable, MOST);
        protected.extend(steering.protected(&writable));
        // It is started again for every command, and outside.
        protected.extend(env::current_exe().ok().filter(|program| is_in(program, &writable)));
        let secrets = env::home_dir().map(|home| SECRETS.map(|name| home.join(name)));
        hidden.extend(secrets.into_iter().flatten().filter(|path| !writable.contains(path)));
        Self { writable, protected, steering, hidden, sockets: sockets(), network, workdir }
    }

    /// Leaves out the sockets that are gone, also if others have their names, and reports whether there were any.
    pub(crate) fn refresh(&mut self) -> bool {
        let (count, now) = (self.sockets.len(), sockets());
        self.sockets.retain(|path, birth| now.get(path) == Some(birth));
        self.sockets.len() < count
    }

    /// Returns what keeps a command from writing anywhere, and from the network.
    pub(crate) fn strictest(workdir: PathBuf) -> Self {
        let (writable, protected, hidden) = (Vec::new(), Vec::new(), Vec::new());
        let (steering, sockets, network) = (Steering::default(), BTreeMap::new(), Network::Off);
        Self { writable, protected, steering, hidden, sockets, network, workdir }
    }
}

/// When a socket was made, and where.
type Birth = (u64, i64, i64);

fn sockets() -> BTreeMap<PathBuf, Birth> {
    let listed = fs::read("/proc/net/unix").unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    let paths =
        listed.lines().filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])));
    let sockets = paths.filter_map(|path| {
        let found = fs::metadata(&path).ok().filter(|it| it.file_type().is_socket())?;
        Some((path, (found.ino(), found.ctime(), found.ctime_nsec())))
    });
    sockets.collect()
}

/// Reports whether a path has no link in it.
fn is_itself(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real == path)
}

/// Returns where paths really lead. Where nothing is, nothing is returned.
pub(super) fn real<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<PathBuf> {
    paths.into_iter().filter_map(|path| path.as_ref().canonicalize().ok()).collect()
}

/// Reports whether a path lies in one of some places.
pub(super) fn is_in(path: &Path, places: &[PathBuf]) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

#[cfg(test)]
mod tests {
    use adjutant_core::{Access, AgentPath, Charter, Mode, Wish};

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "there is no composition root here")]
    fn grant(scope: &Path, protected: &[PathBuf]) -> Grant {
        Grant::mint(Charter {
            mode: Mode::Auto,
            rules: vec![],
            access: Access::Inherit,
            scope: vec![scope.to_owned()],
            protected: protected.to_owned(),
            shown: Vec::new(),
            depth: 1,
        })
    }

    fn policy(scope: &Path, protected: &[PathBuf]) -> Policy {
        Policy::of(&grant(scope, protected), Network::Off, scope.to_owned())
    }

    #[test]
    fn the_program_itself_is_protected() {
        let program = env::current_exe().unwrap();
        let policy = policy(program.parent().unwrap(), &[]);
        assert!(policy.protected.contains(&program));
    }

    #[test]
    fn a_scope_that_is_protected_itself_is_not_written_to() {
        let place = tempfile::tempdir().unwrap();
        let scope = place.path().canonicalize().unwrap();
        let made =
            ["bare/hooks", "bare/objects", "bare/tree", ".git/hooks", ".adjutant", "sub/.git/info"];
        for inside in made.into_iter().chain(["own/deep", "open"]) {
            std::fs::create_dir_all(scope.join(inside)).unwrap();
        }
        std::fs::write(scope.join("bare/HEAD"), "ref: refs/heads/main").unwrap();
        let parent = grant(&scope, &[scope.join("own")]);
        let narrowed = |inside: &str| {
            let wish = Wish { scope: Some(inside.into()), ..Wish::default() };
            let child = parent.narrow(AgentPath::root().child("a", 1), &wish).unwrap().0;
            Policy::of(&child, Network::Off, scope.join(inside)).writable
        };
        let held = [".git/hooks", ".adjutant", "sub/.git/info", "own", "own/deep", "bare/hooks"];
        for inside in held {
            assert!(narrowed(inside).is_empty(), "{inside}");
        }
        assert!(policy(&scope.join(".git/hooks"), &[]).writable.is_empty());
        for inside in ["open", "bare/tree"] {
            assert_eq!(narrowed(inside), [scope.join(inside)]);
        }
    }

    #[test]
    fn what_is_protected_outside_the_scope_is_hidden() {
        let place = tempfile::tempdir().unwrap();
        let scope = place.path().canonicalize().unwrap();
        let (inside, outside) = (scope.join("own"), PathBuf::from("/own"));
        let policy = policy(&scope, &[inside.clone(), outside.clone()]);
        assert!(policy.protected.contains(&inside) && !policy.hidden.contains(&inside));
        assert!(policy.hidden.contains(&outside) && !policy.protected.contains(&outside));
    }

    #[test]
    fn what_is_protected_where_others_of_the_tree_work_is_not_hidden() {
        let place = tempfile::tempdir().unwrap();
        let scope = place.path().canonicalize().unwrap();
        std::fs::create_dir(scope.join("sub")).unwrap();
        let root = grant(&scope, &[scope.join("hook.sh")]);
        let wish = Wish { scope: Some("sub".into()), ..Wish::default() };
        let (child, _) = root.narrow(AgentPath::root().child("a", 1), &wish).unwrap();
        let policy = Policy::of(&child, Network::Off, scope.clone());
        assert!(!policy.hidden.contains(&scope.join("hook.sh")), "{:?}", policy.hidden);
        assert!(!policy.writable.contains(&scope));
    }

    #[test]
    fn secrets_are_hidden_unless_they_are_the_scope() {
        let secret = env::home_dir().unwrap().join(".ssh");
        let place = tempfile::tempdir().unwrap();
        assert!(policy(place.path(), &[]).hidden.contains(&secret));
        if is_itself(&secret) {
            assert!(!policy(&secret, &[]).hidden.contains(&secret));
        }
    }
}
