//! Where a target's seeds are, and where what was found is put.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{Finding, Target};

/// Returns the seeds of a target, in the order of their names.
pub fn seeds(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let entries = fs::read_dir(place)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().map(fs::read).collect()
}

/// Writes down the input that found a fault, and returns where.
pub fn keep(target: &Target, finding: &Finding) -> io::Result<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz");
    fs::create_dir_all(&place)?;
    let name = format!("{}-{:016x}", target.name, crate::targets::hash(&finding.input));
    let path = place.canonicalize()?.join(name);
    fs::write(&path, &finding.input)?;
    Ok(path)
}
