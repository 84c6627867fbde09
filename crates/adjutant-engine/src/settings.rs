//! What a session is told once and keeps.

use std::{num::NonZeroU64, time::Duration};

use adjutant_core::{AllowedModels, Retry};

/// The limits and habits of a session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many agents besides the root may be at work at one time.
    pub max_concurrent_agents: usize,
    /// How many children an agent may have at work at one time.
    pub max_children_per_agent: usize,
    /// How many tool calls run at one time in the whole tree; others queue.
    pub max_concurrent_ops: usize,
    /// How many model calls run at one time to one provider; others queue.
    pub max_model_calls: usize,
    /// How long a model may say nothing before its call is given up.
    pub inactivity: Duration,
    /// How failed model calls are tried again.
    pub retry: Retry,
    /// How often an agent may mend an answer that does not fit its schema.
    pub schema_repairs: u32,
    /// The models a call may name for a child.
    pub allowed_models: AllowedModels,
    /// The provider of a child whose call names neither provider nor model; without it, its
    /// parent's.
    pub child_provider: Option<String>,
    /// The model of such a child.
    pub child_model: Option<String>,
    /// What a child is told whose call does not say.
    pub child_instructions: ChildInstructions,
    /// What becomes of children in the background when their parent has nothing more to do.
    pub children_at_end: ChildrenAtEnd,
    /// The most tokens one child may be given.
    pub max_budget_per_agent: Option<NonZeroU64>,
    /// When the root is asked whether it is to go on.
    pub breaker: Breaker,
    /// What becomes of an agent that asks when nobody is there.
    pub unattended: Unattended,
    /// What becomes of what an agent below the root would ask.
    pub child_questions: ChildQuestions,
    /// How long open questions wait for another front end when the last one went.
    pub question_grace: Duration,
    /// How long a tool call may take to end once it was told to.
    pub cancel_grace: Duration,
    /// How long to wait for what an agent started to be gone, before it is reported
    /// as not contained.
    pub containment: Duration,
}

/// What becomes of an agent that asks when nobody is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unattended {
    /// It is told so, and decides for itself.
    GoOn,
    /// It fails.
    Fail,
}

/// What becomes of what an agent below the root would ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildQuestions {
    /// A person is asked, as for the root.
    Raise,
    /// The answer is no, at once.
    Deny,
}

/// What a child is told whose call does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildInstructions {
    /// What its parent is told.
    Inherit,
    /// Nothing.
    None,
}

/// What becomes of children in the background when their parent has nothing more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildrenAtEnd {
    /// It waits for them, and hears what they found.
    Await,
    /// They are cancelled.
    Cancel,
}

/// After how many tool calls of the root something is done about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    /// It is told how many it has made.
    pub warn_at: Option<NonZeroU64>,
    /// A person is asked whether it is to go on; again after as many more.
    pub pause_at: Option<NonZeroU64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_concurrent_agents: 8,
            max_children_per_agent: 5,
            max_concurrent_ops: 32,
            max_model_calls: 32,
            inactivity: Duration::from_secs(300),
            retry: Retry::default(),
            schema_repairs: 2,
            allowed_models: AllowedModels::default(),
            child_provider: None,
            child_model: None,
            child_instructions: ChildInstructions::Inherit,
            children_at_end: ChildrenAtEnd::Await,
            max_budget_per_agent: None,
            breaker: Breaker::default(),
            unattended: Unattended::GoOn,
            child_questions: ChildQuestions::Raise,
            question_grace: Duration::from_secs(5),
            cancel_grace: Duration::from_secs(1),
            containment: Duration::from_secs(10),
        }
    }
}
