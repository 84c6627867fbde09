//! The program as a keeper of commands: started again by itself, with words that are not for
//! people, so that help and completions do not know them.

use std::{ffi::OsString, io, path::Path, process::ExitCode};

use adjutant_tools::keeper::{self, Keeper};

use crate::open_files;

const KEEP: &str = "__keep";

/// Returns how the program is started as a keeper. It says how many open files a command may
/// have: as many as the program could, before it made room for more.
pub(crate) fn keeper(program: &Path) -> Keeper {
    let mut arguments = vec![KEEP.into()];
    arguments.extend(open_files::former().map(|count| count.to_string().into()));
    arguments.push("--".into());
    Keeper { program: program.to_owned(), arguments }
}

/// A command to be kept.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept<'a> {
    open_files: Option<u64>,
    command: &'a [OsString],
}

impl<'a> Kept<'a> {
    /// Finds it on the command line, if that is what the program was started for.
    pub fn find(arguments: &'a [OsString]) -> Option<Self> {
        let [_, first, rest @ ..] = arguments else { return None };
        let dashes = rest.iter().take(2).position(|word| word == "--")?;
        let open_files = rest[..dashes].first().map(|count| count.to_str()?.parse().ok());
        let command = &rest[dashes + 1..];
        (first == KEEP && open_files != Some(None))
            .then_some(Self { open_files: open_files.flatten(), command })
    }

    /// Runs it. The code is its own, which may be any.
    pub fn keep(self) -> io::Result<ExitCode> {
        if let Some(count) = self.open_files {
            open_files::allow(count);
        }
        keeper::keep(self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keeper_is_told_by_its_first_words() {
        let found = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(OsString::from).collect();
            Kept::find(&words).map(|kept| (kept.open_files, kept.command.len()))
        };
        assert_eq!(found(&["adjutant", "__keep", "--", "sh", "-c"]), Some((None, 2)));
        assert_eq!(found(&["adjutant", "__keep", "256", "--", "sh"]), Some((Some(256), 1)));
        assert_eq!(found(&["adjutant", "__keep", "--", "256", "--"]), Some((None, 2)));
        assert_eq!(found(&["adjutant", "__keep", "many", "--", "sh"]), None);
        assert_eq!(found(&["adjutant", "__keep", "1", "2", "--", "sh"]), None);
        assert_eq!(found(&["adjutant", "__keep"]), None);
        assert_eq!(found(&["adjutant", "run", "__keep", "--"]), None);
        assert_eq!(found(&[]), None);
    }
}
