//! What the process was started with.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use adjutant_models::Variables;
use etcetera::{BaseStrategy, base_strategy::Xdg};

use crate::{CliError, error::Kind};

/// Nothing can be below it.
const NOWHERE: &str = "/dev/null";

/// What the process was started with. Made once, by `main`; nothing below it looks at
/// the process's own.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The directory the command was given in.
    pub directory: PathBuf,
    /// The user's home directory, if there is one.
    pub home: Option<PathBuf>,
    /// Where the user's configuration lives.
    pub config_home: PathBuf,
    /// Where the user's data lives.
    pub data_home: PathBuf,
    /// The variables whose names begin with `ADJUTANT_`.
    pub variables: Vec<(String, String)>,
    /// The variables with the keys and addresses of providers.
    pub providers: Variables,
    /// The program that keeps and confines commands: this one, started again.
    pub program: Option<PathBuf>,
}

impl Surroundings {
    /// Looks around.
    pub fn of_process() -> Result<Self, CliError> {
        let directory = env::current_dir().map_err(|error| {
            CliError::new(Kind::Usage, format!("the current directory cannot be used: {error}"))
        })?;
        let base = Xdg::new().map_err(|error| CliError::new(Kind::Config, error.to_string()))?;
        let (config_home, data_home) = (base.config_dir(), base.data_dir());
        let words = env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let (variables, providers) = (variables()?, Variables::new(words));
        let program = env::current_exe().ok();
        let home = Some(base.home_dir().to_owned());
        Ok(Self { directory, home, config_home, data_home, variables, providers, program })
    }

    /// Makes surroundings in which there is nothing but a directory: no files of the user's, no
    /// variables and no program.
    pub fn bare(directory: PathBuf) -> Self {
        Self {
            directory,
            home: None,
            config_home: NOWHERE.into(),
            data_home: NOWHERE.into(),
            variables: Vec::new(),
            providers: Variables::default(),
            program: None,
        }
    }

    /// Returns where the program keeps its data, if it has a place.
    pub(crate) fn data(&self) -> Option<PathBuf> {
        (self.data_home != Path::new(NOWHERE)).then(|| self.data_home.join("adjutant"))
    }

    /// Returns where the user's file is looked for.
    pub fn user_file(&self) -> PathBuf {
        self.config_home.join("adjutant/config.toml")
    }

    /// Returns where the user's own figures about models are looked for.
    pub fn figures_file(&self) -> PathBuf {
        self.config_home.join("adjutant/models.toml")
    }

    /// Returns where is written what the person agreed to of projects' own files.
    pub(crate) fn trust_file(&self) -> PathBuf {
        self.data_home.join("adjutant/trusted.toml")
    }

    /// Returns where the program keeps what is its own, and no agent's to change.
    pub(crate) fn own_places(&self, journal: &Path) -> Vec<PathBuf> {
        let homes = [&self.config_home, &self.data_home].map(|home| home.join("adjutant"));
        let beside = ["", "-wal", "-shm"].map(|end| {
            let mut path = journal.as_os_str().to_owned();
            path.push(end);
            PathBuf::from(path)
        });
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        homes.into_iter().chain(beside).map(real).collect()
    }

    /// Returns where the journal is when nobody says otherwise.
    pub(crate) fn journal_file(&self) -> PathBuf {
        self.data_home.join("adjutant/journal.db")
    }
}

fn variables() -> Result<Vec<(String, String)>, CliError> {
    let ours = |name: &OsString| name.as_encoded_bytes().starts_with(b"ADJUTANT_");
    let text = |name: &OsString, text: &OsString| {
        let why = || format!("environment {}: is not valid UTF-8", name.display());
        text.to_str().map(str::to_owned).ok_or_else(|| CliError::new(Kind::Config, why()))
    };
    let variables = env::vars_os().filter(|(name, _)| ours(name));
    variables.map(|(name, value)| Ok((text(&name, &name)?, text(&name, &value)?))).collect()
}
