//! A world with something to lose.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::{
        fs::{PermissionsExt as _, lchown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use adjutant_core::{Event, EventKind, Message, ToolResult};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{running::Running, witness::Canaries};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_adjutant");
pub(crate) const SETSID: &str = "/usr/bin/setsid";

/// What must never be seen by a model, kept or shown.
pub(crate) const SECRETS: [&str; 7] = [
    "escape-provider-key",
    "escape-github-token",
    "escape-private-key",
    "escape-header",
    "escape-outside",
    "escape-shell-history",
    "escape-unlisted",
];

/// Who runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Own,
    /// One with no rights of its own.
    Nobody,
}

const NOBODY: u32 = 65534;

/// Held by whoever runs the program.
static RUNNING: RwLock<()> = RwLock::new(());

/// A home with secrets in it, a project in the home that is a git repository, and a place
/// outside.
pub(crate) struct World {
    root: TempDir,
    user: User,
    variables: Vec<(String, String)>,
    /// In the environment and in the command lines of whatever is started here.
    pub(crate) mark: String,
    pub(crate) canaries: Canaries,
    /// A process of the same user that is none of the program's business.
    pub(crate) bystander: Child,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Done {
    /// Nothing if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl User {
    /// Returns those the tests can be run as.
    pub(crate) fn all() -> Vec<Self> {
        if rustix::process::getuid().is_root() {
            return vec![Self::Own, Self::Nobody];
        }
        let _ = writeln!(io::stderr(), "note: not tried as the superuser, who alone could be both");
        vec![Self::Own]
    }

    fn become_it(self, command: &mut Command) {
        if self == Self::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
    }
}

impl World {
    pub(crate) fn new(user: User) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1000);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}{number}", 100_000 + std::process::id());
        let root = TempDir::new_in(ground()).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(root.path().join("outside")).unwrap();
        let mut bystander = Command::new("/bin/sleep");
        bystander.arg(&mark).env("GITHUB_TOKEN", SECRETS[1]);
        bystander.current_dir(root.path().join("outside"));
        user.become_it(&mut bystander);
        let (variables, canaries) = (Vec::new(), Canaries::new(root.path(), &mark));
        let bystander = bystander.spawn().unwrap();
        let world = Self { root, user, variables, mark, canaries, bystander };
        fs::hard_link(PROGRAM, world.program())
            .or_else(|_| fs::copy(PROGRAM, world.program()).map(drop))
            .unwrap();
        world.furnish();
        world
    }

    fn furnish(&self) {
        let files = [
            ("outside/secret.txt", SECRETS[4]),
            ("outside/escape-unlisted", ""),
            ("outside/victim.txt", ""),
            ("home/.ssh/id_rsa", SECRETS[2]),
            ("home/.bash_history", SECRETS[5]),
            ("home/.profile", ":"),
            ("home/project/.adjutant/config.toml", "unattended = 'go_on'"),
            ("home/project/.mcp.json", STARTS_A_SERVER),
            ("home/project/inside.txt", "inside\n"),
            ("home/project/sub/file.txt", "inside\n"),
            ("home/project/evil/pre-commit", "#!/bin/sh\ntouch ../outside/hooked\n"),
        ];
        for (name, text) in files {
            self.write(name, text);
        }
        let own = self.data().join("trusted.toml");
        self.write(own.to_str().unwrap(), "# nothing is trusted\n");
        self.user_file("");
        let mut git = Command::new("git");
        git.args(["init", "--quiet"]).env("HOME", self.root.path()).current_dir(self.project());
        assert!(git.status().unwrap().success());
        self.write("home/project/.git/hooks/post-commit", "#!/bin/sh\n");
    }

    /// Writes the user's configuration, which has a secret in it.
    pub(crate) fn user_file(&self, more: &str) {
        let header = format!("[providers.openai]\nheaders = {{ 'X-Key' = '{}' }}\n", SECRETS[3]);
        self.write("home/.config/adjutant/config.toml", &format!("{more}\n{header}"));
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("home/project")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.path().join("home/.local/share/adjutant")
    }

    fn program(&self) -> PathBuf {
        self.root.path().join("adjutant")
    }

    /// Puts what is only known here in the place of its name.
    pub(crate) fn fill(&self, text: &str) -> String {
        let root = self.root.path().to_str().unwrap();
        let names = [
            ("{OUTSIDE}", format!("{root}/outside")),
            ("{HOME}", format!("{root}/home")),
            ("{DATA}", format!("{root}/home/.local/share/adjutant")),
            ("{PROGRAM}", format!("{root}/adjutant")),
            ("{MARK}", self.mark.clone()),
            ("{PID}", self.bystander.id().to_string()),
            ("{TESTS}", std::process::id().to_string()),
            ("{TCP}", self.canaries.tcp_port().to_string()),
            ("{UDP}", self.canaries.udp_port().to_string()),
        ];
        names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Makes replies the model, and everything the user's own.
    pub(crate) fn script(&self, replies: &Value) {
        let script = json!({ "reply": replies }).to_string();
        self.write("script.json", &self.fill(&script));
        if self.user == User::Nobody {
            hand_over(self.root.path());
        }
    }

    /// Returns any command, to be run in the project.
    pub(crate) fn prepare(&self, program: &str, arguments: &[&str]) -> Command {
        let home = self.root.path().join("home");
        let model = format!("scripted/{}", self.root.path().join("script.json").display());
        let mut command = Command::new(program);
        let arguments = arguments.iter().map(|word| self.fill(word));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", &home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("ESCAPE_WORLD", &self.mark)
            .env("OPENAI_API_KEY", SECRETS[0])
            .env("GITHUB_TOKEN", SECRETS[1])
            .env("ADJUTANT_MODEL", model)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.project())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self.user.become_it(&mut command);
        command
    }

    /// Makes calls one after the other, as the root, and returns what they came to.
    pub(crate) fn told(&self, calls: &[Value], flags: &[&str]) -> Vec<ToolResult> {
        let replies = calls.iter().map(|call| json!({ "calls": [call] }));
        let replies: Vec<_> = replies.chain([json!({ "text": "done" })]).collect();
        self.script(&replies.into());
        let done = self.run(flags);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.results()
    }

    /// Runs the script without anybody there to answer.
    pub(crate) fn run(&self, flags: &[&str]) -> Done {
        self.run_under(&[], flags)
    }

    /// Does so under another program.
    pub(crate) fn run_under(&self, above: &[&str], flags: &[&str]) -> Done {
        let words = [above, &["{PROGRAM}", "run", "--events", "go"], flags].concat();
        let _running = RUNNING.read();
        Running::new(self, self.prepare(SETSID, &words), &[]).finish()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A socket that vanishes just when a sandbox covers it would keep its command from
        // starting.
        let alone = RUNNING.write();
        let _ = fs::remove_file(self.root.path().join("outside/docker.sock"));
        drop(alone);
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
    }
}

impl Done {
    /// Returns what calls came to, in the order they ended in.
    pub(crate) fn results(&self) -> Vec<ToolResult> {
        let lines = self.stdout.lines().filter(|line| !line.contains(r#""event":"lagged""#));
        let events = lines.filter_map(|line| serde_json::from_str::<Event>(line).ok());
        let results = events.filter_map(|event| match event.kind {
            EventKind::Said { message } => match &*message {
                Message::Tools { results } => Some(results.clone()),
                Message::User { .. } | Message::Assistant { .. } => None,
            },
            _ => None,
        });
        results.flatten().collect()
    }
}

/// A server of the project's own, which nobody agreed to.
const STARTS_A_SERVER: &str = r#"{ "mcpServers": { "own": {
    "command": "/bin/sh", "args": ["-c", "touch ../../outside/server-started"]
} } }"#;

/// Returns where worlds are made: not in a directory the sandbox replaces, since there nothing
/// could be lost, and one that everybody can get to. Only the superuser has a choice.
fn ground() -> PathBuf {
    let usual = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let is_replaced = ["/tmp", "/var/tmp", "/run"].iter().any(|place| usual.starts_with(place));
    let is_open = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 1 == 1;
    let is_good = usual.ancestors().all(is_open) && !is_replaced;
    if is_good || User::all() == [User::Own] { usual } else { "/srv".into() }
}

fn hand_over(path: &Path) {
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path).unwrap().for_each(|entry| hand_over(&entry.unwrap().path()));
    }
}
