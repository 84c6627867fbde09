//! The directory a command works in.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{CliError, Surroundings, error::Kind};

/// Returns the directory to work in, absolute and with every link resolved. It can be
/// read.
pub fn working_directory(around: &Surroundings, cwd: Option<&Path>) -> Result<PathBuf, CliError> {
    let wanted = cwd.map_or_else(|| around.directory.clone(), |cwd| around.directory.join(cwd));
    let readable = |path: PathBuf| -> io::Result<PathBuf> {
        fs::read_dir(&path)?;
        Ok(path)
    };
    fs::canonicalize(&wanted).and_then(readable).map_err(|error| {
        let wanted = wanted.display();
        CliError::new(Kind::Usage, format!("cannot work in `{wanted}`: {error}"))
            .hint("`--cwd` takes a directory that is there and can be read")
    })
}
