//! `adjutant memory`: shows what agents remember, and cleans up.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
};

use adjutant_surfaces::sanitize::{one_line, visible};
use serde_json::json;

use super::{
    book::{Act, Book, Pages},
    shelf::{Shelf, Tape},
};
use crate::{
    CliError, ExitCode, Surroundings,
    agents::Library,
    arguments::{GcArguments, MemoryCommand},
    error::Kind,
    nearest::nearest,
    place::working_directory,
};

/// How many records are kept of an agent whose file does not say.
const USUAL: usize = 100;

/// What an agent remembers, as far as it is known here.
struct Memory {
    agent: String,
    book: Book,
    /// How many records its file allows, if there is a file.
    most: Option<usize>,
}

impl Memory {
    /// Returns its file as it can be shown: its name may be a stranger's.
    fn file(&self) -> String {
        one_line(&self.book.path.display().to_string())
    }
}

/// Shows what agents remember, or cleans up.
pub fn memory(
    command: &MemoryCommand,
    around: &Surroundings,
    to: &mut dyn Write,
) -> Result<ExitCode, CliError> {
    let (MemoryCommand::Show { cwd, .. } | MemoryCommand::Gc(GcArguments { cwd, .. })) = command;
    let memories = find(around, &working_directory(around, cwd.as_deref())?)?;
    match command {
        MemoryCommand::Show { agent: None, json, .. } => return list(&memories, *json, to),
        MemoryCommand::Show { agent: Some(agent), json, .. } => {
            show(select(&memories, agent)?, *json, to)?;
        }
        MemoryCommand::Gc(arguments) => {
            let chosen: Vec<_> = match &arguments.agent {
                Some(agent) => vec![select(&memories, agent)?],
                None => memories.iter().collect(),
            };
            if chosen.is_empty() {
                writeln!(to, "no agent remembers anything")?;
            }
            chosen.into_iter().try_for_each(|memory| clean(memory, arguments, to))?;
        }
    }
    Ok(ExitCode::Completed)
}

/// Finds what the agents remember that are known here, and what others left.
fn find(around: &Surroundings, directory: &Path) -> Result<Vec<Memory>, CliError> {
    let shelf = Shelf::new(around.data(), directory, Tape::Off);
    let library = Library::read(around, directory, &[]);
    let mut memories: BTreeMap<PathBuf, Memory> = BTreeMap::new();
    for found in shelf.all()? {
        let memory = Memory { agent: found.agent, book: found.book, most: None };
        memories.insert(memory.book.path.clone(), memory);
    }
    for definition in library.iter() {
        let Ok(Some(book)) = shelf.book(definition) else { continue };
        let most = definition.memory.as_ref().and_then(|it| usize::try_from(it.most.get()).ok());
        if book.path.exists() {
            let memory = Memory { agent: definition.name.clone(), book, most };
            memories.insert(memory.book.path.clone(), memory);
        }
    }
    let mut memories: Vec<_> = memories.into_values().collect();
    memories.sort_by(|one, other| one.agent.cmp(&other.agent));
    Ok(memories)
}

/// Chooses what an agent remembers: that of the one that is known here, or else the only one of
/// its name.
fn select<'a>(memories: &'a [Memory], agent: &str) -> Result<&'a Memory, CliError> {
    let named: Vec<_> = memories.iter().filter(|memory| memory.agent == agent).collect();
    let known = named.iter().find(|memory| memory.most.is_some());
    match (known, named.as_slice()) {
        (Some(memory), _) | (None, [memory]) => Ok(memory),
        (None, []) => {
            let error = CliError::new(Kind::Usage, format!("`{agent}` remembers nothing"));
            let meant = nearest(agent, memories.iter().map(|memory| &*memory.agent));
            let error = meant
                .into_iter()
                .fold(error, |error, meant| error.hint(format!("did you mean `{meant}`?")));
            Err(error.hint("`adjutant memory show` lists who does"))
        }
        (None, several) => {
            let message = format!("several projects have a `{agent}` that remembers something");
            let error = CliError::new(Kind::Usage, message).hint("`--cwd DIR` names the project");
            let files = several.iter().map(|memory| memory.book.path.display().to_string());
            Err(files.fold(error, CliError::hint))
        }
    }
}

/// Lists all of them. One that cannot be read is said to be so, and the code tells of it.
fn list(memories: &[Memory], is_json: bool, to: &mut dyn Write) -> Result<ExitCode, CliError> {
    let read: Vec<_> = memories.iter().map(|memory| (memory, memory.book.read())).collect();
    if is_json {
        writeln!(to, "{}", read.iter().map(row).collect::<serde_json::Value>())?;
    } else if read.is_empty() {
        writeln!(to, "no agent remembers anything")?;
    } else {
        let name = |memory: &Memory| one_line(&memory.agent);
        let width = memories.iter().map(|it| name(it).chars().count()).max().unwrap_or(0);
        for (memory, pages) in &read {
            let (name, file) = (name(memory), memory.file());
            match pages {
                Ok(pages) => {
                    let newest = one_line(newest(pages).unwrap_or("-"));
                    writeln!(to, "{name:width$}  {:>5}  {newest:20}  {file}", pages.count())?;
                }
                Err(error) => writeln!(to, "{name:width$}  cannot be read: {error}  {file}")?,
            }
        }
    }
    let is_whole = read.iter().all(|(_, pages)| pages.is_ok());
    Ok(if is_whole { ExitCode::Completed } else { ExitCode::Failed })
}

fn row((memory, pages): &(&Memory, io::Result<Pages>)) -> serde_json::Value {
    let (agent, file) = (&memory.agent, &memory.book.path);
    match pages {
        Ok(pages) => {
            let (records, newest) = (pages.count(), newest(pages));
            json!({ "agent": agent, "records": records, "newest": newest, "file": file })
        }
        Err(error) => json!({ "agent": agent, "file": file, "error": error.to_string() }),
    }
}

fn newest(pages: &Pages) -> Option<&str> {
    pages.records().next_back().map(|record| record.time.as_str())
}

fn show(memory: &Memory, is_json: bool, to: &mut dyn Write) -> Result<(), CliError> {
    let pages = read(&memory.book)?;
    if is_json {
        let records: Vec<_> = pages.records().collect();
        serde_json::to_writer(&mut *to, &records).map_err(io::Error::from)?;
        return Ok(writeln!(to)?);
    }
    for record in pages.records() {
        writeln!(to, "{}  {}", one_line(&record.time), one_line(&record.task))?;
        for line in visible(&record.result).lines() {
            writeln!(to, "    {line}")?;
        }
    }
    for line in pages.unreadable() {
        writeln!(to, "{}:{line}: is no record", memory.file())?;
    }
    Ok(())
}

fn clean(memory: &Memory, arguments: &GcArguments, to: &mut dyn Write) -> Result<(), CliError> {
    let Memory { agent, book, most } = memory;
    let newest = arguments.keep.unwrap_or(most.unwrap_or(USUAL));
    let act = if arguments.dry_run { Act::Tried } else { Act::Done };
    let (gone, left) = book.keep(newest, act).map_err(|error| broken(book, &error))?;
    let done = match act {
        Act::Done => "removed",
        Act::Tried => "would remove",
    };
    let file = memory.file();
    writeln!(to, "{}: {done} {gone} of {} records ({file})", one_line(agent), gone + left)?;
    for line in read(book)?.unreadable() {
        writeln!(to, "{file}:{line}: is no record, and stays")?;
    }
    Ok(())
}

fn read(book: &Book) -> Result<Pages, CliError> {
    book.read().map_err(|error| broken(book, &error))
}

fn broken(book: &Book, error: &io::Error) -> CliError {
    CliError::new(Kind::Internal, format!("{}: {error}", book.path.display()))
}
