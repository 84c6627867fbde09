//! What a command line would run, told without running it.
//!
//! ```text
//!  text ──script, word──▶ simple commands ──reading──▶ what each may come to ──found──▶ touches
//! ```
//!
//! The text is read as bash reads it, and where that is not sure it is not read at all
//! ([`Odd`]): a command that is missed is worse than a question too many. So extended globs,
//! `coproc`, `$[1]` and whatever bash and this reader might see differently are odd.
//!
//! Rules judge words. They cannot know what a program does with its arguments
//! (`git -c alias.x='!rm y' x`) or what is in a file it runs; the sandbox contains that.

#[cfg(test)]
mod against_bash;
mod found;
mod grammar;
mod options;
mod quoting;
mod reading;
mod redirection;
mod script;
#[cfg(test)]
mod tests;
mod word;

use adjutant_core::Touch;

use found::Found;
pub(crate) use script::Dialect;
use script::{Place, Script};

/// The longest text that is read, in bytes.
const LONGEST: usize = 64 * 1024;

/// The text may mean something else to bash than it does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Odd;

type Read<T = ()> = Result<T, Odd>;

/// Returns what a command line would run and which files it would write to, one touch for each
/// way it can be told. There is at least one.
pub(crate) fn touches(command: &str, dialect: Dialect) -> Vec<Touch> {
    let (mut found, place) = (Found::default(), Place::top(dialect));
    let read = check(command).and_then(|()| Script::new(command, place, &mut found).read());
    found.touches(command, read)
}

/// Refuses what shells have read in different ways: a great length, characters that some take
/// for blanks or for marks of their own, and operators that are written on two lines.
fn check(command: &str) -> Read {
    let is_odd = |c: char| match c {
        '\t' | '\n' | ' ' => false,
        c => c.is_control() || c.is_whitespace(),
    };
    let mut continued = command.match_indices("\\\n");
    let is_split = continued.any(|(at, mark)| {
        let (before, after) = (&command[..at], &command[at + mark.len()..]);
        before.ends_with(['&', '|', ';', '<', '>'])
            && after.starts_with(['&', '|', ';', '<', '>', '(', '-', '\\'])
    });
    if command.len() > LONGEST || command.contains(is_odd) || is_split { Err(Odd) } else { Ok(()) }
}
