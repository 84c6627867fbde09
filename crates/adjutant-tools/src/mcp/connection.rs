//! A connection to a server, from the greeting to the end.

use std::{
    error::Error,
    ffi::OsString,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{ErrorCode, PaginatedRequestParams, Tool},
    service::RunningService,
    transport::IntoTransport,
};
use tokio::time::timeout;

use super::{
    Environment,
    desk::{Client, Desk},
    http,
    process::Process,
    settings::{Reach, Server},
    trouble::whole,
};

/// How many tools a server may have, and how many pages it may take to tell of them.
const MOST_TOOLS: usize = 500;
const MOST_PAGES: usize = 100;
/// How long a server may take to hear that all is over.
const PARTING: Duration = Duration::from_millis(500);

/// A connection to a server.
pub(crate) struct Connection {
    pub(super) server: Arc<Server>,
    pub(super) peer: Peer<RoleClient>,
    pub(super) desk: Arc<Desk>,
    service: Mutex<Option<Service>>,
    process: Mutex<Option<Process>>,
    tools: Mutex<Vec<Tool>>,
}

type Service = RunningService<RoleClient, Client>;

impl Connection {
    /// Starts or reaches a server, and learns its tools.
    pub(crate) async fn open(server: Arc<Server>, around: &Environment) -> Result<Self, String> {
        let desk = Desk::new();
        let (greeted, process) = match server.reach.expanded(&around.variables)? {
            Reach::Process { command, args, env } => {
                let words = std::iter::once(command).chain(args).map(OsString::from);
                let words: Vec<_> = words.collect();
                let directory = server.directory.as_ref().unwrap_or(&around.directory);
                let started = Process::start(server.written(), &words, &env.0, directory, around);
                let (process, pipes) =
                    started.map_err(|error| format!("cannot be started: {error}"))?;
                match greet(&server, &desk, pipes).await {
                    Ok(greeted) => (greeted, Some(process)),
                    Err(why) => return Err(process.last_words_after(&why).await),
                }
            }
            Reach::Http { url, headers } => {
                (greet(&server, &desk, http::transport(&url, headers.0)?).await?, None)
            }
        };
        let (service, tools) = greeted;
        let peer = service.peer().clone();
        let (service, process) = (Mutex::new(Some(service)), Mutex::new(process));
        Ok(Self { server, peer, desk, service, process, tools: Mutex::new(tools) })
    }

    /// Reports whether the server is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// Returns the tools it has.
    pub(crate) fn tools(&self) -> Vec<Tool> {
        lock(&self.tools).clone()
    }

    /// Notes the tools it has now.
    pub(super) fn learn(&self, tools: Vec<Tool>) {
        *lock(&self.tools) = tools;
    }

    /// Ends the connection and the server's processes, or tells why that cannot be seen.
    pub(crate) async fn end(&self) -> Result<(), String> {
        let (service, process) = (lock(&self.service).take(), lock(&self.process).take());
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(PARTING).await;
        }
        match process {
            Some(mut process) => process.end().await,
            None => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says hello to a server and asks for its tools, within the time it has for that.
async fn greet<T, E, A>(
    server: &Server,
    desk: &Arc<Desk>,
    way: T,
) -> Result<(Service, Vec<Tool>), String>
where
    T: IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    let greeting = async {
        let client = Client(Arc::clone(desk));
        let service = rmcp::serve_client(client, way).await.map_err(|error| whole(&error))?;
        let tools = list(service.peer()).await?;
        Ok((service, tools))
    };
    let seconds = server.startup_timeout.as_secs();
    let late = |_| Err(format!("it was not ready within {seconds} s"));
    timeout(server.startup_timeout, greeting).await.unwrap_or_else(late)
}

/// Asks a server for its tools, page by page.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, String> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(page)).await {
            Ok(page) => page,
            Err(ServiceError::McpError(no)) if no.code == ErrorCode::METHOD_NOT_FOUND => {
                return Ok(tools);
            }
            Err(error) => return Err(format!("its tools cannot be had: {}", whole(&error))),
        };
        tools.extend(page.tools);
        if tools.len() > MOST_TOOLS {
            return Err(format!("it has more than {MOST_TOOLS} tools"));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(format!("its tools take more than {MOST_PAGES} pages"))
}
