//! Why an edit cannot be made.

use std::fmt;

use memchr::memchr_iter;

/// The most places that are named.
const MOST_PLACES: usize = 10;

/// Why an edit cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// There is nothing to look for.
    Empty,
    /// It would change nothing.
    Same,
    /// The text is not there; the lines that come nearest, ready to be shown.
    Absent(Option<String>),
    /// The text is there more than once.
    Many {
        /// How often.
        count: usize,
        /// The numbers of the first lines of some of these places.
        lines: Vec<usize>,
    },
    /// The lines are there, indented in a way that does not tell how to indent the new ones.
    Indentation {
        /// The number of the first of them.
        line: usize,
    },
}

impl Misfit {
    pub(super) fn many(text: &[u8], starts: &[usize]) -> Self {
        let (mut lines, mut line, mut done) = (Vec::new(), 1, 0);
        for start in starts.iter().take(MOST_PLACES) {
            line += memchr_iter(b'\n', &text[done..*start]).count();
            done = *start;
            lines.push(line);
        }
        Self::Many { count: starts.len(), lines }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("`old_text` is empty: to fill an empty file use write_file"),
            Self::Same => f.write_str("`old_text` and `new_text` come to the same: nothing to do"),
            Self::Absent(None) => {
                f.write_str("`old_text` is not there, nor anything like it: read the file again")
            }
            Self::Absent(Some(nearest)) => {
                write!(f, "`old_text` is not there. The nearest lines:\n{nearest}")
            }
            Self::Many { count, lines } => {
                let named: Vec<_> = lines.iter().map(usize::to_string).collect();
                let (named, more) =
                    (named.join(", "), if *count > lines.len() { ", …" } else { "" });
                write!(
                    f,
                    "`old_text` is there {count} times, at lines {named}{more}: add lines around \
                     it until it is there once, or set `replace_all`"
                )
            }
            Self::Indentation { line } => write!(
                f,
                "`old_text` is at line {line} with other blanks, which do not tell how to indent \
                 `new_text`: read the lines again and give them exactly"
            ),
        }
    }
}
