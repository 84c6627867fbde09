//! What commands see of the environment: all of it but what is secret, or loaded into programs.

use std::ffi::{OsStr, OsString};

/// Which variables commands do not see.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Variables with the keys of providers. Nothing that contains such a key is passed.
    pub keys: Vec<String>,
    /// Variables that are passed all the same.
    pub passed: Vec<String>,
}

/// Words that say a variable is secret, as one of the parts of its name.
const SECRET_PARTS: [&str; 23] = [
    "APIKEY",
    "AUTH",
    "BEARER",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "JWT",
    "KEY",
    "KEYS",
    "OAUTH",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "PAT",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
    "WEBHOOK",
    "WEBHOOKS",
];

/// Words that say so at the end of a part too, as in `PGPASSWORD`. The others would be found
/// in `MONKEY` and `BYPASS`.
const SECRET_ENDS: [&str; 7] =
    ["APIKEY", "CREDENTIALS", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN"];

/// Names that say nothing and are secret all the same.
const SECRET_NAMES: [&str; 2] = ["MYSQL_PWD", "SSHPASS"];

/// The shortest key that is looked for in other variables: a shorter one is found by chance.
const SHORTEST: usize = 8;

impl Environment {
    /// Returns the variables commands may see.
    pub(crate) fn clean(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<_> = variables.into_iter().collect();
        let keys = variables.iter().filter(|(name, _)| is_among(name, &self.keys));
        let keys: Vec<_> = keys
            .map(|(_, value)| value.as_encoded_bytes().trim_ascii().to_owned())
            .filter(|key| key.len() >= SHORTEST)
            .collect();
        let holds_key = |value: &OsStr| keys.iter().any(|key| contains(value, key));
        variables.retain(|(name, value)| {
            is_among(name, &self.passed)
                || !(self.is_secret(name) || is_loaded(name) || holds_key(value) || lets_in(value))
        });
        variables
    }

    /// Returns what is secret among variables, if it is long enough not to be found by chance in
    /// any text.
    pub fn secrets(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<String> {
        let is_secret = |name: &OsStr, value: &OsStr| self.holds_secret(name) || lets_in(value);
        let secret = variables.into_iter().filter(|(name, value)| is_secret(name, value));
        let values = secret.filter_map(|(_, value)| Some(value.to_str()?.trim().to_owned()));
        values.filter(|value| value.len() >= SHORTEST).collect()
    }

    fn is_secret(&self, name: &OsStr) -> bool {
        name.to_string_lossy().to_uppercase().starts_with("ADJUTANT_") || self.holds_secret(name)
    }

    fn holds_secret(&self, name: &OsStr) -> bool {
        let upper = name.to_string_lossy().to_uppercase();
        is_among(name, &self.keys) || SECRET_NAMES.contains(&&*upper) || says_secret(&upper)
    }
}

/// Reports whether a variable has something loaded into every program, those included that
/// start the sandbox. A command could have written what is loaded.
fn is_loaded(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"LD_") || name.starts_with(b"DYLD_")
}

/// Reports whether a value has an address in it that lets in whoever knows it.
fn lets_in(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let mut addresses = value.match_indices("://").map(|(at, mark)| {
        let rest = &value[at + mark.len()..];
        let end = rest.find(|c: char| c.is_whitespace() || "\"'<>".contains(c));
        (&value[..at], &rest[..end.unwrap_or(rest.len())])
    });
    addresses.any(|(before, address)| {
        let (place, query) = address.split_once('?').unwrap_or((address, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let login = authority.rsplit_once('@').map_or("", |(login, _)| login);
        let has_password = match login.split_once(':') {
            Some((_, password)) => !password.is_empty(),
            // A name alone is a token there, and a mere name with `ssh://git@…`.
            None => !login.is_empty() && (before.ends_with("http") || before.ends_with("https")),
        };
        has_password
            || authority.starts_with("hooks.")
            || path.to_lowercase().contains("webhook")
            || query.split('&').filter_map(|pair| pair.split_once('=')).any(|it| says_secret(it.0))
    })
}

/// Reports whether a name says that what it names is secret.
fn says_secret(name: &str) -> bool {
    name.to_uppercase().split(|char: char| !char.is_alphanumeric()).any(is_secret_part)
}

fn is_secret_part(part: &str) -> bool {
    SECRET_PARTS.contains(&part) || SECRET_ENDS.iter().any(|end| part.ends_with(end))
}

fn is_among(name: &OsStr, names: &[String]) -> bool {
    names.iter().any(|other| name == other.as_str())
}

fn contains(value: &OsStr, key: &[u8]) -> bool {
    value.as_encoded_bytes().windows(key.len()).any(|part| part == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(environment: &Environment, variables: &[(&str, &str)]) -> Vec<String> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let clean = environment.clean(variables);
        clean.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_name_that_says_secret_is_not_passed() {
        let secret = [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SSH_AUTH_SOCK",
            "DB_PASSWORD",
            "DB_PASSWD",
            "PGPASSWORD",
            "MYSQL_PWD",
            "SSHPASS",
            "GPG_PASSPHRASE",
            "github_token",
            "npm_config__authToken",
            "GH_PAT",
            "KEY",
            "HTTP-AUTH",
            "my.secret",
            "SIGNING_KEYS",
            "CLIENTSECRET",
            "REGISTRY_AUTH",
            "ADJUTANT_MODEL",
            "ADJUTANT_LIMITS_MAX_DEPTH",
        ];
        for name in secret {
            assert_eq!(seen(&Environment::default(), &[(name, "x")]), [""; 0], "{name}");
        }
    }

    #[test]
    fn what_is_secret_among_variables_is_known() {
        let environment = Environment { keys: vec!["MINE".into()], passed: vec!["A_TOKEN".into()] };
        let variables = [
            ("MINE", "its-own-words"),
            ("A_TOKEN", " hunter2-hunter2\n"),
            ("DATABASE", "postgres://me:pass@db/x"),
            ("B_TOKEN", "short"),
            ("ADJUTANT_MODEL", "scripted/a.toml"),
            ("HOME", "/home/somebody"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let expected = ["its-own-words", "hunter2-hunter2", "postgres://me:pass@db/x"];
        assert_eq!(environment.secrets(variables), expected);
    }

    #[test]
    fn a_name_that_only_looks_like_one_is_passed() {
        let harmless = [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "KEYBOARD",
            "XAUTHORITY",
            "GIT_AUTHOR_NAME",
            "MONKEY",
            "TOKENIZERS_PARALLELISM",
            "BYPASS",
            "SSH_AGENT_PID",
            "DBUS_SESSION_BUS_ADDRESS",
            "PASSAGE",
            "PATCH",
            "SECRETARY",
            "KEYMAP_FILE",
            "MY_ADJUTANT_NAME",
        ];
        for name in harmless {
            assert_eq!(seen(&Environment::default(), &[(name, "x")]), [name]);
        }
    }

    #[test]
    fn an_address_that_lets_in_whoever_knows_it_is_not_passed() {
        let secret = [
            "postgres://me:pass@db/x",
            "jdbc:postgresql://db/x?user=me&password=y",
            "redis://:pass@db",
            "http://me:pass@proxy:3128",
            "https://ghp_abc@github.com/x",
            "see <https://me:p%40ss@host/> first",
            "https://hooks.slack.com/services/T/B/x",
            "https://discord.com/api/webhooks/1/x",
            "https://host/x?a=1&access_token=y",
        ];
        for value in secret {
            assert_eq!(seen(&Environment::default(), &[("A", value)]), [""; 0], "{value}");
        }
        let harmless = [
            "http://proxy:3128",
            "http://me:@proxy",
            "ssh://git@github.com/x",
            "git@github.com:x/y",
            "postgres://db/x?sslmode=require",
            "https://registry/@scope/x?page=2",
            "unix:path=/run/bus",
            "://",
        ];
        for value in harmless {
            assert_eq!(seen(&Environment::default(), &[("A", value)]), ["A"], "{value}");
        }
    }

    #[test]
    fn nothing_is_loaded_into_what_starts_the_sandbox() {
        for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"] {
            assert_eq!(seen(&Environment::default(), &[(name, "x")]), [""; 0], "{name}");
        }
        assert_eq!(seen(&Environment::default(), &[("BUILD_LD_FLAGS", "x")]), ["BUILD_LD_FLAGS"]);
    }

    #[test]
    fn a_providers_key_is_passed_under_no_name() {
        let environment =
            Environment { keys: vec!["ACME".into(), "SHORT".into()], ..Environment::default() };
        let variables = [
            ("ACME", " sk-12345678\n"),
            ("COPY", "sk-12345678"),
            ("HEADERS", "Authorization: sk-12345678;"),
            ("OTHER", "sk-1234567"),
            ("SHORT", "1234567"),
            ("NUMBER", "1234567"),
        ];
        assert_eq!(seen(&environment, &variables), ["OTHER", "NUMBER"]);
    }

    #[test]
    fn what_a_person_named_is_passed_all_the_same() {
        let names = ["GITHUB_TOKEN", "ACME", "COPY", "ADJUTANT_MODEL"];
        let environment =
            Environment { keys: vec!["ACME".into()], passed: names.map(str::to_owned).to_vec() };
        let variables = names.map(|name| (name, "sk-12345678"));
        assert_eq!(seen(&environment, &variables), names);
        assert_eq!(seen(&environment, &[("GITHUB_TOKEN_2", "x"), ("github_token", "x")]), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn names_and_values_may_be_any_bytes() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_owned());
        let environment = Environment { keys: vec!["ACME".into()], ..Environment::default() };
        let variables = [
            (odd(b"\xff_TOKEN"), odd(b"x")),
            (odd(b"ODD\xff"), odd(b"\xff")),
            (odd(b"ACME"), odd(b"\xff2345678")),
            (odd(b"COPY"), odd(b"a\xff2345678b")),
        ];
        assert_eq!(environment.clean(variables), [(odd(b"ODD\xff"), odd(b"\xff"))]);
    }
}
