//! What a session is told once and keeps.

use std::time::Duration;

use adjutant_core::AllowedModels;

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

/// How failed model calls are tried again.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// How often a call is tried in all.
    pub attempts: u32,
    /// The pause after the first failure; it doubles with each.
    pub base: Duration,
    /// The longest pause.
    pub cap: Duration,
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
            unattended: Unattended::GoOn,
            child_questions: ChildQuestions::Raise,
            question_grace: Duration::from_secs(5),
            cancel_grace: Duration::from_secs(1),
            containment: Duration::from_secs(10),
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        let (base, cap) = (Duration::from_millis(500), Duration::from_secs(30));
        Self { attempts: 5, base, cap }
    }
}
