//! The line to one server, shared by the whole tree: opened when it is first needed, by one
//! for all, and opened again when the server has gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use tokio::{task::AbortHandle, time::Instant};

use super::{Environment, connection::Connection, restarts::Restarts, settings::Server};

/// The line to a server.
pub(crate) struct Line {
    pub(crate) server: Arc<Server>,
    around: Arc<Environment>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    opening: Option<Opening>,
    restarts: Restarts,
    is_closed: bool,
}

/// A start that is under way or was, in a task of its own: who waits for it may go.
#[derive(Clone)]
struct Opening {
    opened: Shared<BoxFuture<'static, Opened>>,
    task: AbortHandle,
}

type Opened = Result<Arc<Connection>, Arc<str>>;

impl Line {
    pub(crate) fn new(server: Server, around: Arc<Environment>) -> Arc<Self> {
        Arc::new(Self { server: Arc::new(server), around, state: Mutex::default() })
    }

    /// Returns the connection, made now if there is none.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, String> {
        let name = &self.server.name;
        // What was opened a while ago may be found over; what is opened now is looked at once.
        for _ in 0..2 {
            let opened = self.opening()?.opened.await;
            let connection =
                opened.map_err(|why| format!("MCP server `{name}` cannot be used: {why}"))?;
            if !connection.is_over() {
                return Ok(connection);
            }
        }
        Err(format!("MCP server `{name}` ended as soon as it had started"))
    }

    /// Ends the server, or tells why it cannot be seen to end.
    pub(crate) async fn end(&self) -> Result<(), String> {
        let opening = {
            let mut state = self.state();
            state.is_closed = true;
            state.opening.take()
        };
        let Some(Opening { opened, task }) = opening else { return Ok(()) };
        // One that has not come far enough to be of use is dropped where it stands.
        task.abort();
        match opened.await {
            Ok(connection) => {
                let ended = connection.end().await;
                ended.map_err(|why| format!("MCP server `{}`: {why}", self.server.name))
            }
            Err(_) => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opening(&self) -> Result<Opening, String> {
        let mut state = self.state();
        let name = &self.server.name;
        if state.is_closed {
            return Err(format!("MCP server `{name}` has been ended"));
        }
        match &state.opening {
            Some(opening) if opening.is_good() => return Ok(opening.clone()),
            Some(_) | None => {}
        }
        state.restarts.begin(Instant::now()).map_err(|pause| {
            let seconds = pause.as_secs_f32();
            format!(
                "MCP server `{name}` ends again and again; it may be started again in \
                 {seconds:.1} s"
            )
        })?;
        let opening = self.open();
        state.opening = Some(opening.clone());
        Ok(opening)
    }

    fn open(&self) -> Opening {
        let (server, around) = (Arc::clone(&self.server), Arc::clone(&self.around));
        let task = tokio::spawn(async move {
            let opened = Connection::open(server, &around).await;
            opened.map(Arc::new).map_err(Arc::from)
        });
        let abort = task.abort_handle();
        let opened = task.map(|end| end.unwrap_or_else(|error| Err(error.to_string().into())));
        Opening { opened: opened.boxed().shared(), task: abort }
    }
}

impl Opening {
    /// Reports whether it has led to a connection or still may.
    fn is_good(&self) -> bool {
        match self.opened.peek() {
            None => true,
            Some(Ok(connection)) => !connection.is_over(),
            Some(Err(_)) => false,
        }
    }
}
