//! What an agent has whatever its task: it keeps it when it is given another.

use std::{path::Path, sync::Arc};

use adjutant_core::{Chosen, Grant, Model};

use crate::{answer::Answer, seat::Seat, toolset::ToolSet};

/// What an agent has whatever its task. Nothing of it leads back to the session, which ends when
/// nobody holds it any more.
pub(crate) struct Kit {
    pub(crate) model: Arc<dyn Model>,
    /// Who chose the model.
    pub(crate) chosen: Chosen,
    pub(crate) instructions: Arc<str>,
    pub(crate) answer: Option<Answer>,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) grant: Grant,
    pub(crate) workdir: Arc<Path>,
}

impl Kit {
    pub(crate) fn of(seat: &Seat) -> Self {
        Self {
            model: Arc::clone(&seat.model),
            chosen: seat.chosen,
            instructions: Arc::clone(&seat.instructions),
            answer: seat.answer.clone(),
            tools: Arc::clone(&seat.tools),
            grant: seat.grant.clone(),
            workdir: Arc::clone(&seat.workdir),
        }
    }
}
