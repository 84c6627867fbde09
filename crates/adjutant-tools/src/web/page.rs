//! What an answer says, as text.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use adjutant_core::ToolError;
use encoding_rs::{Encoding, UTF_8};
use reqwest::{
    Response, StatusCode, Url,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName},
};
use tokio_util::sync::CancellationToken;

use super::{
    fetch::{Download, MOST_BYTES},
    markdown,
};

/// How long a page is looked at. One that takes longer was made to.
const LONGEST_LOOK: Duration = Duration::from_secs(5);
/// How far a page is searched for its encoding.
const PROBE_BYTES: usize = 1024;
/// What is text without being called so.
const TEXTS: [&str; 12] = [
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/sql",
    "application/toml",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

/// What is known of an answer before it is downloaded.
pub(super) struct Head {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    /// What kind of thing it is, such as `text/html`.
    pub(super) kind: String,
    charset: Option<String>,
}

impl Head {
    /// Reads the head of an answer, and refuses what is no text.
    pub(super) fn new(url: Url, response: &Response) -> Result<Self, ToolError> {
        let header = |name: HeaderName| response.headers().get(name)?.to_str().ok();
        let full = header(CONTENT_TYPE).unwrap_or("text/plain").to_ascii_lowercase();
        let (kind, parameters) = full.split_once(';').unwrap_or((&full, ""));
        let kind = kind.trim().to_owned();
        let charset = charset(parameters);
        let head = Self { url, status: response.status(), kind, charset };
        let packed = header(CONTENT_ENCODING).filter(|packed| *packed != "identity");
        let size = match response.content_length() {
            Some(bytes) => format!("{bytes} bytes"),
            None => "of unknown size".to_owned(),
        };
        let Self { url, kind, .. } = &head;
        match packed {
            Some(packed) => Err(format!("{url} is packed as {packed}, which was not asked for")),
            None if head.is_text() => Ok(head),
            None => Err(format!("{url} is {kind}, {size}: only text can be shown")),
        }
        .map_err(ToolError)
    }

    fn is_html(&self) -> bool {
        matches!(self.kind.as_str(), "text/html" | "application/xhtml+xml")
    }

    fn is_text(&self) -> bool {
        let kind = self.kind.as_str();
        let is_written = kind.ends_with("+json") || kind.ends_with("+xml");
        let is_text = kind.starts_with("text/") || TEXTS.contains(&kind);
        is_text || (is_written && !kind.starts_with("image/")) || self.is_html()
    }

    /// Reads what was downloaded. Stops in the middle of a page that takes too long, or when
    /// the call is to end.
    pub(super) fn read(
        &self,
        download: &Download,
        token: CancellationToken,
    ) -> Result<Page, ToolError> {
        let Download { bytes, is_cut } = download;
        if bytes.contains(&0) && !bytes.starts_with(b"\xff\xfe") && !bytes.starts_with(b"\xfe\xff")
        {
            return Err(ToolError(format!("{} is not text, though it says so", self.url)));
        }
        let mut notes = Vec::new();
        let text = self.decode(bytes, &mut notes);
        let text = if self.is_html() { self.render(&text, token, &mut notes)? } else { text };
        if *is_cut {
            notes
                .push(format!("it is longer than {MOST_BYTES} bytes: the rest was not downloaded"));
        }
        Ok(Page { text, notes })
    }

    fn decode(&self, bytes: &[u8], notes: &mut Vec<String>) -> String {
        let told = || charset(&String::from_utf8_lossy(&bytes[..bytes.len().min(PROBE_BYTES)]));
        let label = self.charset.clone().or_else(|| self.is_html().then(told).flatten());
        let encoding = label.as_ref().map(|label| Encoding::for_label(label.as_bytes()));
        if let (Some(None), Some(label)) = (encoding, &label) {
            notes.push(format!("nobody knows its encoding `{label}`: it was read as UTF-8"));
        }
        let (text, used, is_lossy) = encoding.flatten().unwrap_or(UTF_8).decode(bytes);
        if is_lossy {
            notes.push(format!("bytes that are not {} are shown as \u{FFFD}", used.name()));
        }
        text.into_owned()
    }

    fn render(
        &self,
        html: &str,
        token: CancellationToken,
        notes: &mut Vec<String>,
    ) -> Result<String, ToolError> {
        let mut reader =
            Patient { html: html.as_bytes(), until: Instant::now() + LONGEST_LOOK, token };
        let text = markdown::from_html(&mut reader, &self.url);
        let text = text.map_err(|error| ToolError(format!("cannot read {}: {error}", self.url)))?;
        if !reader.html.is_empty() {
            notes.push("it takes too long to be read: the rest was left out".to_owned());
        }
        Ok(text)
    }
}

/// Finds the name of an encoding where one is told.
fn charset(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (_, after) = text.split_once("charset=")?;
    let after = after.trim_start_matches(['"', '\'']);
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '>' | '/' | ',');
    after.split(is_end).next().map(str::to_owned)
}

/// A page that ends when it is looked at for too long.
struct Patient<'a> {
    html: &'a [u8],
    until: Instant,
    token: CancellationToken,
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.token.is_cancelled() || Instant::now() >= self.until {
            return Ok(0);
        }
        self.html.read(buffer)
    }
}

/// The text of a page.
pub(super) struct Page {
    pub(super) text: String,
    /// What is to be said about it.
    pub(super) notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_takes_too_long_is_left_out_from_there_on() {
        let token = CancellationToken::new();
        let html = "<p>a</p>".repeat(10_000);
        let read = |until, token: &CancellationToken| {
            let mut reader = Patient { html: html.as_bytes(), until, token: token.clone() };
            (reader.read(&mut [0; 4096]).unwrap(), reader.html.len())
        };
        let (now, later) = (Instant::now(), Instant::now() + LONGEST_LOOK);
        assert_eq!(read(later, &token), (4096, html.len() - 4096));
        assert_eq!(read(now, &token), (0, html.len()));
        token.cancel();
        assert_eq!(read(later, &token), (0, html.len()));
    }

    #[test]
    fn what_is_left_out_of_a_page_is_said() {
        let head = Head {
            url: Url::parse("http://a.example/").unwrap(),
            status: StatusCode::OK,
            kind: "text/html".to_owned(),
            charset: None,
        };
        let download = Download { bytes: b"<p>a".to_vec(), is_cut: true };
        let token = CancellationToken::new();
        let whole = head.read(&download, token.clone()).unwrap();
        let cut = "it is longer than 5242880 bytes: the rest was not downloaded";
        assert_eq!((whole.text.as_str(), whole.notes), ("a\n", vec![cut.to_owned()]));
        token.cancel();
        let slow = "it takes too long to be read: the rest was left out";
        assert_eq!(head.read(&download, token).unwrap().notes, [slow, cut]);
    }
}
