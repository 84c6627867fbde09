//! Where the models of a run come from, and what is kept of what they say.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use adjutant_core::{Followed, Journal, Models};
use adjutant_engine::Settings;
use adjutant_models::{
    Catalogue, Pace, Providers, Unused,
    cassette::{Cassette, FollowSteps, Player, Recorder, Redactor, Steps},
};

use crate::{CliError, Surroundings, arguments::TapeArguments, error::Kind};

/// What becomes of what the models say.
#[derive(Debug)]
pub enum Tape {
    /// It is not kept.
    None,
    /// It is kept in a file.
    Record(PathBuf),
    /// It is not asked for but played, from a cassette of that name.
    Replay(String, Cassette),
}

impl Tape {
    /// Checks that what is to be played can be read, and what is to be kept, written.
    pub(crate) fn prepare(
        arguments: TapeArguments,
        around: &Surroundings,
    ) -> Result<Self, CliError> {
        if let Some(file) = arguments.replay {
            let cassette = Cassette::read(&around.directory.join(&file))
                .map_err(|bad| CliError::new(Kind::Usage, bad.to_string()))?;
            return Ok(Self::Replay(file.display().to_string(), cassette));
        }
        let Some(file) = arguments.record else { return Ok(Self::None) };
        let path = around.directory.join(&file);
        Cassette::check_writable(&path).map_err(|error| {
            let message = format!("`{}` cannot be written: {error}", file.display());
            CliError::new(Kind::Usage, message).hint("`--record` takes a file, new or not")
        })?;
        Ok(Self::Record(path))
    }

    /// Returns the model of a replay: the recorded one, unless the command line names another.
    pub(crate) fn model(&self, named: Option<String>) -> Option<String> {
        match self {
            Self::None | Self::Record(_) => None,
            Self::Replay(_, cassette) => named.or_else(|| cassette.model().map(str::to_owned)),
        }
    }
}

/// Where the models of a run come from.
pub(crate) enum Source {
    /// They are somebody's own.
    Given(Arc<dyn Models>),
    /// They are asked.
    Asked(Arc<Catalogue>),
    /// They are asked, and what they say is kept.
    Recorded(Arc<Catalogue>, Recording),
    /// What they said is played.
    Played(Arc<Player>),
}

/// What is to be kept, and where.
pub(crate) struct Recording {
    recorder: Arc<Recorder>,
    directory: PathBuf,
    providers: Arc<Providers>,
    file: PathBuf,
}

impl Source {
    /// Finds the models of a run in a directory.
    pub(crate) fn new(
        tape: Tape,
        directory: &Path,
        providers: &Arc<Providers>,
        pace: Pace,
    ) -> Self {
        let catalogue = || Arc::new(Catalogue::new(pace).providers(Arc::clone(providers)));
        match tape {
            Tape::None => Self::Asked(catalogue()),
            Tape::Record(file) => {
                let catalogue = catalogue();
                let recorder = Arc::new(Recorder::new(Arc::clone(&catalogue) as _));
                let (directory, providers) = (directory.to_owned(), Arc::clone(providers));
                Self::Recorded(catalogue, Recording { recorder, directory, providers, file })
            }
            Tape::Replay(name, cassette) => {
                let player = Player::new(cassette, &name, directory, redactor(providers));
                Self::Played(Arc::new(player))
            }
        }
    }

    /// Returns the models.
    pub(crate) fn models(&self) -> Arc<dyn Models> {
        match self {
            Self::Given(models) => Arc::clone(models),
            Self::Asked(catalogue) => Arc::clone(catalogue) as _,
            Self::Recorded(_, recording) => Arc::clone(&recording.recorder) as _,
            Self::Played(player) => Arc::clone(player) as _,
        }
    }

    /// Has a recorder or a player know how agents get ahead of one another.
    pub(crate) fn follow(&self, journal: Arc<dyn Journal>) -> Arc<dyn Journal> {
        let follower: Arc<dyn FollowSteps> = match self {
            Self::Given(_) | Self::Asked(_) => return journal,
            Self::Recorded(_, recording) => Arc::clone(&recording.recorder) as _,
            Self::Played(player) => Arc::clone(player) as _,
        };
        Arc::new(Followed::new(journal, Arc::new(Steps(follower))))
    }

    /// Returns the settings that suit the models.
    pub(crate) fn settings(&self, settings: Settings) -> Settings {
        match self {
            Self::Given(_) | Self::Asked(_) | Self::Recorded(..) => settings,
            // An answer that waits for its turn must not keep out the one it waits for; and
            // there is no server to be spared.
            Self::Played(_) => Settings { max_model_calls: usize::MAX, ..settings },
        }
    }

    /// Keeps what was said, if it is to be kept.
    pub(crate) fn keep(&self) -> Result<(), CliError> {
        let Self::Recorded(_, Recording { recorder, directory, providers, file }) = self else {
            return Ok(());
        };
        let cassette = recorder.cassette(directory, redactor(providers));
        cassette.write(file).map_err(|error| {
            let message = format!("the recording is lost: `{}`: {error}", file.display());
            CliError::new(Kind::Internal, message)
        })
    }

    /// Returns what nobody asked for.
    pub(crate) fn unused(&self) -> Vec<Unused> {
        match self {
            Self::Given(_) => Vec::new(),
            Self::Asked(catalogue) | Self::Recorded(catalogue, _) => catalogue.unused(),
            Self::Played(player) => player.unused().into_iter().collect(),
        }
    }

    /// Returns how a replay has gone another way than the recording.
    pub(crate) fn astray(&self) -> Option<String> {
        match self {
            Self::Given(_) | Self::Asked(_) | Self::Recorded(..) => None,
            Self::Played(player) => player.astray(),
        }
    }
}

/// Takes the keys of providers out of what is to be kept.
pub(crate) fn redactor(providers: &Arc<Providers>) -> Redactor {
    let providers = Arc::clone(providers);
    Redactor::new(move |text| providers.redact(text))
}
