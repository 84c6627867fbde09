//! The words every other crate speaks: who an agent is, what it may do and
//! spend, what happened, and what is asked of the outside world.
//!
//! Plain data and small traits. Nothing here starts a task, opens a file, reads
//! a clock or touches a socket.
//!
//! * Who: [`path`], [`id`].
//! * What is said: [`message`], [`history`], and on the way to a provider [`wire`].
//! * What happened: [`event`], folded into a [`tree`]; what is asked of an
//!   agent: [`command`].
//! * What an agent may do and spend: [`grant`] (with [`mode`], [`rule`], [`stand_in`] and
//!   [`judgement`]) and [`purse`] (with [`allowance`] and [`usage`]). Both only shrink on the way
//!   down.
//! * One delegation: [`order`] (with [`manner`] and [`allowlist`]), how it ended: [`outcome`], and how that is
//!   told: [`telling`].
//! * What became of a file: [`change`].
//! * The ports: [`model`], [`tool`] (with [`delegation`]), [`journal`], [`vault`],
//!   [`rulebook`], [`hooks`], [`workshop`] (with [`handover`]), [`bus`].

mod alias;
pub mod allowance;
pub mod allowlist;
pub mod bus;
pub mod change;
pub mod command;
pub mod comms;
pub mod definitions;
pub mod delegation;
pub mod event;
pub mod grant;
pub mod handover;
pub mod history;
pub mod hooks;
pub mod id;
pub mod journal;
pub mod judgement;
pub mod manner;
pub mod message;
pub mod mode;
pub mod model;
pub mod notes;
pub mod order;
pub mod outcome;
pub mod path;
pub mod plan;
pub mod purse;
pub mod rule;
pub mod rulebook;
pub mod stand_in;
pub mod telling;
pub mod tool;
pub mod tree;
pub mod usage;
pub mod vault;
pub mod wire;
pub mod workshop;

pub use alias::ours as our_names;
pub use allowance::{Allowance, Exhausted, Measure};
pub use allowlist::{AllowedModel, AllowedModels, BadModelName};
pub use bus::{Address, Bus, Detail, Errand, Sight, Undelivered, Watch};
pub use change::{Change, Digest, FileState};
pub use command::{Answer, Ask, Command, Span, When};
pub use comms::{Comms, Peer};
pub use definitions::{Caller, Definitions, Listed};
pub use delegation::{Delegation, Refusal, Report, Started, State, Status, WaitFor};
pub use event::{Chosen, Event, EventKind, Fragment, Millis, Seq};
pub use grant::{Access, Charter, Clamp, Grant, Wish, names};
pub use handover::{Handed, Handover};
pub use history::History;
pub use hooks::{HookedCall, Hooks, Occasion, Scene};
pub use id::{AgentId, QuestionId, SessionId};
pub use journal::{Follow, Followed, Journal, JournalError, SessionEntry};
pub use judgement::Judgement;
pub use manner::{Backoff, Calls, Effort, Manner, Retry};
pub use message::{CallId, Image, Message, Native, Origin, Part, ToolCall, ToolResult};
pub use mode::{Effect, Mode, Verdict};
pub use model::{
    Delta, Model, ModelError, ModelInfo, Models, Request, StopReason, ToolChoice, Trouble,
};
pub use notes::{Note, Notes};
pub use order::{Context, Delivery, Isolation, Limits, Order, Peers, Share, Stay};
pub use outcome::{Artifact, Cause, Ending, Fact, Outcome, Receipt};
pub use path::{AgentPath, BadPath};
pub use plan::{OnError, Plan, PlanState, Task, TaskEnd, TaskNote};
pub use purse::{Need, Purse, Reservation, Spending, Turn};
pub use rule::{BadRule, Pattern, Rules};
pub use rulebook::{NoRulebook, Rulebook};
pub use stand_in::StandIn;
pub use telling::ReadOn;
pub use tool::{Held, Host, Recorder, Target, Tool, ToolError, ToolSpec, Touch};
pub use tree::{Node, Tree};
pub use usage::{Micros, Price, Usage};
pub use vault::Vault;
pub use wire::WireLog;
pub use workshop::{Bench, Workshop};
