//! Files that are no text, told by how they begin.

use adjutant_core::Image;

use crate::brief;

/// The longest picture that is shown.
pub(crate) const LONGEST: u64 = 5 * 1024 * 1024;

/// How kinds of files begin, and what they are called. Pictures a model can see have their
/// media type for a name.
const KINDS: [(&[u8], &str); 18] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "a PDF document"),
    (b"\x7FELF", "a program"),
    (b"\xCF\xFA\xED\xFE", "a program"),
    (b"MZ", "a program"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1F\x8B", "compressed with gzip"),
    (b"BZh", "compressed with bzip2"),
    (b"\xFD7zXZ\0", "compressed with xz"),
    (b"\x28\xB5\x2F\xFD", "compressed with zstd"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\0asm", "a WebAssembly module"),
    (b"\xCA\xFE\xBA\xBE", "a Java class"),
    (b"wOF2", "a font"),
    (b"OggS", "sound or video"),
];

/// What a file is, as far as its beginning tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, or something like it.
    Text,
    /// A picture of this media type.
    Picture(&'static str),
    /// Something else, of this name.
    Binary(&'static str),
}

impl Kind {
    /// Tells what a file is that begins like this.
    pub(crate) fn of(beginning: &[u8]) -> Self {
        let has_zero = beginning.contains(&0);
        // Plain text may begin like anything.
        if !has_zero && str::from_utf8(beginning).is_ok() {
            return Self::Text;
        }
        if beginning.starts_with(b"RIFF") && beginning.get(8..12) == Some(b"WEBP") {
            return Self::Picture("image/webp");
        }
        let known = KINDS.iter().find(|(start, _)| beginning.starts_with(start));
        match known.map(|(_, name)| *name) {
            Some(name) if name.starts_with("image/") => Self::Picture(name),
            Some(name) => Self::Binary(name),
            None if has_zero => Self::Binary("of no kind that is known"),
            None => Self::Text,
        }
    }

    /// Tells why a file of this kind and length cannot be shown, if it cannot.
    pub(crate) fn unshown(self, length: u64) -> Option<String> {
        let most = LONGEST / 1024 / 1024;
        match self {
            Self::Picture(name) if length > LONGEST => Some(format!(
                "is a picture ({name}) of {length} bytes: the most shown are {most} MiB, \
                 but it counts as read"
            )),
            Self::Binary(name) => {
                let length = brief::count(length, "byte");
                Some(format!(
                    "is a binary file ({name}, {length}): its bytes are not shown, \
                     but it counts as read"
                ))
            }
            Self::Text | Self::Picture(_) => None,
        }
    }
}

/// Makes a picture of the bytes of a file.
pub(crate) fn image(media_type: &str, bytes: &[u8]) -> Image {
    Image { media_type: media_type.to_owned(), data: base64(bytes).into() }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut wide = [0; 4];
        wide[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(wide) as usize;
        for place in 0..4 {
            let is_filled = place <= group.len();
            text.push(if is_filled { DIGITS[bits >> (18 - 6 * place) & 63].into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_the_standard_has_it() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xFB, 0xFF, 0xFE]), "+//+");
    }

    #[test]
    fn a_file_is_told_by_how_it_begins() {
        let cases: [(&[u8], Kind); 8] = [
            (b"\x89PNG\r\n\x1a\n\0\0", Kind::Picture("image/png")),
            (b"\xFF\xD8\xFF\xE0", Kind::Picture("image/jpeg")),
            (b"GIF89a\x01\0", Kind::Picture("image/gif")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Kind::Picture("image/webp")),
            (b"\x7FELF\x02\0", Kind::Binary("a program")),
            (b"MZ is a company", Kind::Text),
            (b"a\0", Kind::Binary("of no kind that is known")),
            (b"", Kind::Text),
        ];
        for (beginning, kind) in cases {
            assert_eq!(Kind::of(beginning), kind, "{beginning:?}");
        }
    }
}
