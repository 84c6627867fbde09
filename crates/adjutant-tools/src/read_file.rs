//! `read_file`: the lines of a file.

use std::{
    borrow::Cow,
    fmt::Write,
    io::{self, BufRead, BufReader, Read},
    iter,
    num::NonZeroU64,
    path::Path,
    sync::Arc,
};

use adjutant_core::{Effect, Fact, Host, Image, ToolError, Touch};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::{
    blocking::{self, Stoppable},
    cached,
    files::{Files, Stamp, Version},
    handle,
    picture::{self, Kind},
    place::Place,
    typed::TypedTool,
};

/// How many lines are shown unless the call says otherwise.
const USUAL_LINES: u64 = 2000;
/// About the most bytes shown.
const MOST_BYTES: usize = 256 * 1024;
/// The most characters shown of one line.
const MOST_CHARS: usize = 2000;
/// How wide the column of the lines' numbers is.
const NUMBER_WIDTH: usize = 6;
/// How far a file is looked at to tell whether it is text.
const PROBE_BYTES: usize = 8 * 1024;

pub(crate) struct ReadFile(pub(crate) Arc<Files>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The file.
    path: String,
    /// The number of the first line to read (default: 1).
    offset: Option<NonZeroU64>,
    /// How many lines to read (default: 2000).
    limit: Option<NonZeroU64>,
}

impl TypedTool for ReadFile {
    type Args = Args;
    const NAME: &'static str = "read_file";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Reads a text file. Each line comes after its number and a tab. If there is more than \
         is shown, a note at the end says at which `offset` to go on. A picture (PNG, JPEG, GIF, \
         WebP) is shown as such."
            .into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        Place::find(&args.path, workdir).touch(Effect::Read)
    }

    fn summary(&self, args: &Args) -> String {
        match args.offset {
            Some(offset) => format!("{} from line {offset}", args.path),
            None => args.path.clone(),
        }
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        blocking::check(host.token())?;
        let place = Place::judged(&args.path, host, Place::find)?;
        let path = place.real.display().to_string();
        let look = match cached::read(&place.real) {
            Some(bytes) => look(&place, &bytes, &args, &self.0)?,
            None => {
                let (files, token) = (Arc::clone(&self.0), host.token().clone());
                let (place, args) = (place.clone(), args);
                blocking::run(move || open(&place, &args, &files, token)).await?
            }
        };
        let Look { text, image, version } = look;
        self.0.saw(host.agent(), &place.real, version);
        host.note(Fact::Read { path });
        if let Some(image) = image {
            host.attach(image);
        }
        Ok(text)
    }
}

/// What is seen of a file.
struct Look {
    text: String,
    image: Option<Image>,
    version: Version,
}

/// Opens a file and looks at it. A short one is read whole, as is a picture.
fn open(
    place: &Place,
    args: &Args,
    files: &Files,
    token: CancellationToken,
) -> Result<Look, ToolError> {
    let fail = |error: io::Error| match error.kind() {
        io::ErrorKind::IsADirectory => place.refusal("is a directory: use list_dir"),
        _ => place.error(&error),
    };
    let (file, metadata) = handle::open(&place.real).map_err(fail)?;
    let length = metadata.len();
    let mut reader = BufReader::with_capacity(PROBE_BYTES, Stoppable { reader: file, token });
    let kind = Kind::of(reader.fill_buf().map_err(fail)?);
    if let Some(why) = kind.unshown(length) {
        return Err(place.refusal(why));
    }
    if length < cached::LONGEST as u64 || kind != Kind::Text {
        let mut bytes = Vec::new();
        reader.take(picture::LONGEST + 1).read_to_end(&mut bytes).map_err(fail)?;
        return look(place, &bytes, args, files);
    }
    let version = Version::Part(Stamp::of(&metadata));
    Ok(Look { text: show(place, &mut reader, args)?, image: None, version })
}

/// Looks at the whole of a file.
fn look(place: &Place, bytes: &[u8], args: &Args, files: &Files) -> Result<Look, ToolError> {
    let kind = Kind::of(&bytes[..bytes.len().min(PROBE_BYTES)]);
    if let Some(why) = kind.unshown(bytes.len() as u64) {
        return Err(place.refusal(why));
    }
    let (text, image) = match kind {
        Kind::Picture(_) if args.offset.or(args.limit).is_some() => {
            let why = "is a picture and has no lines: leave out `offset` and `limit`";
            return Err(place.refusal(why));
        }
        Kind::Picture(media_type) => {
            let said = format!("[a picture, {media_type}, {} bytes: it is attached]", bytes.len());
            (said, Some(picture::image(media_type, bytes)))
        }
        _ => (show(place, &mut &*bytes, args)?, None),
    };
    Ok(Look { text, image, version: files.whole(bytes) })
}

fn show(place: &Place, reader: &mut impl BufRead, args: &Args) -> Result<String, ToolError> {
    let first = args.offset.map_or(1, NonZeroU64::get);
    let limit = args.limit.map_or(USUAL_LINES, NonZeroU64::get);
    read(reader, first, limit).map_err(|error| place.error(&error))
}

/// Reads lines `first` and up to `limit - 1` after it, holding no more than what is shown.
fn read(reader: &mut impl BufRead, first: u64, limit: u64) -> io::Result<String> {
    let skipped = skip(reader, first - 1)?;
    if first > 1 && reader.fill_buf()?.is_empty() {
        let why = format!("there is no line {first}: the file has {skipped} lines");
        return Err(io::Error::other(why));
    }
    let (mut page, mut room) = (Page::default(), Vec::new());
    let mut next = first;
    while next - first < limit && page.text.len() < MOST_BYTES {
        let Some(line) = Line::read(reader, &mut room)? else { break };
        page.push(next, &line);
        next += 1;
    }
    let is_more = !reader.fill_buf()?.is_empty();
    Ok(page.finish(is_more.then_some(next)))
}

/// Skips lines and returns how many there were.
fn skip(reader: &mut impl BufRead, lines: u64) -> io::Result<u64> {
    for skipped in 0..lines {
        if reader.skip_until(b'\n')? == 0 {
            return Ok(skipped);
        }
    }
    Ok(lines)
}

/// One line, without its end.
struct Line<'a> {
    text: Cow<'a, str>,
    is_cut: bool,
    is_crlf: bool,
    is_lossy: bool,
}

impl<'a> Line<'a> {
    /// Reads a line into `room`, which is used again for the next one.
    fn read(reader: &mut impl BufRead, room: &'a mut Vec<u8>) -> io::Result<Option<Self>> {
        room.clear();
        // Enough for the longest characters and the line's end.
        let most = MOST_CHARS * 4 + 2;
        if reader.take(most as u64).read_until(b'\n', room)? == 0 {
            return Ok(None);
        }
        let rest = if room.ends_with(b"\n") { 0 } else { reader.skip_until(b'\n')? };
        let is_crlf = room.ends_with(b"\r\n");
        let end = if is_crlf { 2 } else { usize::from(room.ends_with(b"\n")) };
        let bytes = &room[..room.len() - end];
        let (mut text, is_lossy) = match str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), false),
            // The cut itself may have split the last character.
            Err(error) => {
                (String::from_utf8_lossy(bytes), error.error_len().is_some() || rest == 0)
            }
        };
        // There are no more characters than bytes.
        let is_long = text.len() > MOST_CHARS;
        let cut = is_long.then(|| text.char_indices().nth(MOST_CHARS)).flatten();
        if let Some((cut, _)) = cut {
            text.to_mut().truncate(cut);
        }
        Ok(Some(Self { text, is_cut: cut.is_some(), is_crlf, is_lossy }))
    }
}

/// What is shown of a file.
#[derive(Default)]
struct Page {
    text: String,
    has_crlf: bool,
    has_lossy: bool,
}

impl Page {
    fn push(&mut self, number: u64, line: &Line<'_>) {
        let number = number.to_string();
        self.text.extend(iter::repeat_n(' ', NUMBER_WIDTH.saturating_sub(number.len())));
        self.text.push_str(&number);
        self.text.push('\t');
        self.text.push_str(&line.text);
        self.text.push_str(if line.is_cut {
            " [the rest of the line is left out]\n"
        } else {
            "\n"
        });
        self.has_crlf |= line.is_crlf;
        self.has_lossy |= line.is_lossy;
    }

    fn finish(self, next: Option<u64>) -> String {
        let mut text = self.text;
        if text.is_empty() {
            text.push_str("[the file is empty]\n");
        }
        if self.has_crlf {
            text.push_str("[lines end in CRLF]\n");
        }
        if self.has_lossy {
            text.push_str("[bytes that are not UTF-8 are shown as \u{FFFD}]\n");
        }
        if let Some(next) = next {
            let _ = writeln!(text, "[more lines left out: go on with offset {next}]");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: &[u8], first: u64, limit: u64) -> Result<String, String> {
        read(&mut &bytes[..], first, limit).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_line_needs_no_end() {
        assert_eq!(page(b"a\nb", 1, 9).unwrap(), "     1\ta\n     2\tb\n");
        assert_eq!(page(b"a\nb\n", 1, 9), page(b"a\nb", 1, 9));
        assert_eq!(page(b"a\n\n", 2, 9).unwrap(), "     2\t\n");
    }

    #[test]
    fn what_is_left_out_is_said_with_the_next_offset() {
        let first = page(b"a\nb\nc\n", 1, 2).unwrap();
        assert_eq!(first, "     1\ta\n     2\tb\n[more lines left out: go on with offset 3]\n");
        assert_eq!(page(b"a\nb\nc\n", 3, 2).unwrap(), "     3\tc\n");
    }

    #[test]
    fn an_offset_past_the_end_tells_how_many_lines_there_are() {
        let error = "there is no line 4: the file has 3 lines";
        assert_eq!(page(b"a\nb\nc\n", 4, 1).unwrap_err(), error);
        assert_eq!(page(b"a\nb\nc", 4, 1).unwrap_err(), error);
        assert!(page(b"", 2, 1).unwrap_err().ends_with("has 0 lines"));
        assert_eq!(page(b"", 1, 1).unwrap(), "[the file is empty]\n");
    }

    #[test]
    fn carriage_returns_are_not_shown_but_mentioned() {
        assert_eq!(page(b"a\r\nb\r\n", 1, 1).unwrap().lines().next(), Some("     1\ta"));
        assert!(page(b"a\r\n", 1, 1).unwrap().ends_with("[lines end in CRLF]\n"));
        assert!(!page(b"a\rb\n", 1, 1).unwrap().contains("CRLF"));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        for character in ["é", "😀", "a"] {
            let whole = character.repeat(MOST_CHARS);
            assert_eq!(page(whole.as_bytes(), 1, 1).unwrap(), format!("     1\t{whole}\n"));
            let long = format!("x{}\nnext\n", character.repeat(MOST_CHARS * 9));
            let shown = page(long.as_bytes(), 1, 2).unwrap();
            let beginning = character.repeat(MOST_CHARS - 1);
            let cut =
                format!("     1\tx{beginning} [the rest of the line is left out]\n     2\tnext\n");
            assert_eq!(shown, cut);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_mentioned() {
        assert!(page(b"a\xffb\n", 1, 1).unwrap().contains("not UTF-8"));
        assert!(!page("a\u{FFFD}b\n".as_bytes(), 1, 1).unwrap().contains("not UTF-8"));
    }

    #[test]
    fn many_bytes_end_a_page_before_its_limit() {
        let file = format!("{}\n", "y".repeat(1000)).repeat(1000);
        let shown = page(file.as_bytes(), 1, 1000).unwrap();
        assert!(shown.len() < MOST_BYTES + 2 * 1000);
        let next = shown.lines().filter(|line| line.ends_with("yyy")).count() + 1;
        assert!(shown.ends_with(&format!("go on with offset {next}]\n")));
    }
}
