//! A client that reads no more of an answer than an answer may have.

use std::{collections::HashMap, io, sync::Arc};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use reqwest::{
    Client, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::client_side_sse::BoxedSseResponse,
        streamable_http_client::{
            StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use sse_stream::SseStream;

use super::trouble::shortened;

/// The most that is read of one answer.
const LONGEST_ANSWER: usize = 16 << 20;
const SESSION: &str = "mcp-session-id";

type Trouble = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A client with bounds.
#[derive(Clone)]
pub(crate) struct BoundedClient(pub(crate) Client);

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Trouble> {
        let mut request = self.0.post(&*uri).json(&message);
        request = request.header(ACCEPT, "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = &session {
            request = request.header(SESSION, &**session);
        }
        let response = request.send().await.map_err(StreamableHttpError::Client)?;
        let is_answered = matches!(message, ClientJsonRpcMessage::Request(_));
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            status if status.is_success() => read(response, is_answered).await,
            _ => refused(response).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<(), Trouble> {
        self.0.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, Trouble> {
        // Each event of it is bounded there.
        self.0.get_stream(uri, session, last, auth, headers).await
    }
}

/// Reads the answer to a message, if there is to be one.
async fn read(
    response: Response,
    is_answered: bool,
) -> Result<StreamableHttpPostResponse, Trouble> {
    let session = response.headers().get(SESSION);
    let session = session.and_then(|name| name.to_str().ok()).map(str::to_owned);
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.map(str::to_owned);
    let is = |wanted: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(wanted));
    if is("text/event-stream") {
        let events = SseStream::from_bytes_stream(bounded(response)).boxed();
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    if !is_answered {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if !is("application/json") {
        return Err(StreamableHttpError::UnexpectedContentType(kind));
    }
    let message: ServerJsonRpcMessage = serde_json::from_slice(&body(response).await?)?;
    Ok(StreamableHttpPostResponse::Json(message, session))
}

/// Tells why a message was not taken; as an answer to it, if the server does.
async fn refused(response: Response) -> Result<StreamableHttpPostResponse, Trouble> {
    let status = response.status();
    let hint = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            " (it wants to know who asks: `headers` can tell)"
        }
        status if status.is_redirection() => " (it sends to another place, which is not followed)",
        _ => "",
    };
    let body = body(response).await.unwrap_or_default();
    if let (Ok(message @ ServerJsonRpcMessage::Error(_)), "") =
        (serde_json::from_slice(&body), hint)
    {
        return Ok(StreamableHttpPostResponse::Json(message, None));
    }
    let words = shortened(String::from_utf8_lossy(&body).trim());
    let words = format!("HTTP {status}{hint} {words}");
    Err(StreamableHttpError::UnexpectedServerResponse(words.trim_end().to_owned().into()))
}

async fn body(response: Response) -> Result<Vec<u8>, Trouble> {
    let pieces = bounded(response);
    let all = pieces.try_fold(Vec::new(), async |mut all, piece| {
        all.extend_from_slice(&piece);
        Ok(all)
    });
    Ok(all.await?)
}

/// Returns the pieces of an answer, and an error where it gets too long.
fn bounded(response: Response) -> impl Stream<Item = io::Result<Bytes>> {
    let mut left = LONGEST_ANSWER;
    response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        left = left.checked_sub(piece.len()).ok_or_else(|| {
            io::Error::other(format!("the answer has more than {} MiB", LONGEST_ANSWER >> 20))
        })?;
        Ok(piece)
    })
}
