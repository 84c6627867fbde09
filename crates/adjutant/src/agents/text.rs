//! The text of a file, whatever wrote it.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{
    definition::Owner,
    problem::{Problem, Severity},
};

/// The longest file that is read.
const LONGEST: u64 = 1024 * 1024;

/// An agent's file, as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) file: PathBuf,
    pub(crate) owner: Owner,
    /// The agent's name if the file does not say: that of the file, below the directory it was
    /// found in.
    pub(crate) name: String,
    /// Without a mark at its beginning, and with plain line ends.
    pub(crate) text: String,
}

/// Reads the text of a file.
pub(crate) fn read(file: &Path) -> Result<String, Problem> {
    let wrong = |message: String| Problem::of(Severity::Error, file, message);
    let bytes = bytes(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let bytes = bytes.ok_or_else(|| {
        wrong(format!("is longer than {LONGEST} bytes"))
            .hint("put what is long into a skill or a file, and name that")
    })?;
    decode(&bytes)
        .map_err(|line| wrong("is not UTF-8".to_owned()).at(Some(line)).hint("save it as UTF-8"))
}

fn bytes(file: &Path) -> io::Result<Option<Vec<u8>>> {
    // Looked at before it is opened: a pipe would keep whoever opens it waiting.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= LONGEST).then_some(bytes))
}

/// Returns text without a mark at its beginning and with plain line ends, or the line in which it
/// is none.
pub(crate) fn decode(bytes: &[u8]) -> Result<String, usize> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    })?;
    Ok(text.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_line_ends_of_other_systems_are_no_text() {
        assert_eq!(decode(b"\xef\xbb\xbfa\r\nb\rc\n").unwrap(), "a\nb\rc\n");
        assert_eq!(decode(b"a\n\nb\xff"), Err(3));
    }

    #[test]
    fn what_is_no_short_text_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a");
        let refusal = || read(&file).unwrap_err().to_string();
        assert!(refusal().contains("cannot be read"));
        std::fs::write(&file, vec![b'a'; 1024 * 1024]).unwrap();
        assert_eq!(read(&file).unwrap().len(), 1024 * 1024);
        std::fs::write(&file, vec![b'a'; 1024 * 1024 + 1]).unwrap();
        assert!(refusal().contains("is longer than"));
        assert!(read(directory.path()).unwrap_err().message.contains("it is no file"));
    }
}
