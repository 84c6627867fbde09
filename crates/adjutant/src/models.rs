//! `adjutant models`: which models can be used, what they can do and cost.

use std::io::{self, Write};

use adjutant_core::Price;
use adjutant_models::{Facts, Figures, PROVIDERS, Place, Running, Setup};
use serde::Serialize;

use crate::{
    CliError,
    choice::{bad_figures, find_running, why_no_default},
    config::Config,
    error::Kind,
    nearest::nearest,
};

/// A provider, and what can be used of it.
#[derive(Debug, Serialize)]
struct Shelf {
    provider: String,
    base_url: String,
    /// Where the key comes from.
    key: Option<String>,
    /// Why it cannot be used.
    lacks: Option<String>,
    models: Vec<Entry>,
}

/// A model.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    window: Option<u64>,
    max_output: Option<u64>,
    /// In dollars for a million tokens.
    price: Option<Dollars>,
    /// Where that is written.
    from: Vec<String>,
    /// Whether it is the one that runs when nobody says otherwise.
    default: bool,
}

/// Dollars for a million tokens.
#[derive(Clone, Copy, Debug, Serialize)]
struct Dollars {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

impl From<Price> for Dollars {
    fn from(price: Price) -> Self {
        let dollars = |micros: u64| micros as f64 / 1e6;
        Self {
            input: dollars(price.input),
            output: dollars(price.output),
            cache_read: dollars(price.cache_read),
            cache_write: dollars(price.cache_write),
        }
    }
}

/// What there is to choose from.
#[derive(Debug)]
pub struct Selection {
    shelves: Vec<Shelf>,
    /// The model that runs when nobody says otherwise, or why there is none.
    default: Result<String, String>,
}

impl Selection {
    /// Looks at the providers, or at one of them.
    pub fn look(config: &Config, provider: Option<&str>) -> Result<Self, CliError> {
        let figures = config.providers.figures().map_err(bad_figures)?;
        let chosen = config.providers.default_model().map_err(bad_figures)?;
        let default = config.model.clone().or(chosen.map(|(_, model)| model));
        let running = find_running(&config.providers);
        if let Some(name) = provider.filter(|name| config.providers.find(name).is_none()) {
            return Err(unknown(name));
        }
        let setups =
            config.providers.iter().filter(|it| provider.is_none_or(|name| name == it.name));
        let shelves = setups.map(|setup| {
            let running = running.iter().find(|running| running.provider == setup.name);
            Shelf::new(setup, figures, running, default.as_deref())
        });
        let shelves = shelves.collect();
        let default = default.ok_or_else(|| why_no_default(&config.providers));
        Ok(Self { shelves, default })
    }

    /// Writes all of it as JSON.
    pub fn write_json(&self, to: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *to, &self.shelves)?;
        writeln!(to)
    }

    /// Writes it for people: what can be used, then what cannot and why.
    pub fn write_text(&self, to: &mut dyn Write) -> io::Result<()> {
        let is_alone = self.shelves.len() == 1;
        let (shown, others): (Vec<_>, Vec<_>) =
            self.shelves.iter().partition(|shelf| shelf.lacks.is_none() || is_alone);
        let names = shown.iter().flat_map(|shelf| &shelf.models).map(|it| it.name.len());
        let width = names.max().unwrap_or_default();
        for shelf in shown {
            shelf.write(width, to)?;
        }
        let width = others.iter().map(|shelf| shelf.provider.len()).max().unwrap_or_default();
        for Shelf { provider, lacks, .. } in &others {
            writeln!(to, "{provider:width$}  {}", lacks.as_deref().unwrap_or_default())?;
        }
        if !others.is_empty() {
            writeln!(to)?;
        }
        match &self.default {
            Ok(model) => writeln!(to, "* runs without --model: {model}"),
            Err(why) => writeln!(to, "nothing runs without --model: none is set, and {why}"),
        }
    }
}

impl Shelf {
    fn new(
        setup: &Setup,
        figures: &Figures,
        running: Option<&Running>,
        default: Option<&str>,
    ) -> Self {
        let mut names = figures.models(&setup.name);
        names.extend(running.iter().flat_map(|running| &running.models).map(String::as_str));
        names.dedup();
        let entry = |model: &str| {
            let name = format!("{}/{model}", setup.name);
            let Facts { window, max_output, price, from, .. } = figures.find(&setup.name, model);
            let price = price.or(setup.is_free().then(Price::default));
            let default = default == Some(&name);
            Entry { name, window, max_output, price: price.map(Dollars::from), from, default }
        };
        let lacks = if !setup.is_ready() {
            Some(format!("set {}", setup.key_variables.join(" or ")))
        } else if setup.place == Some(Place::Local) && running.is_none() {
            Some(format!("nothing answers at {}", setup.base_url))
        } else {
            None
        };
        Self {
            provider: setup.name.clone(),
            base_url: setup.base_url.to_string(),
            key: setup.key.as_ref().map(ToString::to_string),
            lacks,
            models: names.into_iter().map(entry).collect(),
        }
    }

    fn write(&self, width: usize, to: &mut dyn Write) -> io::Result<()> {
        let key = self.key.as_ref().map(|key| format!(", key from {key}")).unwrap_or_default();
        let lacks = self.lacks.as_ref().map(|lacks| format!(": {lacks}")).unwrap_or_default();
        writeln!(to, "{} at {}{key}{lacks}", self.provider, self.base_url)?;
        if self.models.is_empty() {
            return writeln!(to, "  no model is known; any name is passed on\n");
        }
        let titles = ["window", "answer", "$ in", "$ out", "$ read", "$ write", "from"];
        write_line(to, ("  model", width + 2), titles)?;
        for entry in &self.models {
            entry.write(width, to)?;
        }
        writeln!(to)
    }
}

impl Entry {
    fn write(&self, width: usize, to: &mut dyn Write) -> io::Result<()> {
        let name = format!("{} {}", if self.default { '*' } else { ' ' }, self.name);
        let unknown = || "?".to_owned();
        let tokens = |count: Option<u64>| count.map_or_else(unknown, |count| count.to_string());
        let dollars = |pick: fn(Dollars) -> f64| {
            self.price.map_or_else(unknown, |price| pick(price).to_string())
        };
        let from = if self.from.is_empty() { unknown() } else { self.from.join("; ") };
        let cells = [
            tokens(self.window),
            tokens(self.max_output),
            dollars(|price| price.input),
            dollars(|price| price.output),
            dollars(|price| price.cache_read),
            dollars(|price| price.cache_write),
            from,
        ];
        write_line(to, (&name, width + 2), cells.each_ref().map(String::as_str))
    }
}

fn write_line(
    to: &mut dyn Write,
    (name, width): (&str, usize),
    [window, answer, input, output, read, write, from]: [&str; 7],
) -> io::Result<()> {
    write!(to, "{name:width$} {window:>8} {answer:>7} {input:>6} {output:>6} ")?;
    writeln!(to, "{read:>6} {write:>7}  {from}")
}

fn unknown(name: &str) -> CliError {
    let error = CliError::new(Kind::Usage, format!("there is no provider `{name}`"));
    let meant = nearest(name, PROVIDERS.iter().map(|provider| provider.name)).unwrap_or_default();
    error.hint(format!("did you mean `{meant}`?"))
}
