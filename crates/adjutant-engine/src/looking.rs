//! A call that looks on behalf of a child that is not there.

use std::{path::Path, sync::Arc};

use adjutant_core::{
    AgentPath, Answer, Ask, CallId, Change, Comms, Delegation, Fact, Grant, Held, Host, Image,
    Notes, Order, Recorder, ToolError, Touch,
};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::host::CallHost;

/// A call that may look, by a child's grant, and do nothing else.
pub(crate) struct Looking<'a> {
    pub(crate) host: &'a CallHost,
    /// In whose name. Its parent has seen nothing of it.
    pub(crate) child: &'a AgentPath,
    pub(crate) grant: &'a Grant,
    pub(crate) judged: Vec<Touch>,
}

impl Host for Looking<'_> {
    fn agent(&self) -> &AgentPath {
        self.child
    }

    fn call(&self) -> &CallId {
        self.host.call()
    }

    fn order(&self) -> &Order {
        self.host.order()
    }

    fn workdir(&self) -> &Path {
        self.host.workdir()
    }

    fn grant(&self) -> &Grant {
        self.grant
    }

    fn judged(&self) -> &[Touch] {
        &self.judged
    }

    fn token(&self) -> &CancellationToken {
        self.host.token()
    }

    fn progress(&self, _: String) {}

    fn note(&self, _: Fact) {}

    fn attach(&self, _: Image) {}

    fn changing(&self, _: Change) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Err(ToolError("only looking".to_owned())) })
    }

    fn recorder(&self) -> Arc<dyn Recorder> {
        self.host.recorder()
    }

    fn hold(&self, held: Box<dyn Held>) {
        self.host.hold(held);
    }

    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Unattended })
    }

    fn delegation(&self) -> Option<&dyn Delegation> {
        None
    }

    fn comms(&self) -> Option<&dyn Comms> {
        None
    }

    fn notes(&self) -> &dyn Notes {
        self.host.notes()
    }
}
