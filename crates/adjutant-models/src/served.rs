//! A model behind a server.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use adjutant_core::{Delta, Model, ModelError, ModelInfo, Request, ToolSpec, Trouble, WireLog};
use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use reqwest::Response;

use crate::{
    http::{Endpoint, Pieces, why},
    sse::{Decoder, TooLong},
    wire::{Dialect, Read, Speaker},
};

/// A model behind a server, in whatever dialect the server speaks.
pub struct Served {
    info: ModelInfo,
    dialect: &'static dyn Dialect,
    speaker: Speaker,
    endpoint: Arc<Endpoint>,
    head: Mutex<Option<Head>>,
}

/// What comes before the messages, kept for as long as the tools and the system prompt
/// stay the same.
struct Head {
    tools: Vec<Arc<ToolSpec>>,
    system: String,
    bytes: Bytes,
}

impl Served {
    pub(crate) fn new(
        info: ModelInfo,
        dialect: &'static dyn Dialect,
        speaker: Speaker,
        endpoint: Endpoint,
    ) -> Self {
        Self { info, dialect, speaker, endpoint: Arc::new(endpoint), head: Mutex::default() }
    }

    fn head(&self, request: &Request<'_>) -> Bytes {
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(one, other): (&Arc<ToolSpec>, &Arc<ToolSpec>)| Arc::ptr_eq(one, other);
        if let Some(head) = &*head
            && head.tools.len() == request.tools.len()
            && head.tools.iter().zip(request.tools).all(same)
            && head.system == request.system
        {
            return head.bytes.clone();
        }
        let bytes = Bytes::from(self.dialect.head(&self.speaker, request));
        let (tools, system) = (request.tools.to_vec(), request.system.to_owned());
        *head = Some(Head { tools, system, bytes: bytes.clone() });
        bytes
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
    response: Response,
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
    fn new(response: Response, reader: Box<dyn Read>) -> Self {
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
            Err(error) => {
                let message = format!("the answer broke off: {}", why(&error));
                Err(ModelError::new(Trouble::Broken, message))
            }
        };
        ready.extend(deltas);
        heard
    }
}
