//! A model behind a server that speaks Chat Completions.

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
    http::{Http, Key, Pieces},
    provider::Provider,
    sse::{Decoder, TooLong},
    wire::chat,
};

/// What is asked for in one answer, and how long a conversation may be, where nobody says.
const MAX_OUTPUT: u64 = 8192;
const WINDOW: u64 = 128_000;

/// A model behind a server that speaks Chat Completions.
pub struct Chat {
    info: ModelInfo,
    provider: &'static Provider,
    model: String,
    url: Arc<str>,
    key: Option<Key>,
    http: Arc<Http>,
    head: Mutex<Option<Head>>,
}

/// What comes before the messages, kept for as long as the tools and the system prompt
/// stay the same.
struct Head {
    tools: Vec<Arc<ToolSpec>>,
    system: String,
    bytes: Bytes,
}

impl Chat {
    /// Makes a model of a provider's at an address.
    pub fn new(
        provider: &'static Provider,
        model: &str,
        base_url: &str,
        key: Option<Key>,
        http: Arc<Http>,
    ) -> Self {
        let info = ModelInfo {
            name: format!("{}/{model}", provider.name).into(),
            provider: provider.name.into(),
            window: WINDOW,
            max_output: MAX_OUTPUT,
            price: None,
        };
        let url = format!("{}/chat/completions", base_url.trim_end_matches('/')).into();
        let (model, head) = (model.to_owned(), Mutex::default());
        Self { info, provider, model, url, key, http, head }
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
        let bytes = Bytes::from(chat::head(&self.model, request));
        let (tools, system) = (request.tools.to_vec(), request.system.to_owned());
        *head = Some(Head { tools, system, bytes: bytes.clone() });
        bytes
    }

    fn body(&self, request: &Request<'_>, wire: &mut WireLog) -> Pieces {
        wire.extend(&self.info.name, request.messages, chat::message);
        let head = self.head(request);
        // Every message has a comma before it; the very first needs none.
        let skip = usize::from(head.ends_with(b"["));
        let mut pieces = vec![head];
        pieces.extend(wire.chunks().iter().cloned());
        if let Some(first) = pieces.get_mut(1) {
            *first = first.slice(skip..);
        }
        pieces.push(chat::tail(request, &self.provider.quirks).into());
        Pieces::new(pieces)
    }
}

impl Model for Chat {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: Request<'_>,
        wire: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let body = self.body(&request, wire);
        let (http, url, key) = (Arc::clone(&self.http), Arc::clone(&self.url), self.key.clone());
        let answer = async move {
            match http.post(&url, key.as_ref(), body).await {
                Ok(response) => Answer::new(response).deltas().boxed(),
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
    reader: chat::Reader,
    ready: VecDeque<Delta>,
    is_over: bool,
}

impl From<TooLong> for ModelError {
    fn from(_: TooLong) -> Self {
        Self::new(Trouble::Broken, "the server sent an event without an end")
    }
}

impl Answer {
    fn new(response: Response) -> Self {
        let (decoder, reader) = (Decoder::default(), chat::Reader::default());
        Self { response, decoder, reader, ready: VecDeque::new(), is_over: false }
    }

    fn deltas(self) -> impl futures_util::Stream<Item = Result<Delta, ModelError>> {
        stream::unfold(self, |mut answer| async {
            let delta = answer.next().await?;
            answer.is_over |= delta.is_err();
            Some((delta, answer))
        })
    }

    async fn next(&mut self) -> Option<Result<Delta, ModelError>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            if self.is_over {
                return None;
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => {
                    if let Err(error) = self.read(&bytes) {
                        return Some(Err(error));
                    }
                }
                Ok(None) => {
                    self.is_over = true;
                    let mut deltas = Vec::new();
                    self.reader.end(&mut deltas);
                    self.ready.extend(deltas);
                }
                Err(error) => {
                    let message = format!("the answer broke off: {error}");
                    return Some(Err(ModelError::new(Trouble::Broken, message)));
                }
            }
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        let Self { decoder, reader, ready, .. } = self;
        let mut deltas = Vec::new();
        let read = decoder.push(bytes, |data| reader.read(data, &mut deltas));
        ready.extend(deltas);
        read
    }
}
