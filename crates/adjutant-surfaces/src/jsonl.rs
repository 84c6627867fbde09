//! Events as lines of JSON, for programs that watch.

use std::io::{self, BufWriter, Write};

use adjutant_core::{Millis, Tree};
use adjutant_engine::Seen;

use crate::{Ended, View};

/// Writes an event a line, fragments included.
///
/// Fragments that were missed are told as `{"event":"lagged","dropped":7}`. Kept
/// events reach the reader at once, fragments within a tenth of a second.
pub struct Jsonl(BufWriter<Box<dyn Write + Send>>);

impl Jsonl {
    /// Writes to `writer`.
    pub fn new(writer: Box<dyn Write + Send>) -> Self {
        Self(BufWriter::new(writer))
    }
}

impl View for Jsonl {
    fn show(&mut self, _: &Tree, seen: &Seen) -> io::Result<()> {
        match seen {
            Seen::Event(event) => serde_json::to_writer(&mut self.0, &**event)?,
            Seen::Lagged { dropped } => {
                write!(self.0, r#"{{"event":"lagged","dropped":{dropped}}}"#)?;
            }
        }
        self.0.write_all(b"\n")?;
        match seen {
            Seen::Event(event) if !event.kind.is_kept() => Ok(()),
            Seen::Event(_) | Seen::Lagged { .. } => self.0.flush(),
        }
    }

    fn tick(&mut self, _: &Tree, _: Millis) -> io::Result<()> {
        self.0.flush()
    }

    fn end(&mut self, _: &Ended) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::{Event, EventKind, Fragment};

    use super::*;
    use crate::fixture::{Paper, Story};

    fn story() -> Story {
        let text = "hel\nlo".to_owned();
        let saying = EventKind::Saying { of: Fragment::Text, text };
        Story::default().start("root", "greet").then("root", saying)
    }

    #[test]
    fn every_event_is_a_line_that_reads_back() {
        let paper = Paper::default();
        let mut view = Jsonl::new(Box::new(paper.clone()));
        let (story, tree) = (story(), Tree::default());
        story.seen().for_each(|seen| view.show(&tree, &seen).unwrap());
        view.show(&tree, &Seen::Lagged { dropped: 7 }).unwrap();
        let text = paper.text();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2], r#"{"event":"lagged","dropped":7}"#);
        for (line, event) in lines.iter().zip(&story.events) {
            assert_eq!(&serde_json::from_str::<Event>(line).unwrap(), event);
        }
    }

    #[test]
    fn a_fragment_is_not_held_back_for_long() {
        let paper = Paper::default();
        let mut view = Jsonl::new(Box::new(paper.clone()));
        let tree = Tree::default();
        story().seen().for_each(|seen| view.show(&tree, &seen).unwrap());
        assert_eq!(paper.text().lines().count(), 1);
        view.tick(&tree, 0).unwrap();
        assert_eq!(paper.text().lines().count(), 2);
    }
}
