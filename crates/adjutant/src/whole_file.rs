//! Files that are written whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use uuid::Uuid;

/// Puts a file in place, with its directory. Nobody reads half of it, and no link is followed
/// that somebody left where the file or its directory should be.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory)?;
    for place in [directory, path] {
        if place.is_symlink() {
            let why = format!("`{}` is a link, and nothing is written through it", place.display());
            return Err(io::Error::other(why));
        }
    }
    let new = directory.join(format!(".new-{}", Uuid::now_v7()));
    let mut file = File::create_new(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_written_through_a_link() {
        let home = tempfile::tempdir().unwrap();
        let (outside, project) = (home.path().join("outside"), home.path().join("project"));
        fs::create_dir_all(&outside).unwrap();
        fs::create_dir_all(&project).unwrap();
        fs::write(outside.join("config.toml"), "theirs").unwrap();
        symlink(&outside, project.join("directory")).unwrap();
        symlink(outside.join("config.toml"), project.join("file")).unwrap();
        for path in ["directory/config.toml", "file"] {
            assert!(write(&project.join(path), "ours").is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(outside.join("config.toml")).unwrap(), "theirs");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        write(&project.join("new/config.toml"), "ours").unwrap();
        assert_eq!(fs::read_to_string(project.join("new/config.toml")).unwrap(), "ours");
        assert_eq!(fs::read_dir(project.join("new")).unwrap().count(), 1);
    }
}
