//! `run_command`: a command of the shell.

use std::{
    env, mem,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use adjutant_core::{
    Effect, Fact, Host, Mode, Target, ToolError, Touch,
    rule::{NETWORK, UNCONFINED},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    CommandSettings,
    end::End,
    job::{Again, Job, Stdin, Work},
    jobs::{HeldJob, Jobs},
};
use crate::{
    blocking, brief,
    keeper::Keeper,
    place::Place,
    sandbox::{Guard, Network, Policy},
    shell::{self, Dialect},
    snapshot::Watch,
    typed::TypedTool,
};

/// How long a command may take when the call does not say.
const USUAL: u64 = 120;

/// The longest a call may say.
const LONGEST: u64 = 3600;

/// How often the call tells how far it is, at most.
const PAUSE: Duration = Duration::from_millis(200);

/// How much of a command a line shows.
const SUMMARY: usize = 200;

pub(crate) struct RunCommand {
    pub(super) settings: CommandSettings,
    pub(super) jobs: Arc<Jobs>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The command, as for `bash -c` (`sh -c` where there is no bash).
    command: String,
    /// The directory to run it in (default: the working directory).
    directory: Option<String>,
    /// How many seconds it may take before it is killed, 3600 at most (default: 120; in the
    /// background there is no limit unless one is given).
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u64>,
    /// Whether to return at once and let it go on (default: false).
    background: Option<bool>,
    /// Whether it needs the network (default: false). A person may be asked.
    network: Option<bool>,
    /// Whether it has to run outside the sandbox (default: false). A person may be asked; try
    /// without it first.
    unconfined: Option<bool>,
}

/// Where a command runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Confinement {
    Sandbox,
    None,
}

/// When the call returns.
enum Manner {
    /// When the command has ended.
    Foreground,
    /// When it has begun.
    Background,
}

impl Args {
    fn manner(&self) -> Manner {
        if self.background.unwrap_or(false) { Manner::Background } else { Manner::Foreground }
    }

    fn network(&self) -> Network {
        if self.network.unwrap_or(false) { Network::On } else { Network::Off }
    }

    fn confinement(&self) -> Confinement {
        if self.unconfined.unwrap_or(false) { Confinement::None } else { Confinement::Sandbox }
    }

    fn limit(&self) -> Result<Option<Duration>, ToolError> {
        let seconds = match (self.timeout, self.manner()) {
            (None, Manner::Background) => return Ok(None),
            (None, Manner::Foreground) => USUAL,
            (Some(seconds @ 1..=LONGEST), _) => seconds,
            (Some(seconds), _) => {
                return Err(ToolError(format!(
                    "`timeout` is {seconds} seconds: expected 1 to {LONGEST}; what takes longer \
                     can run with `background`"
                )));
            }
        };
        Ok(Some(Duration::from_secs(seconds)))
    }
}

impl TypedTool for RunCommand {
    type Args = Args;
    const NAME: &'static str = "run_command";
    const EFFECT: Effect = Effect::Execute;

    fn description(&self) -> String {
        "Runs a command of the shell and returns what it wrote, to stdout and stderr together, \
         and its exit code; another code than 0 is an error. It reads nothing from stdin, and \
         all it started ends with it. It runs in a sandbox: it writes only where you work and \
         has no network unless asked for. A server or anything else that goes on runs with \
         `background`, which returns the name of a job for read_output, write_input and \
         stop_command; it ends when you do. To look at files, use read_file and search_files."
            .into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        let mut touches = shell::touches(&args.command, dialect());
        if let Some(directory) = &args.directory {
            touches.extend(Place::find(directory, workdir).touch(Effect::Read));
        }
        touches.extend(self.freedoms(args));
        touches
    }

    fn caution(&self, args: &Args) -> Option<String> {
        let is_held = args.confinement() == Confinement::Sandbox;
        is_held.then(|| self.settings.sandbox.weakness()).flatten()
    }

    fn summary(&self, args: &Args) -> String {
        brief::line(&args.command, SUMMARY)
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let Some(keeper) = &self.settings.keeper else {
            return Err(ToolError("not run: there is nothing here that could keep it".into()));
        };
        let mut work = self.work(&args, host).await?;
        work.watch = Watch::begin(self.settings.snapshots.as_ref(), host).await;
        match args.manner() {
            Manner::Foreground => self.run_to_end(keeper, work, args, host).await,
            Manner::Background => self.begin(keeper, work, args, host),
        }
    }
}

impl RunCommand {
    /// Returns what a command would have besides the sandbox.
    fn freedoms(&self, args: &Args) -> Vec<Touch> {
        let mut freedoms = Vec::new();
        if args.network() == Network::On {
            freedoms.extend(freedom(&args.command, Effect::Reach, NETWORK));
        }
        let is_weak = || self.settings.sandbox.weakness().is_some();
        if args.confinement() == Confinement::None || is_weak() {
            freedoms.extend(freedom(&args.command, Effect::Unconfined, UNCONFINED));
        }
        freedoms
    }

    async fn work(&self, args: &Args, host: &dyn Host) -> Result<Work, ToolError> {
        if args.command.trim().is_empty() {
            return Err(ToolError("`command` is empty: there is nothing to run".into()));
        }
        let stdin = match args.manner() {
            Manner::Foreground => Stdin::Empty,
            Manner::Background => Stdin::Open,
        };
        let mut work = Work {
            title: args.command.clone(),
            command: vec![shell().into(), "-c".into(), args.command.clone().into()],
            again: None,
            guard: None,
            warn: self.settings.warn,
            workdir: directory(args, host)?,
            environment: self.settings.environment.clean(env::vars_os()),
            limit: args.limit()?,
            stdin,
            watch: Watch::default(),
        };
        // What runs outside was judged so.
        let mode = host.grant().mode();
        if args.confinement() == Confinement::Sandbox && mode != Mode::Dangerous {
            self.confine(args.network(), host, &mut work).await?;
        }
        Ok(work)
    }

    /// Puts the command into its sandbox.
    async fn confine(
        &self,
        network: Network,
        host: &dyn Host,
        work: &mut Work,
    ) -> Result<(), ToolError> {
        let is_known = host.judged().iter().any(|touch| touch.effect == Effect::Unconfined);
        let (grant, workdir) = (host.grant().clone(), work.workdir.clone());
        let (sandbox, command) = (self.settings.sandbox.clone(), mem::take(&mut work.command));
        let hidden = self.settings.hidden.clone();
        let confined = blocking::run(move || {
            let mut policy = Policy::of(&grant, network, workdir);
            policy.hidden.extend(hidden);
            if let (Some(why), false) = (sandbox.lack(&policy), is_known) {
                return Err(ToolError(format!(
                    "not run: the sandbox cannot hold it: {why}; with `unconfined` a person may \
                     be asked"
                )));
            }
            let guard = Guard::of(&policy);
            let wrapped = sandbox.wrap(&policy, command.clone());
            // A socket that vanishes while it is being covered ends bubblewrap.
            let again: Again =
                Box::new(move || policy.refresh().then(|| sandbox.wrap(&policy, command.clone())));
            Ok((guard, wrapped, again))
        });
        let (guard, command, again) = confined.await?;
        (work.guard, work.command, work.again) = (Some(guard), command, Some(again));
        Ok(())
    }

    fn begin(
        &self,
        keeper: &Keeper,
        work: Work,
        args: Args,
        host: &dyn Host,
    ) -> Result<String, ToolError> {
        let freedoms = self.freedoms(&args);
        let start = || Job::start(keeper, work);
        let (name, job) = self.jobs.add(host.agent(), freedoms, start)?;
        host.hold(Box::new(HeldJob { job, jobs: Arc::clone(&self.jobs) }));
        // Nobody is there any more when it ends.
        host.note(Fact::Ran { command: args.command, code: None });
        Ok(format!("[{name} runs in the background: read_output has what it writes]"))
    }

    async fn run_to_end(
        &self,
        keeper: &Keeper,
        work: Work,
        args: Args,
        host: &dyn Host,
    ) -> Result<String, ToolError> {
        let job = Job::start(keeper, work)
            .map_err(|error| ToolError(format!("it cannot be started: {error}")))?;
        host.hold(Box::new(HeldJob { job: Arc::clone(&job), jobs: Arc::clone(&self.jobs) }));
        let end = tokio::select! {
            end = job.ended() => end,
            never = job.follow(PAUSE, |line| host.progress(line)) => match never {},
            () = host.token().cancelled() => {
                job.stop();
                job.ended().await
            }
        };
        host.note(Fact::Ran { command: args.command, code: end.code() });
        let output = job.take_output();
        let output = if output.is_empty() { "[no output]\n" } else { &output };
        let report = format!("{output}{}[{end}]", job.record(host).await);
        // A model that overlooks the code does not overlook an error, and loses nothing by it.
        if end == End::Exited(0) { Ok(report) } else { Err(ToolError(report)) }
    }
}

/// Returns what each command of a script has that goes beyond the sandbox, to be judged one by
/// one: a yes to one of them is a yes to no other.
fn freedom(script: &str, effect: Effect, way: &str) -> Vec<Touch> {
    let beyond = |touch: Touch| match touch.target {
        Target::Words(words) => Touch { effect, target: Target::Words(format!("{way}{words}")) },
        Target::Unclear(words) => {
            Touch { effect, target: Target::Unclear(format!("{way}{words}")) }
        }
        target => Touch { effect, target },
    };
    shell::touches(script, dialect()).into_iter().map(beyond).collect()
}

/// Returns where the command runs. It has to be where it was when the call was judged.
fn directory(args: &Args, host: &dyn Host) -> Result<PathBuf, ToolError> {
    let Some(directory) = &args.directory else { return Ok(host.workdir().to_owned()) };
    let place = Place::judged(directory, host, Place::find)?;
    place.check_directory("is not a directory")?;
    Ok(place.real)
}

/// Returns the shell there is.
fn shell() -> &'static str {
    static SHELL: OnceLock<&str> = OnceLock::new();
    SHELL.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let has_bash = env::split_paths(&path).any(|directory| directory.join("bash").is_file());
        if has_bash { "bash" } else { "sh" }
    })
}

/// Returns what the shell there is reads.
fn dialect() -> Dialect {
    if shell() == "bash" { Dialect::Bash } else { Dialect::Posix }
}
