//! How other agents are started, and how is told what came of them.

use std::num::NonZeroU64;

use adjutant_core::{Allowance, AllowedModels, Mode, OnError, Peers, ReadOn};

/// What a child is given when the call does not say, and what the call may say.
#[derive(Clone, Debug)]
pub struct DelegationSettings {
    /// Which of these tools there are, by their names.
    pub tools: Vec<String>,
    /// In which form results are told.
    pub style: Style,
    /// What the tools take.
    pub parameters: Parameters,
    /// What a child may spend whose parent waits for it.
    pub blocking: Allowance,
    /// What a child in the background may spend.
    pub background: Allowance,
    /// The most tool calls a parent may give.
    pub most_calls: Option<NonZeroU64>,
    /// The models a call may name. The runtime holds calls to it; here it is told.
    pub models: AllowedModels,
    /// The provider of a child whose call names none, if it is not its parent's. The runtime
    /// chooses it; here it is told.
    pub provider: Option<String>,
    /// Whom children in the background may write to.
    pub peers: Peers,
    /// Whether earlier results are used again.
    pub earlier: Earlier,
    /// How plans are carried out.
    pub plans: PlanSettings,
    /// How freely a child acts whose call does not say; without it, as its parent.
    pub child_mode: Option<Mode>,
}

/// In which form results are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The answer and a line of facts.
    Adjutant,
    /// What the child did, its answer, and a line of facts.
    Opal,
    /// A line with the status and totals, the answer, and the files.
    Opta,
    /// The answer alone.
    Axe,
}

/// What the tools take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// What the documents say that describe them.
    Documented,
    /// More than that.
    All,
}

/// Whether earlier results are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// Where nothing has changed since, unless the call says otherwise.
    Used,
    /// Never.
    Ignored,
}

/// How plans are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanSettings {
    /// How many subtasks are worked on at one time.
    pub at_once: usize,
    /// How many there may be.
    pub most: usize,
    /// What becomes of the others when one goes wrong.
    pub on_error: OnError,
}

impl Style {
    /// All there are, with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("adjutant", Self::Adjutant),
        ("opal", Self::Opal),
        ("opta", Self::Opta),
        ("axe", Self::Axe),
    ];
}

impl DelegationSettings {
    /// Returns how words of a child are to be had that were left out.
    pub(super) fn read_on(&self) -> ReadOn {
        let has_status = self.tools.iter().any(|tool| tool == "agent_status");
        match self.parameters {
            Parameters::All if has_status => ReadOn::Status,
            Parameters::All | Parameters::Documented => ReadOn::Transcript,
        }
    }
}

impl Default for DelegationSettings {
    fn default() -> Self {
        Self {
            tools: super::NAMES.map(str::to_owned).to_vec(),
            style: Style::Adjutant,
            parameters: Parameters::All,
            blocking: Allowance { millis: NonZeroU64::new(120_000), ..Allowance::default() },
            background: Allowance { tokens: NonZeroU64::new(50_000), ..Allowance::default() },
            most_calls: None,
            models: AllowedModels::default(),
            provider: None,
            peers: Peers::Nobody,
            earlier: Earlier::Used,
            plans: PlanSettings { at_once: 3, most: 5, on_error: OnError::Stop },
            child_mode: None,
        }
    }
}
