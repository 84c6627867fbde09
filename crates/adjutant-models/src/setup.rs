//! A provider, as it is set up: what is known of it, and what the user says.

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use adjutant_core::{Effort, ModelError, Trouble};

use crate::{
    BaseUrl, Facts, Figures, PROVIDERS, Provider, ProviderSettings, Proxy, Variables,
    http::{Http, Link},
    key::{Key, KeyCommand, KeySource},
    provider::{Place, Quirks},
    settings::Headers,
    wire::Dialect,
};

/// Names of models that no provider has.
const TAKEN: [&str; 2] = ["rehearsal", "scripted"];

/// A provider, as it is set up.
#[derive(Debug)]
pub struct Setup {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub base_url: BaseUrl,
    /// Its key, if there is one.
    pub key: Option<KeySource>,
    /// The variables that may have its key. The first that is set counts.
    pub key_variables: Vec<String>,
    /// Where it usually is; `None` is a provider of the user's own.
    pub place: Option<Place>,
    pub(crate) headers: Headers,
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) quirks: Quirks,
    pub(crate) http: Arc<Http>,
}

impl Setup {
    /// Reports whether it can be asked: it has what it needs for that.
    pub fn is_ready(&self) -> bool {
        let (header, _) = self.dialect.key_header();
        self.key.is_some() || self.place != Some(Place::Remote) || self.headers.contains(header)
    }

    /// Reports whether it costs nothing where nobody says what it costs: it is a server on
    /// this machine, and none that is put before a provider elsewhere.
    pub fn is_free(&self) -> bool {
        self.place != Some(Place::Remote) && self.base_url.is_loopback()
    }

    /// Reports whether it is known to have no models but its own: it is who made them, and
    /// nothing is put before it.
    pub(crate) fn has_only_its_own(&self) -> bool {
        let is_maker = ["anthropic", "openai", "openai-responses", "gemini"].contains(&&*self.name);
        let known = Provider::find(&self.name).map(|known| known.base_url);
        is_maker && known.is_some_and(|known| self.base_url.to_string() == known)
    }

    /// Returns what is to be done if it cannot.
    pub fn check_key(&self) -> Result<(), ModelError> {
        if self.is_ready() {
            return Ok(());
        }
        let (name, variables) = (&self.name, self.key_variables.join(" or "));
        let message = format!(
            "`{name}` needs a key: set {variables}, or `providers.{name}.key_command` in your file"
        );
        Err(ModelError::new(Trouble::Unauthorized, message))
    }
}

/// Every provider, as it is set up: those that are known, then the user's own.
#[derive(Debug)]
pub struct Providers {
    setups: Vec<Setup>,
    pub(crate) effort: Option<Effort>,
    figures_file: PathBuf,
    figures: OnceLock<Result<Figures, String>>,
}

/// A provider that cannot be set up as the user wants.
#[derive(Debug)]
pub struct Unfit {
    /// Which.
    pub provider: String,
    /// The setting that is wrong, if it is one.
    pub setting: Option<&'static str>,
    /// What is wrong, as a sentence.
    pub why: String,
}

impl Providers {
    /// Sets up all providers.
    pub fn new(
        settings: BTreeMap<String, ProviderSettings>,
        variables: &Variables,
    ) -> Result<Self, Unfit> {
        let mut providers = Self::none();
        for row in PROVIDERS {
            let of = |name: &str| settings.get(name).cloned().unwrap_or_default();
            let main = row.main().map(|main| of(main.name)).unwrap_or_default();
            let settings = of(row.name).or(&main);
            let outline = Outline::known(row, &settings)?;
            providers.add(outline, settings, variables);
        }
        let is_own = |name: &String| Provider::find(name).is_none();
        for (name, settings) in settings.into_iter().filter(|(name, _)| is_own(name)) {
            let outline = Outline::own(name, &settings)?;
            providers.add(outline, settings, variables);
        }
        Ok(providers)
    }

    /// Has models think that much before they answer.
    #[must_use]
    pub fn effort(self, effort: Option<Effort>) -> Self {
        Self { effort, ..self }
    }

    /// Knows the user's own figures from this file, if it is there.
    #[must_use]
    pub fn figures_in(self, figures_file: PathBuf) -> Self {
        Self { figures_file, ..self }
    }

    /// Returns what is known of models. That is read when it is first needed.
    pub fn figures(&self) -> Result<&Figures, ModelError> {
        let is_known = |name: &str| self.find(name).is_some();
        let figures = self.figures.get_or_init(|| Figures::read(&self.figures_file, is_known));
        figures.as_ref().map_err(|why| ModelError::new(Trouble::Refused, why.clone()))
    }

    /// Returns what is known of a model.
    pub(crate) fn facts(&self, provider: &str, model: &str) -> Result<Facts, ModelError> {
        let is_known = |name: &str| self.find(name).is_some();
        let figures = Figures::about(provider, &self.figures_file, is_known);
        let figures = figures.map_err(|why| ModelError::new(Trouble::Refused, why))?;
        Ok(figures.find(provider, model))
    }

    /// Returns the model to use when nobody says which: the default of the first provider
    /// that is ready and has one.
    pub fn default_model(&self) -> Result<Option<(&Setup, String)>, ModelError> {
        let figures = self.figures()?;
        let choice = |setup: &Setup| {
            let model = figures.default_model(&setup.name)?;
            Some(format!("{}/{model}", setup.name))
        };
        let ready = self.setups.iter().filter(|setup| setup.is_ready());
        Ok(ready.filter_map(|setup| Some((setup, choice(setup)?))).next())
    }

    /// Finds a provider by its name.
    pub fn find(&self, name: &str) -> Option<&Setup> {
        self.setups.iter().find(|setup| setup.name == name)
    }

    /// Returns all of them.
    pub fn iter(&self) -> impl Iterator<Item = &Setup> {
        self.setups.iter()
    }

    /// Takes every key out of a text that is to be kept: those known by now, and what goes
    /// into headers, which may be one.
    pub fn redact(&self, text: &str) -> String {
        let keys = self.setups.iter().filter_map(|setup| setup.key.as_ref()?.known().cloned());
        let headers = self.setups.iter().flat_map(|setup| setup.headers.iter());
        let values = headers.filter_map(|(_, value)| value.to_str().ok());
        let words = values.flat_map(str::split_whitespace).map(Key::new);
        let keys = keys.chain(words).filter(Key::is_distinct);
        keys.fold(text.to_owned(), |text, key| key.redact(&text))
    }

    fn none() -> Self {
        let (setups, figures_file) = (Vec::new(), PathBuf::new());
        Self { setups, effort: None, figures_file, figures: OnceLock::new() }
    }

    fn add(&mut self, outline: Outline, settings: ProviderSettings, variables: &Variables) {
        let Outline { name, base_url, key_variables, place, dialect, quirks } = outline;
        let ProviderSettings { key_command, headers, timeout, connect_timeout, proxy, .. } =
            settings;
        let command =
            |command: String| KeySource::Command(Arc::new(KeyCommand::new(&name, &command)));
        let key = key_command.map(command).or_else(|| variables.key(&key_variables));
        // The system's proxy is on the way to others, not to this machine.
        let proxy = proxy.or_else(|| base_url.is_loopback().then_some(Proxy::None));
        let http = self.http(Link { proxy, timeout, connect_timeout });
        let setup =
            Setup { name, base_url, key, key_variables, place, headers, dialect, quirks, http };
        self.setups.push(setup);
    }

    fn http(&self, link: Link) -> Arc<Http> {
        let same = self.setups.iter().map(|setup| &setup.http).find(|http| http.link == link);
        same.map_or_else(|| Arc::new(Http::new(link)), Arc::clone)
    }
}

impl Default for Providers {
    /// Sets up those that are known, without keys.
    fn default() -> Self {
        Self::new(BTreeMap::new(), &Variables::default()).unwrap_or_else(|_| Self::none())
    }
}

/// What has to be known of a provider.
struct Outline {
    name: String,
    base_url: BaseUrl,
    key_variables: Vec<String>,
    place: Option<Place>,
    dialect: &'static dyn Dialect,
    quirks: Quirks,
}

impl Outline {
    fn known(row: &'static Provider, settings: &ProviderSettings) -> Result<Self, Unfit> {
        let Provider { name, base_url, key_variables, place, dialect, quirks, .. } = *row;
        let unfit =
            |setting, why: String| Unfit { provider: name.to_owned(), setting: Some(setting), why };
        if settings.format.is_some() {
            return Err(unfit("format", "its `format` is known and cannot be set".to_owned()));
        }
        let base_url = match &settings.base_url {
            Some(set) => set.clone().with_usual_path(base_url),
            None => BaseUrl::parse(base_url).map_err(|why| unfit("base_url", why))?,
        };
        let key_variables = key_variables.iter().map(ToString::to_string).collect();
        let (name, place) = (name.to_owned(), Some(place));
        Ok(Self { name, base_url, key_variables, place, dialect, quirks })
    }

    fn own(name: String, settings: &ProviderSettings) -> Result<Self, Unfit> {
        let unfit =
            |why: &str| Unfit { provider: name.clone(), setting: None, why: why.to_owned() };
        if TAKEN.contains(&name.as_str()) {
            return Err(unfit("that name is taken"));
        }
        let (Some(base_url), Some(format)) = (settings.base_url.clone(), settings.format) else {
            return Err(unfit("a provider of your own needs a `base_url` and a `format`"));
        };
        let key_variables = vec![format!("{}_API_KEY", name.to_uppercase().replace('-', "_"))];
        let (dialect, quirks) = format.manner();
        Ok(Self { name, base_url, key_variables, place: None, dialect, quirks })
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, why, .. } = self;
        write!(f, "the provider `{provider}` cannot be set up: {why}")
    }
}

impl std::error::Error for Unfit {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Format, Key};

    fn variables(names: &[&str]) -> Variables {
        Variables::new(names.iter().map(|name| ((*name).to_owned(), format!("of {name}"))))
    }

    fn set_up(name: &str, settings: ProviderSettings, names: &[&str]) -> Result<Providers, String> {
        let settings = BTreeMap::from([(name.to_owned(), settings)]);
        Providers::new(settings, &variables(names)).map_err(|unfit| unfit.to_string())
    }

    fn base_url(url: &str) -> Option<BaseUrl> {
        Some(BaseUrl::parse(url).unwrap())
    }

    #[test]
    fn a_key_comes_from_the_command_or_the_first_variable_that_is_set() {
        let key = |settings: ProviderSettings, names: &[&str]| {
            let providers = set_up("gemini", settings, names).unwrap();
            let setup = providers.find("gemini").unwrap();
            assert_eq!(setup.is_ready(), setup.key.is_some());
            assert_eq!(setup.check_key().is_ok(), setup.key.is_some());
            setup.key.as_ref().map(ToString::to_string)
        };
        let blank = ProviderSettings::default;
        let command = ProviderSettings { key_command: Some("true".into()), ..blank() };
        let both = ["GOOGLE_API_KEY", "GEMINI_API_KEY"];
        assert_eq!(key(blank(), &both).as_deref(), Some("GEMINI_API_KEY"));
        assert_eq!(key(blank(), &both[..1]).as_deref(), Some("GOOGLE_API_KEY"));
        assert_eq!(key(blank(), &["OPENAI_API_KEY"]), None);
        assert_eq!(key(command, &both).as_deref(), Some("key_command"));
    }

    #[test]
    fn two_names_of_one_provider_share_its_key() {
        let providers = Providers::new(BTreeMap::new(), &variables(&["OPENAI_API_KEY"])).unwrap();
        for name in ["openai", "openai-responses"] {
            let key = providers.find(name).unwrap().key.as_ref().unwrap();
            assert_eq!(key.known(), Some(&Key::new("of OPENAI_API_KEY")));
        }
    }

    #[test]
    fn what_is_set_for_one_interface_holds_for_the_other_unless_that_has_its_own() {
        let blank = ProviderSettings::default;
        let openai = ProviderSettings {
            base_url: base_url("https://a.example/v1"),
            key_command: Some("true".into()),
            headers: Headers::parse([("X-Team", "blue")]).unwrap(),
            timeout: Some(Duration::from_secs(1)),
            connect_timeout: Some(Duration::from_secs(2)),
            proxy: Some(Proxy::None),
            ..blank()
        };
        let own = ProviderSettings { base_url: base_url("https://b.example/v1"), ..blank() };
        for (own, address) in [(blank(), "https://a.example/v1"), (own, "https://b.example/v1")] {
            let settings = [("openai", openai.clone()), ("openai-responses", own)];
            let settings = settings.map(|(name, settings)| (name.to_owned(), settings)).into();
            let providers = Providers::new(settings, &variables(&[])).unwrap();
            let setup = |name| providers.find(name).unwrap();
            let (one, other) = (setup("openai"), setup("openai-responses"));
            assert_eq!(one.base_url.to_string(), "https://a.example/v1");
            assert_eq!(other.base_url.to_string(), address);
            assert_eq!(other.key.as_ref().unwrap().to_string(), "key_command");
            assert_eq!((&other.headers, &other.http.link), (&one.headers, &one.http.link));
            let (_, model) = providers.default_model().unwrap().unwrap();
            assert!(model.starts_with("openai-responses/"), "{model}");
        }
        let providers = set_up("openai-responses", openai, &[]).unwrap();
        assert!(!providers.find("openai").unwrap().is_ready());
    }

    #[test]
    fn only_a_server_on_this_machine_is_free() {
        for (name, url, expected) in [
            ("ollama", "http://127.0.0.1:1/v1", true),
            ("ollama", "http://a.example/v1", false),
            ("acme", "http://localhost:1/v1", true),
            ("acme", "http://a.example/v1", false),
            ("groq", "http://127.0.0.1:1/v1", false),
        ] {
            let format = (name == "acme").then_some(Format::Chat);
            let settings =
                ProviderSettings { base_url: base_url(url), format, ..Default::default() };
            let providers = set_up(name, settings, &[]).unwrap();
            assert_eq!(providers.find(name).unwrap().is_free(), expected, "{name} {url}");
        }
    }

    #[test]
    fn a_header_of_the_users_can_stand_in_for_a_key() {
        let headers = Headers::parse([("Authorization", "Basic x")]).unwrap();
        let settings = ProviderSettings { headers, ..ProviderSettings::default() };
        let providers = set_up("openai", settings, &[]).unwrap();
        assert!(providers.find("openai").unwrap().is_ready());
        assert!(providers.find("openai-responses").unwrap().is_ready());
        assert!(!providers.find("groq").unwrap().is_ready());
        assert!(providers.find("ollama").unwrap().is_ready());
    }

    #[test]
    fn a_provider_of_ones_own_needs_an_address_and_a_format() {
        let base_url = base_url("http://a.example/x");
        let settings = ProviderSettings { base_url, ..ProviderSettings::default() };
        let wrong = set_up("my-own", settings.clone(), &[]).unwrap_err();
        assert!(wrong.contains("`my-own`") && wrong.contains("`format`"), "{wrong}");
        let settings = ProviderSettings { format: Some(Format::Messages), ..settings };
        let providers = set_up("my-own", settings.clone(), &["MY_OWN_API_KEY"]).unwrap();
        let own = providers.find("my-own").unwrap();
        assert_eq!(own.base_url.to_string(), "http://a.example/x");
        assert_eq!(own.key.as_ref().unwrap().to_string(), "MY_OWN_API_KEY");
        assert_eq!(own.dialect.key_header().0, "x-api-key");
        for (name, why) in [("openai", "its `format` is known"), ("scripted", "is taken")] {
            let wrong = set_up(name, settings.clone(), &[]).unwrap_err();
            assert!(wrong.contains(why), "{wrong}");
        }
    }

    #[test]
    fn keys_are_taken_out_of_what_is_to_be_kept() {
        let headers = Headers::parse([("Authorization", "Basic dXNlcjpwYXNz")]).unwrap();
        let settings = ProviderSettings { headers, ..ProviderSettings::default() };
        let providers = set_up("openai", settings, &["GROQ_API_KEY"]).unwrap();
        let text = "of GROQ_API_KEY; Basic dXNlcjpwYXNz; of XAI_API_KEY";
        assert_eq!(providers.redact(text), "[key]; Basic [key]; of XAI_API_KEY");
    }

    #[test]
    fn connections_are_shared_by_all_who_want_the_same() {
        let settings = ProviderSettings {
            timeout: Some(Duration::from_secs(1)),
            connect_timeout: Some(Duration::from_secs(2)),
            ..ProviderSettings::default()
        };
        let providers = set_up("groq", settings, &[]).unwrap();
        let http = |name: &str| &providers.find(name).unwrap().http;
        assert!(Arc::ptr_eq(http("openai"), http("anthropic")));
        assert!(Arc::ptr_eq(http("ollama"), http("vllm")));
        assert_eq!(http("openai").link, Link::default());
        assert_eq!(http("ollama").link.proxy, Some(Proxy::None));
        let Link { proxy, timeout, connect_timeout } = &http("groq").link;
        assert_eq!((proxy, timeout.unwrap().as_secs()), (&None, 1));
        assert_eq!(connect_timeout.unwrap().as_secs(), 2);
    }

    #[test]
    fn the_first_provider_with_a_key_and_a_default_is_chosen() {
        for (names, chosen) in [
            (&["OPENAI_API_KEY", "ANTHROPIC_API_KEY"][..], "anthropic/"),
            (&["OPENAI_API_KEY", "GROQ_API_KEY"], "openai-responses/"),
            (&["TOGETHER_API_KEY", "XAI_API_KEY"], "xai/"),
        ] {
            let providers = Providers::new(BTreeMap::new(), &variables(names)).unwrap();
            let (_, model) = providers.default_model().unwrap().unwrap();
            assert!(model.starts_with(chosen), "{model}");
        }
        assert!(Providers::default().default_model().unwrap().is_none());
    }
}
