//! One picture of a tree at work.

use std::collections::HashMap;

use adjutant_core::{AgentPath, Millis, Node, State, Tree};

use crate::{
    Size, Style,
    branches::Branches,
    columns::{columns, cut, tail},
    figures::{elapsed, tokens},
    keep::choose,
    naming::beside,
    sanitize::{clean, one_line},
    style::Ink,
};

/// A terminal narrower than this has no room for figures.
const NARROW: usize = 40;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long each of its pictures lasts.
const SPIN: Millis = 80;

/// Everything a picture is made of.
pub(crate) struct Frame<'a> {
    pub(crate) tree: &'a Tree,
    /// What agents do just now, where the tree does not know.
    pub(crate) notes: &'a HashMap<AgentPath, String>,
    /// What the root is saying.
    pub(crate) saying: &'a str,
    pub(crate) now: Millis,
    pub(crate) style: Style,
}

impl Frame<'_> {
    /// Draws the tree for a terminal: fewer rows than it has and none as wide as it
    /// is, so that nothing scrolls or wraps.
    pub(crate) fn render(&self, size: Size) -> Vec<String> {
        let width = size.columns.saturating_sub(1);
        let saying = last_line(self.saying, width);
        let room = size.rows.saturating_sub(1 + usize::from(saying.is_some()));
        let is_crowded = self.tree.nodes().len() > room;
        let shown = choose(self.tree, room.saturating_sub(usize::from(is_crowded)));

        let branches = Branches::of(self.tree, &shown);
        let rows = branches.rows();
        let draw = |(stem, node): &(String, &Node)| {
            self.row(stem, node, &tokens(branches.tokens(node)), width)
        };
        let mut lines: Vec<_> = rows.iter().map(draw).collect();
        if is_crowded && room > 0 {
            let hidden = self.tree.nodes().iter().filter(|it| !shown.contains(it.path.as_str()));
            let running = hidden.clone().filter(|node| !node.state.is_final()).count();
            let more = format!("… and {} more ({running} running)", hidden.count());
            lines.push(self.style.paint(Ink::Dim, &cut(&more, width)));
        }
        lines.extend(saying.map(|saying| self.style.paint(Ink::Dim, &saying)));
        lines
    }

    fn row(&self, stem: &str, node: &Node, tokens: &str, width: usize) -> String {
        let time = elapsed(node.ended.unwrap_or(self.now).saturating_sub(node.started));
        let figures = match width {
            0..NARROW => String::new(),
            _ => format!(" {tokens:>6} {time:>6}"),
        };
        let (mark, ink) = mark(node.state, self.now);
        let mut line = Line::new(self.style, width.saturating_sub(columns(&figures)));
        line.push(Ink::Dim, stem);
        line.push(ink, mark);
        line.push(Ink::Bold, &format!(" {}{}", node.path.name(), beside(node)));
        line.push(Ink::Normal, &format!("  {}", self.doing(node)));
        line.end(&figures)
    }

    /// Tells what an agent does: what is noted of it, or the call it runs, or its
    /// task. Of one that did not complete it tells why.
    fn doing(&self, node: &Node) -> String {
        let reason = node.outcome.as_ref().and_then(|outcome| outcome.reason.clone());
        let note = reason.or_else(|| self.notes.get(&node.path).cloned());
        let call = || match node.running.as_slice() {
            [] => None,
            [(_, tool, summary)] => Some(format!("{tool} {summary}")),
            [(_, tool, summary), more @ ..] => Some(format!("{tool} {summary} (+{})", more.len())),
        };
        one_line(&note.or_else(call).unwrap_or_else(|| node.task.clone()))
    }
}

/// Returns the mark of a state and its colour.
pub(crate) fn mark(state: State, now: Millis) -> (&'static str, Ink) {
    match state {
        State::Queued => ("·", Ink::Dim),
        State::Running => {
            let turn = usize::try_from(now / SPIN).unwrap_or_default();
            (SPINNER[turn % SPINNER.len()], Ink::Cyan)
        }
        State::Waiting => ("?", Ink::Yellow),
        State::Resting => ("⏸", Ink::Dim),
        State::Completed => ("✓", Ink::Green),
        State::Cancelled => ("■", Ink::Yellow),
        State::Failed | State::Interrupted => ("✗", Ink::Red),
    }
}

/// Returns the end of the last line of a text that has one.
fn last_line(text: &str, width: usize) -> Option<String> {
    let text = clean(text);
    let line = text.lines().rev().map(one_line).find(|line| !line.is_empty())?;
    Some(tail(&line, width))
}

/// A row being written, from the left, into the room there is.
struct Line {
    style: Style,
    text: String,
    room: usize,
}

impl Line {
    fn new(style: Style, room: usize) -> Self {
        Self { style, text: String::new(), room }
    }

    fn push(&mut self, ink: Ink, text: &str) {
        let text = cut(text, self.room);
        self.room -= columns(&text);
        self.text += &self.style.paint(ink, &text);
    }

    /// Puts the figures at the right edge.
    fn end(self, figures: &str) -> String {
        let gap = if figures.is_empty() { 0 } else { self.room };
        format!("{}{:gap$}{}", self.text, "", self.style.paint(Ink::Dim, figures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Story, currency};

    const SIZE: Size = Size { columns: 60, rows: 24 };

    fn render(story: &Story, size: Size) -> Vec<String> {
        render_with(story, size, "")
    }

    fn render_with(story: &Story, size: Size, saying: &str) -> Vec<String> {
        let (tree, notes) = (&story.tree(), &HashMap::new());
        Frame { tree, notes, saying, now: story.now(), style: Style::Plain }.render(size)
    }

    fn family() -> Story {
        Story::default()
            .start("root", "audit the repository")
            .call("root", "sub_agent", "read the docs")
            .start("root.scout-1", "read the docs")
            .start("root.scout-2", "read the code")
            .start("root.scout-2.reader-1", "read one file")
            .call("root.scout-2.reader-1", "read_file", "src/main.rs")
            .spend("root.scout-2.reader-1", 1000, 200)
            .spend("root.scout-2", 300, 0)
            .complete("root.scout-1", "done")
            .start("root.clerk-1", "ask about money")
            .ask("root.clerk-1", 1, currency())
            .start("root.lost-1", "find the way")
            .fail("root.lost-1", "there is none")
            .start("root.host-1", "be there")
            .then("root.host-1", adjutant_core::EventKind::Rested)
    }

    #[test]
    fn a_tree_at_work() {
        insta::assert_snapshot!(render(&family(), SIZE).join("\n"), @"
        ⠧ root  sub_agent read the docs                 1.5k  14.0s
        ├─ ✓ scout-1  read the docs                        0   6.0s
        ├─ ⠧ scout-2  read the code                     1.5k  11.0s
        │  └─ ⠧ reader-1  read_file src/main.rs         1.2k  10.0s
        ├─ ? clerk-1  ask about money                      0   5.0s
        ├─ ✗ lost-1  there is none                         0   1.0s
        └─ ⏸ host-1  be there                              0   1.0s
        ");
    }

    #[test]
    fn a_root_that_is_a_named_agent_is_drawn_with_its_name() {
        let story = Story::default().start_named("root", "reviewer").start_named("root.b-1", "b");
        insta::assert_snapshot!(render(&story, Size { columns: 30, rows: 6 }).join("\n"), @"
        ⠴ root (reviewer)  x
        └─ ⠴ b-1  x
        ");
    }

    #[test]
    fn no_row_is_wider_than_its_terminal() {
        let task = "漢字 🦀 and a very long task that goes on and on and on and on and on";
        let story = family().start("root.scout-2.reader-1.deep-1", task);
        for columns in 0..100 {
            for line in render_with(&story, Size { columns, rows: 24 }, task) {
                let width = crate::columns::columns(&line);
                assert!(width < columns.max(1), "{width} of {columns}: {line}");
            }
        }
    }

    #[test]
    fn what_an_agent_says_cannot_draw() {
        let story = Story::default()
            .start("root", "first\u{1b}[2J line\r\nsecond")
            .start("root.a-1", "x")
            .call("root.a-1", "read\u{9b}_file", "\u{1b}]0;owned\u{7}a.txt");
        let picture = render_with(&story, SIZE, "one\ntwo\u{1b}[31m\n\n").join("\n");
        assert!(picture.chars().all(|c| c == '\n' || !c.is_control()), "{picture:?}");
        assert!(picture.contains("root  first line second"), "{picture}");
        assert!(picture.contains("read_file a.txt"), "{picture}");
        assert!(picture.ends_with("\ntwo"), "{picture}");
    }

    #[test]
    fn a_thousand_agents_fit_into_a_terminal() {
        let mut story = Story::default().start("root", "everything");
        for number in 1..=900 {
            let path = format!("root.done-{number}");
            story = story.start(&path, "a task").complete(&path, "done");
        }
        for number in 1..=99 {
            story = story.start(&format!("root.busy-{number}"), "a task");
        }
        story = story.start("root.done-1.clerk-1", "ask").ask("root.done-1.clerk-1", 1, currency());
        let lines = render(&story, SIZE);
        assert_eq!(lines.len(), 23);
        assert_eq!(lines[22], "… and 979 more (80 running)");
        let shown = |name| lines.iter().filter(|line| line.contains(name)).count();
        assert_eq!(
            (shown("root"), shown("clerk-1"), shown("done-1 "), shown("busy-")),
            (1, 1, 1, 19)
        );
    }

    #[test]
    fn finished_agents_fold_before_those_at_work_and_the_oldest_first() {
        let story = Story::default()
            .start("root", "all")
            .start("root.old-1", "x")
            .start("root.new-1", "x")
            .start("root.older-1", "x")
            .start("root.busy-1", "x")
            .start("root.busy-2", "x")
            .complete("root.older-1", "")
            .complete("root.old-1", "")
            .complete("root.new-1", "");
        let lines = render(&story, Size { columns: 30, rows: 6 });
        insta::assert_snapshot!(lines.join("\n"), @"
        ⠹ root  all
        ├─ ✓ new-1  x
        ├─ ⠹ busy-1  x
        └─ ⠹ busy-2  x
        … and 2 more (0 running)
        ");
    }

    #[test]
    fn a_picture_is_never_as_high_as_its_terminal() {
        let deep = "root.scout-2.reader-1.clerk-1";
        let story = family().start(deep, "ask").ask(deep, 2, currency());
        for rows in 2..12 {
            for saying in ["", "hello"] {
                let lines = render_with(&story, Size { columns: 60, rows }, saying);
                assert!((1..rows).contains(&lines.len()), "{} of {rows}", lines.len());
            }
        }
        assert!(render(&story, Size { columns: 60, rows: 1 }).is_empty());
    }

    #[test]
    fn colours_change_nothing_but_the_colour() {
        let (tree, notes) = (&family().tree(), &HashMap::new());
        let draw = |style| Frame { tree, notes, saying: "hello", now: 0, style }.render(SIZE);
        let coloured = draw(Style::Coloured);
        assert!(coloured[1].contains("\u{1b}[32m✓\u{1b}[0m"), "{:?}", coloured[1]);
        let cleaned: Vec<_> = coloured.iter().map(|line| clean(line)).collect();
        assert_eq!(cleaned, draw(Style::Plain));
    }
}
