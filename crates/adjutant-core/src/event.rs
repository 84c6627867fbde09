//! What happened.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, AgentPath, Answer, Ask, CallId, Clamp, FileState, Message, Micros, Mode, Order,
    Outcome, Plan, QuestionId, Receipt, TaskNote, Usage, When,
};

/// A position in a session's journal. The first event has 1, and there are no
/// gaps.
pub type Seq = u64;

/// Milliseconds since 1970.
pub type Millis = u64;

/// Something that happened to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its position in the journal. A fragment, which is not kept, has the
    /// position of the last kept event before it.
    pub seq: Seq,
    /// When it happened.
    pub at: Millis,
    /// Where the agent stands.
    pub path: AgentPath,
    /// Who the agent is.
    pub id: AgentId,
    /// The parent's call that started the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of thing that happen. Front ends match this exhaustively, so each
/// of them takes part in the decision to have a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The agent came to be.
    Started {
        /// What it was ordered to do.
        order: Arc<Order>,
        /// The model it runs on.
        model: Arc<str>,
        /// Who chose the model.
        #[serde(default)]
        chosen: Chosen,
        /// How freely it acts.
        mode: Mode,
        /// The tools it has.
        tools: Vec<String>,
        /// What it asked for and did not get in full.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        clamped: Vec<Clamp>,
        /// How many messages it knows already, from its parent or from before it ended.
        #[serde(default, skip_serializing_if = "is_zero")]
        inherited: usize,
        /// Where it works, if that can be written in UTF-8.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workdir: Option<String>,
    },
    /// A message was added to the conversation.
    Said {
        /// The message.
        message: Arc<Message>,
    },
    /// A message is being written. Not kept.
    Saying {
        /// What the fragment is of.
        of: Fragment,
        /// The fragment.
        text: String,
    },
    /// A tool call is about to begin.
    Called {
        /// Which of the calls in the message before.
        call_id: CallId,
        /// The tool.
        tool: String,
        /// What it is about, in a line.
        summary: String,
    },
    /// A tool call tells how far it is. Not kept.
    Progressed {
        /// Which call.
        call_id: CallId,
        /// How far.
        text: String,
    },
    /// A file is about to change, or was changed by a command. The vault has what was there.
    Changed {
        /// By which call.
        call_id: CallId,
        /// Which file.
        file: String,
        /// What it was; `None` if it was not there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<FileState>,
        /// What it becomes; `None` if it goes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<FileState>,
    },
    /// The agent asks a person.
    Asked {
        /// The question's name, for the answer.
        question: QuestionId,
        /// The call that asks.
        call_id: CallId,
        /// The question.
        ask: Arc<Ask>,
    },
    /// A question was answered.
    Answered {
        /// Which one.
        question: QuestionId,
        /// What was answered.
        answer: Answer,
    },
    /// A question needs no answer any more.
    Withdrawn {
        /// Which one.
        question: QuestionId,
    },
    /// A model call was paid for.
    Spent {
        /// What it used.
        usage: Usage,
        /// What it cost.
        micros: Micros,
        /// Whether the numbers are the runtime's own guess, the call having
        /// ended before the provider reported any.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
    },
    /// A model call failed and will be tried again. What was shown of it is void.
    Retrying {
        /// Which try comes next; the first was 1.
        attempt: u32,
        /// How long until then.
        wait_ms: u64,
        /// What went wrong.
        reason: String,
    },
    /// The beginning of the conversation was replaced by something shorter.
    Compacted {
        /// How many messages went.
        upto: usize,
        /// What stands in their place.
        with: Vec<Arc<Message>>,
    },
    /// A message for the agent arrived.
    Mailed {
        /// From which agent; `None` is a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<AgentPath>,
        /// The message.
        text: String,
        /// When it is to be heard.
        when: When,
    },
    /// A plan is about to be carried out.
    Planned {
        /// By which call.
        call_id: CallId,
        /// The plan.
        plan: Arc<Plan>,
    },
    /// A task of a plan was done, or will not be.
    TaskEnded {
        /// The call that carries out the plan.
        call_id: CallId,
        /// The task's place in the plan.
        task: usize,
        /// How it ended.
        end: TaskNote,
    },
    /// The agent wrote a note for all, or took one away.
    Noted {
        /// What it is about.
        key: String,
        /// What was written; `None` if it was taken away.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// The agent has nothing to do and waits to be told more.
    Rested,
    /// The agent is gone, and everything it started with it.
    Finished {
        /// What came of it.
        outcome: Arc<Outcome>,
        /// The facts of it.
        receipt: Arc<Receipt>,
    },
}

/// Who chose the model of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chosen {
    /// Nobody: it is the parent's.
    #[default]
    Inherited,
    /// The call that started it, or the person who started the root.
    Named,
    /// The named agent that it is.
    Defined,
    /// The configuration, for all whose calls do not say.
    Configured,
}

/// What a fragment of a message is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fragment {
    /// Prose.
    Text,
    /// Reasoning.
    Reasoning,
}

impl EventKind {
    /// Reports whether the journal keeps the event. State is a fold over the
    /// kept ones; the others only make waiting pleasant.
    pub fn is_kept(&self) -> bool {
        !matches!(self, Self::Saying { .. } | Self::Progressed { .. })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
