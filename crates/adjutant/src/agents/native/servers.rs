//! Servers that an agent alone has.

#[cfg(feature = "mcp")]
use adjutant_tools::mcp::{Private, Server, ServerSettings};

use super::Fields;

/// What the field is called.
const FIELD: &str = "mcp_servers";

/// How a server is spoken to.
#[cfg(feature = "mcp")]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Pipes,
    Http,
    OldHttp,
}

#[cfg(feature = "mcp")]
const TRANSPORTS: [(&str, Transport); 4] = [
    ("stdio", Transport::Pipes),
    ("streamable-http", Transport::Http),
    ("http", Transport::Http),
    ("sse", Transport::OldHttp),
];

/// Reads the servers.
#[cfg(feature = "mcp")]
pub(super) fn read(fields: &mut Fields<'_>) -> Vec<Server> {
    let mut servers: Vec<Server> = Vec::new();
    for (index, mut table) in fields.tables(FIELD).into_iter().enumerate() {
        let place = format!("{FIELD}[{index}]");
        let server = server(&mut table);
        fields.end_table(table);
        match server {
            Ok(server) if servers.iter().any(|other| other.name() == server.name()) => {
                fields.wrong(&place, format!("has the name of another: `{}`", server.name()));
            }
            Ok(server) => servers.push(server),
            Err(why) => fields.wrong(&place, why),
        }
    }
    servers
}

#[cfg(feature = "mcp")]
fn server(table: &mut Fields<'_>) -> Result<Server, String> {
    let transport = table.choice("transport", &TRANSPORTS);
    let name = table.word("name");
    let settings = ServerSettings {
        command: table.word("command"),
        args: table.list("args").unwrap_or_default(),
        env: Private(table.pairs("env")),
        url: table.word("url"),
        headers: Private(table.pairs("headers")),
        ..ServerSettings::default()
    };
    match transport {
        Some(Transport::Pipes) if settings.command.is_none() => {
            table.wrong("transport", "is `stdio`, which needs a `command`");
        }
        Some(Transport::Http) if settings.url.is_none() => {
            table.wrong("transport", "needs a `url`");
        }
        Some(Transport::OldHttp) => {
            let why = "is `sse`, which servers spoke before 2025 and is not spoken here";
            table.refuse("transport", why, "most servers speak `streamable-http` at another `url`");
        }
        Some(Transport::Pipes | Transport::Http) | None => {}
    }
    Server::new(&name.ok_or("has no `name`")?, settings)
}

/// Refuses servers, which this program was built without.
#[cfg(not(feature = "mcp"))]
pub(super) fn refuse(fields: &mut Fields<'_>) {
    if fields.take(FIELD).is_some() {
        fields.wrong(FIELD, "cannot be: this program was built without servers");
    }
}
