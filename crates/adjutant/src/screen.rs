//! What a person sees of a run.

use std::io::{self, IsTerminal, Write};

use adjutant_engine::Session;
use adjutant_models::Pace;
use adjutant_surfaces::{
    Both, Json, Jsonl, Live, Output as Answer, Plain, Quiet, Reader, Size, Style, View,
    sanitize::visible,
};

use crate::prepared::{Output, Progress};

/// A rehearsal takes its time only where somebody watches.
pub(crate) fn pace(output: Output, progress: Progress) -> Pace {
    let is_watched = output == Output::Answer && progress == Progress::Shown;
    if is_watched && io::stderr().is_terminal() { Pace::Unhurried } else { Pace::Prompt }
}

/// What the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Any words.
    Free,
    /// What fits a schema, and nothing else.
    Schema,
}

/// Chooses what is shown, and where.
pub(crate) fn view(
    session: &Session,
    output: Output,
    progress: Progress,
    form: Form,
) -> Box<dyn View> {
    let stdout = io::stdout();
    let reader = if stdout.is_terminal() { Reader::Person } else { Reader::Program };
    let answer = Answer::new(Box::new(stdout), reader);
    let answer = match form {
        Form::Free => answer,
        Form::Schema => Answer { otherwise: Some(Box::new(Aside)), ..answer },
    };
    let is_drawn = progress == Progress::Shown && io::stderr().is_terminal() && !is_dumb();
    let data: Box<dyn View> = match output {
        Output::Events => Box::new(Jsonl::new(answer.writer)),
        Output::Json => Box::new(Json::new(session.id(), answer.writer)),
        Output::Answer if is_drawn => return Box::new(live(answer)),
        Output::Answer if progress == Progress::Shown => {
            return Box::new(Plain::new(Box::new(Aside), answer));
        }
        Output::Answer => return Box::new(Quiet::new(answer)),
    };
    // Data for a program; the person at the terminal sees the tree, if the two are apart.
    match reader {
        Reader::Program if is_drawn => {
            let nowhere = Answer::new(Box::new(io::sink()), reader);
            Box::new(Both(data, Box::new(live(nowhere))))
        }
        Reader::Program | Reader::Person => data,
    }
}

fn live(answer: Answer) -> Live {
    let size = Box::new(|| Size::of(io::stderr()));
    Live::new(Box::new(Aside), size, style(), answer)
}

/// The standard error, for what is said besides the answer: if nobody hears it, the run
/// goes on all the same.
pub(crate) struct Aside;

impl Write for Aside {
    fn write(&mut self, words: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(words);
        Ok(words.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Says something in a line besides the answer, with nothing in it that a terminal would obey.
pub(crate) fn say(line: &str) {
    let _ = writeln!(Aside, "{}", visible(line));
}

/// A terminal that cannot draw.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Colours are for terminals, and for people who have not declined them.
fn style() -> Style {
    let is_declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_declined { Style::Plain } else { Style::Coloured }
}
