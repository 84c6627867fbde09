//! Where models are found by name.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use adjutant_core::{Model, ModelError, ModelInfo, Models, Price, Trouble};

use crate::{
    Pace, Providers, Rehearsal, Scripted, Served, Setup, http::Endpoint, script::Severity,
    wire::Speaker,
};

/// What is asked for in one answer, and how long a conversation may be, where nobody says.
const MAX_OUTPUT: u64 = 8192;
const WINDOW: u64 = 128_000;

/// The models there are: `rehearsal`, `scripted/PATH`, and those that were
/// [given](Catalogue::with).
pub struct Catalogue {
    rehearsal: Arc<Rehearsal>,
    given: BTreeMap<String, Arc<dyn Model>>,
    scripts: Mutex<BTreeMap<String, Arc<Scripted>>>,
    providers: Arc<Providers>,
    served: Mutex<BTreeMap<String, Arc<Served>>>,
}

/// The replies of a script that nobody got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The model's full name.
    pub model: Arc<str>,
    /// What it means.
    pub severity: Severity,
    /// The replies.
    pub replies: Vec<String>,
}

impl Catalogue {
    /// Makes a catalogue whose rehearsal has this pace.
    pub fn new(pace: Pace) -> Self {
        Self {
            rehearsal: Arc::new(Rehearsal::new(pace)),
            given: BTreeMap::new(),
            scripts: Mutex::default(),
            providers: Arc::default(),
            served: Mutex::default(),
        }
    }

    /// Knows these providers.
    #[must_use]
    pub fn providers(self, providers: Arc<Providers>) -> Self {
        Self { providers, ..self }
    }

    /// Adds a model of your own. It comes before any other of that name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.given.insert(name.into(), model);
        self
    }

    /// Returns what was left over of the scripts that were found here.
    pub fn unused(&self) -> Vec<Unused> {
        let scripts = self.scripts();
        let unused = scripts.values().map(|script| Unused {
            model: script.info().name.clone(),
            severity: script.severity(),
            replies: script.unused(),
        });
        unused.filter(|unused| !unused.replies.is_empty()).collect()
    }

    /// Returns the model of a script. It is read once, so that all agents that use it
    /// share what was used of it.
    fn script(&self, path: &str) -> Result<Arc<dyn Model>, ModelError> {
        let mut scripts = self.scripts();
        if let Some(script) = scripts.get(path) {
            return Ok(Arc::clone(script) as Arc<dyn Model>);
        }
        let script = Scripted::open(Path::new(path))
            .map_err(|bad| ModelError::new(Trouble::NotFound, bad.to_string()))?;
        let script = Arc::new(script);
        scripts.insert(path.to_owned(), Arc::clone(&script));
        Ok(script)
    }

    /// Returns a model of a provider's.
    fn served(&self, setup: &Setup, model: &str) -> Result<Arc<dyn Model>, ModelError> {
        let name = format!("{}/{model}", setup.name);
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = served.get(&name) {
            return Ok(Arc::clone(model) as Arc<dyn Model>);
        }
        setup.check_key()?;
        let facts = self.providers.facts(&setup.name, model)?;
        let free = setup.is_free().then(Price::default);
        let info = ModelInfo {
            name: name.as_str().into(),
            provider: setup.name.as_str().into(),
            window: facts.window.unwrap_or(WINDOW),
            max_output: facts.asked.unwrap_or(MAX_OUTPUT),
            price: facts.price.or(free),
        };
        let speaker = Speaker {
            origin: Arc::clone(&info.name),
            model: model.to_owned(),
            effort: self.providers.effort,
            quirks: facts.bend(setup.quirks),
        };
        let endpoint = Endpoint::new(setup, &speaker)?;
        let model = Arc::new(Served::new(info, setup.dialect, speaker, endpoint));
        served.insert(name, Arc::clone(&model));
        Ok(model)
    }

    /// Refuses what begins with the name of another provider, where only that one can mean it.
    fn check_owner(&self, setup: &Setup, model: &str) -> Result<(), ModelError> {
        let owner = model.split_once('/').and_then(|(before, _)| self.providers.find(before));
        match owner {
            Some(owner) if owner.name != setup.name && setup.has_only_its_own() => {
                let (name, owner) = (&setup.name, &owner.name);
                let message = format!(
                    "`{name}` has no model `{model}`: name `{owner}` as its provider, or none"
                );
                Err(ModelError::new(Trouble::NotFound, message))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Says what is missing where a provider is named alone.
    fn no_model_of(&self, provider: &str) -> ModelError {
        let own = self.given.keys().filter_map(|name| Some(name.split_once('/')?.0));
        let known = self.providers.iter().map(|it| it.name.as_str());
        let names: BTreeSet<_> =
            ["rehearsal", "scripted"].into_iter().chain(known).chain(own).collect();
        let message = if names.contains(provider) {
            format!("say which model of `{provider}` it is to be")
        } else {
            let names: Vec<_> = names.into_iter().collect();
            format!("there is no provider `{provider}`; there are: {}", names.join(", "))
        };
        ModelError::new(Trouble::NotFound, message)
    }

    fn unknown(&self, name: &str) -> ModelError {
        let given = self.given.keys().map(|name| format!("`{name}`, ")).collect::<String>();
        let providers: Vec<_> = self.providers.iter().map(|it| it.name.as_str()).collect();
        let message = format!(
            "there is no model `{name}`; there are: {given}`rehearsal` (surveys the directory, \
             needs no key), `scripted/PATH` (replies from a TOML or JSON file) and \
             `PROVIDER/MODEL` of {}",
            providers.join(", ")
        );
        ModelError::new(Trouble::NotFound, message)
    }

    fn scripts(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Scripted>>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Models for Catalogue {
    fn find(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        if let Some(model) = self.given.get(name) {
            return Ok(Arc::clone(model));
        }
        if let Some((provider, model)) = name.split_once('/')
            && let Some(provider) = self.providers.find(provider)
            && !model.is_empty()
        {
            self.check_owner(provider, model)?;
            return self.served(provider, model);
        }
        match name.split_once('/') {
            Some(("scripted", path)) if !path.is_empty() => self.script(path),
            Some(("rehearsal", "survey")) => Ok(Arc::clone(&self.rehearsal) as Arc<dyn Model>),
            None if name == "rehearsal" => Ok(Arc::clone(&self.rehearsal) as Arc<dyn Model>),
            Some((provider, "")) => Err(self.no_model_of(provider)),
            _ => Err(self.unknown(name)),
        }
    }
}
