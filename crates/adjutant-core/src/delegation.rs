//! The port from tools to other agents.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::{
    AgentId, AgentPath, AllowedModels, Clamp, Ending, Exhausted, Message, Order, Outcome, Plan,
    Receipt, TaskEnd, When,
};

/// How an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has not begun yet.
    Queued,
    /// It thinks or acts.
    Running,
    /// It waits for a person or for its children.
    Waiting,
    /// It has nothing to do and can be told more.
    Resting,
    /// It did its task.
    Completed,
    /// It could not, or ran out of time or budget.
    Failed,
    /// It was stopped.
    Cancelled,
    /// The process died under it.
    Interrupted,
}

impl State {
    /// Reports whether the agent is gone.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted)
    }

    /// Returns the state's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Resting => "resting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Ending> for State {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Completed => Self::Completed,
            Ending::BudgetExceeded | Ending::Timeout | Ending::Failed => Self::Failed,
            Ending::Cancelled => Self::Cancelled,
            Ending::Interrupted => Self::Interrupted,
        }
    }
}

/// A child that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Who it is.
    pub id: AgentId,
    /// Where it stands.
    pub path: AgentPath,
    /// The model it runs on.
    pub model: Arc<str>,
    /// How many messages it knows from its parent.
    pub inherited: usize,
    /// What it did not get in full.
    pub clamped: Vec<Clamp>,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Who it was.
    pub id: AgentId,
    /// Where it stood.
    pub path: AgentPath,
    /// What came of it.
    pub outcome: Arc<Outcome>,
    /// The facts of it.
    pub receipt: Arc<Receipt>,
}

/// How an agent below stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Who it is.
    pub id: AgentId,
    /// Where it stands.
    pub path: AgentPath,
    /// How it stands.
    pub state: State,
    /// How long it has been, or was, at work.
    pub millis: u64,
    /// What its subtree has spent.
    pub tokens: u64,
    /// What it said last, as far as it got.
    pub words: String,
    /// How it ended; `None` while it is there.
    pub report: Option<Report>,
}

/// Whose end is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// That of whoever is first.
    Any,
    /// That of each.
    #[default]
    All,
}

/// Why a delegation did not happen. Told to the model that asked, so it says
/// what can be done instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The agent stands at the bottom.
    #[error(
        "Maximum sub-agent depth ({limit}) exceeded: {}do the task yourself",
        if *limit == 1 { "sub-agents may not start others here, " } else { "" }
    )]
    TooDeep {
        /// How many levels there may be below the root.
        limit: usize,
    },
    /// The tree is full.
    #[error(
        "{} at work, the most there may be at one time: wait for one to end (you are told when \
         it does), cancel one, or do the task yourself",
        count(*limit, "agent is", "agents are")
    )]
    TreeFull {
        /// How many there may be.
        limit: usize,
    },
    /// The agent has as many children as it may have.
    #[error(
        "you have {} at work, the most you may have at one time: wait for one to end (you are \
         told when it does), cancel one, or do the task yourself",
        count(*limit, "child", "children")
    )]
    TooManyChildren {
        /// How many it may have.
        limit: usize,
    },
    /// The task is empty.
    #[error("the prompt is empty: say what is to be done")]
    NoTask,
    /// There is no such model.
    #[error("{0}")]
    NoModel(String),
    /// The model is not on the list of those that may be named.
    #[error(
        "sub-agents may not run on `{name}`: choose one of {allowed}, or leave it out to use yours"
    )]
    ModelNotAllowed {
        /// The name that was given.
        name: String,
        /// Those that may be named.
        allowed: AllowedModels,
    },
    /// There is no such agent to write to.
    #[error("you cannot write to `{name}`; you can write to {}", paths(known))]
    NoPeer {
        /// The name that was given.
        name: String,
        /// Those it may write to.
        known: Vec<AgentPath>,
    },
    /// There is no such named agent, or not for this one.
    #[error("{0}")]
    NoAgent(String),
    /// An agent that stays can only be told more by messages.
    #[error(
        "host_mode requires comms to be enabled for sub-agents: leave it out; a person can set \
         `sub_agents.comms`"
    )]
    NoComms,
    /// The plan cannot be carried out.
    #[error("the plan cannot be carried out: {0}")]
    BadPlan(String),
    /// The schema cannot be used.
    #[error("the output schema is no valid JSON Schema: {0}")]
    BadSchema(String),
    /// There is no such tool.
    #[error("there is no tool named `{name}`; there are: {known}")]
    NoTool {
        /// The name that was given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The directory is not inside the parent's.
    #[error("`{}` is outside your scope, which is {}", wanted.display(), list(scope))]
    OutsideScope {
        /// What was asked for.
        wanted: PathBuf,
        /// What there is.
        scope: Vec<PathBuf>,
    },
    /// The child cannot have a worktree of its own.
    #[error(
        "there can be no worktree for it: {0}; leave `isolation` out, and it works where you do"
    )]
    NoWorktree(String),
    /// A limit on money cannot be kept, since nobody knows what the model costs.
    #[error("the price of `{0}` is not known, so a limit on money cannot be kept: leave it out")]
    NoPrice(String),
    /// There is nothing left to give.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// There is no such agent below the one that asked.
    #[error("there is no agent `{0}` below you: `agent_list` shows those there are")]
    NotBelow(String),
    /// There is no such agent any more, or never was.
    #[error(
        "there is no agent `{0}` below you: `agent_list` shows those there are; one that ended long \
         ago is no longer remembered, and only the journal has it"
    )]
    Forgotten(String),
    /// The agent worked in a place of its own.
    #[error(
        "`{path}` has ended ({}), and cannot go on in the place of its own that it worked in: start \
         another",
        state.name()
    )]
    PlaceGone {
        /// Which agent.
        path: AgentPath,
        /// How it ended.
        state: State,
    },
    /// The agent has ended, and is somebody else's child.
    #[error("`{path}` has ended ({}): only its parent, `{parent}`, can make it go on", state.name())]
    NotYours {
        /// Which agent.
        path: AgentPath,
        /// How it ended.
        state: State,
        /// Whose child it is.
        parent: AgentPath,
    },
    /// The agent has ended.
    #[error("`{path}` has ended ({})", state.name())]
    Ended {
        /// Which agent.
        path: AgentPath,
        /// How it ended.
        state: State,
    },
    /// The agent has more messages than it can keep.
    #[error("the mailbox of `{0}` is full: wait until it has read some")]
    MailboxFull(AgentPath),
    /// The session has a root.
    #[error("the session has begun already")]
    Begun,
    /// The one who asks is being stopped.
    #[error("you are being stopped")]
    Stopping,
    /// The runtime could not do it.
    #[error("the runtime failed: {0}")]
    Broken(String),
}

fn count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn paths(paths: &[AgentPath]) -> String {
    if paths.is_empty() {
        return "nobody".to_owned();
    }
    let paths: Vec<_> = paths.iter().map(|path| format!("`{path}`")).collect();
    paths.join(", ")
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    paths.join(", ")
}

/// The verbs of delegation, for one agent. An agent is named by its id or its
/// path; one that is not below the caller does not exist, as far as these can tell.
pub trait Delegation: Send + Sync {
    /// Reserves the number of a child that takes time to order, so that children have the numbers
    /// of the calls they come from however long that takes.
    fn reserve(&self) -> u32;

    /// Starts a child and returns at once.
    fn start(&self, order: Order) -> BoxFuture<'_, Result<Started, Refusal>>;

    /// Waits for a child's end and claims its result.
    fn wait<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<Report, Refusal>>;

    /// Waits until some have ended or rest, no longer than `patience`, and tells how each stands
    /// then, as [`status`](Self::status) does.
    fn wait_for<'a>(
        &'a self,
        agents: &'a [String],
        whose: WaitFor,
        patience: Option<Duration>,
    ) -> BoxFuture<'a, Result<Vec<Status>, Refusal>>;

    /// Returns what came of an order just like this one, if it can only come out the same: the
    /// child did nothing but look, and everything it looked at is as it was.
    fn recall<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Option<Report>>;

    /// Carries out a plan, task by task, and tells how each ended, in their order.
    fn carry_out(&self, plan: Plan) -> BoxFuture<'_, Result<Vec<TaskEnd>, Refusal>>;

    /// Stops an agent and everyone below it, and returns when they are gone: how it
    /// stood before. Its result is claimed.
    fn cancel<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, Result<State, Refusal>>;

    /// Tells how an agent stands. If it has ended, its result is claimed; if it rests, it is not
    /// told again that it does.
    fn status(&self, agent: &str) -> Result<Status, Refusal>;

    /// Returns what an agent that has ended said and did, as far as it is remembered.
    fn transcript(&self, agent: &str) -> Result<Vec<Arc<Message>>, Refusal>;

    /// Tells how everyone below stands. Claims nothing.
    fn list(&self) -> Vec<Status>;

    /// Sends a message. One that has ended goes on with what it knows.
    fn send<'a>(
        &'a self,
        agent: &'a str,
        text: String,
        when: When,
    ) -> BoxFuture<'a, Result<(), Refusal>>;
}
