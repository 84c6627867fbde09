//! Files that are handed to a child with its task.

use std::{io::Read, path::Path};

use adjutant_core::{Effect, Fact, Host, ToolError, Touch};

use crate::{blocking, brief, handle, place::Place};

/// How many files may be handed over.
const MOST: usize = 20;
/// The most bytes of one.
const LONGEST: u64 = 64 * 1024;
/// The most bytes of all.
const MOST_BYTES: usize = 256 * 1024;

/// Returns what it touches to hand files over.
pub(super) fn touches(files: &[String], workdir: &Path) -> Vec<Touch> {
    files.iter().flat_map(|file| Place::find(file, workdir).touch(Effect::Read)).collect()
}

/// Returns the contents of files, to be put after a task.
pub(super) async fn quote(files: &[String], host: &dyn Host) -> Result<String, ToolError> {
    if files.len() > MOST {
        let count = files.len();
        return Err(ToolError(format!("`files` has {count} entries, and the most is {MOST}")));
    }
    let mut text = String::new();
    for file in files {
        let place = Place::judged(file, host, Place::find)?;
        let content = blocking::run({
            let place = place.clone();
            move || read(&place)
        });
        let content = content.await?;
        host.note(Fact::Read { path: place.real.display().to_string() });
        text.push_str(&format!("\n\n<file path=\"{file}\">\n{content}\n</file>"));
        if text.len() > MOST_BYTES {
            return Err(ToolError(format!(
                "`files` come to more than {MOST_BYTES} bytes with `{file}`: hand over fewer, and \
                 let it read the others itself"
            )));
        }
    }
    Ok(text)
}

fn read(place: &Place) -> Result<String, ToolError> {
    let (file, metadata) = handle::open(&place.real).map_err(|error| place.error(&error))?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| place.error(&error))?;
    if bytes.contains(&0) {
        return Err(place.refusal("is no text, and cannot be handed over"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let left_out = metadata.len().saturating_sub(bytes.len() as u64);
    let (shown, _) = brief::beginning(&text, LONGEST as usize);
    Ok(match left_out {
        0 => shown.to_owned(),
        left_out => format!("{shown}\n[cut: {left_out} more bytes are in the file]"),
    })
}
