//! Which model the root runs on, and the ways to one if there is none.

use adjutant_core::ModelError;
use adjutant_models::{Providers, Running, Setup, running};
use tokio::runtime::Builder;

use crate::{CliError, Surroundings, config::Config, error::Kind};

/// The model the root runs on.
#[derive(Debug)]
pub struct Choice {
    /// Its name.
    pub model: String,
    /// Why it is that one, if nobody named it.
    pub why: Option<String>,
}

impl Choice {
    /// Returns the model that was named, or else the default of the first provider there is a
    /// key for.
    pub(crate) fn new(config: &Config, around: &Surroundings) -> Result<Self, CliError> {
        let providers = &config.providers;
        match config.model.clone() {
            Some(model) => Self::named(model, providers),
            None => Self::by_default(providers)?.ok_or_else(|| no_model(providers, around)),
        }
    }

    fn named(model: String, providers: &Providers) -> Result<Self, CliError> {
        let provider = model.split_once('/').and_then(|(name, _)| providers.find(name));
        match provider.map_or(Ok(()), Setup::check_key) {
            Ok(()) => Ok(Self { model, why: None }),
            Err(error) => Err(other_ways(CliError::new(Kind::Usage, error.message), providers)),
        }
    }

    fn by_default(providers: &Providers) -> Result<Option<Self>, CliError> {
        let default = providers.default_model().map_err(bad_figures)?;
        Ok(default.map(|(setup, model)| {
            let key = setup.key.as_ref().map(|key| format!(", since its key is in {key}"));
            let why = format!("no model is set: using {model}{}", key.unwrap_or_default());
            Self { model, why: Some(why) }
        }))
    }
}

/// Says what is wrong with the user's figures about models.
pub(crate) fn bad_figures(error: ModelError) -> CliError {
    CliError::new(Kind::Config, error.message)
}

fn no_model(providers: &Providers, around: &Surroundings) -> CliError {
    let has_default = |setup: &&Setup| {
        let figures = providers.figures();
        figures.is_ok_and(|figures| figures.default_model(&setup.name).is_some())
    };
    let keys = providers.iter().filter(has_default).filter_map(|it| it.key_variables.first());
    let keys: Vec<_> = keys.map(String::as_str).collect();
    let why = format!("no model is set, and {}", why_no_default(providers));
    let error = without_default(providers).fold(CliError::new(Kind::Usage, why), |error, setup| {
        error.hint(format!("name one: `--model {}/MODEL`", setup.name))
    });
    let error = error.hint(format!("set a key: {}", keys.join(", ")));
    let user = around.user_file();
    other_ways(error, providers)
        .hint(format!("to set a model for good, write `model = \"…\"` into {}", user.display()))
}

/// Returns why there is no default model, as the end of a sentence.
pub(crate) fn why_no_default(providers: &Providers) -> String {
    let names: Vec<_> = without_default(providers).map(|it| format!("`{}`", it.name)).collect();
    match names.as_slice() {
        [] => "there is no key to choose one by".to_owned(),
        names => format!("there is no default model of {}", names.join(", ")),
    }
}

/// Returns the providers that the user has set up, where no model is chosen by default.
fn without_default(providers: &Providers) -> impl Iterator<Item = &Setup> {
    let is_set_up = |it: &&Setup| it.key.is_some() || it.place.is_none();
    providers.iter().filter(is_set_up)
}

/// Adds the ways that need no key.
fn other_ways(error: CliError, providers: &Providers) -> CliError {
    let found = find_running(providers);
    let start = "or start a server on this machine, such as Ollama: `--model ollama/MODEL`";
    let error = match found.as_slice() {
        [] => error.hint(start),
        found => found.iter().fold(error, |error, running| error.hint(offer(running))),
    };
    error.hint(
        "or `--model rehearsal`, which needs neither, or a script with `--model scripted/FILE`",
    )
}

fn offer(Running { provider, models }: &Running) -> String {
    models.first().map_or_else(
        || format!("{provider} is running on this machine, but has no model yet"),
        |model| format!("{provider} is running on this machine: `--model {provider}/{model}`"),
    )
}

/// Looks for servers on this machine.
pub(crate) fn find_running(providers: &Providers) -> Vec<Running> {
    // Without a runtime there is nothing to look with, and nothing that has to be said of it.
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map(|runtime| runtime.block_on(running(providers))).unwrap_or_default()
}
