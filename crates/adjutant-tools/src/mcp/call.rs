//! One call of a server's tool.

use std::{
    sync::atomic::Ordering::{Acquire, Relaxed},
    time::Duration,
};

use adjutant_core::{Host, ToolError};
use rmcp::{
    RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject,
        ProgressNotificationParam, ServerResult,
    },
    service::{PeerRequestOptions, RequestHandle},
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    connection::{Connection, list},
    content,
    desk::{Question, Visit},
    elicit, trouble,
};
use crate::brief;

/// How long a server may take to hear that a call is over.
const PARTING: Duration = Duration::from_millis(500);

/// Why a call was given up.
enum Stop {
    Cancelled,
    TimedOut,
}

impl Connection {
    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        host: &dyn Host,
    ) -> Result<String, ToolError> {
        let name = &self.server.name;
        self.check(tool).await?;
        let mut visit = self.desk.visit();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options());
        let mut handle = sent.await.map_err(|error| trouble::of_call(name, &error))?;
        let stop = match self.follow(&mut handle, &mut visit, host).await {
            Ok(Ok(ServerResult::CallToolResult(result))) => return content::tell(result, host),
            Ok(Ok(_)) => return Err(trouble::of_call(name, &ServiceError::UnexpectedResponse)),
            Ok(Err(error)) => return Err(trouble::of_call(name, &error)),
            Err(stop) => stop,
        };
        let (reason, words) = match stop {
            Stop::Cancelled => ("cancelled", "stopped before it had answered".to_owned()),
            Stop::TimedOut => {
                let seconds = self.server.timeout.as_secs();
                ("timeout", format!("MCP server `{name}` did not answer within {seconds} s"))
            }
        };
        let _ = timeout(PARTING, handle.cancel(Some(reason.to_owned()))).await;
        Err(ToolError(format!("{words}; what the call did is not known")))
    }

    /// Waits for the answer, and for whatever the server has to say before. The time a person
    /// takes to answer is not the server's.
    async fn follow(
        &self,
        handle: &mut RequestHandle<RoleClient>,
        visit: &mut Visit,
        host: &dyn Host,
    ) -> Result<Result<ServerResult, ServiceError>, Stop> {
        let mut left = self.server.timeout;
        loop {
            let since = Instant::now();
            let question = tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    return Ok(answer.unwrap_or(Err(ServiceError::TransportClosed)));
                }
                () = host.token().cancelled() => return Err(Stop::Cancelled),
                Some(question) = visit.questions.recv() => Some(question),
                told = visit.progress.recv() => {
                    let told = told.ok().filter(|it| it.progress_token == handle.progress_token);
                    if let Some(told) = told {
                        host.progress(progress(&told));
                    }
                    None
                }
                () = sleep(left) => return Err(Stop::TimedOut),
            };
            left = left.saturating_sub(since.elapsed());
            let Some(Question { request, mut reply }) = question else { continue };
            tokio::select! {
                answer = elicit::ask(&self.server.name, request, host) => {
                    // A server that does not want to know any more has its reasons.
                    let _ = reply.send(answer);
                }
                () = reply.closed() => {}
                () = host.token().cancelled() => return Err(Stop::Cancelled),
            }
        }
    }

    /// Makes sure that a tool is still there.
    async fn check(&self, tool: &str) -> Result<(), ToolError> {
        if self.desk.is_stale.swap(false, Acquire) {
            match timeout(self.server.startup_timeout, list(&self.peer)).await {
                Ok(Ok(tools)) => self.learn(tools),
                // Asked again the next time; until then the server says no itself.
                Ok(Err(_)) | Err(_) => self.desk.is_stale.store(true, Relaxed),
            }
        }
        let tools = self.tools();
        if tools.iter().any(|known| known.name == tool) {
            return Ok(());
        }
        let names: Vec<_> = tools.iter().map(|tool| brief::line(&tool.name, 64)).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(ToolError(format!(
            "MCP server `{}` does not have the tool `{tool}` any more; it has: {names}",
            self.server.name
        )))
    }
}

fn progress(told: &ProgressNotificationParam) -> String {
    match (&told.message, told.total) {
        (Some(message), _) => brief::line(message, 200),
        (None, Some(total)) => format!("{} of {total}", told.progress),
        (None, None) => told.progress.to_string(),
    }
}
