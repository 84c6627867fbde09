//! Where what a server says between question and answer meets the call it belongs to.
//!
//! A server speaks to the connection; people and front ends are reached through the call that
//! runs. Each call that runs has a visit here.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
        ProgressNotificationParam, ProtocolVersion, UrlElicitationCapability,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::sync::{broadcast, mpsc, oneshot};

/// How much progress may be told before anybody looks. What comes before it is forgotten.
const PROGRESS: usize = 64;

/// What a server wants to know from a person. Who drops it has not answered.
pub(crate) struct Question {
    pub(crate) request: ElicitRequestParams,
    pub(crate) reply: oneshot::Sender<ElicitResult>,
}

/// All calls that run on one connection, the latest last.
pub(crate) struct Desk {
    visits: Mutex<Vec<(u64, mpsc::Sender<Question>)>>,
    next: AtomicU64,
    progress: broadcast::Sender<ProgressNotificationParam>,
    /// Whether the server said that its tools are not what they were.
    pub(crate) is_stale: AtomicBool,
}

/// A call that runs, for as long as this lives.
pub(crate) struct Visit {
    desk: Arc<Desk>,
    id: u64,
    pub(crate) questions: mpsc::Receiver<Question>,
    /// The progress of all calls; the token tells whose it is.
    pub(crate) progress: broadcast::Receiver<ProgressNotificationParam>,
}

impl Desk {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            visits: Mutex::default(),
            next: AtomicU64::default(),
            progress: broadcast::Sender::new(PROGRESS),
            is_stale: AtomicBool::new(false),
        })
    }

    /// Comes before the server is asked, so that nothing it says is missed.
    pub(crate) fn visit(self: &Arc<Self>) -> Visit {
        let id = self.next.fetch_add(1, Relaxed);
        let (sender, questions) = mpsc::channel(1);
        let progress = self.progress.subscribe();
        self.visits().push((id, sender));
        Visit { desk: Arc::clone(self), id, questions, progress }
    }

    fn visits(&self) -> MutexGuard<'_, Vec<(u64, mpsc::Sender<Question>)>> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks whoever stands behind the latest call.
    async fn ask(&self, request: ElicitRequestParams) -> Option<ElicitResult> {
        let latest = self.visits().last().map(|(_, sender)| sender.clone())?;
        let (reply, answer) = oneshot::channel();
        latest.send(Question { request, reply }).await.ok()?;
        answer.await.ok()
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.desk.visits().retain(|(id, _)| *id != self.id);
    }
}

/// The runtime, as servers see it.
pub(crate) struct Client(pub(crate) Arc<Desk>);

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let form = FormElicitationCapability::new().with_schema_validation(true);
        let url = UrlElicitationCapability::new();
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form).with_url(url));
        let us = Implementation::new("adjutant", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = tokio::select! {
            answer = self.0.ask(request) => answer,
            () = context.ct.cancelled() => None,
        };
        Ok(answer.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        // Nobody listens when no call runs.
        let _ = self.0.progress.send(progress);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.is_stale.store(true, Relaxed);
    }
}
