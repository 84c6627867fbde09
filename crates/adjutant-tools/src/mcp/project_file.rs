//! `.mcp.json`: the servers a project brings along.
//!
//! ```json
//! { "mcpServers": { "files": { "command": "serve-files", "args": ["${HOME}"] },
//!                   "wiki": { "type": "http", "url": "https://wiki.example/mcp" } } }
//! ```
//!
//! Whoever wrote the project wrote the file, so nothing in it is started before the person at
//! this machine agreed to it.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use adjutant_core::Digest;
use serde::Deserialize;

use super::settings::{Private, Server, ServerSettings};

const NAME: &str = ".mcp.json";

/// A project's file of servers.
#[derive(Clone, Debug)]
pub struct ProjectFile {
    /// Where it is.
    pub path: PathBuf,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl ProjectFile {
    /// Finds the file that applies in a directory: the one there, or that of the project the
    /// directory is in.
    pub fn find(directory: &Path) -> Result<Option<Self>, String> {
        let is_project =
            |place: &&Path| place.join(".adjutant").exists() || place.join(".git").exists();
        let project = directory.ancestors().find(is_project);
        for place in std::iter::once(directory).chain(project) {
            let path = place.join(NAME);
            match fs::read_to_string(&path) {
                Ok(text) => return Ok(Some(Self { path, text })),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{}: cannot be read: {error}", path.display())),
            }
        }
        Ok(None)
    }

    /// Returns the directory it is in, where its servers run.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Names what is in it. With another content it has another name.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    /// Returns its servers, or says what is wrong and where.
    pub fn servers(&self) -> Result<Vec<Server>, String> {
        let place = self.path.display();
        let content: Content =
            serde_json::from_str(&self.text).map_err(|error| format!("{place}: {error}"))?;
        let servers = content.servers.into_iter().map(|(name, entry)| {
            let server = entry.settings().and_then(|settings| Server::new(&name, settings));
            server
                .map(|server| server.at(self.directory()))
                .map_err(|why| format!("{place}: the server `{}` {why}", name.escape_debug()))
        });
        servers.collect()
    }
}

impl Server {
    /// Makes a server of what stands beside its name in such a file, or says what is wrong with
    /// that.
    pub fn of_entry(name: &str, entry: serde_json::Value) -> Result<Self, String> {
        let entry: Entry = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        Self::new(name, entry.settings()?)
    }
}

impl Entry {
    fn settings(self) -> Result<ServerSettings, String> {
        let Self { kind, command, args, env, url, headers } = self;
        match kind.as_deref() {
            None | Some("stdio") if command.is_some() => {}
            Some("http" | "streamable-http") if url.is_some() => {}
            None if url.is_some() => {
                return Err("has a `url` and no `type`: `\"type\": \"http\"` is missing".into());
            }
            None => return Err("has neither `command` nor `url`: expected one".into()),
            Some("stdio") => return Err("has no `command`, which the type `stdio` needs".into()),
            Some("http" | "streamable-http") => {
                return Err("has no `url`, which the type `http` needs".into());
            }
            Some("sse") => {
                return Err("has the type `sse`, which is not spoken any more: use `http` and \
                            the address where the server speaks streamable HTTP"
                    .into());
            }
            Some(other) => {
                let other = other.escape_debug();
                return Err(format!("has the type `{other}`: expected `stdio` or `http`"));
            }
        }
        let (env, headers) = (Private(env), Private(headers));
        Ok(ServerSettings { command, args, env, url, headers, ..ServerSettings::default() })
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn servers(text: &str) -> Result<Vec<String>, String> {
        let file = ProjectFile { path: "/p/.mcp.json".into(), text: text.to_owned() };
        Ok(file.servers()?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn servers_of_both_kinds_are_read() {
        let text = r#"{ "mcpServers": {
            "b": { "type": "streamable-http", "url": "http://h/m", "headers": { "A": "${T}" } },
            "a": { "command": "serve", "args": ["-x"], "env": { "K": "v" } }
        } }"#;
        assert_eq!(servers(text).unwrap(), ["a: K=v serve -x", "b: http://h/m 'A: ${T}'"]);
        assert_eq!(servers(r#"{ "mcpServers": {} }"#).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let cases = [
            ("nonsense", "/p/.mcp.json: expected ident at line 1 column 2"),
            ("{}", "missing field `mcpServers`"),
            (
                "{\"mcpServers\": {},\n \"x\": 1}",
                "unknown field `x`, expected `mcpServers` at line 2",
            ),
            (r#"{"mcpServers": {"a": {"command": "c", "cwd": "/"}}}"#, "unknown field `cwd`"),
            (r#"{"mcpServers": {"a": {"type": "sse", "url": "u"}}}"#, "`a` has the type `sse`"),
            (r#"{"mcpServers": {"a": {"type": "ws", "url": "u"}}}"#, "the type `ws`: expected"),
            (r#"{"mcpServers": {"a": {"url": "http://h"}}}"#, r#"`"type": "http"` is missing"#),
            (r#"{"mcpServers": {"a": {"type": "http", "command": "c"}}}"#, "has no `url`"),
            (r#"{"mcpServers": {"a": {"type": "stdio", "url": "u"}}}"#, "has no `command`"),
            (r#"{"mcpServers": {"a": {}}}"#, "neither `command` nor `url`"),
            (r#"{"mcpServers": {"a": {"command": "c", "url": "http://h"}}}"#, "both"),
        ];
        for (text, why) in cases {
            let wrong = servers(text).unwrap_err();
            assert!(wrong.starts_with("/p/.mcp.json: ") && wrong.contains(why), "{wrong}");
        }
    }

    #[test]
    fn the_file_here_counts_before_that_of_the_project_and_no_other() {
        let top = TempDir::new().unwrap();
        let project = top.path().join("project");
        let deep = project.join("src/deep");
        fs::create_dir_all(&deep).unwrap();
        let found = || ProjectFile::find(&deep).unwrap().map(|file| file.directory().to_owned());
        fs::write(top.path().join(NAME), "{}").unwrap();
        fs::write(project.join("src").join(NAME), "{}").unwrap();
        assert_eq!(found(), None);
        fs::create_dir(project.join(".git")).unwrap();
        assert_eq!(found(), None);
        fs::write(project.join(NAME), "{}").unwrap();
        assert_eq!(found(), Some(project));
        fs::write(deep.join(NAME), "{}").unwrap();
        assert_eq!(found(), Some(deep.clone()));
    }

    #[test]
    fn another_content_has_another_digest() {
        let file = |text: &str| ProjectFile { path: "/p".into(), text: text.to_owned() };
        assert_eq!(file("{}").digest(), file("{}").digest());
        assert_ne!(file("{}").digest(), file("{} ").digest());
    }
}
