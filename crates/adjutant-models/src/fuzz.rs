//! What a fuzzer reaches: what is made of whatever a server sends, and what a server is
//! sent.

use adjutant_core::{Delta, Effort, ModelError, Request, WireLog};
use bytes::Bytes;

use crate::{Provider, sse::Decoder, wire::Speaker};

/// What was made of an answer.
#[derive(Debug, PartialEq)]
pub struct Heard {
    /// What it says.
    pub deltas: Vec<Delta>,
    /// Why the rest of it was not read.
    pub error: Option<ModelError>,
}

/// What a server is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Sent {
    /// The whole body.
    pub body: Vec<u8>,
    /// What the next body begins with too, marks left out.
    pub lasting: Vec<u8>,
}

/// Reads an answer to a conversation of three messages, in the pieces it comes in.
pub fn read(provider: &Provider, pieces: &[&[u8]]) -> Heard {
    let mut reader = provider.dialect.reader(&speaker(provider, None), 3);
    let (mut decoder, mut deltas) = (Decoder::default(), Vec::new());
    for piece in pieces {
        if let Err(error) = decoder.push(piece, |data| reader.read(data, &mut deltas)) {
            return Heard { deltas, error: Some(error) };
        }
    }
    reader.end(&mut deltas);
    Heard { deltas, error: None }
}

/// Writes a request, to the model that [`read`] hears.
pub fn write(
    provider: &Provider,
    effort: Option<Effort>,
    request: &Request<'_>,
    log: &mut WireLog,
) -> Sent {
    let (dialect, speaker) = (provider.dialect, speaker(provider, effort));
    log.extend(&speaker.origin, request.messages, |before, message, bytes| {
        dialect.message(&speaker, before, message, bytes);
    });
    let (head, tail) = (dialect.head(&speaker, request), dialect.tail(&speaker, request));
    let log_as_sent = log.marked(&Bytes::from_static(dialect.mark())).concat();
    let body = [&head[..], &log_as_sent, &tail].concat();
    Sent { body, lasting: [head, log.chunks().concat()].concat() }
}

/// Returns the full name of the model that is spoken to.
pub fn origin(provider: &Provider) -> String {
    format!("{}/model", provider.name)
}

fn speaker(provider: &Provider, effort: Option<Effort>) -> Speaker {
    let origin = origin(provider).into();
    Speaker { origin, model: "model".to_owned(), effort, quirks: provider.quirks }
}
