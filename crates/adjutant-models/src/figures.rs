//! What is known of models: how long a conversation may be, what it costs. Such figures
//! change; ours are dated, and the user's own come before them.

use std::{collections::BTreeMap, fs, io, num::NonZeroU64, path::Path};

use adjutant_core::{Micros, Price};
use serde::Deserialize;
use toml::Spanned;

use crate::provider::{Quirks, Schema, Thinking};

const OURS: &str = include_str!("models.toml");

/// The most that is asked for in one answer, unless the user wants more. It is set aside
/// before each call, so that a generous figure would leave little for others.
const MOST_ASKED: u64 = 32_000;

/// What is known of models, the user's figures first.
#[derive(Debug)]
pub struct Figures(Vec<Layer>);

/// What one file says.
#[derive(Debug)]
struct Layer {
    /// Its name; ours has none.
    file: Option<String>,
    /// Where its lines begin.
    lines: Vec<usize>,
    sheet: Sheet,
}

/// A file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    dated: Option<String>,
    #[serde(default)]
    providers: BTreeMap<Spanned<String>, Shelf>,
}

/// The models of a provider.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shelf {
    default: Option<String>,
    /// The provider that has the same models.
    like: Option<String>,
    #[serde(default)]
    models: BTreeMap<String, Spanned<Row>>,
}

/// What is written of a model.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    window: Option<NonZeroU64>,
    max_output: Option<NonZeroU64>,
    input: Option<Dollars>,
    output: Option<Dollars>,
    cache_read: Option<Dollars>,
    cache_write: Option<Dollars>,
    thinking: Option<Thinking>,
    schema: Option<Schema>,
}

impl Row {
    /// Adds what only another row says.
    fn or(self, below: &Self) -> Self {
        Self {
            window: self.window.or(below.window),
            max_output: self.max_output.or(below.max_output),
            input: self.input.or(below.input),
            output: self.output.or(below.output),
            cache_read: self.cache_read.or(below.cache_read),
            cache_write: self.cache_write.or(below.cache_write),
            thinking: self.thinking.or(below.thinking),
            schema: self.schema.or(below.schema),
        }
    }

    fn price(&self) -> Option<Price> {
        let (Dollars(input), Dollars(output)) = self.input.zip(self.output)?;
        // A discount nobody told of is none.
        let cached = |dollars: Option<Dollars>| dollars.map_or(input, |Dollars(micros)| micros);
        let (cache_read, cache_write) = (cached(self.cache_read), cached(self.cache_write));
        Some(Price { input, output, cache_read, cache_write })
    }
}

/// Dollars for a million tokens, as millionths of a dollar.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Dollars(Micros);

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(dollars: f64) -> Result<Self, String> {
        if (0.0..=1e6).contains(&dollars) {
            return Ok(Self((dollars * 1e6).round() as Micros));
        }
        Err(format!("expected dollars for a million tokens, from 0 to 1000000, not {dollars}"))
    }
}

/// What is known of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// How many tokens a conversation may have.
    pub window: Option<u64>,
    /// How many tokens an answer may have.
    pub max_output: Option<u64>,
    /// What it charges.
    pub price: Option<Price>,
    /// Where that is written.
    pub from: Vec<String>,
    pub(crate) asked: Option<u64>,
    thinking: Option<Thinking>,
    schema: Option<Schema>,
}

impl Facts {
    /// Returns how a model wants to be spoken to, where it differs from its provider's others.
    pub(crate) fn bend(&self, quirks: Quirks) -> Quirks {
        Quirks {
            thinking: self.thinking.unwrap_or(quirks.thinking),
            schema: self.schema.unwrap_or(quirks.schema),
            ..quirks
        }
    }
}

impl Figures {
    /// Reads our figures and, if the file is there, the user's. `is_known` tells whether
    /// there is a provider of that name.
    pub(crate) fn read(user: &Path, is_known: impl Fn(&str) -> bool) -> Result<Self, String> {
        let mut layers = Layer::of_user(user)?;
        layers.push(Layer::parse(None, OURS)?);
        for layer in &layers {
            layer.check(&is_known)?;
        }
        Ok(Self(layers))
    }

    /// Reads no more of our figures than is about a provider, which is much quicker.
    pub(crate) fn about(
        provider: &str,
        user: &Path,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let mut figures = Self(Layer::of_user(user)?);
        figures.0.iter().try_for_each(|layer| layer.check(&is_known))?;
        figures.0.push(Layer::parse(None, &part_about(provider))?);
        let like = figures.names(provider).nth(1).map(part_about);
        if let Some(like) = like {
            figures.0.push(Layer::parse(None, &like)?);
        }
        Ok(figures)
    }

    /// Returns what is known of a provider's model.
    pub fn find(&self, provider: &str, model: &str) -> Facts {
        let rows: Vec<_> = self.rows(provider, model).collect();
        let asked = rows.iter().find_map(|(layer, row)| {
            let most = if layer.file.is_some() { u64::MAX } else { MOST_ASKED };
            Some(row.get_ref().max_output?.get().min(most))
        });
        let row = rows.iter().fold(Row::default(), |row, (_, below)| row.or(below.get_ref()));
        Facts {
            window: row.window.map(NonZeroU64::get),
            max_output: row.max_output.map(NonZeroU64::get),
            price: row.price(),
            from: rows.iter().map(|(layer, row)| layer.place(row.span().start)).collect(),
            asked,
            thinking: row.thinking,
            schema: row.schema,
        }
    }

    /// Returns the model of a provider's to be used when nobody says which.
    pub fn default_model(&self, provider: &str) -> Option<&str> {
        self.shelves(provider).find_map(|(_, shelf)| shelf.default.as_deref())
    }

    /// Returns the names of a provider's models.
    pub fn models(&self, provider: &str) -> Vec<&str> {
        let shelves = self.names(provider).flat_map(|name| self.shelves(name));
        let mut models: Vec<_> =
            shelves.flat_map(|(_, shelf)| shelf.models.keys().map(String::as_str)).collect();
        models.sort_unstable();
        models.dedup();
        models
    }

    /// Returns the newest of a provider's models that our figures know of a family, such as
    /// `claude-opus`: the one of the highest version.
    pub fn newest(provider: &str, family: &str) -> Option<String> {
        let figures = Self(vec![Layer::parse(None, &part_about(provider)).ok()?]);
        let version = |model: &str| {
            let numbers = model.strip_prefix(family)?.strip_prefix('-')?.split('-');
            numbers.map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>()
        };
        let models = figures.models(provider).into_iter();
        let versions = models.filter_map(|model| Some((version(model)?, model)));
        versions.max().map(|(_, model)| model.to_owned())
    }

    /// Returns the rows about a model, those that count more first.
    fn rows<'a>(
        &'a self,
        provider: &'a str,
        model: &'a str,
    ) -> impl Iterator<Item = (&'a Layer, &'a Spanned<Row>)> {
        let shelves = self.names(provider).flat_map(|name| self.shelves(name));
        shelves.filter_map(move |(layer, shelf)| Some((layer, shelf.row(model)?)))
    }

    /// Returns a provider and the one that has the same models, if any.
    fn names<'a>(&'a self, provider: &'a str) -> impl Iterator<Item = &'a str> {
        let like = self.shelves(provider).find_map(|(_, shelf)| shelf.like.as_deref());
        [provider].into_iter().chain(like)
    }

    fn shelves(&self, provider: &str) -> impl Iterator<Item = (&Layer, &Shelf)> {
        self.0.iter().filter_map(move |layer| {
            let shelf = layer.sheet.providers.iter().find(|(name, _)| name.get_ref() == provider);
            Some((layer, shelf?.1))
        })
    }
}

/// Returns the part of our figures that is about a provider, with what comes before all.
fn part_about(provider: &str) -> String {
    let is_about = |header: &str| {
        let rest = header.strip_prefix("[providers.").and_then(|it| it.strip_prefix(provider));
        rest.is_some_and(|rest| rest.starts_with([']', '.']))
    };
    let mut is_wanted = true;
    let lines = OURS.lines().filter(|line| {
        if line.starts_with('[') {
            is_wanted = is_about(line);
        }
        is_wanted
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

impl Layer {
    /// Reads the user's file, if it is there.
    fn of_user(path: &Path) -> Result<Vec<Self>, String> {
        let file = path.display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Ok(vec![Self::parse(Some(file), &text)?]),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
            Err(error) => Err(format!("{file}: cannot be read: {error}")),
        }
    }

    fn parse(file: Option<String>, text: &str) -> Result<Self, String> {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = starts.map(|(offset, _)| offset + 1).collect();
        let mut layer =
            Self { file, lines, sheet: Sheet { dated: None, providers: BTreeMap::new() } };
        layer.sheet = toml::from_str(text).map_err(|error| {
            let place = layer.place(error.span().unwrap_or_default().start);
            format!("{place}: {}", error.message().replace('\n', "; "))
        })?;
        Ok(layer)
    }

    fn check(&self, is_known: impl Fn(&str) -> bool) -> Result<(), String> {
        for (name, shelf) in &self.sheet.providers {
            let mut named = [Some(name.get_ref()), shelf.like.as_ref()].into_iter().flatten();
            if let Some(unknown) = named.find(|name| !is_known(name)) {
                let place = self.place(name.span().start);
                return Err(format!("{place}: there is no provider `{unknown}`"));
            }
        }
        Ok(())
    }

    /// Names a place in the file.
    fn place(&self, offset: usize) -> String {
        let line = 1 + self.lines.partition_point(|start| *start <= offset);
        let dated = self.sheet.dated.as_deref();
        match (&self.file, dated) {
            (None, dated) => format!("built in, {}", dated.unwrap_or("undated")),
            (Some(file), None) => format!("{file}:{line}"),
            (Some(file), Some(dated)) => format!("{file}:{line}, {dated}"),
        }
    }
}

impl Shelf {
    /// Returns the row about a model: the one that fits best.
    fn row(&self, model: &str) -> Option<&Spanned<Row>> {
        let fitting = self.models.iter().filter(|(name, _)| is_about(name, model));
        fitting.max_by_key(|(name, _)| name.len()).map(|(_, row)| row)
    }
}

/// Reports whether a row is about a model: by its name, or as a version of it that a date, a
/// number or `latest` tells from others. `gpt-5-mini` is no version of `gpt-5`.
fn is_about(row: &str, model: &str) -> bool {
    let Some(rest) = model.strip_prefix(row) else { return false };
    let Some(version) = rest.strip_prefix(['-', '@', ':']) else { return rest.is_empty() };
    let is_digits = |piece: &str| piece.len() > 1 && piece.bytes().all(|it| it.is_ascii_digit());
    version == "latest" || (version.len() > 2 && version.split('-').all(is_digits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PROVIDERS, Provider};

    fn read(user: &str) -> Result<Figures, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("models.toml");
        fs::write(&file, user).unwrap();
        let figures = Figures::read(&file, |name| Provider::find(name).is_some());
        figures.map_err(|why| why.replace(file.to_str().unwrap(), "models.toml"))
    }

    #[test]
    fn the_newest_of_a_family_is_that_of_the_highest_version() {
        let newest = |family| Figures::newest("anthropic", family);
        assert_eq!(newest("claude-opus").as_deref(), Some("claude-opus-5-5"));
        assert_eq!(newest("claude-fable").as_deref(), Some("claude-fable-5-1"));
        assert_eq!(newest("claude-opus-4").as_deref(), Some("claude-opus-4-8"));
        assert_eq!(newest("claude"), None);
        assert_eq!(Figures::newest("nobody", "claude-opus"), None);
    }

    #[test]
    fn ours_are_complete() {
        let figures = read("").unwrap();
        for provider in PROVIDERS {
            let models = figures.models(provider.name);
            for model in &models {
                let facts = figures.find(provider.name, model);
                assert!(facts.window.is_some(), "{model}");
                let price = facts.price.unwrap();
                assert!(price.cache_read <= price.input && price.input <= price.output, "{model}");
            }
            let default = figures.default_model(provider.name);
            assert!(default.is_none_or(|model| models.contains(&model)), "{}", provider.name);
        }
    }

    #[test]
    fn the_part_about_a_provider_says_the_same_as_the_whole() {
        let whole = read("").unwrap();
        for provider in PROVIDERS {
            let part = Figures::about(provider.name, Path::new("/nowhere"), |_| true).unwrap();
            let models = whole.models(provider.name);
            assert_eq!(part.models(provider.name), models);
            for model in models {
                let facts = |figures: &Figures| figures.find(provider.name, model);
                assert_eq!(facts(&part), facts(&whole), "{}/{model}", provider.name);
            }
        }
    }

    #[test]
    fn a_version_of_a_model_is_told_from_another_model() {
        for (row, model, expected) in [
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5-2025-08-07", true),
            ("gpt-5", "gpt-5-latest", true),
            ("gpt-5", "gpt-5-mini", false),
            ("gpt-5", "gpt-5-mini-2025-08-07", false),
            ("gpt-5", "gpt-5.1", false),
            ("gpt-5", "gpt-52", false),
            ("gpt-4", "gpt-4-0613", true),
            ("claude-opus-4", "claude-opus-4-20250514", true),
            ("claude-opus-4", "claude-opus-4@20250514", true),
            ("claude-opus-4", "claude-opus-4-1", false),
            ("claude-opus-4", "claude-opus-4-1-20250805", false),
            ("gemini-2.0-flash", "gemini-2.0-flash-001", true),
            ("gemini-2.0-flash", "gemini-2.0-flash-lite", false),
            ("a/b", "a/b:free", false),
        ] {
            assert_eq!(is_about(row, model), expected, "{row} {model}");
        }
    }

    #[test]
    fn what_the_user_writes_counts_more_field_by_field() {
        let user = "[providers.openai.models.mine]\nwindow = 7\ninput = 1\noutput = 2.5\n\
                    [providers.vllm]\nlike = 'openai'\n[providers.vllm.models.mine]\nwindow = 9\n\
                    max_output = 99_000";
        let figures = read(user).unwrap();
        let facts = figures.find("openai", "mine-2026-01-01");
        let price = Price {
            input: 1_000_000,
            output: 2_500_000,
            cache_read: 1_000_000,
            cache_write: 1_000_000,
        };
        assert_eq!((facts.window, facts.max_output, facts.price), (Some(7), None, Some(price)));
        assert_eq!(facts.from.len(), 1);
        assert!(facts.from[0].ends_with("models.toml:1"), "{:?}", facts.from);
        let like = figures.find("vllm", "mine");
        assert_eq!((like.window, like.asked, like.price), (Some(9), Some(99_000), Some(price)));
        assert_eq!(figures.find("openai", "nobody's"), Facts::default());
    }

    #[test]
    fn a_row_about_one_version_counts_more_than_one_about_all() {
        let models = "[providers.openai.models]\nmine = { window = 1 }\n";
        let figures = read(&format!("{models}mine-2026-01-01 = {{ window = 2 }}")).unwrap();
        assert_eq!(figures.find("openai", "mine-2026-01-01").window, Some(2));
        assert_eq!(figures.find("openai", "mine-2026-02-02").window, Some(1));
    }

    #[test]
    fn ours_never_ask_for_more_than_is_sensible() {
        let figures = read("").unwrap();
        let models = PROVIDERS.iter().flat_map(|it| {
            figures.models(it.name).into_iter().map(|model| figures.find(it.name, model))
        });
        let facts: Vec<_> = models.collect();
        assert!(facts.iter().any(|facts| facts.max_output > facts.asked));
        assert!(facts.iter().all(|facts| facts.asked <= Some(MOST_ASKED)));
    }

    #[test]
    fn nonsense_is_told_with_its_line() {
        for (user, complaint) in [
            ("\n[providers.opnai]", "models.toml:2: there is no provider `opnai`"),
            ("[providers.openai]\nlike = 'x'", "models.toml:1: there is no provider `x`"),
            ("[providers.openai.models.a]\n\nwidth = 1", "models.toml:3: unknown field `width`"),
            ("[providers.openai.models.a]\nwindow = 0", "models.toml:2: "),
            ("[providers.openai.models.a]\ninput = -1", "models.toml:2: expected dollars"),
            ("[providers.openai.models.a]\ninput = nan", "models.toml:2: expected dollars"),
            ("[providers.openai.models.a]\nthinking = 'hard'", "models.toml:2: unknown variant"),
            ("models =", "models.toml:1: "),
        ] {
            let wrong = read(user).err().unwrap();
            assert!(wrong.starts_with(complaint) && !wrong.contains('\n'), "{user}: {wrong}");
        }
    }
}
