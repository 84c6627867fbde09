//! `adjutant run`: one task, one tree, one answer.

use std::{
    io::{self, IsTerminal, Write},
    sync::Arc,
    time::Duration,
};

use adjutant_core::{AgentPath, Command, Detail, Ending, SessionId};
use adjutant_engine::{Root, Session, Stay};
use adjutant_models::script::Severity;
use adjutant_surfaces::{Ended, Person, SurfaceError, follow};
use futures_util::StreamExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

use crate::{
    CliError, ExitCode, Surroundings,
    arguments::RunArguments,
    assembly::{Outfit, open, tools},
    authority::{check_rules, doubts, grant},
    config::{self, Config},
    error::Kind,
    git, open_files,
    person::Terminal,
    prepared::{Output, Prepared, Progress},
    prompt::Stdin,
    running::Running,
    screen::{Aside, pace, view},
    source::Source,
};

/// How long tasks that are left over may take to go.
const LEAVING: Duration = Duration::from_millis(100);

/// Runs a task to its end.
pub fn run(arguments: RunArguments, around: &Surroundings) -> Result<ExitCode, CliError> {
    let mut stdin = io::stdin();
    let stdin = if stdin.is_terminal() { Stdin::Terminal } else { Stdin::Piped(&mut stdin) };
    let prepared = Prepared::new(arguments, around, stdin)?;
    open_files::make_room();
    let terminal = Terminal::find();
    let runtime = runtime(&prepared, terminal.is_some())?;
    let code = runtime.block_on(work(prepared, terminal));
    // The journal is closed with the last task. Whatever else is left, such as a search
    // through a huge directory, is not waited for.
    runtime.shutdown_timeout(LEAVING);
    code
}

/// Agents have a thread of their own, so that a front end that cannot write does not hold
/// them up; where nothing is shown before the end, there is none.
fn runtime(prepared: &Prepared, is_attended: bool) -> io::Result<Runtime> {
    let is_silent = prepared.output == Output::Answer && prepared.progress == Progress::Hidden;
    let mut runtime = if is_silent && !is_attended {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    // A few more for files are enough; a hundred would only get in each other's way.
    runtime.worker_threads(1).max_blocking_threads(4).enable_all().build()
}

async fn work(prepared: Prepared, terminal: Option<Terminal>) -> Result<ExitCode, CliError> {
    let Prepared {
        config,
        choice,
        directory,
        prompt,
        schema,
        rulebook,
        tape,
        output,
        progress,
        ..
    } = prepared;
    if let (Some(why), Progress::Shown) = (&choice.why, progress) {
        let _ = writeln!(Aside, "{why}");
    }
    warn(doubts(&config));
    let source = Source::new(tape, &directory, &config.providers, pace(output, progress));
    let files = Arc::default();
    let tools = tools(&config, &files);
    check_rules(&config.rules, &tools)?;
    let grant = grant(&config, &directory, &prepared.programs);
    #[cfg(feature = "mcp")]
    let (mcp, tools) = prepared.servers.start(tools, &grant, &directory).await?;
    #[cfg(feature = "mcp")]
    warn(mcp.warnings.clone());
    let work = git::Work::new(&config, &directory, &prompt).await;
    let kept = work.as_ref().ok().and_then(Option::as_ref);
    let outfit = Outfit { tools, rulebook: Arc::new(rulebook), files, work: kept };
    let session = open(&config, &source, outfit)?;
    let root = Root {
        model: choice.model,
        system: config.instructions.as_str().into(),
        schema,
        grant,
        allowance: config.allowance,
        workdir: directory,
        stay: Stay::UntilDone,
    };
    let person =
        terminal.map(|terminal| Person::attend(&session, terminal.keyboard, terminal.writer));
    let mut view = view(&session, output, progress);
    let detail = view.detail().max(person.is_some().then_some(Detail::Kept));
    let events = detail.map(|detail| session.events_in(detail, 0));
    let begun = session.begin(root, prompt).await;
    begun.map_err(|refusal| CliError::new(Kind::Usage, refusal.to_string()))?;
    let _running = at_work(&config, &session);
    heed_interrupts(session.clone())?;
    let followed = follow(&session, events, &mut *view, person).await;
    if followed.is_err() {
        leave(&session).await;
    }
    #[cfg(feature = "mcp")]
    warn(mcp.end().await);
    source.keep()?;
    keep_work(work, session.id(), &followed, progress).await;
    Ok(conclude(&followed.map_err(unseen)?, &source, progress))
}

/// Says why a tree could not be shown to its end.
fn unseen(error: SurfaceError) -> CliError {
    match error {
        SurfaceError::ReaderGone => io::Error::from(io::ErrorKind::BrokenPipe).into(),
        SurfaceError::Journal(error) => CliError::new(Kind::Internal, error.to_string())
            .hint("`-c journal=memory` runs without a file"),
        error => CliError::new(Kind::Internal, error.to_string()),
    }
}

/// Says what a person should know besides the answer.
fn warn(warnings: impl IntoIterator<Item = String>) {
    for warning in warnings {
        let _ = writeln!(Aside, "warning: {warning}");
    }
}

/// Commits the work, if that is wanted, and says what became of it.
async fn keep_work(
    work: Result<Option<git::Work>, String>,
    session: SessionId,
    followed: &Result<Ended, SurfaceError>,
    progress: Progress,
) {
    let is_completed =
        followed.as_ref().is_ok_and(|ended| ended.outcome.ending == Ending::Completed);
    let lines = match work {
        Ok(Some(work)) => work.end(session, is_completed).await,
        Ok(None) => Vec::new(),
        Err(why) => vec![format!("warning: git keeps nothing of the work: {why}")],
    };
    let is_shown = |line: &&String| progress == Progress::Shown || line.starts_with("warning");
    for line in lines.iter().filter(is_shown) {
        let _ = writeln!(Aside, "{line}");
    }
}

/// Keeps `adjutant undo` from a session while it is at work. Where that cannot be written down,
/// the journal cannot be written either, and tells of it.
fn at_work(config: &Config, session: &Session) -> Option<Running> {
    match config.journal {
        config::Journal::Memory => None,
        config::Journal::File => Running::take(&config.journal_path, session.id()).ok().flatten(),
    }
}

/// Stops the tree at the first Ctrl-C or request to terminate, and leaves at the second. Not
/// where the front end is, which cannot hear while nobody reads what it writes.
fn heed_interrupts(session: Session) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut next = async move || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    tokio::spawn(async move {
        next().await;
        // A root that has ended needs no telling.
        let _ = session.send(&AgentPath::root(), Command::Cancel).await;
        next().await;
        std::process::exit(ExitCode::Cancelled as i32);
    });
    Ok(())
}

/// Stops a tree that cannot be shown, and sees it gone.
async fn leave(session: &Session) {
    let _ = session.send(&AgentPath::root(), Command::Cancel).await;
    let mut events = session.events(0);
    while events.next().await.is_some() {}
}

/// Says what a script or a person should know besides the answer. If nobody reads that, the
/// code is the same.
fn conclude(ended: &Ended, source: &Source, progress: Progress) -> ExitCode {
    let mut code = ExitCode::of(&ended.outcome);
    let is_short = ended.outcome.ending != Ending::Completed;
    if let (Some(reason), true, Progress::Hidden) = (&ended.outcome.reason, is_short, progress) {
        let _ = writeln!(Aside, "{}: {reason}", ended.outcome.ending);
    }
    let is_silent = progress == Progress::Hidden;
    for question in ended.unanswered.iter().filter(|_| is_silent) {
        let _ = writeln!(Aside, "warning: nobody was there to answer {}", question.path);
    }
    for failed in ended.receipt.failed_hooks.iter().filter(|_| is_silent) {
        let _ = writeln!(Aside, "warning: a hook failed: {}", failed.escape_debug());
    }
    if let (Some(astray), Progress::Shown) = (source.astray(), progress) {
        let _ = writeln!(Aside, "error: {astray}");
    }
    for unused in source.unused() {
        let has_failed = unused.severity == Severity::Fail;
        // Whoever stopped a run knows that it did not use everything.
        if !has_failed && ended.outcome.ending == Ending::Cancelled {
            continue;
        }
        let word = if has_failed { "error" } else { "warning" };
        for reply in &unused.replies {
            let _ = writeln!(Aside, "{word}: {} was not used up: {reply}", unused.model);
        }
        if has_failed && code == ExitCode::Completed {
            code = ExitCode::Failed;
        }
    }
    code
}
