//! A small memory that all agents of a tree share.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use adjutant_core::{EventKind, Note, Notes, ToolError};
use futures_util::future::BoxFuture;

use crate::host::CallHost;

/// How many notes there may be.
const MOST: usize = 128;
/// How many bytes a key may have.
const LONGEST_KEY: usize = 100;
/// How many bytes a note may have.
const LONGEST: usize = 8 * 1024;

/// The notes of a tree.
#[derive(Default)]
pub(crate) struct Board(Mutex<BTreeMap<String, Note>>);

impl Board {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes for CallHost {
    fn all(&self) -> Vec<Note> {
        self.seat.shared.board.lock().values().cloned().collect()
    }

    fn write(
        &self,
        key: String,
        value: Option<String>,
    ) -> BoxFuture<'_, Result<Option<Note>, ToolError>> {
        Box::pin(async move {
            let (before, kept) = {
                let mut notes = self.seat.shared.board.lock();
                check(&notes, &key, value.as_deref())?;
                let noted = EventKind::Noted { key: key.clone(), value: value.clone() };
                // Handed over while nobody else can write, so that the journal has them in the
                // order in which they hold.
                let kept = self.seat.shared.write(&self.seat.entry.identity, vec![noted]);
                let before = match value {
                    Some(value) => {
                        let by = self.seat.path().clone();
                        notes.insert(key.clone(), Note { key, value, by })
                    }
                    None => notes.remove(&key),
                };
                (before, kept)
            };
            kept.await.map_err(|error| ToolError(format!("the note was not kept: {error}")))?;
            Ok(before)
        })
    }
}

fn check(notes: &BTreeMap<String, Note>, key: &str, value: Option<&str>) -> Result<(), ToolError> {
    let wrong = |what: String| Err(ToolError(what));
    if key.trim().is_empty() || key.len() > LONGEST_KEY || key.contains(char::is_control) {
        return wrong(format!("a key has 1 to {LONGEST_KEY} bytes, and no line breaks"));
    }
    let is_there = notes.contains_key(key);
    match value {
        None if !is_there => wrong(format!("there is no note `{key}`")),
        Some(value) if value.len() > LONGEST => {
            let bytes = value.len();
            wrong(format!("a note has at most {LONGEST} bytes, and this has {bytes}: shorten it"))
        }
        Some(_) if !is_there && notes.len() >= MOST => {
            wrong(format!("there are {MOST} notes, the most there may be: take one away first"))
        }
        _ => Ok(()),
    }
}
