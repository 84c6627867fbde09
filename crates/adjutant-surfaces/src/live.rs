//! The tree at work, drawn in place at the bottom of a terminal.
//!
//! What is over goes above the drawing, a line an agent, and stays. At the end the
//! drawing is gone and those lines are what remains.

use std::{
    collections::HashMap,
    io::{self, Write},
    mem,
};

use adjutant_core::{AgentPath, Answer, Event, EventKind, Fragment, Millis, Tree};
use adjutant_engine::Seen;

use crate::{
    Ended, Output, Size, Style, View,
    figures::elapsed,
    frame::{Frame, mark},
    transcript,
};

/// How much is kept of what the root is saying, of which the last line is shown.
const SAYING: usize = 4096;
/// Terminals that know these show everything between them at once; others pass over
/// them.
const TOGETHER: [&str; 2] = ["\u{1b}[?2026h", "\u{1b}[?2026l"];

/// Clears the rest of the row and goes to the next.
const LINE_END: &str = "\u{1b}[K\n";
/// Draws a tree on a terminal, and writes the answer at the end.
pub struct Live {
    terminal: Box<dyn Write + Send>,
    size: Box<dyn Fn() -> Size + Send>,
    style: Style,
    answer: Output,
    notes: HashMap<AgentPath, String>,
    saying: String,
    /// What goes above the drawing at the next one.
    over: Vec<String>,
    /// How many rows the drawing has.
    drawn: usize,
}

impl Live {
    /// Draws on `terminal`, usually the standard error, as large as `size` says at
    /// the time.
    pub fn new(
        terminal: Box<dyn Write + Send>,
        size: Box<dyn Fn() -> Size + Send>,
        style: Style,
        answer: Output,
    ) -> Self {
        let (notes, saying, over, drawn) = (HashMap::new(), String::new(), Vec::new(), 0);
        Self { terminal, size, style, answer, notes, saying, over, drawn }
    }

    fn follow(&mut self, tree: &Tree, event: &Event) {
        let is_root = event.path == AgentPath::root();
        match &event.kind {
            EventKind::Saying { of: Fragment::Text, text } if is_root => self.say(text),
            EventKind::Progressed { text, .. } => self.note(event, text.clone()),
            EventKind::Retrying { wait_ms, reason, .. } => {
                self.note(event, format!("tries again in {}: {reason}", elapsed(*wait_ms)));
                self.forget_saying(is_root);
            }
            EventKind::Said { .. } => {
                self.notes.remove(&event.path);
                self.forget_saying(is_root);
            }
            EventKind::Called { .. } => drop(self.notes.remove(&event.path)),
            EventKind::Answered { answer: Answer::Unattended, .. } => {
                self.over.extend(transcript::line(tree, event));
            }
            EventKind::Finished { outcome, .. } => {
                self.notes.remove(&event.path);
                let (mark, ink) = mark(outcome.ending.into(), event.at);
                let mark = self.style.paint(ink, mark);
                let line = transcript::line(tree, event);
                self.over.extend(line.map(|line| format!("{mark} {line}")));
            }
            EventKind::Started { .. }
            | EventKind::Saying { .. }
            | EventKind::Changed { .. }
            | EventKind::Asked { .. }
            | EventKind::Answered { .. }
            | EventKind::Withdrawn { .. }
            | EventKind::Spent { .. }
            | EventKind::Compacted { .. }
            | EventKind::Mailed { .. }
            | EventKind::Planned { .. }
            | EventKind::TaskEnded { .. }
            | EventKind::Noted { .. }
            | EventKind::Rested => {}
        }
    }

    fn note(&mut self, event: &Event, text: String) {
        self.notes.insert(event.path.clone(), text);
    }

    fn say(&mut self, text: &str) {
        self.saying += text;
        let excess = self.saying.len().saturating_sub(SAYING);
        self.saying.drain(..self.saying.ceil_char_boundary(excess));
    }

    fn forget_saying(&mut self, is_root: bool) {
        if is_root {
            self.saying.clear();
        }
    }

    /// Puts `lines` in the place of the last drawing, below what is over.
    fn redraw(&mut self, lines: &[String]) -> io::Result<()> {
        let [begin, end] = TOGETHER;
        let over = mem::take(&mut self.over);
        let mut picture = format!("{begin}{}", up(self.drawn));
        // What was there is written over, row by row: some terminals keep a copy of a screen
        // that is cleared as a whole.
        for line in over.iter().chain(lines) {
            picture += line;
            picture += LINE_END;
        }
        let rest = self.drawn.saturating_sub(over.len() + lines.len());
        picture += &LINE_END.repeat(rest);
        // Below is where a typed key, such as Ctrl-C, leaves its echo.
        picture += "\r\u{1b}[K";
        picture += &up(rest);
        self.drawn = lines.len();
        self.terminal.write_all((picture + end).as_bytes())?;
        self.terminal.flush()
    }
}

/// Goes up to the beginning of a row.
fn up(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("\r\u{1b}[{rows}A") }
}

impl View for Live {
    fn show(&mut self, tree: &Tree, seen: &Seen) -> io::Result<()> {
        match seen {
            Seen::Event(event) => self.follow(tree, event),
            // What is missing of the root's words would make nonsense of the rest.
            Seen::Lagged { .. } => self.saying.clear(),
        }
        Ok(())
    }

    fn tick(&mut self, tree: &Tree, now: Millis) -> io::Result<()> {
        let (notes, saying, style) = (&self.notes, self.saying.as_str(), self.style);
        let lines = Frame { tree, notes, saying, now, style }.render((self.size)());
        self.redraw(&lines)
    }

    fn pushed_down(&mut self) {
        self.drawn += usize::from(self.drawn > 0);
    }

    fn step_aside(&mut self) -> io::Result<()> {
        self.redraw(&[])
    }

    fn end(&mut self, ended: &Ended) -> io::Result<()> {
        self.redraw(&[])?;
        self.answer.write(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Reader,
        fixture::{Paper, Story, said},
    };

    fn live(terminal: &Paper, answer: &Paper) -> Live {
        let size = || Size { columns: 60, rows: 24 };
        let answer = Output::new(Box::new(answer.clone()), Reader::Program);
        Live::new(Box::new(terminal.clone()), Box::new(size), Style::Plain, answer)
    }

    fn show(view: &mut Live, story: &Story) {
        let tree = story.tree();
        story.seen().for_each(|seen| view.show(&tree, &seen).unwrap());
        view.tick(&tree, story.now()).unwrap();
    }

    /// Returns what remains of a text on a screen that knows what a drawing needs.
    fn screen(text: &str) -> String {
        let [begin, end] = TOGETHER;
        let mut lines: Vec<String> = Vec::new();
        let text = text.replace(begin, "").replace("\r\u{1b}[K", "");
        for picture in text.split_terminator(end) {
            for (place, row) in picture.split("\r\u{1b}[").enumerate() {
                let mut rest = row;
                if place > 0 {
                    let (rows, after) = row.split_once('A').unwrap();
                    lines.truncate(lines.len() - rows.parse::<usize>().unwrap());
                    rest = after;
                }
                lines.extend(rest.replace(LINE_END, "\n").lines().map(str::to_owned));
            }
        }
        lines.join("\n")
    }

    #[test]
    fn only_the_transcript_and_the_answer_remain() {
        let (terminal, answer) = (Paper::default(), Paper::default());
        let mut view = live(&terminal, &answer);
        let story = Story::default().start("root", "sum").start("root.a-1", "part");
        show(&mut view, &story);
        assert!(screen(&terminal.text()).contains("└─ "), "{}", screen(&terminal.text()));
        let story = story.complete("root.a-1", "4").complete("root", "four");
        let tree = story.tree();
        story.seen().skip(2).for_each(|seen| view.show(&tree, &seen).unwrap());
        view.tick(&tree, story.now()).unwrap();
        let node = tree.node(&AgentPath::root()).unwrap();
        let (outcome, receipt) = (node.outcome.clone().unwrap(), node.receipt.clone().unwrap());
        view.end(&Ended { outcome, receipt, tree, unanswered: Vec::new() }).unwrap();
        insta::assert_snapshot!(screen(&terminal.text()), @"
        ✓ root.a-1 completed · 2 calls · 1.2k tokens · 3.4s
        ✓ root completed · 2 calls · 1.2k tokens · 3.4s
        ");
        assert_eq!(answer.text(), "four\n");
    }

    #[test]
    fn a_line_that_was_typed_leaves_nothing_of_the_drawing() {
        let terminal = Paper::default();
        let mut view = live(&terminal, &Paper::default());
        let type_in = |view: &mut Live, line: &str| {
            write!(terminal.clone(), "{line}\n{}", TOGETHER[1]).unwrap();
            view.pushed_down();
        };
        type_in(&mut view, "before");
        show(&mut view, &Story::default().start("root", "sum").start("root.a-1", "part"));
        type_in(&mut view, "over it");
        type_in(&mut view, "again");
        view.step_aside().unwrap();
        assert_eq!(screen(&terminal.text()), "before");
    }

    #[test]
    fn what_the_root_says_is_shown_until_it_is_said_or_void() {
        let saying = |text: &str| EventKind::Saying { of: Fragment::Text, text: text.to_owned() };
        let retrying = EventKind::Retrying { attempt: 2, wait_ms: 100, reason: "busy".into() };
        for ending in [said("hello world"), retrying] {
            let terminal = Paper::default();
            let mut view = live(&terminal, &Paper::default());
            let story = Story::default()
                .start("root", "greet")
                .start("root.a-1", "x")
                .then("root", saying("hello "))
                .then("root.a-1", saying("not this"))
                .then("root", saying("world"));
            show(&mut view, &story);
            let drawn = screen(&terminal.text());
            assert!(drawn.ends_with("\nhello world"), "{drawn}");
            show(&mut view, &Story::default().start("root", "greet").then("root", ending));
            let drawn = screen(&terminal.text());
            assert!(!drawn.contains("hello"), "{drawn}");
        }
    }

    #[test]
    fn a_long_answer_is_not_kept_whole() {
        let mut view = live(&Paper::default(), &Paper::default());
        (0..10_000).for_each(|_| view.say("äö"));
        assert!(view.saying.len() <= SAYING, "{}", view.saying.len());
    }

    #[test]
    fn progress_and_retries_are_shown_with_their_agent() {
        let terminal = Paper::default();
        let mut view = live(&terminal, &Paper::default());
        let progress = EventKind::Progressed { call_id: "c".into(), text: "40 of 90".into() };
        let reason = "the server is busy".to_owned();
        let story = Story::default()
            .start("root", "build")
            .call("root", "run_command", "make")
            .then("root", progress)
            .start("root.a-1", "x")
            .then("root.a-1", EventKind::Retrying { attempt: 2, wait_ms: 1500, reason });
        show(&mut view, &story);
        let drawn = screen(&terminal.text());
        assert!(drawn.contains("root  40 of 90"), "{drawn}");
        assert!(drawn.contains("a-1  tries again in 1.5s: the server is"), "{drawn}");
    }

    #[test]
    fn an_unanswered_question_leaves_a_line() {
        let terminal = Paper::default();
        let mut view = live(&terminal, &Paper::default());
        let story = Story::default()
            .start("root", "x")
            .ask("root", 1, crate::fixture::currency())
            .answer("root", 1, Answer::Unattended);
        show(&mut view, &story);
        view.step_aside().unwrap();
        assert_eq!(screen(&terminal.text()), "root was not answered: nobody was there");
    }

    #[test]
    fn missed_fragments_do_not_make_nonsense() {
        let mut view = live(&Paper::default(), &Paper::default());
        view.say("the first half");
        view.show(&Tree::default(), &Seen::Lagged { dropped: 3 }).unwrap();
        assert_eq!(view.saying, "");
    }
}
