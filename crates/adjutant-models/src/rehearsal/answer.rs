//! What the person wants the survey to dwell on.

/// What a survey can dwell on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    Structure,
    LooseEnds,
    Documentation,
}

impl Focus {
    pub(crate) const ALL: [Self; 3] = [Self::Structure, Self::LooseEnds, Self::Documentation];

    /// Returns the focus as a choice to offer.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::LooseEnds => "loose ends",
            Self::Documentation => "documentation",
        }
    }

    /// Finds the focus somebody means.
    pub(crate) fn meant_by(words: &str) -> Option<Self> {
        let words = words.to_lowercase();
        Self::ALL.into_iter().find(|focus| words.contains(focus.name()))
    }
}

/// What became of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Somebody answered.
    Said(String),
    /// Nobody did.
    Nobody,
}

impl Answer {
    /// Returns what to dwell on: structure, unless somebody said otherwise.
    pub(crate) fn focus(&self) -> Focus {
        let meant = match self {
            Self::Said(words) => Focus::meant_by(words),
            Self::Nobody => None,
        };
        meant.unwrap_or(Focus::Structure)
    }

    /// Tells what was answered and what it changes.
    pub(crate) fn explain(&self) -> String {
        let focus = self.focus().name();
        match self {
            Self::Nobody => format!("Nobody answered, so this dwells on {focus}."),
            Self::Said(words) if Focus::meant_by(words).is_some() => {
                format!("You said “{words}”, so this dwells on {focus}.")
            }
            Self::Said(words) => format!(
                "You said “{words}”, which a rehearsal does not understand, so this dwells on \
                 {focus}."
            ),
        }
    }
}
