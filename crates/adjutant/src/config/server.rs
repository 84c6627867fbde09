//! Servers that speak the Model Context Protocol, as people write them.

use std::collections::BTreeMap;

use adjutant_core::Effect;
use adjutant_tools::mcp::{OnFailure, Private, Server, ServerSettings};
use toml::Value;

use super::{
    Written,
    key::{Form, Key, Project, Setter, add, put},
    value::{Wrong, choice, flag, list, pairs, seconds, text},
};
use crate::{CliError, error::Kind};

const EFFECTS: [(&str, Effect); 3] =
    [("read", Effect::Read), ("write", Effect::Write), ("reach", Effect::Reach)];

pub(super) static SERVER_KEYS: [Key; 10] = [
    server("mcp.*.command", Form::Text, |server, value| {
        put(&mut server.command, text(value).map(Some))
    }),
    server("mcp.*.args", Form::List, |server, value| add(&mut server.args, list(value))),
    server("mcp.*.env", Form::Hidden, |server, value| put(&mut server.env, private(value))),
    server("mcp.*.url", Form::Text, |server, value| put(&mut server.url, text(value).map(Some))),
    server("mcp.*.headers", Form::Hidden, |server, value| put(&mut server.headers, private(value))),
    server("mcp.*.tools", Form::List, |server, value| {
        add(server.tools.get_or_insert_default(), list(value))
    }),
    server("mcp.*.required", Form::Flag, |server, value| {
        let failure = |is_required| if is_required { OnFailure::Fail } else { OnFailure::Warn };
        put(&mut server.on_failure, flag(value).map(failure))
    }),
    server("mcp.*.timeout", Form::Number, |server, value| {
        put(&mut server.timeout, seconds(value).map(Some))
    }),
    server("mcp.*.startup_timeout", Form::Number, |server, value| {
        put(&mut server.startup_timeout, seconds(value).map(Some))
    }),
    server("mcp.*.effect", Form::Text, |server, value| {
        put(&mut server.effect, choice(value, &EFFECTS).map(Some))
    }),
];

/// Makes a key that each server has. A repository somebody cloned must not start anything.
const fn server(
    name: &'static str,
    form: Form,
    set: fn(&mut ServerSettings, &Value) -> Result<(), Wrong>,
) -> Key {
    Key { name, form, project: Project::Never, set: Setter::Server(set) }
}

/// Reads names with values. None of the values gets into what is wrong.
fn private(value: &Value) -> Result<Private, Wrong> {
    let pairs = pairs(value)?.into_iter();
    Ok(Private(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
}

impl Written {
    /// Makes the servers of their settings, in the order of their names.
    pub(super) fn servers(
        &self,
        settings: BTreeMap<String, ServerSettings>,
    ) -> Result<Vec<Server>, CliError> {
        let servers = settings.into_iter().map(|(name, settings)| {
            Server::new(&name, settings).map_err(|why| {
                let section = format!("mcp.{name}");
                let is_ours = |it: &&str| it.rsplit_once('.').is_some_and(|(of, _)| of == section);
                let place = self.assignments.iter().rfind(|it| is_ours(&it.name().as_str()));
                let place = place.map(|it| format!("{}: ", it.source)).unwrap_or_default();
                CliError::new(Kind::Config, format!("{place}`{section}` {why}"))
            })
        });
        servers.collect()
    }
}
