//! Moves requests and answers. One place for connections and errors.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use adjutant_core::{ModelError, Trouble};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use serde_json::Value;

use crate::{
    Proxy,
    key::KeySource,
    setup::Setup,
    wire::{LONGEST_WAIT, Speaker, delay, error_in_stream, is_too_long, retry_in_words, wait},
};

/// How long a connection may take where nobody says.
const CONNECT: Duration = Duration::from_secs(30);
/// The most of an error's body that is read, and the most of it that is shown.
const ERROR_BODY: usize = 64 * 1024;
const ERROR_WORDS: usize = 500;
/// What is shorter hides nothing, and would make holes in every text it is taken out of.
const SHORTEST_SECRET: usize = 4;

/// How a server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    /// What stands between; without it, what the system says.
    pub(crate) proxy: Option<Proxy>,
    /// How long the server may say nothing.
    pub(crate) timeout: Option<Duration>,
    /// How long a connection may take.
    pub(crate) connect_timeout: Option<Duration>,
}

/// Connections of one kind, made when the first of them is needed and shared by all models.
#[derive(Debug, Default)]
pub(crate) struct Http {
    pub(crate) link: Link,
    plain: OnceLock<Result<Client, String>>,
    secure: OnceLock<Result<Client, String>>,
}

impl Http {
    pub(crate) fn new(link: Link) -> Self {
        Self { link, ..Self::default() }
    }

    pub(crate) fn client(&self, url: &str) -> Result<&Client, ModelError> {
        let is_secure = |proxy: &Proxy| matches!(proxy, Proxy::At(url) if url.scheme() == "https");
        // Nothing of TLS is set up for a server on this machine.
        let client = if url.starts_with("https:") || self.link.proxy.as_ref().is_some_and(is_secure)
        {
            self.secure.get_or_init(|| self.secure())
        } else {
            self.plain.get_or_init(|| self.plain())
        };
        client.as_ref().map_err(|why| ModelError::new(Trouble::Refused, why.clone()))
    }

    fn plain(&self) -> Result<Client, String> {
        let roots = rustls::RootCertStore::empty();
        let tls = rustls::ClientConfig::builder_with_provider(ring())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        self.build(Client::builder().tls_backend_preconfigured(tls))
    }

    fn secure(&self) -> Result<Client, String> {
        // Another part of the program may have installed one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        self.build(Client::builder())
    }

    fn build(&self, builder: reqwest::ClientBuilder) -> Result<Client, String> {
        let Link { proxy, timeout, connect_timeout } = &self.link;
        let failed = |error: reqwest::Error| format!("cannot set up connections: {}", why(&error));
        let agent = concat!("adjutant/", env!("CARGO_PKG_VERSION"));
        let mut builder = builder.user_agent(agent).tcp_nodelay(true);
        builder = builder.connect_timeout(connect_timeout.unwrap_or(CONNECT));
        if let Some(timeout) = timeout {
            builder = builder.read_timeout(*timeout);
        }
        match proxy {
            None => {}
            Some(Proxy::None) => builder = builder.no_proxy(),
            Some(Proxy::At(url)) => {
                builder = builder.proxy(reqwest::Proxy::all(url.clone()).map_err(failed)?);
            }
        }
        // Redirects could carry a key to somebody else.
        builder.redirect(reqwest::redirect::Policy::none()).build().map_err(failed)
    }

    /// Says why there is no answer.
    fn unreachable(&self, url: &str, error: &reqwest::Error) -> ModelError {
        let why = match self.link.timeout {
            Some(timeout) if error.is_timeout() && !error.is_connect() => {
                format!("it said nothing for {} s", timeout.as_secs())
            }
            _ => why(error),
        };
        let trouble = if error.is_connect() { Trouble::Unreached } else { Trouble::Broken };
        ModelError::new(trouble, format!("cannot reach {url}: {why}"))
    }
}

/// Where requests go, and what goes with each of them.
#[derive(Debug)]
pub(crate) struct Endpoint {
    http: Arc<Http>,
    url: Url,
    headers: HeaderMap,
    key: Option<KeySource>,
    key_header: (HeaderName, &'static str),
    /// What the user put into headers.
    private: Vec<HeaderValue>,
}

impl Endpoint {
    /// Makes the endpoint where a provider's model is spoken to.
    pub(crate) fn new(setup: &Setup, speaker: &Speaker) -> Result<Self, ModelError> {
        let Setup { http, base_url, key, dialect, headers: own, .. } = setup;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in dialect.headers() {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
        let url = Url::parse(&base_url.join(&dialect.path(speaker)));
        let url = url.map_err(|error| ModelError::new(Trouble::NotFound, error.to_string()))?;
        let (name, before) = dialect.key_header();
        if let Some(key) = key.as_ref().and_then(KeySource::known) {
            key.header(before)?;
        }
        Ok(Self {
            http: Arc::clone(http),
            url,
            key: key.clone().filter(|_| !headers.contains_key(name)),
            headers,
            key_header: (HeaderName::from_static(name), before),
            private: own.iter().map(|(_, value)| value.clone()).collect(),
        })
    }

    /// Posts JSON and returns the answer, once it has begun well.
    pub(crate) async fn post(&self, body: Pieces) -> Result<Begun, ModelError> {
        let Self { http, url, headers, key, key_header: (name, before), .. } = self;
        let mut headers = headers.clone();
        if let Some(key) = key {
            headers.insert(name, key.key().await?.header(before)?);
        }
        let request = http.client(url.as_str())?.post(url.clone()).headers(headers);
        let sent = request.body(reqwest::Body::wrap(body)).send().await;
        let response = sent.map_err(|error| http.unreachable(url.as_str(), &error))?;
        if !response.status().is_success() || is_page(response.headers()) {
            return Err(self.refusal(response).await);
        }
        let mut begun = Begun { first: None, rest: response };
        begun.first = begun.chunk().await?;
        match &begun.first {
            None => Err(ModelError::new(Trouble::Broken, "the server sent nothing")),
            Some(first) if is_document(first) => Err(self.redact(unstreamed(&begun.all().await))),
            Some(_) => Ok(begun),
        }
    }

    /// Takes what is nobody else's business out of an error.
    pub(crate) fn redact(&self, mut error: ModelError) -> ModelError {
        error.message = self.redacted(&error.message);
        error
    }

    /// Returns as much of a text as is shown, without what is secret.
    fn redacted(&self, text: &str) -> String {
        let known = self.key.as_ref().and_then(KeySource::known);
        let text = known.map_or_else(|| text.to_owned(), |key| key.redact(text));
        let private = self.private.iter().filter_map(|value| value.to_str().ok());
        // What follows the name of a scheme, as in `Bearer …`, is secret without it too.
        let private = private.flat_map(|value| [Some(value), value.split_once(' ').map(|it| it.1)]);
        let private = private.flatten().filter(|value| value.len() >= SHORTEST_SECRET);
        let mut text = private.fold(text, |text, value| text.replace(value, "[hidden]"));
        // Cut at the end: half a secret is half too much.
        text.truncate(text.floor_char_boundary(ERROR_WORDS));
        text
    }

    /// Reads what a server says when it does not answer.
    async fn refusal(&self, response: Response) -> ModelError {
        let (status, retry_after) = (response.status(), retry_after(response.headers()));
        let body = Begun { first: None, rest: response }.all().await;
        let said = self.redacted(&words(&body));
        let message = format!("the server answered {status}: {said}");
        let retry_after = retry_after.or_else(|| retry_in_body(&body, &said));
        ModelError { retry_after, ..ModelError::new(trouble(status, &said), message) }
    }
}

/// An answer on its way, of which the first piece may have been looked at.
pub(crate) struct Begun {
    first: Option<Bytes>,
    rest: Response,
}

impl Begun {
    /// Returns the next piece, if there is one.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        if self.first.is_some() {
            return Ok(self.first.take());
        }
        self.rest.chunk().await.map_err(|error| {
            ModelError::new(Trouble::Broken, format!("the answer broke off: {}", why(&error)))
        })
    }

    /// Reads as much as is read of an error.
    async fn all(mut self) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < ERROR_BODY
            && let Ok(Some(more)) = self.chunk().await
        {
            body.extend_from_slice(&more);
        }
        body
    }
}

fn ring() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Returns what is at the bottom of an error.
fn why(error: &reqwest::Error) -> String {
    let mut why = error as &dyn std::error::Error;
    while let Some(source) = why.source() {
        why = source;
    }
    why.to_string()
}

/// Reports whether what comes is for people to read, such as the words of a gateway.
fn is_page(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}

/// Reports whether what comes is one piece of JSON, whatever it is called. No event begins so.
fn is_document(first: &[u8]) -> bool {
    matches!(first.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Says what is wrong with an answer that came as a document.
fn unstreamed(body: &[u8]) -> ModelError {
    match &json(body)["error"] {
        Value::Null => ModelError::new(Trouble::Refused, "the server did not stream its answer"),
        error => error_in_stream(error),
    }
}

/// Returns what to do about an answer that is none.
fn trouble(status: StatusCode, said: &str) -> Trouble {
    match status {
        _ if status.is_success() => Trouble::Broken,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS | StatusCode::CONFLICT => {
            Trouble::Busy
        }
        _ if status.is_server_error() => Trouble::Busy,
        _ if is_too_long(said) => Trouble::TooLong,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Trouble::Unauthorized,
        // Google's words for a wrong key.
        StatusCode::BAD_REQUEST if said.starts_with("API key not valid") => Trouble::Unauthorized,
        StatusCode::NOT_FOUND => Trouble::NotFound,
        StatusCode::PAYLOAD_TOO_LARGE => Trouble::TooLong,
        _ => Trouble::Refused,
    }
}

/// Finds the words in an error's body: JSON of the usual shape, or the text of a page.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let json = json(body);
    let said = json.pointer("/error/message").or_else(|| json.pointer("/message"));
    let said = said.or_else(|| json.get("error")).and_then(|said| said.as_str());
    let said = said.map_or_else(|| without_tags(&text), str::to_owned);
    if said.trim().is_empty() { "nothing more".to_owned() } else { said }
}

/// Reads the JSON of an error's body, which Google may send in a list of one.
fn json(body: &[u8]) -> Value {
    match serde_json::from_slice(body).unwrap_or_default() {
        Value::Array(mut errors) if errors.len() == 1 => errors.remove(0),
        error => error,
    }
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
        return wait(millis / 1000.0);
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(text) {
        return wait(seconds);
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(SystemTime::now()).unwrap_or_default().min(LONGEST_WAIT))
}

/// Finds when to try again in an error's body: in a detail of Google's, or in the words.
fn retry_in_body(body: &[u8], said: &str) -> Option<Duration> {
    let json = json(body);
    let details = json.pointer("/error/details").and_then(|details| details.as_array());
    let mut details = details.into_iter().flatten();
    let given = details.find_map(|detail| delay(detail["retryDelay"].as_str()?));
    given.or_else(|| retry_in_words(said))
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
        for (name, endless) in [
            ("retry-after", "1e19"),
            ("retry-after-ms", "1e22"),
            ("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(read(name, endless), Some(Duration::from_hours(1)), "{endless}");
        }
        for nonsense in ["soon", "-3", "", "NaN", "inf", "1e999"] {
            assert_eq!(read("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_server_that_has_too_much_to_do_is_never_a_conversation_that_is_too_long() {
        let said = "Too many tokens, please wait before trying again.";
        for status in [408, 409, 429, 500, 503, 529] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(trouble(status, said), Trouble::Busy, "{status}");
        }
        for (status, said) in [(400, said), (403, said), (413, "no")] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(trouble(status, said), Trouble::TooLong, "{status}");
        }
    }

    #[test]
    fn a_document_is_not_taken_for_a_stream() {
        for document in ["{\"id\":1}", "\r\n [{", "{"] {
            assert!(is_document(document.as_bytes()), "{document}");
        }
        for stream in ["data: {}", "event: a", ": hi", "\n", "", "\u{feff}data: {}"] {
            assert!(!is_document(stream.as_bytes()), "{stream}");
        }
    }

    #[test]
    fn a_document_says_what_is_wrong_or_that_it_is_no_stream() {
        let whole = "the server did not stream its answer";
        for (body, trouble, message) in [
            (r#"{"choices":[{"message":{"content":"hi"}}]}"#, Trouble::Refused, whole),
            (r#"{"status":"completed","error":null}"#, Trouble::Refused, whole),
            (r#"{"cut":"#, Trouble::Refused, whole),
            (r#"{"error":{"message":"no such model"}}"#, Trouble::Refused, "no such model"),
            (r#"{"error":"bad"}"#, Trouble::Refused, "bad"),
            (r#"[{"error":{"code":503,"message":"later"}}]"#, Trouble::Busy, "later"),
        ] {
            assert_eq!(unstreamed(body.as_bytes()), ModelError::new(trouble, message));
        }
    }

    #[test]
    fn the_words_of_an_error_are_found() {
        for (body, expected) in [
            (r#"{"error":{"message":"no such model"}}"#, "no such model"),
            (r#"[{"error":{"message":"in a list"}}]"#, "in a list"),
            (r#"{"error":"bad"}"#, "bad"),
            (r#"{"message":"over there"}"#, "over there"),
            ("<html><h1>502 Bad\n Gateway</h1></html>", "502 Bad Gateway"),
            ("", "nothing more"),
            ("\u{0}\u{1}", "\u{0}\u{1}"),
        ] {
            assert_eq!(words(body.as_bytes()), expected);
        }
    }

    #[test]
    fn when_to_try_again_is_found_in_a_body() {
        let detail = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}"#;
        let body = format!(r#"{{"error":{{"details":[{{"reason":"quota"}},{detail}]}}}}"#);
        let words = "Please try again in 250ms.";
        let read = |body: &str, said: &str| retry_in_body(body.as_bytes(), said);
        assert_eq!(read(&body, words), Some(Duration::from_millis(34_500)));
        assert_eq!(read("<html>", words), Some(Duration::from_millis(250)));
        assert_eq!(read("{}", "busy"), None);
    }
}
