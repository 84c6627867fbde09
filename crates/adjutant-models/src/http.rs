//! Moves requests and answers. One place for connections, errors and keys.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use adjutant_core::{ModelError, Trouble};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::{
    Client, Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};

use crate::wire::{Dialect, Speaker, is_too_long};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);
/// The most of an error's body that is read.
const ERROR_BODY: usize = 64 * 1024;

/// A key, which is shown to nobody but its provider.
#[derive(Clone)]
pub struct Key(Arc<str>);

impl Key {
    /// Makes a key of what a variable holds.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    fn header(&self, before: &str) -> Result<HeaderValue, ModelError> {
        let value = HeaderValue::try_from(format!("{before}{}", self.0));
        let mut value = value.map_err(|_| {
            let why = "the key has characters that no key has; is it the right one?";
            ModelError::new(Trouble::Unauthorized, why)
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Takes the key out of a text that is to be shown.
    fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&*self.0, "[key]") }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// Connections, made when the first of them is needed and shared by all models.
#[derive(Debug, Default)]
pub struct Http {
    plain: OnceLock<Result<Client, String>>,
    secure: OnceLock<Result<Client, String>>,
}

impl Http {
    fn client(&self, url: &str) -> Result<&Client, ModelError> {
        // Nothing of TLS is set up for a server on this machine.
        let client = if url.starts_with("https:") {
            self.secure.get_or_init(secure)
        } else {
            self.plain.get_or_init(plain)
        };
        client.as_ref().map_err(|why| ModelError::new(Trouble::Refused, why.clone()))
    }
}

/// Where requests go, and what goes with each of them.
#[derive(Debug)]
pub(crate) struct Endpoint {
    http: Arc<Http>,
    url: String,
    headers: HeaderMap,
    key: Option<Key>,
}

impl Endpoint {
    /// Makes the endpoint of a dialect's at a base address.
    pub(crate) fn new(
        http: Arc<Http>,
        base_url: &str,
        key: Option<Key>,
        dialect: &dyn Dialect,
        speaker: &Speaker,
    ) -> Result<Self, ModelError> {
        let url = format!("{}{}", base_url.trim_end_matches('/'), dialect.path(speaker));
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in dialect.headers() {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(key) = &key {
            let (name, before) = dialect.key_header();
            headers.insert(name, key.header(before)?);
        }
        Ok(Self { http, url, headers, key })
    }

    /// Posts JSON and returns the answer, once it has begun well.
    pub(crate) async fn post(&self, body: Pieces) -> Result<Response, ModelError> {
        let Self { http, url, headers, key } = self;
        let request = http.client(url)?.post(url).headers(headers.clone());
        let sent = request.body(reqwest::Body::wrap(body)).send().await;
        let response = sent.map_err(|error| unreachable_server(url, &error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal(response, key.as_ref()).await)
    }
}

fn plain() -> Result<Client, String> {
    let roots = rustls::RootCertStore::empty();
    let tls = rustls::ClientConfig::builder_with_provider(ring())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    build(Client::builder().tls_backend_preconfigured(tls))
}

fn secure() -> Result<Client, String> {
    // Another part of the program may have installed one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    build(Client::builder())
}

fn ring() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn build(builder: reqwest::ClientBuilder) -> Result<Client, String> {
    let agent = concat!("adjutant/", env!("CARGO_PKG_VERSION"));
    let builder = builder.user_agent(agent).connect_timeout(CONNECT).tcp_nodelay(true);
    // Redirects could carry a key to somebody else.
    let client = builder.redirect(reqwest::redirect::Policy::none()).build();
    client.map_err(|error| format!("cannot set up connections: {error}"))
}

fn unreachable_server(url: &str, error: &reqwest::Error) -> ModelError {
    let mut why = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        why = error.to_string();
        source = error.source();
    }
    ModelError::new(Trouble::Broken, format!("cannot reach {url}: {why}"))
}

/// Reads what a server says when it does not answer.
async fn refusal(mut response: Response, key: Option<&Key>) -> ModelError {
    let (status, retry_after) = (response.status(), retry_after(response.headers()));
    let mut body = Vec::new();
    while body.len() < ERROR_BODY
        && let Ok(Some(more)) = response.chunk().await
    {
        body.extend_from_slice(&more);
    }
    let said = words(&body);
    let trouble = match status {
        _ if is_too_long(&said) => Trouble::TooLong,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Trouble::Unauthorized,
        StatusCode::NOT_FOUND => Trouble::NotFound,
        StatusCode::PAYLOAD_TOO_LARGE => Trouble::TooLong,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS | StatusCode::CONFLICT => {
            Trouble::Busy
        }
        _ if status.is_server_error() => Trouble::Busy,
        _ => Trouble::Refused,
    };
    let said = key.map_or_else(|| said.clone(), |key| key.redact(&said));
    let message = format!("the server answered {status}: {said}");
    ModelError { retry_after, ..ModelError::new(trouble, message) }
}

/// Finds the words in an error's body: JSON of the usual shape, or the text of a page.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let said = json.pointer("/error/message").or_else(|| json.pointer("/message"));
    let said = said.or_else(|| json.get("error")).and_then(|said| said.as_str());
    let mut said = said.map_or_else(|| without_tags(&text), str::to_owned);
    if said.trim().is_empty() {
        return "nothing more".to_owned();
    }
    said.truncate(said.floor_char_boundary(500));
    said
}

fn without_tags(page: &str) -> String {
    let pieces = page.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    pieces.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Reads when to try again: seconds, milliseconds or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(millis) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(text) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

/// A body in pieces that are not copied together, of known length.
#[derive(Debug)]
pub(crate) struct Pieces(std::vec::IntoIter<Bytes>);

impl Pieces {
    pub(crate) fn new(pieces: Vec<Bytes>) -> Self {
        Self(pieces.into_iter())
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_slice().iter().map(|piece| piece.len() as u64).sum())
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_all_its_spellings() {
        let read = |name: &'static str, value: &str| {
            retry_after(&HeaderMap::from_iter([(
                reqwest::header::HeaderName::from_static(name),
                value.parse().unwrap(),
            )]))
        };
        assert_eq!(read("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(read("retry-after", "1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(read("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(60));
        let wait = read("retry-after", &soon).unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(60), "{wait:?}");
        assert_eq!(read("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        for nonsense in ["soon", "-3", "", "NaN"] {
            assert_eq!(read("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn the_words_of_an_error_are_found() {
        for (body, expected) in [
            (r#"{"error":{"message":"no such model"}}"#, "no such model"),
            (r#"{"error":"bad"}"#, "bad"),
            (r#"{"message":"over there"}"#, "over there"),
            ("<html><h1>502 Bad\n Gateway</h1></html>", "502 Bad Gateway"),
            ("", "nothing more"),
            ("\u{0}\u{1}", "\u{0}\u{1}"),
        ] {
            assert_eq!(words(body.as_bytes()), expected);
        }
        assert!(words("é".repeat(9999).as_bytes()).len() <= 500);
    }

    #[test]
    fn a_key_is_not_shown() {
        let key = Key::new(" sk-secret\n");
        assert_eq!(format!("{key:?}"), "[key]");
        assert_eq!(key.redact("wrong key sk-secret!"), "wrong key [key]!");
    }
}
