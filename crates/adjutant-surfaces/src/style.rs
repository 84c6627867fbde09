//! Colours, where they are wanted.

/// Whether lines are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// They are not.
    Plain,
    /// They are.
    Coloured,
}

/// What a piece of a line is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Normal,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Style {
    /// Writes a text with an ink.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        if self == Self::Plain || ink == Ink::Normal || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", ink.code())
    }
}

impl Ink {
    fn code(self) -> u8 {
        match self {
            Self::Normal => 0,
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Cyan => 36,
        }
    }
}
