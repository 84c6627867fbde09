//! What a user can set for a provider.

use std::{fmt, time::Duration};

use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use crate::{
    base_url::{BaseUrl, address},
    provider::{GEMINI, Quirks, THINKING, USUAL},
    wire::{Dialect, chat::Chat, gemini::Gemini, messages::Messages, responses::Responses},
};

/// What a user has set for a provider. What is not set is as usual.
#[derive(Clone, Debug, Default)]
pub struct ProviderSettings {
    /// Where it is.
    pub base_url: Option<BaseUrl>,
    /// The command that writes the key.
    pub key_command: Option<String>,
    /// What goes with each request besides what has to.
    pub headers: Headers,
    /// How long it may say nothing, before an answer or within it.
    pub timeout: Option<Duration>,
    /// How long a connection may take.
    pub connect_timeout: Option<Duration>,
    /// What stands between.
    pub proxy: Option<Proxy>,
    /// What is spoken there. Only a provider that is not known otherwise has to be told.
    pub format: Option<Format>,
}

impl ProviderSettings {
    /// Adds what only other settings say of the way to a provider.
    pub(crate) fn or(self, other: &Self) -> Self {
        let other = other.clone();
        Self {
            base_url: self.base_url.or(other.base_url),
            key_command: self.key_command.or(other.key_command),
            headers: if self.headers.0.is_empty() { other.headers } else { self.headers },
            timeout: self.timeout.or(other.timeout),
            connect_timeout: self.connect_timeout.or(other.connect_timeout),
            proxy: self.proxy.or(other.proxy),
            format: self.format,
        }
    }
}

/// What stands between this machine and a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// Nothing.
    None,
    /// A server at this address.
    At(Url),
}

impl Proxy {
    /// Reads `none` or an address, or returns what is wrong as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Self::None);
        }
        let url = address(text).map_err(|wrong| format!("{wrong}, or `none`"))?;
        Ok(Self::At(url))
    }
}

/// What is spoken at a provider of the user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Chat Completions, which most servers speak.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Gemini's own.
    Gemini,
}

impl Format {
    /// Every format, with its name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("chat", Self::Chat),
        ("responses", Self::Responses),
        ("messages", Self::Messages),
        ("gemini", Self::Gemini),
    ];

    /// Returns what is spoken, and how.
    pub(crate) fn manner(self) -> (&'static dyn Dialect, Quirks) {
        match self {
            Self::Chat => (&Chat, USUAL),
            Self::Responses => (&Responses, THINKING),
            Self::Messages => (&Messages, THINKING),
            Self::Gemini => (&Gemini, GEMINI),
        }
    }
}

/// Headers, whose values are shown to nobody.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(HeaderMap);

impl Headers {
    /// Those that belong to the connection, which would break.
    const RESERVED: [&'static str; 6] = [
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "accept-encoding",
    ];

    /// Reads headers, or returns what is wrong with one as the end of a sentence.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let header = HeaderName::try_from(name)
                .map_err(|_| format!("has `{name}`, which cannot be the name of a header"))?;
            if Self::RESERVED.contains(&header.as_str()) {
                return Err(format!("must not have `{name}`, which is not for you to set"));
            }
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                format!("has characters in the value of `{name}` that no header can have")
            })?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(Self(headers))
    }

    /// Reports whether there is one of that name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter()
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_checked_and_its_value_not_shown() {
        let headers = Headers::parse([("OpenAI-Organization", "org-secret")]).unwrap();
        assert!(headers.contains("openai-organization"));
        assert_eq!(format!("{headers:?}"), r#"{"openai-organization"}"#);
        for (name, value) in [("a b", "secret"), ("", "secret"), ("x", "secret\n"), ("HOST", "x")] {
            let wrong = Headers::parse([(name, value)]).unwrap_err();
            assert!(wrong.contains(&format!("`{name}`")) && !wrong.contains("secret"), "{wrong}");
        }
    }

    #[test]
    fn a_proxy_is_an_address_or_none() {
        assert_eq!(Proxy::parse("none"), Ok(Proxy::None));
        assert!(matches!(Proxy::parse("http://127.0.0.1:3128"), Ok(Proxy::At(_))));
        for text in ["off", "socks5://127.0.0.1:1", "http://me:secret@127.0.0.1:1"] {
            let wrong = Proxy::parse(text).unwrap_err();
            assert!(wrong.ends_with(", or `none`") && !wrong.contains("secret"), "{wrong}");
        }
    }
}
