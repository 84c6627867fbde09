//! A command at work.

use std::{
    convert::Infallible,
    ffi::OsString,
    future::pending,
    io,
    path::PathBuf,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use adjutant_core::Host;
use tokio::{
    io::AsyncReadExt as _,
    net::unix::pipe,
    sync::{mpsc, watch},
    task::spawn_blocking,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{end::End, output::Output};
use crate::{
    brief,
    keeper::{Keeper, KeptInput, KeptProcess},
    sandbox::Guard,
    snapshot::{Look, Watch},
};

/// How long what was killed may take to go.
const LEAVING: Duration = Duration::from_secs(10);

/// How often it is looked whether what is kept from a command still is.
const ROUND: Duration = Duration::from_millis(100);

/// How much of a command its name has.
const NAME: usize = 80;

/// What returns a command to be tried again, if there is a point in it.
pub(crate) type Again = Box<dyn FnMut() -> Option<Vec<OsString>> + Send>;

/// What bubblewrap says first.
const UNBEGUN: &str = "bwrap: ";
/// How often a command is tried.
const TRIES: usize = 10;

/// What is to be run, and how.
pub(crate) struct Work {
    /// How people know it.
    pub(crate) title: String,
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// What returns them anew if the sandbox could not be set up for something that is past.
    pub(crate) again: Option<Again>,
    /// What stands around the sandbox while it runs.
    pub(crate) guard: Option<Guard>,
    /// What tells a person of what the guard has found.
    pub(crate) warn: Option<fn(&str)>,
    pub(crate) workdir: PathBuf,
    /// All it sees of the environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// How long it may take.
    pub(crate) limit: Option<Duration>,
    pub(crate) stdin: Stdin,
    /// What records the files it changes.
    pub(crate) watch: Watch,
}

/// What a command can read from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// Nothing, ever.
    Empty,
    /// What it will be given.
    Open,
}

/// Something for a command to read.
pub(crate) enum Input {
    Bytes(Vec<u8>),
    /// The end.
    Close,
}

/// A command at work, or what is left of it.
pub(crate) struct Job {
    title: String,
    input: mpsc::Sender<Input>,
    output: Mutex<Output>,
    /// How it ended. Also tells of new output.
    end: watch::Sender<Option<End>>,
    stop: CancellationToken,
    watch: Watch,
}

impl Job {
    /// Starts a command. It ends when it is stopped or its time is up, and with the runtime.
    pub(crate) fn start(keeper: &Keeper, work: Work) -> io::Result<Arc<Self>> {
        let Work { title, command, again, guard, warn, limit, stdin, watch, .. } = work;
        let setting = Setting {
            keeper: keeper.clone(),
            workdir: work.workdir,
            environment: work.environment,
        };
        let begun = setting.start(&command)?;
        let (input, inbox) = mpsc::channel(1);
        if stdin == Stdin::Empty {
            // There is room for one.
            let _ = input.try_send(Input::Close);
        }
        let job = Arc::new(Self {
            title: brief::line(&title, NAME),
            input,
            output: Mutex::default(),
            end: watch::Sender::new(None),
            stop: CancellationToken::new(),
            watch,
        });
        let seen = Arc::clone(&job);
        tokio::spawn(async move {
            let ending = see_through(&seen, begun, (setting, again), inbox, limit);
            let tell = |trouble: String| {
                seen.output().push(format!("[{trouble}]\n").as_bytes());
                if let Some(warn) = warn {
                    warn(&trouble);
                }
            };
            let (end, guard) = guarded(ending, guard, || seen.stop(), tell).await;
            clear(guard).await.into_iter().for_each(tell);
            seen.end.send_replace(Some(end));
        });
        Ok(job)
    }

    /// Returns a name for people.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Ends it, with all it started. Does not wait.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Returns how it ended, if it did.
    pub(crate) fn end(&self) -> Option<End> {
        self.end.borrow().clone()
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) -> End {
        let mut end = self.end.subscribe();
        let end = end.wait_for(Option::is_some).await;
        // The sender is this very job's.
        end.ok().and_then(|end| end.clone()).unwrap_or(End::Stopped)
    }

    /// Waits for output that nobody has taken, or for the end.
    pub(crate) async fn has_news(&self) {
        let mut end = self.end.subscribe();
        let _ = end.wait_for(|end| end.is_some() || !self.output().is_empty()).await;
    }

    /// Tells the latest line of the output whenever there is a new one, but not more often
    /// than once in a while.
    pub(crate) async fn follow(&self, pause: Duration, tell: impl Fn(String)) -> Infallible {
        let mut end = self.end.subscribe();
        end.mark_changed();
        while end.changed().await.is_ok() {
            let line = self.output().latest_line();
            if !line.is_empty() {
                tell(line);
            }
            sleep(pause).await;
        }
        pending().await
    }

    /// Takes the output there is.
    pub(crate) fn take_output(&self) -> String {
        self.output().take()
    }

    /// Records what it did to files since this was last asked, and returns what is to be said
    /// of that.
    pub(crate) async fn record(&self, host: &dyn Host) -> String {
        let look = if self.end().is_some() { Look::Last } else { Look::Again };
        self.watch.record(look, host).await
    }

    /// Waits for the end and records what it did to files.
    pub(crate) async fn settled(&self) -> End {
        let end = self.ended().await;
        self.watch.end().await;
        end
    }

    /// Gives it something to read, once there is room. Fails if it reads nothing more.
    pub(crate) async fn write(&self, input: Input) -> Result<(), Closed> {
        self.input.send(input).await.map_err(|_| Closed)
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all it writes. It can be read no more when everything is gone, the keeper too.
    async fn read(&self, mut output: pipe::Receiver) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = output.read(&mut buffer).await {
            self.output().push(&buffer[..count]);
            self.end.send_modify(|_| ());
        }
        self.output().finish();
    }
}

/// A command that reads nothing more.
pub(crate) struct Closed;

/// Where a command is started.
struct Setting {
    keeper: Keeper,
    workdir: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl Setting {
    fn start(&self, command: &[OsString]) -> io::Result<(KeptProcess, pipe::Receiver)> {
        // One pipe for both, so that what was written first is read first.
        let (reader, stdout) = io::pipe()?;
        let output = pipe::Receiver::from_owned_fd(reader.into())?;
        let stderr = stdout.try_clone()?;
        let process = self.keeper.start_with(command, &self.workdir, |keeper| {
            let environment = self.environment.iter().map(|(name, value)| (name, value));
            keeper.env_clear().envs(environment).stdout(stdout).stderr(stderr);
        })?;
        Ok((process, output))
    }
}

/// Sees a command to its end. One that its sandbox did not even begin is tried again.
async fn see_through(
    job: &Job,
    mut begun: (KeptProcess, pipe::Receiver),
    (setting, mut again): (Setting, Option<Again>),
    mut inbox: mpsc::Receiver<Input>,
    limit: Option<Duration>,
) -> End {
    let mut tries = 1;
    loop {
        let (process, output) = begun;
        let end = see_to_end(job, process, output, &mut inbox, limit).await;
        let is_unbegun = end == End::Exited(1) && job.output().is_line_of(UNBEGUN);
        let command = again.as_mut().filter(|_| is_unbegun && tries < TRIES).and_then(|it| it());
        let Some(command) = command else { return end };
        begun = match setting.start(&command) {
            Ok(begun) => begun,
            Err(_) => return end,
        };
        *job.output() = Output::default();
        tries += 1;
    }
}

/// Waits for the end. A command that got at what is kept from it is stopped.
async fn guarded(
    ending: impl Future<Output = End>,
    mut guard: Option<Guard>,
    stop: impl Fn(),
    tell: impl Fn(String),
) -> (End, Option<Guard>) {
    let mut ending = pin!(ending);
    loop {
        if let Ok(end) = timeout(ROUND, &mut ending).await {
            return (end, guard);
        }
        let look = |guard: Guard| (guard.check(), guard);
        let Some(own) = guard.take() else { return (ending.await, None) };
        // One that is lost has cleared up.
        let Ok((troubles, own)) = spawn_blocking(move || look(own)).await else { continue };
        guard = Some(own);
        if !troubles.is_empty() {
            stop();
        }
        troubles.into_iter().for_each(&tell);
    }
}

/// Takes the guard away, and returns what it has found.
async fn clear(guard: Option<Guard>) -> Vec<String> {
    let Some(guard) = guard else { return Vec::new() };
    spawn_blocking(|| guard.end()).await.unwrap_or_else(|error| {
        vec![format!("nobody looked what the command has made to steer git: {error}")]
    })
}

async fn see_to_end(
    job: &Job,
    mut process: KeptProcess,
    output: pipe::Receiver,
    inbox: &mut mpsc::Receiver<Input>,
    limit: Option<Duration>,
) -> End {
    let input = process.input.take();
    let mut ending = pin!(async {
        job.read(output).await;
        process.wait().await.map_or_else(End::Lost, End::Exited)
    });
    let end = tokio::select! {
        end = &mut ending => Ok(end),
        why = interruption(&job.stop, limit) => Err(why),
        never = feed(input, inbox) => match never {},
    };
    // Nobody feeds it any more, which is how the keeper knows that it is to end everything.
    let why = match end {
        Ok(end) => return end,
        Err(why) => why,
    };
    match timeout(LEAVING, ending).await {
        Ok(End::Lost(why)) => End::Lost(why),
        Ok(_) => why,
        Err(_) => End::Lost(format!("it was killed, but is still there after {LEAVING:?}")),
    }
}

async fn interruption(stop: &CancellationToken, limit: Option<Duration>) -> End {
    let time_up = async {
        match limit {
            Some(limit) => sleep(limit).await,
            None => pending().await,
        }
    };
    tokio::select! {
        () = stop.cancelled() => End::Stopped,
        () = time_up => End::TimedOut(limit.unwrap_or_default()),
    }
}

/// Passes on what the command is given to read, and holds the pipe until dropped.
async fn feed(mut input: Option<KeptInput>, inbox: &mut mpsc::Receiver<Input>) -> Infallible {
    while let Some(pipe) = &mut input {
        match inbox.recv().await {
            Some(Input::Bytes(bytes)) if pipe.write(&bytes).await.is_ok() => {}
            Some(Input::Bytes(_)) => break,
            Some(Input::Close) | None => {
                // Whether or not it still hears of it.
                let _ = pipe.close().await;
                break;
            }
        }
    }
    inbox.close();
    pending().await
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_line_that_was_there_before_is_told_at_once() {
        let job = Job {
            title: String::new(),
            input: mpsc::channel(1).0,
            output: Mutex::default(),
            end: watch::Sender::new(None),
            stop: CancellationToken::new(),
            watch: Watch::default(),
        };
        job.output().push(b"a line\n");
        let told = Mutex::new(Vec::new());
        let follow = job.follow(Duration::from_secs(1000), |line| told.lock().unwrap().push(line));
        assert!(follow.now_or_never().is_none());
        assert_eq!(*told.lock().unwrap(), ["a line"]);
    }
}
