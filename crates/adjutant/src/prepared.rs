//! Everything a run needs before anything is started.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;

#[cfg(feature = "mcp")]
use crate::servers::Servers;
use crate::{
    CliError, Surroundings,
    arguments::{OutputArguments, RunArguments},
    assembly::Kit,
    cast::{Cast, Casting},
    choice::Choice,
    config::{self, Config},
    output_schema,
    place::working_directory,
    programs::Program,
    prompt::{Piped, Piping, Stdin, Task, task},
    rulebook::ProjectRulebook,
    source::Tape,
};

/// The task of a named agent that is given none.
const USUAL_TASK: &str = "Execute the task described in your instructions.";

/// Everything a run needs before anything is started, checked.
pub struct Prepared {
    /// What holds.
    pub config: Config,
    /// The model the root runs on.
    pub choice: Choice,
    /// Where it works, absolute and with every link resolved.
    pub directory: PathBuf,
    /// What it is to do.
    pub prompt: String,
    /// What of that was piped in.
    pub piped: Option<Piped>,
    /// The named agents, and who the root is among them.
    pub(crate) cast: Cast,
    /// The JSON Schema its answer has to fit.
    pub schema: Option<Arc<Value>>,
    /// What is run outside the sandbox.
    pub(crate) programs: Vec<Program>,
    /// The servers that may be started.
    #[cfg(feature = "mcp")]
    pub servers: Servers,
    /// Where a person's rules are written.
    pub rulebook: ProjectRulebook,
    /// What becomes of what the models say.
    pub tape: Tape,
    /// What goes to stdout.
    pub output: Output,
    /// Whether progress goes to stderr.
    pub progress: Progress,
}

/// What goes to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The answer alone.
    Answer,
    /// The result as one JSON object.
    Json,
    /// Every event as a line of JSON.
    Events,
}

/// Whether progress goes to stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It does.
    Shown,
    /// It does not.
    Hidden,
}

impl Prepared {
    /// Checks what was asked for. Starts nothing and writes nothing.
    pub fn new(
        arguments: RunArguments,
        around: &Surroundings,
        stdin: Stdin<'_>,
    ) -> Result<Self, CliError> {
        let directory = working_directory(around, arguments.place.cwd.as_deref())?;
        let written = config::Written::read(around, &directory, &arguments.flags())?;
        let mut config = Config::check(&written, around)?;
        let casting = Casting {
            named: &arguments.named,
            tape: &arguments.tape,
            artifacts: arguments.artifacts.as_deref(),
            parameters: &arguments.parameters,
            kit: &Kit::default(),
        };
        let mut cast = casting.cast(around, directory, (&mut config, &written))?;
        let Cast { lead, directory, .. } = &cast;
        let directory = directory.clone();
        #[cfg(feature = "mcp")]
        let servers = Servers::find(&config, around, &directory)?;
        #[cfg(feature = "mcp")]
        let servers = servers.with_agents(&cast.agents, lead.as_ref());
        let programs = Program::hooks(&config, &directory);
        #[cfg(feature = "mcp")]
        let programs: Vec<_> = programs.into_iter().chain(servers.programs(&directory)).collect();
        // Stdin comes last: nobody should type a task only to learn of a wrong setting.
        let tape = Tape::prepare(arguments.tape, around)?;
        let choice = match tape.model(arguments.model) {
            Some(model) => Choice { model, why: None },
            None => Choice::new(&config, around)?,
        };
        let schema = arguments.output_schema.as_deref();
        let schema = schema.map(|path| output_schema::read(&around.directory, path)).transpose()?;
        let own = lead.as_ref().and_then(|lead| lead.definition.schema.clone());
        let schema = schema.or(own);
        let given = arguments.prompt.or(arguments.prompt_flag);
        let usual = lead.is_some().then_some(USUAL_TASK);
        let piping = if arguments.stdin { Piping::Data } else { Piping::Task };
        let Task { text: prompt, piped, warning } = task(given, stdin, usual, piping)?;
        cast.warnings.extend(warning);
        let (output, progress) = (arguments.output.output(), arguments.output.progress());
        let rulebook = ProjectRulebook::find(around, &directory)?;
        Ok(Self {
            config,
            choice,
            directory,
            prompt,
            piped,
            cast,
            schema,
            programs,
            #[cfg(feature = "mcp")]
            servers,
            rulebook,
            tape,
            output,
            progress,
        })
    }
}

impl OutputArguments {
    fn output(&self) -> Output {
        match self {
            Self { json: true, .. } => Output::Json,
            Self { events: true, .. } => Output::Events,
            Self { json: false, events: false, .. } => Output::Answer,
        }
    }

    fn progress(&self) -> Progress {
        if self.quiet { Progress::Hidden } else { Progress::Shown }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tempfile::TempDir;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn prepare(directory: &TempDir, arguments: &[&str]) -> Prepared {
        let around = Surroundings {
            home: None,
            directory: directory.path().into(),
            config_home: directory.path().join("config"),
            data_home: directory.path().join("data"),
            variables: vec![("ADJUTANT_MODE".to_owned(), "plan".to_owned())],
            providers: adjutant_models::Variables::default(),
            program: None,
        };
        let arguments = match Arguments::parse_from([&["adjutant"], arguments].concat()).command {
            Command::Run(arguments) => arguments,
            Command::Demo(arguments) => arguments.into(),
            other => panic!("{other:?}"),
        };
        Prepared::new(arguments, &around, Stdin::Piped(&mut &b"from stdin"[..])).unwrap()
    }

    #[test]
    fn a_run_is_what_its_arguments_say() {
        let directory = TempDir::new().unwrap();
        let run = |arguments: &[&str]| {
            prepare(&directory, &[&["run", "--model", "rehearsal"], arguments].concat())
        };
        assert_eq!(run(&["go"]).prompt, "go");
        assert_eq!(run(&["-p", "go"]).prompt, "go");
        assert_eq!(run(&[]).prompt, "from stdin");
        assert_eq!(run(&[]).directory, directory.path().canonicalize().unwrap());
        assert_eq!((run(&[]).output, run(&[]).progress), (Output::Answer, Progress::Shown));
        assert_eq!(run(&["--json"]).output, Output::Json);
        assert_eq!(run(&["--events"]).output, Output::Events);
        assert_eq!(run(&["--quiet"]).progress, Progress::Hidden);
        assert_eq!(run(&[]).config.mode.name(), "plan");
        assert_eq!(run(&["--mode", "auto"]).config.mode.name(), "auto");
    }

    #[test]
    fn a_demo_is_a_run_of_the_rehearsal() {
        let directory = TempDir::new().unwrap();
        let demo = prepare(&directory, &["demo", "--json", "-c", "limits.max_depth=1"]);
        assert_eq!((demo.choice.model.as_str(), demo.output), ("rehearsal", Output::Json));
        assert_eq!(demo.config.max_depth, 1);
        assert_ne!(demo.prompt, "from stdin");
    }
}
