//! Everything a run needs before anything is started.

use std::path::PathBuf;

use adjutant_models::Variables;

use crate::{
    CliError, Surroundings,
    arguments::{OutputArguments, RunArguments},
    config::Config,
    error::Kind,
    place::working_directory,
    prompt::{Stdin, prompt},
};

/// Everything a run needs before anything is started, checked.
#[derive(Debug)]
pub struct Prepared {
    /// What holds.
    pub config: Config,
    /// The model the root runs on.
    pub model: String,
    /// Where it works, absolute and with every link resolved.
    pub directory: PathBuf,
    /// What it is to do.
    pub prompt: String,
    /// What goes to stdout.
    pub output: Output,
    /// Whether progress goes to stderr.
    pub progress: Progress,
    /// The keys and addresses of providers.
    pub variables: Variables,
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
        let config = Config::load(around, &directory, &arguments.flags())?;
        // Stdin comes last: nobody should type a task only to learn of a wrong setting.
        let model = config.model.clone().ok_or_else(|| no_model(around))?;
        let prompt = prompt(arguments.prompt.or(arguments.prompt_flag), stdin)?;
        let (output, progress) = (arguments.output.output(), arguments.output.progress());
        let variables = around.providers.clone();
        Ok(Self { config, model, directory, prompt, output, progress, variables })
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

fn no_model(around: &Surroundings) -> CliError {
    let message = "no model is set: give `--model PROVIDER/MODEL`, such as `openai/MODEL` with \
                   OPENAI_API_KEY set or `ollama/MODEL` on this machine, or `--model rehearsal`, \
                   which needs no key, or a script with `--model scripted/FILE`";
    let user = around.user_file();
    CliError::new(Kind::Usage, message)
        .hint(format!("to set it for good, write `model = \"…\"` into {}", user.display()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tempfile::TempDir;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn prepare(directory: &TempDir, arguments: &[&str]) -> Prepared {
        let around = Surroundings {
            directory: directory.path().into(),
            config_home: directory.path().join("config"),
            data_home: directory.path().join("data"),
            variables: vec![("ADJUTANT_MODE".to_owned(), "plan".to_owned())],
            providers: Variables::default(),
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
        assert_eq!((demo.model.as_str(), demo.output), ("rehearsal", Output::Json));
        assert_eq!(demo.config.max_depth, 1);
        assert_ne!(demo.prompt, "from stdin");
    }
}
