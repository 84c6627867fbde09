//! A scope, something outside it, and a command between them.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use adjutant_core::{Access, AgentPath, Charter, Grant, Mode, StandIn, Wish};
use adjutant_tools::sandbox::{Guard, Kind, Network, Policy, Sandbox};
use tempfile::TempDir;

/// Where the ordinary user finds what root prepared.
pub(crate) const PREPARED: &str = "SANDBOX_TEST_PREPARED";

/// What became of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) output: String,
    pub(crate) error: String,
    pub(crate) code: Option<i32>,
}

pub(crate) struct World {
    /// Holds all the rest.
    pub(crate) directory: TempDir,
    pub(crate) scope: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) network: Network,
    /// Within the scope.
    pub(crate) workdir: PathBuf,
    pub(crate) runtime: Vec<PathBuf>,
    /// What stands for the scope, if something does.
    pub(crate) copy: Option<PathBuf>,
    pub(crate) sandbox: Sandbox,
    /// Given back last, when everything else is gone.
    pub(crate) _turn: Turn,
}

/// Sockets of other programs are covered one by one, and one that vanishes while that is done
/// would end a command. So who has sockets has the machine for himself.
pub(crate) enum Turn {
    Shared { _lock: RwLockReadGuard<'static, ()> },
    Alone { _lock: RwLockWriteGuard<'static, ()> },
}

static TURNS: RwLock<()> = RwLock::new(());

impl Turn {
    fn shared() -> Self {
        Self::Shared { _lock: TURNS.read().unwrap_or_else(PoisonError::into_inner) }
    }

    pub(crate) fn alone() -> Self {
        Self::Alone { _lock: TURNS.write().unwrap_or_else(PoisonError::into_inner) }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::in_turn(Turn::shared())
    }

    /// Makes one for a test that has sockets.
    pub(crate) fn with_sockets() -> Self {
        Self::in_turn(Turn::alone())
    }

    fn in_turn(turn: Turn) -> Self {
        let sandbox = Sandbox::detect(confiner());
        assert!(sandbox.describe().starts_with("bubblewrap"), "{}", sandbox.describe());
        Self::of(sandbox, turn)
    }

    /// Makes one where there is no bubblewrap.
    pub(crate) fn of_landlock() -> Self {
        Self::of(Sandbox::of(Kind::Landlock, confiner()), Turn::alone())
    }

    fn of(sandbox: Sandbox, turn: Turn) -> Self {
        let directory = TempDir::new_in(base()).unwrap();
        let real = directory.path().canonicalize().unwrap();
        let [scope, outside] = ["scope", "outside"].map(|name| real.join(name));
        fs::create_dir(&scope).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "untouched").unwrap();
        let (workdir, network, runtime) = (scope.clone(), Network::Off, vec![]);
        let copy = None;
        Self { directory, scope, outside, network, workdir, runtime, copy, sandbox, _turn: turn }
    }

    pub(crate) fn place(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy::of(&self.grant(), self.network, self.workdir.clone())
    }

    #[expect(clippy::disallowed_methods, reason = "there is no composition root here")]
    fn grant(&self) -> Grant {
        let grant = Grant::mint(Charter {
            mode: Mode::Auto,
            rules: vec![],
            access: Access::Inherit,
            scope: vec![self.scope.clone()],
            protected: self.runtime.clone(),
            shown: Vec::new(),
            depth: 1,
        });
        let Some(place) = self.copy.clone() else { return grant };
        let stand_in = StandIn { place, original: self.scope.clone() };
        let agent = AgentPath::root().child("apart", 1);
        grant.narrow_into(agent, &Wish::default(), stand_in).unwrap().0
    }

    /// Runs a script in the sandbox. `$OUT` is the directory outside, `$PROBE` the probe.
    pub(crate) fn run(&self, script: &str) -> Outcome {
        self.start(&["sh".into(), "-c".into(), script.into()])
    }

    pub(crate) fn start(&self, command: &[OsString]) -> Outcome {
        let policy = self.policy();
        let guard = Guard::of(&policy);
        let outcome = self.under(&policy, command);
        guard.end();
        outcome
    }

    /// Runs a command under a policy, without a guard.
    pub(crate) fn under(&self, policy: &Policy, command: &[OsString]) -> Outcome {
        self.with(policy, command, &[])
    }

    /// Runs a command with more in its environment.
    pub(crate) fn with(
        &self,
        policy: &Policy,
        command: &[OsString],
        variables: &[(&str, &OsStr)],
    ) -> Outcome {
        let words = self.sandbox.wrap(policy, command.to_vec());
        let mut command = Command::new(&words[0]);
        command.envs(variables.iter().copied());
        command
            .args(&words[1..])
            .current_dir(&policy.workdir)
            .env("OUT", &self.outside)
            .env("PROBE", probe());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).trim_end().to_owned();
        let (output, error, code) =
            (text(&output.stdout), text(&output.stderr), output.status.code());
        Outcome { output, error, code }
    }

    pub(crate) fn wrap(&self, command: &[OsString]) -> Vec<OsString> {
        self.sandbox.wrap(&self.policy(), command.to_vec())
    }

    pub(crate) fn lack(&self) -> Option<String> {
        self.sandbox.lack(&self.policy())
    }

    /// Runs a script that must fail, and checks that nothing outside has changed.
    #[track_caller]
    pub(crate) fn is_refused(&self, script: &str) -> Outcome {
        let before = listing(&self.outside);
        let outcome = self.run(script);
        assert_ne!(outcome.code, Some(0), "{script}: {outcome:?}");
        assert_eq!(listing(&self.outside), before, "{script}: {outcome:?}");
        outcome
    }

    #[track_caller]
    pub(crate) fn works(&self, script: &str) -> String {
        let outcome = self.run(script);
        assert_eq!(outcome.code, Some(0), "{script}: {outcome:?}");
        outcome.output
    }

    /// Runs one attempt of the probe and returns what it says.
    pub(crate) fn attempt(&self, what: &str) -> String {
        self.run(&format!("exec $PROBE {what}")).output
    }
}

/// Returns all there is in a directory: names, modes, times, contents.
fn listing(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut listing: Vec<_> = entries
        .chain([directory.to_owned()])
        .map(|path| {
            let found = fs::symlink_metadata(&path).unwrap();
            let content = fs::read(&path).unwrap_or_default();
            let (mode, time) = (found.permissions().mode(), found.modified().unwrap());
            format!("{} {mode:o} {time:?} {content:?}", path.display())
        })
        .collect();
    listing.sort();
    listing
}

/// Returns the directory for what is made here, and not one of those a command has of its own.
pub(crate) fn base() -> PathBuf {
    prepared().map_or_else(own, |place| place.join("base"))
}

/// Returns where the tests are, unless that is a directory a command has of its own.
pub(crate) fn own() -> PathBuf {
    let usual = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let is_replaced = ["/tmp", "/var/tmp", "/run"].iter().any(|place| usual.starts_with(place));
    if is_replaced { "/srv".into() } else { usual }
}

pub(crate) fn prepared() -> Option<PathBuf> {
    env::var_os(PREPARED).map(PathBuf::from)
}

pub(crate) fn keeper() -> PathBuf {
    prepared().map_or_else(|| env!("CARGO_BIN_EXE_keeper").into(), |place| place.join("keeper"))
}

fn confiner() -> Vec<OsString> {
    vec![keeper().into(), "__confine".into()]
}

pub(crate) fn probe() -> &'static Path {
    static PROBE: OnceLock<PathBuf> = OnceLock::new();
    PROBE.get_or_init(|| prepared().map_or_else(compile_probe, |place| place.join("probe")))
}

fn compile_probe() -> PathBuf {
    let probe = base().join("probe");
    let fresh = tempfile::Builder::new().make_in(base(), |path| Ok(path.to_owned())).unwrap();
    let mut compiler = Command::new("cc")
        .args(["-x", "c", "-", "-o"])
        .arg(fresh.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(include_bytes!("probe.c")).unwrap();
    assert!(compiler.wait().unwrap().success());
    // Another run of the tests may use the old one.
    fresh.into_temp_path().persist(&probe).unwrap();
    probe
}
