//! What is refused in a reply: what contradicts itself and what could never be given.

use crate::{
    reply::Reply,
    speech::{Grain, fragments},
};

/// Finds the first thing that is wrong with a reply.
pub(crate) fn check(reply: &Reply) -> Result<(), String> {
    reply.agent.check()?;
    match conditions(reply).or_else(|| ends(reply)) {
        Some(problem) => Err(problem.to_owned()),
        None => words(reply),
    }
}

fn conditions(reply: &Reply) -> Option<&'static str> {
    if reply.turn == Some(0) {
        Some("there is no turn 0: the first is 1")
    } else if reply.task.as_deref() == Some("") {
        Some("`task` is empty: leave it out, and any task will do")
    } else if !reply.is_left_after(0) {
        Some("`times = 0` is never given: expected a number from 1 up, or \"any\"")
    } else {
        None
    }
}

fn ends(reply: &Reply) -> Option<&'static str> {
    let ends = [reply.hang, reply.error.is_some(), reply.break_after.is_some()];
    let ends = ends.into_iter().filter(|is_so| *is_so).count();
    let is_complete_only = !reply.calls.is_empty() || reply.stop.is_some();
    match ends {
        0 if reply.text.is_none() && reply.calls.is_empty() => Some(
            "it says nothing: expected `text`, `calls`, `error` or `hang = true` \
             (`text = \"\"` is an empty answer)",
        ),
        0 => None,
        1 if is_complete_only => Some(
            "`calls` and `stop` are never reached after `hang`, `error` or `break_after`: \
             leave out one or the other",
        ),
        1 => None,
        _ => Some("`hang`, `error` and `break_after` exclude one another: keep one of them"),
    }
}

fn words(reply: &Reply) -> Result<(), String> {
    let words = fragments(&reply.words(), Grain::Words).len();
    let is_about_words = reply.chunk_ms > 0 || reply.break_after.is_some();
    match reply.break_after {
        _ if is_about_words && words == 0 => {
            Err("`chunk_ms` and `break_after` need words: expected `text`".to_owned())
        }
        Some(after) if !(1..=words).contains(&after) => Err(format!(
            "`break_after = {after}` cuts nothing off: expected a number from 1 to {words}, \
             which is how many words there are"
        )),
        _ => Ok(()),
    }
}
