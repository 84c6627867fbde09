//! Every key there is, and what it sets.

use adjutant_core::{Mode, Pattern};
use adjutant_engine::Unattended;
use adjutant_store::Durability;
use toml::Value;

use self::{
    Form::{List, Number, Text},
    Project::{Any, Never, Tighter},
};
use super::{
    Config, Journal,
    value::{
        Wrong, absolute_path, budget, budget_of_dollars, budget_of_seconds, choice, count,
        milliseconds, number, rules, seconds, text,
    },
};
use crate::nearest::nearest;

/// The deepest a tree may ever go.
const DEEPEST: i64 = 5;

/// Something that can be set.
#[derive(Debug)]
pub(crate) struct Key {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) project: Project,
    pub(super) set: fn(&mut Config, &Value) -> Result<(), Wrong>,
}

/// What a value looks like where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Words, which need no quotes outside a file.
    Text,
    /// A number.
    Number,
    /// A list, to which every layer adds.
    List,
}

/// What a project's file may do with a key. A repository somebody cloned must not
/// grant itself anything, nor hide what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Project {
    /// Set it.
    Any,
    /// Set it to no more than the user has.
    Tighter,
    /// Nothing.
    Never,
}

pub(super) static KEYS: [Key; 26] = [
    key("model", Text, Any, |config, value| put(&mut config.model, text(value).map(Some))),
    key("mode", Text, Tighter, |config, value| put(&mut config.mode, mode(value))),
    key("journal", Text, Never, |config, value| put(&mut config.journal, journal(value))),
    key("journal_path", Text, Never, |config, value| {
        put(&mut config.journal_path, absolute_path(value))
    }),
    key("durability", Text, Never, |config, value| put(&mut config.durability, durability(value))),
    key("unattended", Text, Any, |config, value| {
        put(&mut config.settings.unattended, unattended(value))
    }),
    key("instructions", Text, Any, |config, value| put(&mut config.instructions, text(value))),
    key("limits.max_depth", Number, Tighter, |config, value| {
        put(&mut config.max_depth, number(value, 0..=DEEPEST))
    }),
    key("limits.max_concurrent_agents", Number, Tighter, |config, value| {
        put(&mut config.settings.max_concurrent_agents, count(value))
    }),
    key("limits.max_children_per_agent", Number, Tighter, |config, value| {
        put(&mut config.settings.max_children_per_agent, count(value))
    }),
    key("limits.max_concurrent_ops", Number, Tighter, |config, value| {
        put(&mut config.settings.max_concurrent_ops, count(value))
    }),
    key("limits.max_model_calls", Number, Tighter, |config, value| {
        put(&mut config.settings.max_model_calls, count(value))
    }),
    key("limits.inactivity_timeout", Number, Any, |config, value| {
        put(&mut config.settings.inactivity, seconds(value))
    }),
    key("limits.blocking_timeout", Number, Any, |config, value| {
        put(&mut config.blocking_timeout, seconds(value))
    }),
    key("retry.attempts", Number, Any, |config, value| {
        put(&mut config.settings.retry.attempts, count(value))
    }),
    key("retry.base_ms", Number, Any, |config, value| {
        put(&mut config.settings.retry.base, milliseconds(value))
    }),
    key("retry.cap_ms", Number, Any, |config, value| {
        put(&mut config.settings.retry.cap, milliseconds(value))
    }),
    key("budget.tokens", Number, Tighter, |config, value| {
        put(&mut config.allowance.tokens, budget(value).map(Some))
    }),
    key("budget.usd", Number, Tighter, |config, value| {
        put(&mut config.allowance.micros, budget_of_dollars(value).map(Some))
    }),
    key("budget.time", Number, Tighter, |config, value| {
        put(&mut config.allowance.millis, budget_of_seconds(value).map(Some))
    }),
    key("budget.turns", Number, Tighter, |config, value| {
        put(&mut config.allowance.turns, budget(value).map(Some))
    }),
    key("budget.calls", Number, Tighter, |config, value| {
        put(&mut config.allowance.calls, budget(value).map(Some))
    }),
    key("sub_agents.default_budget", Number, Tighter, |config, value| {
        put(&mut config.spawn_budget, budget(value))
    }),
    key("permissions.allow", List, Never, |config, value| {
        add(&mut config.rules.allow, rules(value))
    }),
    key("permissions.ask", List, Any, |config, value| add(&mut config.rules.ask, rules(value))),
    key("permissions.deny", List, Any, |config, value| add(&mut config.rules.deny, rules(value))),
];

const fn key(
    name: &'static str,
    form: Form,
    project: Project,
    set: fn(&mut Config, &Value) -> Result<(), Wrong>,
) -> Key {
    Key { name, form, project, set }
}

impl Key {
    /// Finds a key, or returns the name of the one that was probably meant.
    pub(super) fn find(name: &str) -> Result<&'static Self, &'static str> {
        let known = KEYS.iter().find(|key| key.name == name);
        known.ok_or_else(|| nearest(name, KEYS.iter().map(|key| key.name)).unwrap_or_default())
    }

    /// Returns the name of the variable that sets the key.
    pub(super) fn variable(&self) -> String {
        format!("ADJUTANT_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// Reads a value given on the command line or in the environment. It is TOML,
    /// or plain words.
    pub(super) fn read(&self, written: &str) -> Value {
        match written.parse() {
            Ok(Value::String(text)) => Value::String(text),
            Ok(value) if self.form != Text => value,
            _ => Value::String(written.to_owned()),
        }
    }

    /// Reports whether one value gives more freedom than another.
    pub(super) fn is_looser(&self, value: &Value, than: &Value) -> bool {
        let rank = |value: &Value| match value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            mode => self::mode(mode).ok().map(|mode| f64::from(mode as u8)),
        };
        rank(value) > rank(than)
    }
}

fn put<T>(place: &mut T, value: Result<T, Wrong>) -> Result<(), Wrong> {
    *place = value?;
    Ok(())
}

fn add(place: &mut Vec<Pattern>, more: Result<Vec<Pattern>, Wrong>) -> Result<(), Wrong> {
    place.extend(more?);
    Ok(())
}

fn mode(value: &Value) -> Result<Mode, Wrong> {
    choice(value, &Mode::ALL.map(|mode| (mode.name(), mode)))
}

fn journal(value: &Value) -> Result<Journal, Wrong> {
    choice(value, &[("file", Journal::File), ("memory", Journal::Memory)])
}

fn durability(value: &Value) -> Result<Durability, Wrong> {
    choice(value, &[("process", Durability::Process), ("power", Durability::Power)])
}

fn unattended(value: &Value) -> Result<Unattended, Wrong> {
    choice(value, &[("go_on", Unattended::GoOn), ("fail", Unattended::Fail)])
}
