//! A model behind a server.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use adjutant_core::{Delta, Model, ModelError, ModelInfo, Request, Trouble, WireLog};
use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};

use crate::{
    heads::Heads,
    http::{Begun, Endpoint, Pieces},
    sse::{Decoder, TooLong},
    wire::{Dialect, Read, Speaker},
};

/// A model behind a server, in whatever dialect the server speaks.
pub struct Served {
    info: ModelInfo,
    dialect: &'static dyn Dialect,
    speaker: Speaker,
    endpoint: Arc<Endpoint>,
    heads: Mutex<Heads>,
}

impl Served {
    pub(crate) fn new(
        info: ModelInfo,
        dialect: &'static dyn Dialect,
        speaker: Speaker,
        endpoint: Endpoint,
    ) -> Self {
        Self { info, dialect, speaker, endpoint: Arc::new(endpoint), heads: Mutex::default() }
    }

    fn head(&self, request: &Request<'_>) -> Bytes {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        heads.of(request, || self.dialect.head(&self.speaker, request))
    }

    fn body(&self, request: &Request<'_>, wire: &mut WireLog) -> Pieces {
        let Self { dialect, speaker, .. } = self;
        wire.extend(&self.info.name, request.messages, |before, message, bytes| {
            dialect.message(speaker, before, message, bytes);
        });
        let mut pieces = vec![self.head(request)];
        pieces.extend(wire.marked(&Bytes::from_static(dialect.mark())));
        pieces.push(dialect.tail(speaker, request).into());
        Pieces::new(pieces)
    }
}

impl Model for Served {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: Request<'_>,
        wire: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let body = self.body(&request, wire);
        let reader = self.dialect.reader(&self.speaker, request.messages.len());
        let endpoint = Arc::clone(&self.endpoint);
        let answer = async move {
            match endpoint.post(body).await {
                Ok(response) => {
                    let deltas = Answer::new(response, reader).deltas();
                    deltas.map(move |it| it.map_err(|error| endpoint.redact(error))).boxed()
                }
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        stream::once(answer).flatten().boxed()
    }
}

/// An answer on its way.
struct Answer {
    response: Begun,
    decoder: Decoder,
    reader: Box<dyn Read>,
    ready: VecDeque<Delta>,
    end: Option<End>,
}

/// How an answer ended, once what came before has been heard.
enum End {
    Over,
    Broken(ModelError),
}

impl From<TooLong> for ModelError {
    fn from(_: TooLong) -> Self {
        Self::new(Trouble::Broken, "the server sent an event without an end")
    }
}

impl Answer {
    fn new(response: Begun, reader: Box<dyn Read>) -> Self {
        let decoder = Decoder::default();
        Self { response, decoder, reader, ready: VecDeque::new(), end: None }
    }

    fn deltas(self) -> impl futures_util::Stream<Item = Result<Delta, ModelError>> {
        stream::unfold(self, |mut answer| async {
            let delta = answer.next().await?;
            Some((delta, answer))
        })
    }

    async fn next(&mut self) -> Option<Result<Delta, ModelError>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            match self.end.replace(End::Over) {
                Some(End::Over) => return None,
                Some(End::Broken(error)) => return Some(Err(error)),
                None => {
                    self.end = self.hear().await.unwrap_or_else(|error| Some(End::Broken(error)));
                }
            }
        }
    }

    /// Hears what comes next, and returns the end if it has come.
    async fn hear(&mut self) -> Result<Option<End>, ModelError> {
        let Self { response, decoder, reader, ready, .. } = self;
        let mut deltas = Vec::new();
        let heard = match response.chunk().await {
            Ok(Some(bytes)) => {
                let read = decoder.push(&bytes, |data| reader.read(data, &mut deltas));
                read.map(|()| None)
            }
            Ok(None) => {
                reader.end(&mut deltas);
                Ok(Some(End::Over))
            }
            Err(error) => Err(error),
        };
        ready.extend(deltas);
        heard
    }
}
