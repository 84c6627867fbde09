//! `adjutant run`: one task, one tree, one answer.

use std::{
    io::{self, IsTerminal, Write},
    sync::Arc,
    time::Duration,
};

use adjutant_core::{
    Access, AgentPath, Allowance, Bus, Charter, Command, Detail, Ending, Grant, Journal,
    NoRulebook, Pattern, Rules, SessionId, Tool,
};
use adjutant_engine::{Parts, Root, Session, Stay};
use adjutant_models::{Pace, script::Severity};
use adjutant_store::{LocalBus, MemoryJournal, MemoryVault, SqliteJournal};
use adjutant_surfaces::{
    Both, Ended, Json, Jsonl, Live, Output as Answer, Person, Plain, Quiet, Reader, Size, Style,
    SurfaceError, View, follow,
};
use adjutant_tools::DelegationSettings;
use futures_util::StreamExt as _;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};
use uuid::Uuid;

use crate::{
    CliError, ExitCode, Surroundings,
    arguments::RunArguments,
    config::{self, Config},
    error::Kind,
    open_files,
    person::Terminal,
    prepared::{Output, Prepared, Progress},
    prompt::Stdin,
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
    let Prepared { config, choice, directory, prompt, schema, tape, output, progress } = prepared;
    if let (Some(why), Progress::Shown) = (&choice.why, progress) {
        let _ = writeln!(Aside, "{why}");
    }
    let source = Source::new(tape, &directory, &config.providers, pace(output, progress));
    let tools = tools(&config);
    check_rules(&config.rules, &tools)?;
    let session = open(&config, &source, tools);
    let root = Root {
        model: choice.model,
        system: config.instructions.as_str().into(),
        schema,
        grant: grant(&config, &directory),
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
    heed_interrupts(session.clone())?;
    let error = match follow(&session, events, &mut *view, person).await {
        Ok(ended) => {
            source.keep()?;
            return Ok(conclude(&ended, &source, progress));
        }
        Err(error) => error,
    };
    leave(&session).await;
    source.keep()?;
    Err(match error {
        SurfaceError::ReaderGone => io::Error::from(io::ErrorKind::BrokenPipe).into(),
        SurfaceError::Journal(error) => CliError::new(Kind::Internal, error.to_string())
            .hint("`-c journal=memory` runs without a file"),
        error => CliError::new(Kind::Internal, error.to_string()),
    })
}

fn tools(config: &Config) -> Vec<Arc<dyn Tool>> {
    let millis = u64::try_from(config.blocking_timeout.as_millis()).unwrap_or(u64::MAX);
    let delegation = DelegationSettings {
        sub_agent: Allowance { millis: millis.try_into().ok(), ..Allowance::default() },
        agent_spawn: Allowance { tokens: Some(config.spawn_budget), ..Allowance::default() },
        models: config.settings.allowed_models.clone(),
    };
    adjutant_tools::all(&adjutant_tools::Settings { delegation })
}

/// A rule about a tool that does not exist protects nothing; whoever wrote it should know.
fn check_rules(rules: &Rules, tools: &[Arc<dyn Tool>]) -> Result<(), CliError> {
    let mut patterns = rules.allow.iter().chain(&rules.ask).chain(&rules.deny);
    let is_idle = |rule: &&Pattern| !tools.iter().any(|tool| rule.is_about(&tool.spec().name));
    let Some(rule) = patterns.find(is_idle) else { return Ok(()) };
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    Err(CliError::new(Kind::Config, format!("the rule `{rule}` is about no tool there is"))
        .hint(format!("there are: {}", names.join(", "))))
}

fn open(config: &Config, source: &Source, tools: Vec<Arc<dyn Tool>>) -> Session {
    let bus: Arc<dyn Bus> = Arc::new(LocalBus::default());
    let journal: Arc<dyn Journal> = match config.journal {
        config::Journal::Memory => Arc::new(MemoryJournal::new(Arc::clone(&bus))),
        config::Journal::File => {
            let (path, durability) = (&config.journal_path, config.durability);
            Arc::new(SqliteJournal::new(path, durability, Arc::clone(&bus)))
        }
    };
    let (models, journal) = (source.models(), source.follow(journal));
    let settings = source.settings(config.settings.clone());
    let id = SessionId::from(Uuid::now_v7());
    let (vault, rulebook) = (Arc::new(MemoryVault::default()), Arc::new(NoRulebook));
    Session::open(id, Parts { models, tools, journal, vault, rulebook, bus, settings })
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that mints authority")]
fn grant(config: &Config, directory: &std::path::Path) -> Grant {
    Grant::mint(Charter {
        mode: config.mode,
        rules: config.rules.clone(),
        access: Access::Inherit,
        scope: vec![directory.to_owned()],
        protected: Vec::new(),
        depth: config.max_depth,
    })
}

/// A rehearsal takes its time only where somebody watches.
fn pace(output: Output, progress: Progress) -> Pace {
    let is_watched = output == Output::Answer && progress == Progress::Shown;
    if is_watched && io::stderr().is_terminal() { Pace::Unhurried } else { Pace::Prompt }
}

fn view(session: &Session, output: Output, progress: Progress) -> Box<dyn View> {
    let stdout = io::stdout();
    let reader = if stdout.is_terminal() { Reader::Person } else { Reader::Program };
    let answer = Answer { writer: Box::new(stdout), reader };
    let is_drawn = progress == Progress::Shown && io::stderr().is_terminal() && !is_dumb();
    let data: Box<dyn View> = match output {
        Output::Events => Box::new(Jsonl::new(answer.writer)),
        Output::Json => Box::new(Json::new(session.id(), answer.writer)),
        Output::Answer if is_drawn => return Box::new(live(answer)),
        Output::Answer if progress == Progress::Shown => {
            return Box::new(Plain::new(Box::new(Aside), answer));
        }
        Output::Answer => return Box::new(Quiet::new(answer)),
    };
    // Data for a program; the person at the terminal sees the tree, if the two are apart.
    match reader {
        Reader::Program if is_drawn => {
            let nowhere = Answer { writer: Box::new(io::sink()), reader };
            Box::new(Both(data, Box::new(live(nowhere))))
        }
        Reader::Program | Reader::Person => data,
    }
}

fn live(answer: Answer) -> Live {
    let size = Box::new(|| Size::of(io::stderr()));
    Live::new(Box::new(Aside), size, style(), answer)
}

/// The standard error, for what is said besides the answer: if nobody hears it, the run
/// goes on all the same.
struct Aside;

impl Write for Aside {
    fn write(&mut self, words: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(words);
        Ok(words.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal that cannot draw.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Colours are for terminals, and for people who have not declined them.
fn style() -> Style {
    let is_declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_declined { Style::Plain } else { Style::Coloured }
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
