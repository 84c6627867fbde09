//! Every key there is, and what it sets.

use std::num::NonZeroU64;

use adjutant_core::{AllowedModel, AllowedModels, Effort, Mode, OnError, Pattern, Peers};
use adjutant_engine::{ChildInstructions, ChildQuestions, ChildrenAtEnd, Unattended};
use adjutant_models::{Format, ProviderSettings};
use adjutant_store::Durability;
#[cfg(feature = "mcp")]
use adjutant_tools::mcp::ServerSettings;
use adjutant_tools::{DELEGATION_TOOLS, Earlier, HookEvent, Parameters, Style};
use toml::Value;

use self::{
    Form::{Flag, Hidden, List, Names, Number, Text},
    Project::{Any, Never, Tighter, Trusted},
};
#[cfg(feature = "mcp")]
use super::server::SERVER_KEYS;
use super::{
    Config, Journal,
    hook::HookSettings,
    value::{
        Wrong, absolute_path, base_url, budget, budget_of_dollars, budget_of_seconds, choice,
        count, flag, headers, list, milliseconds, number, proxy, seconds, text,
    },
};
use crate::nearest::nearest;

/// The least milliseconds a parent waits for a child.
const SHORTEST_WAIT: u64 = 5000;

/// The deepest a tree may ever go.
const DEEPEST: i64 = 5;

/// Something that can be set.
#[derive(Debug)]
pub(crate) struct Key {
    pub(super) name: &'static str,
    pub(super) form: Form,
    pub(super) project: Project,
    pub(super) set: Setter,
}

/// What a value is put into.
#[derive(Clone, Copy, Debug)]
pub(super) enum Setter {
    /// The configuration.
    Config(fn(&mut Config, &Value) -> Result<(), Wrong>),
    /// The settings of the provider whose name stands for the `*` in the key's.
    Provider(fn(&mut ProviderSettings, &Value) -> Result<(), Wrong>),
    /// The settings of the hook whose name stands for the `*` in the key's.
    Hook(fn(&mut HookSettings, &Value) -> Result<(), Wrong>),
    /// The settings of the server whose name stands for the `*` in the key's.
    #[cfg(feature = "mcp")]
    Server(fn(&mut ServerSettings, &Value) -> Result<(), Wrong>),
}

/// What a value looks like where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Words, which need no quotes outside a file.
    Text,
    /// A number.
    Number,
    /// Yes or no.
    Flag,
    /// A list, to which every layer adds.
    List,
    /// A list, which a layer replaces.
    Names,
    /// A table whose values are shown to nobody.
    Hidden,
}

/// What a project's file may do with a key. A repository somebody cloned must not
/// grant itself anything, nor hide what it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Project {
    /// Set it.
    Any,
    /// Set it to no more than the user has.
    Tighter,
    /// Add to it, as far as the person agreed to that.
    Trusted,
    /// Nothing.
    Never,
}

static KEYS: [Key; 69] = [
    key("preset", Text, Never, |config, value| put(&mut config.preset, text(value))),
    key("model", Text, Any, |config, value| put(&mut config.model, text(value).map(Some))),
    key("reasoning", Text, Any, |config, value| {
        put(&mut config.reasoning, effort(value).map(Some))
    }),
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
    key("agents_md", Flag, Tighter, |config, value| put(&mut config.agents_md, flag(value))),
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
        put(&mut config.delegation.blocking.millis, waiting(value).map(Some))
    }),
    key("limits.schema_repairs", Number, Any, |config, value| {
        put(&mut config.settings.schema_repairs, number(value, 0..=20))
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
    key("sub_agents.enabled", Flag, Tighter, |config, value| {
        put(&mut config.delegates, flag(value))
    }),
    key("sub_agents.tools", Names, Tighter, |config, value| {
        put(&mut config.delegation.tools, delegation_tools(value))
    }),
    key("sub_agents.result", Text, Any, |config, value| {
        put(&mut config.delegation.style, choice(value, &Style::ALL))
    }),
    key("sub_agents.extra_parameters", Flag, Tighter, |config, value| {
        let parameters = flag(value).map(|all| match all {
            true => Parameters::All,
            false => Parameters::Documented,
        });
        put(&mut config.delegation.parameters, parameters)
    }),
    key("sub_agents.default_budget", Number, Tighter, |config, value| {
        put(&mut config.delegation.background.tokens, budget(value).map(Some))
    }),
    key("sub_agents.max_budget_per_agent", Number, Tighter, |config, value| {
        put(&mut config.settings.max_budget_per_agent, budget(value).map(Some))
    }),
    key("sub_agents.blocking_tokens", Number, Tighter, |config, value| {
        put(&mut config.delegation.blocking.tokens, budget_of("maxTokens", value).map(Some))
    }),
    key("sub_agents.blocking_calls", Number, Tighter, |config, value| {
        put(&mut config.delegation.blocking.calls, budget_of("maxToolCalls", value).map(Some))
    }),
    key("sub_agents.default_provider", Text, Never, |config, value| {
        put(&mut config.settings.child_provider, text(value).map(Some))
    }),
    key("sub_agents.default_model", Text, Never, |config, value| {
        put(&mut config.settings.child_model, text(value).map(Some))
    }),
    key("sub_agents.allow_nested_spawn", Flag, Tighter, |config, value| {
        put(&mut config.nests, flag(value))
    }),
    key("sub_agents.inherit_system_prompt", Flag, Any, |config, value| {
        let instructions = flag(value).map(|inherits| match inherits {
            true => ChildInstructions::Inherit,
            false => ChildInstructions::None,
        });
        put(&mut config.settings.child_instructions, instructions)
    }),
    key("sub_agents.inherit_mode", Flag, Tighter, |config, value| {
        let mode = flag(value).map(|inherits| (!inherits).then_some(Mode::Ask));
        put(&mut config.delegation.child_mode, mode)
    }),
    key("sub_agents.comms", Text, Never, |config, value| {
        put(&mut config.delegation.peers, peers(value))
    }),
    key("sub_agents.cache", Flag, Never, |config, value| {
        let earlier = flag(value).map(|used| match used {
            true => Earlier::Used,
            false => Earlier::Ignored,
        });
        put(&mut config.delegation.earlier, earlier)
    }),
    key("sub_agents.plan_concurrency", Number, Tighter, |config, value| {
        put(&mut config.delegation.plans.at_once, count(value))
    }),
    key("sub_agents.plan_size", Number, Tighter, |config, value| {
        put(&mut config.delegation.plans.most, count(value))
    }),
    key("sub_agents.stop_on_error", Flag, Never, |config, value| {
        let on_error = flag(value).map(|stops| match stops {
            true => OnError::Stop,
            false => OnError::GoOn,
        });
        put(&mut config.delegation.plans.on_error, on_error)
    }),
    key("breaker.warn_at", Number, Tighter, |config, value| {
        put(&mut config.settings.breaker.warn_at, budget(value).map(Some))
    }),
    key("breaker.pause_at", Number, Tighter, |config, value| {
        put(&mut config.settings.breaker.pause_at, budget(value).map(Some))
    }),
    key("breaker.hard_stop_at", Number, Tighter, |config, value| {
        put(&mut config.delegation.most_calls, budget(value).map(Some))
    }),
    key("sub_agents.models", Names, Never, |config, value| {
        let models: Result<Vec<AllowedModel>, _> = list(value);
        put(&mut config.settings.allowed_models, models.map(AllowedModels::from_iter))
    }),
    key("sub_agents.at_end", Text, Any, |config, value| {
        put(&mut config.settings.children_at_end, at_end(value))
    }),
    key("sub_agents.questions", Text, Never, |config, value| {
        put(&mut config.settings.child_questions, child_questions(value))
    }),
    key("permissions.allow", List, Trusted, |config, value| {
        add(&mut config.own_rules().allow, list(value))
    }),
    key("permissions.ask", List, Any, |config, value| {
        add(&mut config.own_rules().ask, list(value))
    }),
    key("permissions.deny", List, Any, |config, value| {
        add(&mut config.own_rules().deny, list(value))
    }),
    key("commands.environment", List, Never, |config, value| {
        add(&mut config.passed_variables, variables(value))
    }),
    hook("hooks.*.event", |hook, value| {
        put(&mut hook.event, choice(value, &HookEvent::ALL).map(Some))
    }),
    hook("hooks.*.match", |hook, value| put(&mut hook.calls, pattern(value).map(Some))),
    hook("hooks.*.command", |hook, value| put(&mut hook.command, text(value).map(Some))),
    Key {
        form: Number,
        ..hook("hooks.*.timeout", |hook, value| put(&mut hook.timeout, seconds(value).map(Some)))
    },
    key("undo.commands", Flag, Never, |config, value| put(&mut config.undo_commands, flag(value))),
    key("git.auto_commit", Flag, Never, |config, value| put(&mut config.auto_commit, flag(value))),
    key("git.checkpoints", Flag, Never, |config, value| put(&mut config.checkpoints, flag(value))),
    key("web.allow_private", List, Never, |config, value| {
        add(&mut config.web.allow_private, list(value))
    }),
    provider("providers.*.base_url", Text, |provider, value| {
        put(&mut provider.base_url, base_url(value).map(Some))
    }),
    provider("providers.*.format", Text, |provider, value| {
        put(&mut provider.format, choice(value, &Format::ALL).map(Some))
    }),
    provider("providers.*.key_command", Text, |provider, value| {
        put(&mut provider.key_command, text(value).map(Some))
    }),
    provider("providers.*.headers", Hidden, |provider, value| {
        put(&mut provider.headers, headers(value))
    }),
    provider("providers.*.timeout", Number, |provider, value| {
        put(&mut provider.timeout, seconds(value).map(Some))
    }),
    provider("providers.*.connect_timeout", Number, |provider, value| {
        put(&mut provider.connect_timeout, seconds(value).map(Some))
    }),
    provider("providers.*.proxy", Text, |provider, value| {
        put(&mut provider.proxy, proxy(value).map(Some))
    }),
];

const fn key(
    name: &'static str,
    form: Form,
    project: Project,
    set: fn(&mut Config, &Value) -> Result<(), Wrong>,
) -> Key {
    Key { name, form, project, set: Setter::Config(set) }
}

/// Makes a key that each provider has. A repository somebody cloned must not say where keys
/// go, nor which command is run for them.
const fn provider(
    name: &'static str,
    form: Form,
    set: fn(&mut ProviderSettings, &Value) -> Result<(), Wrong>,
) -> Key {
    Key { name, form, project: Never, set: Setter::Provider(set) }
}

/// Makes a key that each hook has. A repository somebody cloned must not run anything.
const fn hook(name: &'static str, set: fn(&mut HookSettings, &Value) -> Result<(), Wrong>) -> Key {
    Key { name, form: Text, project: Never, set: Setter::Hook(set) }
}

impl Key {
    /// Returns every key there is.
    pub(super) fn all() -> impl Iterator<Item = &'static Self> {
        #[cfg(feature = "mcp")]
        return KEYS.iter().chain(&SERVER_KEYS);
        #[cfg(not(feature = "mcp"))]
        KEYS.iter()
    }

    /// Finds a key and what stands for the `*` in its name.
    pub(super) fn find(name: &str) -> Option<(&'static Self, Option<String>)> {
        Self::all().find_map(|key| match matched(key.name, name)? {
            "" => Some((key, None)),
            subject => Some((key, Some(subject.to_owned()))),
        })
    }

    /// Returns the name of the key that was probably meant.
    pub(super) fn meant(name: &str) -> String {
        let subject = name.split('.').nth(1).filter(|_| name.split('.').count() == 3);
        let names: Vec<_> = Self::all().map(|key| key.name_of(subject)).collect();
        nearest(name, names.iter().map(String::as_str)).unwrap_or_default().to_owned()
    }

    /// Returns what stands where a key has the name of a provider, if it cannot be one.
    pub(super) fn bad_subject(name: &str) -> Option<&str> {
        let mut subjects = Self::all().filter_map(|key| {
            let (before, after) = key.name.split_once('*')?;
            name.strip_prefix(before)?.strip_suffix(after)
        });
        subjects.find(|subject| !is_plain(subject))
    }

    /// Returns its name with what stands for the `*`.
    pub(super) fn name_of(&self, subject: Option<&str>) -> String {
        self.name.replace('*', subject.unwrap_or("NAME"))
    }

    /// Reports whether a name is that of a table some keys are in.
    pub(super) fn is_section(name: &str) -> bool {
        let mut sections = Self::all()
            .flat_map(|key| key.name.match_indices('.').map(|(dot, _)| &key.name[..dot]));
        sections.any(|section| matched(section, name).is_some())
    }

    /// Returns the name of the variable that sets the key, if there is one.
    pub(super) fn variable(&self) -> Option<String> {
        let name = self.name.replace('.', "_").to_uppercase();
        (!name.contains('*')).then(|| format!("ADJUTANT_{name}"))
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
        if let (Some(names), Some(others)) = (value.as_array(), than.as_array()) {
            return names.iter().any(|name| !others.contains(name));
        }
        let rank = |value: &Value| match value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Boolean(yes) => Some(f64::from(u8::from(*yes))),
            mode => self::mode(mode).ok().map(|mode| f64::from(mode as u8)),
        };
        rank(value) > rank(than)
    }
}

/// Returns what stands for the `*` of a pattern in a name that fits it; nothing, if it has none.
fn matched<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    let Some((before, after)) = pattern.split_once('*') else {
        return (pattern == name).then_some("");
    };
    let subject = name.strip_prefix(before)?.strip_suffix(after)?;
    is_plain(subject).then_some(subject)
}

/// Reports whether a provider can have that name.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    !name.is_empty() && name.bytes().all(is_plain)
}

pub(super) fn put<T>(place: &mut T, value: Result<T, Wrong>) -> Result<(), Wrong> {
    *place = value?;
    Ok(())
}

pub(super) fn add<T>(place: &mut impl Extend<T>, more: Result<Vec<T>, Wrong>) -> Result<(), Wrong> {
    place.extend(more?);
    Ok(())
}

fn variables(value: &Value) -> Result<Vec<String>, Wrong> {
    let names: Vec<String> = list(value)?;
    let is_no_name = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    match names.iter().find(is_no_name) {
        Some(name) => Err(format!("has an entry that is not the name of a variable: `{name}`")),
        None => Ok(names),
    }
}

fn pattern(value: &Value) -> Result<Pattern, Wrong> {
    text(value)?.parse().map_err(|bad| format!("cannot be read: {bad}"))
}

fn mode(value: &Value) -> Result<Mode, Wrong> {
    choice(value, &Mode::ALL.map(|mode| (mode.name(), mode)))
}

fn effort(value: &Value) -> Result<Effort, Wrong> {
    choice(value, &Effort::ALL)
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

/// A parent that waits less than this has hardly asked.
fn waiting(value: &Value) -> Result<NonZeroU64, Wrong> {
    let millis = budget_of_seconds(value)?;
    if millis.get() < SHORTEST_WAIT {
        let seconds = SHORTEST_WAIT / 1000;
        return Err(format!(
            "must be at least {seconds} seconds, not {value} (timeoutMs must be at least \
             {SHORTEST_WAIT})"
        ));
    }
    Ok(millis)
}

/// Reads what a child may use, which others know by another name.
fn budget_of(known_as: &str, value: &Value) -> Result<NonZeroU64, Wrong> {
    let is_number = value.is_integer();
    budget(value).map_err(|wrong| match is_number {
        true => format!("{wrong} ({known_as} must be positive)"),
        false => wrong,
    })
}

fn delegation_tools(value: &Value) -> Result<Vec<String>, Wrong> {
    let names: Vec<String> = list(value)?;
    match names.iter().find(|name| !DELEGATION_TOOLS.contains(&name.as_str())) {
        None => Ok(names),
        Some(name) => {
            let known = DELEGATION_TOOLS.join(", ");
            Err(format!("has `{name}`, which is no tool for delegation: there are {known}"))
        }
    }
}

fn peers(value: &Value) -> Result<Peers, Wrong> {
    choice(value, &[("off", Peers::Nobody), ("parent", Peers::Parent), ("family", Peers::Family)])
}

fn at_end(value: &Value) -> Result<ChildrenAtEnd, Wrong> {
    choice(value, &[("wait", ChildrenAtEnd::Await), ("cancel", ChildrenAtEnd::Cancel)])
}

fn child_questions(value: &Value) -> Result<ChildQuestions, Wrong> {
    choice(value, &[("raise", ChildQuestions::Raise), ("deny", ChildQuestions::Deny)])
}
