//! `read_file`: the lines of a file.

use std::{
    borrow::Cow,
    cmp,
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
    brief, cached,
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
    /// The first byte to show of each of these lines, counted from 1: for what was left out of
    /// a long line (default: 1).
    column: Option<NonZeroU64>,
}

impl TypedTool for ReadFile {
    type Args = Args;
    const NAME: &'static str = "read_file";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Reads a text file. Each line comes after its number and a tab. If there is more than \
         is shown, a note says at which `offset` or `column` to go on. A picture (PNG, JPEG, GIF, \
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
        let Look { shown, version } = look;
        self.0.saw(host.agent(), &place.real, version);
        let Shown { text, image } = shown?;
        host.note(Fact::Read { path });
        if let Some(image) = image {
            host.attach(image);
        }
        Ok(text)
    }
}

/// What is seen of a file.
struct Look {
    /// What is shown, or why it is not. A file that cannot be shown may be replaced all the
    /// same: what there is to know of it is known then.
    shown: Result<Shown, ToolError>,
    version: Version,
}

struct Shown {
    text: String,
    image: Option<Image>,
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
    let unshown = kind.unshown(length);
    let is_short = length < cached::LONGEST as u64 || kind != Kind::Text;
    if is_short && unshown.is_none() {
        let mut bytes = Vec::new();
        reader.take(picture::LONGEST + 1).read_to_end(&mut bytes).map_err(fail)?;
        return look(place, &bytes, args, files);
    }
    let shown = match unshown {
        Some(why) => Err(place.refusal(why)),
        None => Ok(Shown { text: show(place, &mut reader, args)?, image: None }),
    };
    Ok(Look { shown, version: Version::Part(Stamp::of(&metadata)) })
}

/// Looks at the whole of a file.
fn look(place: &Place, bytes: &[u8], args: &Args, files: &Files) -> Result<Look, ToolError> {
    let kind = Kind::of(&bytes[..bytes.len().min(PROBE_BYTES)]);
    let shown = match (kind, kind.unshown(bytes.len() as u64)) {
        (_, Some(why)) => Err(place.refusal(why)),
        (Kind::Picture(_), _) if args.offset.or(args.limit).or(args.column).is_some() => {
            let why = "is a picture and has no lines: leave out `offset`, `limit` and `column`";
            return Err(place.refusal(why));
        }
        (Kind::Picture(media_type), _) => {
            let length = brief::count(bytes.len(), "byte");
            let text = format!("[a picture, {media_type}, {length}: it is attached]");
            Ok(Shown { text, image: Some(picture::image(media_type, bytes)) })
        }
        _ => Ok(Shown { text: show(place, &mut &*bytes, args)?, image: None }),
    };
    Ok(Look { shown, version: files.whole(bytes) })
}

fn show(place: &Place, reader: &mut impl BufRead, args: &Args) -> Result<String, ToolError> {
    let or = |given: Option<NonZeroU64>, usual| given.map_or(usual, NonZeroU64::get);
    let part = Part {
        first: or(args.offset, 1),
        limit: or(args.limit, USUAL_LINES),
        column: or(args.column, 1),
    };
    part.read(reader).map_err(|error| place.error(&error))
}

/// The part of a file that is wanted.
#[derive(Clone, Copy)]
struct Part {
    first: u64,
    limit: u64,
    column: u64,
}

impl Part {
    /// Reads the lines, holding no more than what is shown.
    fn read(self, reader: &mut impl BufRead) -> io::Result<String> {
        let Self { first, limit, column } = self;
        let skipped = skip(reader, first - 1)?;
        if first > 1 && reader.fill_buf()?.is_empty() {
            let lines = brief::count(skipped, "line");
            let why = format!("there is no line {first}: the file has {lines}");
            return Err(io::Error::other(why));
        }
        let (mut page, mut room) = (Page::default(), Vec::new());
        let mut next = first;
        while next - first < limit && page.text.len() < MOST_BYTES {
            let Some(line) = Line::read(reader, column, &mut room)? else { break };
            page.push(next, &line);
            next += 1;
        }
        if column > 1 && !page.has_text {
            let why = format!("there is no column {column} in these lines: they are shorter");
            return Err(io::Error::other(why));
        }
        let is_more = !reader.fill_buf()?.is_empty();
        Ok(page.finish(is_more.then_some(next)))
    }
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

/// Skips bytes of a line, but not its end, and returns how many there were.
fn skip_within(reader: &mut impl BufRead, bytes: u64) -> io::Result<u64> {
    let mut skipped = 0;
    while skipped < bytes {
        let ahead = reader.fill_buf()?;
        let end = memchr::memchr(b'\n', ahead).unwrap_or(ahead.len());
        let step = usize::try_from(bytes - skipped).map_or(end, |left| cmp::min(left, end));
        if step == 0 {
            break;
        }
        reader.consume(step);
        skipped += step as u64;
    }
    Ok(skipped)
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Lf,
    CrLf,
    /// Not at all, or it was not seen.
    None,
}

/// One line, without its end.
struct Line<'a> {
    text: Cow<'a, str>,
    end: End,
    is_lossy: bool,
    /// Where what is left out of it begins.
    next: Option<u64>,
}

impl<'a> Line<'a> {
    /// Reads a line from a column on into `room`, which is used again for the next one.
    fn read(
        reader: &mut impl BufRead,
        column: u64,
        room: &'a mut Vec<u8>,
    ) -> io::Result<Option<Self>> {
        room.clear();
        let skipped = skip_within(reader, column - 1)?;
        // Enough for the longest characters and the line's end.
        let most = MOST_CHARS * 4 + 2;
        if reader.take(most as u64).read_until(b'\n', room)? == 0 && skipped == 0 {
            return Ok(None);
        }
        if !room.ends_with(b"\n") {
            reader.skip_until(b'\n')?;
        }
        let end = match &room[..] {
            // The first half of it may have been skipped.
            [b'\n'] if skipped > 0 => End::None,
            [.., b'\r', b'\n'] => End::CrLf,
            [.., b'\n'] => End::Lf,
            _ => End::None,
        };
        let bytes = room.strip_suffix(b"\n").unwrap_or(room);
        let bytes = if end == End::CrLf { &bytes[..bytes.len() - 1] } else { bytes };
        let shown = length(bytes);
        let next = (shown < bytes.len()).then_some(column + shown as u64);
        let text = String::from_utf8_lossy(&bytes[..shown]);
        let is_lossy = matches!(text, Cow::Owned(_));
        Ok(Some(Self { text, end, is_lossy, next }))
    }
}

/// Returns how many bytes of a line are shown.
fn length(bytes: &[u8]) -> usize {
    // There are no more characters than bytes.
    if bytes.len() <= MOST_CHARS {
        return bytes.len();
    }
    let characters = bytes.utf8_chunks().flat_map(|chunk| {
        let bad = Some(chunk.invalid().len()).filter(|length| *length > 0);
        chunk.valid().chars().map(char::len_utf8).chain(bad)
    });
    characters.take(MOST_CHARS).sum()
}

/// What is shown of a file.
#[derive(Default)]
struct Page {
    text: String,
    has_text: bool,
    has_crlf: bool,
    has_lf: bool,
    has_lossy: bool,
}

impl Page {
    fn push(&mut self, number: u64, line: &Line<'_>) {
        let digits = number.to_string();
        self.text.extend(iter::repeat_n(' ', NUMBER_WIDTH.saturating_sub(digits.len())));
        self.text.push_str(&digits);
        self.text.push('\t');
        self.text.push_str(&line.text);
        if let Some(next) = line.next {
            let _ = write!(
                self.text,
                " [the rest of the line is left out: go on with offset {number}, limit 1, column \
                 {next}]"
            );
        }
        self.text.push('\n');
        self.has_text |= !line.text.is_empty();
        self.has_crlf |= line.end == End::CrLf;
        self.has_lf |= line.end == End::Lf;
        self.has_lossy |= line.is_lossy;
    }

    fn finish(self, next: Option<u64>) -> String {
        let mut text = self.text;
        if text.is_empty() {
            text.push_str("[the file is empty]\n");
        }
        if self.has_crlf {
            let some = if self.has_lf {
                "some lines end in CRLF, some in LF"
            } else {
                "lines end in CRLF"
            };
            let _ = writeln!(text, "[{some}]");
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
        part(bytes, Part { first, limit, column: 1 })
    }

    fn part(bytes: &[u8], part: Part) -> Result<String, String> {
        part.read(&mut &bytes[..]).map_err(|error| error.to_string())
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
        assert!(page(b"a", 2, 1).unwrap_err().ends_with("has 1 line"));
        assert_eq!(page(b"", 1, 1).unwrap(), "[the file is empty]\n");
    }

    #[test]
    fn carriage_returns_are_not_shown_but_mentioned() {
        assert_eq!(page(b"a\r\nb\r\n", 1, 1).unwrap().lines().next(), Some("     1\ta"));
        assert!(page(b"a\r\n", 1, 1).unwrap().ends_with("[lines end in CRLF]\n"));
        assert!(!page(b"a\rb\n", 1, 1).unwrap().contains("CRLF"));
        let mixed = "[some lines end in CRLF, some in LF]\n";
        assert!(page(b"a\r\nb\n", 1, 2).unwrap().ends_with(mixed));
        assert!(page(b"a\r\nb", 1, 2).unwrap().ends_with("[lines end in CRLF]\n"));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        for character in ["é", "😀", "a"] {
            let whole = character.repeat(MOST_CHARS);
            assert_eq!(page(whole.as_bytes(), 1, 1).unwrap(), format!("     1\t{whole}\n"));
            let long = format!("x{}\nnext\n", character.repeat(MOST_CHARS * 9));
            let shown = page(long.as_bytes(), 1, 2).unwrap();
            let beginning = character.repeat(MOST_CHARS - 1);
            let column = beginning.len() + 2;
            let cut = format!(
                "     1\tx{beginning} [the rest of the line is left out: go on with offset 1, \
                 limit 1, column {column}]\n     2\tnext\n"
            );
            assert_eq!(shown, cut);
        }
    }

    #[test]
    fn a_long_line_can_be_read_to_its_end() {
        let mixed: Vec<u8> = (0..20_000_u32).map(|number| (number * 7 % 251) as u8 | 1).collect();
        let plain = "aé😀".repeat(3000).into_bytes();
        for long in [mixed, plain] {
            let file = [&b"first\n"[..], &long, b"\nlast"].concat();
            let (mut column, mut whole) = (1, String::new());
            loop {
                let wanted = Part { first: 2, limit: 1, column };
                let shown = part(&file, wanted).unwrap();
                let line = shown.strip_prefix("     2\t").unwrap();
                let Some((text, note)) = line.split_once(" [the rest") else {
                    whole.push_str(line.split_once("\n[").unwrap().0);
                    break;
                };
                whole.push_str(text);
                let next = note.split_once("column ").unwrap().1.split_once(']').unwrap().0;
                column = next.parse().unwrap();
            }
            assert_eq!(whole, String::from_utf8_lossy(&long));
        }
    }

    #[test]
    fn lines_are_shown_from_a_column_on() {
        let wanted = |first, column| Part { first, limit: 9, column };
        let file = b"abc\r\na\r\n\nabcd";
        let shown = "     1\tc\n     2\t\n     3\t\n     4\tcd\n[lines end in CRLF]\n";
        assert!(part(file, wanted(1, 3)).unwrap().starts_with("     1\tc\n     2\t\n     3\t"));
        assert_eq!(part(b"abc\r\nde\r\n\r\nabcd", wanted(1, 3)).unwrap(), shown);
        let error = "there is no column 5 in these lines: they are shorter";
        assert_eq!(part(file, wanted(1, 5)).unwrap_err(), error);
        assert!(part(b"", wanted(1, 2)).unwrap_err().starts_with("there is no column 2"));
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
