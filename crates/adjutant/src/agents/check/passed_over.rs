//! Files beside those of agents that are not read, and look as if they were meant to be.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Surroundings,
    agents::{
        places::{Kind, Place},
        problem::{Problem, Severity},
        text,
    },
};

/// How agents' files end, here or elsewhere.
const ENDINGS: [&str; 4] = ["toml", "md", "yaml", "yml"];

/// The most that are told of in one place.
const MOST: usize = 100;

/// Tells of the files that are not read in the places for who works in a directory.
pub(crate) fn passed_over(around: &Surroundings, directory: &Path) -> Vec<Problem> {
    let places = Place::all(around, directory);
    places.iter().flat_map(|place| in_place(place).into_iter().take(MOST)).collect()
}

fn in_place(place: &Place) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in entries(&place.directory) {
        if path.is_dir() && !place.kind.is_deep() {
            let below = entries(&path).into_iter().filter(|file| is_agent(place.kind, file));
            problems.extend(below.map(|file| say(&file, "directories below are not looked into")));
        } else if path.is_file() && place.kind.format(&path).is_none() && is_meant(&path) {
            problems.push(say(&path, usual(place.kind)));
        }
    }
    problems
}

fn say(file: &Path, why: &str) -> Problem {
    Problem::of(Severity::Warning, file, format!("is not read: {why}"))
}

/// Says how files are called that are read.
fn usual(kind: Kind) -> &'static str {
    match kind {
        Kind::Own => "agents' files end with `.toml` or `.md` here",
        Kind::Claude | Kind::OpenCode => "agents' files end with `.md` here",
        Kind::Codex => "agents' files end with `.toml` here",
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Reports whether a file would be an agent's, and is no note to people.
fn is_agent(kind: Kind, file: &Path) -> bool {
    let is_note = || {
        file.extension().is_some_and(|it| it.eq_ignore_ascii_case("md"))
            && !text::read(file).is_ok_and(|text| text.starts_with("---"))
    };
    file.is_file() && kind.format(file).is_some() && !is_note()
}

fn is_meant(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|it| ENDINGS.contains(&it)) && !name.starts_with('.') && name != "readme.md"
}
