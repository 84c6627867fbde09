//! `adjutant run`: one task, one tree, one answer.

use std::{
    fs, future,
    io::{self, IsTerminal},
    sync::Arc,
    time::Duration,
};

use adjutant_core::{AgentPath, Command, Detail, Ending, SessionId};
use adjutant_engine::Session;
use adjutant_models::script::Severity;
use adjutant_surfaces::{Ended, Person, SurfaceError, follow};
use futures_util::StreamExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};
use uuid::Uuid;

use crate::{
    CliError, ExitCode, Surroundings,
    arguments::RunArguments,
    assembled::{Assembled, Makings},
    assembly::Kit,
    authority::doubts,
    awaited::Awaited,
    dry_run::dry_run,
    error::Kind,
    open_files,
    person::Terminal,
    prepared::{Output, Prepared, Progress},
    prompt::Stdin,
    screen::{Form, pace, say, view},
    source::Source,
};

/// How long tasks that are left over may take to go.
const LEAVING: Duration = Duration::from_millis(100);

/// Runs a task to its end.
pub fn run(arguments: RunArguments, around: &Surroundings) -> Result<ExitCode, CliError> {
    let is_terminal = io::stdin().is_terminal();
    let is_quiet = arguments.output.quiet;
    let mut stdin = Awaited::new(io::stdin(), move || {
        if !is_quiet {
            say("waiting for the task on stdin");
        }
    });
    let stdin = if is_terminal { Stdin::Terminal } else { Stdin::Piped(&mut stdin) };
    let is_dry = arguments.dry_run;
    let prepared = Prepared::new(arguments, around, stdin)?;
    if is_dry {
        return dry_run(prepared);
    }
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
    let Prepared { config, choice, directory, prompt, cast, schema, .. } = prepared;
    let Prepared { rulebook, tape, output, progress, .. } = prepared;
    if let (Some(why), Progress::Shown) = (&choice.why, progress) {
        say(why);
    }
    warn(doubts(&config).into_iter().chain(cast.warnings.clone()));
    let form = if schema.is_some() { Form::Schema } else { Form::Free };
    let source = Source::new(tape, &directory, &config.providers, pace(output, progress));
    let id = SessionId::from(Uuid::now_v7());
    let kit = cast.add_to(Kit::default(), &config, id);
    let memory = cast.keeping(&config, prepared.piped);
    let assembled = Assembled::new(Makings {
        config: &config,
        source: &source,
        kit: &kit,
        lead: cast.lead,
        model: choice.model,
        directory,
        task: prompt,
        schema,
        manner: cast.manner,
        programs: prepared.programs,
        #[cfg(feature = "mcp")]
        servers: prepared.servers,
        rulebook: Arc::new(rulebook),
        memory: Some(memory),
        session: id,
    });
    let assembled = assembled.await?;
    warn(assembled.warnings.clone());
    let session = assembled.session.clone();
    let person =
        terminal.map(|terminal| Person::attend(&session, terminal.keyboard, terminal.writer));
    let mut view = view(&session, output, progress, form);
    let detail = view.detail().max(person.is_some().then_some(Detail::Kept));
    let events = detail.map(|detail| session.events_in(detail, 0));
    let held = assembled.begin().await?;
    heed_interrupts(session.clone())?;
    let followed = follow(&session, events, &mut *view, person).await;
    if followed.is_err() {
        leave(&session).await;
    }
    let ending = followed.as_ref().ok().map(|ended| ended.outcome.ending);
    let lines = held.let_go(&session, ending).await;
    source.keep()?;
    tell(&lines, progress);
    Ok(conclude(&followed.map_err(unseen)?, &source, progress))
}

/// Says what became of what was held, as far as it is to be heard.
fn tell(lines: &[String], progress: Progress) {
    let is_shown = |line: &&String| progress == Progress::Shown || line.starts_with("warning");
    for line in lines.iter().filter(is_shown) {
        say(line);
    }
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
        say(&format!("warning: {warning}"));
    }
}

/// Stops the tree at the first Ctrl-C or request to terminate or when the terminal goes away,
/// and leaves at the second. Not where the front end is, which cannot hear while nobody reads
/// what it writes.
fn heed_interrupts(session: Session) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let hang_up = hang_up()?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = hang_up => {}
        }
        // A root that has ended needs no telling.
        let _ = session.send(&AgentPath::root(), Command::Cancel).await;
        // A terminal that goes away is told of twice, by the system and by the shell.
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        std::process::exit(ExitCode::Cancelled as i32);
    });
    Ok(())
}

/// Waits until the terminal goes away; for ever, where that is to be ignored, as `nohup` wants
/// it.
fn hang_up() -> io::Result<impl Future<Output = ()>> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The first signal is this one.
    let is_ignored = ignored.is_some_and(|mask| mask & 1 == 1);
    let mut hang_up = (!is_ignored).then(|| signal(SignalKind::hangup())).transpose()?;
    Ok(async move {
        match &mut hang_up {
            Some(hang_up) => drop(hang_up.recv().await),
            None => future::pending().await,
        }
    })
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
        say(&format!("{}: {reason}", ended.outcome.ending));
    }
    let is_silent = progress == Progress::Hidden;
    for question in ended.unanswered.iter().filter(|_| is_silent) {
        say(&format!("warning: nobody was there to answer {}", question.path));
    }
    for failed in ended.receipt.failed_hooks.iter().filter(|_| is_silent) {
        say(&format!("warning: a hook failed: {}", failed.escape_debug()));
    }
    if let (Some(astray), Progress::Shown) = (source.astray(), progress) {
        say(&format!("error: {astray}"));
    }
    for unused in source.unused() {
        let has_failed = unused.severity == Severity::Fail;
        // Whoever stopped a run knows that it did not use everything.
        if !has_failed && ended.outcome.ending == Ending::Cancelled {
            continue;
        }
        let word = if has_failed { "error" } else { "warning" };
        for reply in &unused.replies {
            say(&format!("{word}: {} was not used up: {reply}", unused.model));
        }
        if has_failed && code == ExitCode::Completed {
            code = ExitCode::Failed;
        }
    }
    code
}
