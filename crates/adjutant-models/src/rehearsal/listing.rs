//! A directory, as `list_dir` tells of it.

/// What a directory holds.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The directories.
    pub(crate) directories: Vec<String>,
    /// The files.
    pub(crate) files: Vec<File>,
    /// What the tool says besides, in brackets.
    pub(crate) notes: Vec<String>,
}

/// A file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct File {
    /// Where it is, from the directory that was listed.
    pub(crate) path: String,
    /// How many bytes it has, if the tool said.
    pub(crate) size: Option<u64>,
}

impl Listing {
    /// Reads a listing: an entry a line, directories with a slash at the end, files with
    /// their size behind them.
    pub(crate) fn parse(text: &str) -> Self {
        let mut listing = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with('[') && line.ends_with(']') {
                listing.notes.push(line.trim_matches(['[', ']']).to_owned());
            } else if let Some(directory) = line.strip_suffix('/') {
                listing.directories.push(directory.to_owned());
            } else {
                listing.files.push(File::parse(line));
            }
        }
        listing
    }
}

impl File {
    fn parse(line: &str) -> Self {
        let sized = line.rsplit_once(" (").and_then(|(path, size)| {
            let size = size.split([' ', ')']).next()?.parse().ok()?;
            Some(Self { path: path.to_owned(), size: Some(size) })
        });
        sized.unwrap_or_else(|| {
            let path = line.split(" -> ").next().unwrap_or(line);
            Self { path: path.to_owned(), size: None }
        })
    }

    /// Returns the last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns what follows the last dot of the name.
    pub(crate) fn extension(&self) -> Option<&str> {
        let (stem, extension) = self.name().rsplit_once('.')?;
        (!stem.is_empty() && !extension.is_empty()).then_some(extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_and_notes_are_told_apart() {
        let text = "my dir/\nnäme (1) x.md (12 bytes)\nlink -> /etc\nplain\n.env (3 bytes)\n\
                    [7 more entries left out; use find_files]";
        let listing = Listing::parse(text);
        assert_eq!(listing.directories, ["my dir"]);
        let files: Vec<_> = listing.files.iter().map(|file| (file.name(), file.size)).collect();
        let expected =
            [("näme (1) x.md", Some(12)), ("link", None), ("plain", None), (".env", Some(3))];
        assert_eq!(files, expected);
        assert_eq!(listing.files[0].extension(), Some("md"));
        assert_eq!(listing.files[3].extension(), None);
        assert_eq!(listing.notes, ["7 more entries left out; use find_files"]);
    }
}
