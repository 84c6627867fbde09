//! `search_files`: lines by what they say.

use std::{
    fmt::Write,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use adjutant_core::{Effect, Fact, Host, ToolError, Touch};
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::DirEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::{
    blocking::{self, Stoppable},
    gate::Gate,
    glob::Glob,
    handle,
    listing::Troubles,
    place::Place,
    typed::TypedTool,
    walk::{self, Hidden},
};

/// The most matches shown.
const MOST_MATCHES: usize = 200;
/// About the most bytes shown.
const MOST_BYTES: usize = 64 * 1024;
/// The most bytes shown of one line.
const MOST_LINE_BYTES: usize = 500;
/// How many bytes of a long line are shown before a match.
const BEFORE_MATCH: usize = 100;
/// The longest line that is searched.
const MOST_HEAP: usize = 16 * 1024 * 1024;

pub(crate) struct SearchFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// A regular expression, matched against each line.
    pattern: String,
    /// The directory or file to search (default: the working directory).
    path: Option<String>,
    /// Only files that match this glob, such as `*.rs` or `src/**/*.ts`.
    glob: Option<String>,
    /// How many lines to show before and after each match (default: 0).
    context: Option<usize>,
    /// Whether upper and lower case are the same (default: false).
    case_insensitive: Option<bool>,
}

impl Args {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

impl TypedTool for SearchFiles {
    type Args = Args;
    const NAME: &'static str = "search_files";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Searches the text of files with a regular expression and returns `path:line: text`, \
         grouped by file (lines of context have `-` for `:`). Binary files and what .gitignore \
         names are left out, and so are hidden files unless `path` or `glob` names them."
            .into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        Place::find(args.path(), workdir).touch(Effect::Read)
    }

    fn summary(&self, args: &Args) -> String {
        format!("{} in {}", args.pattern, args.path())
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let place = Place::judged(args.path(), host, Place::find)?;
        let (gate, token) = (Gate::new::<Self>(host, &place), host.token().clone());
        let (shown, walked) = (gate.clone(), gate);
        let search = move || Search::new(place, &args, walked, token)?.run();
        let found = blocking::run(search).await?;
        for path in &found.files {
            host.note(Fact::Read { path: path.display().to_string() });
        }
        Ok(found.render() + &shown.to_string())
    }
}

struct Search {
    place: Place,
    matcher: RegexMatcher,
    searcher: Searcher,
    glob: Option<Glob>,
    gate: Gate,
    token: CancellationToken,
}

impl Search {
    fn new(
        place: Place,
        args: &Args,
        gate: Gate,
        token: CancellationToken,
    ) -> Result<Self, ToolError> {
        let Args { pattern, glob, context, case_insensitive, .. } = args;
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(case_insensitive.unwrap_or(false))
            // `^` and `$` are the ends of a line, before `\r\n` too.
            .multi_line(true)
            .crlf(true)
            .line_terminator(Some(b'\n'))
            .build(pattern)
            .map_err(|error| ToolError(format!("`pattern` cannot be used: {error}")))?;
        let context = context.unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MOST_HEAP))
            .before_context(context)
            .after_context(context)
            .build();
        let glob = glob.as_deref().map(Glob::new).transpose()?;
        Ok(Self { place, matcher, searcher, glob, gate, token })
    }

    fn run(mut self) -> Result<Found, ToolError> {
        self.place.check()?;
        let hidden = self.glob.as_ref().map_or(Hidden::Skipped, |glob| glob.hidden);
        let mut found = Found::default();
        for entry in walk::below(&self.place.real, hidden, &self.gate) {
            blocking::check(&self.token)?;
            match entry {
                Ok(entry) if self.wants(&entry) => self.search(entry.into_path(), &mut found)?,
                Ok(_) => {}
                Err(error) => found.troubles.push_walk(&self.place, &error),
            }
            if found.is_cut {
                break;
            }
        }
        Ok(found)
    }

    fn wants(&self, entry: &DirEntry) -> bool {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let below = match entry.path().strip_prefix(&self.place.real) {
            Ok(below) if entry.depth() > 0 => below,
            _ => Path::new(entry.file_name()),
        };
        is_file && self.glob.as_ref().is_none_or(|glob| glob.is_match(below))
    }

    fn search(&mut self, path: PathBuf, found: &mut Found) -> Result<(), ToolError> {
        let name = self.place.name(&path);
        let (matcher, text) = (&self.matcher, String::new());
        let mut lines = Lines { name: &name, found, matcher, text, matches: 0, is_cut: false };
        let searched = handle::open(&path).and_then(|(reader, _)| {
            let reader = Stoppable { reader, token: self.token.clone() };
            self.searcher.search_reader(&self.matcher, reader, &mut lines)
        });
        let Lines { text, matches, is_cut, .. } = lines;
        if let Err(error) = searched {
            blocking::check(&self.token)?;
            found.troubles.push(&self.place, &path, error);
        }
        found.is_cut |= is_cut;
        if matches > 0 {
            found.add(path, &text, matches);
        }
        Ok(())
    }
}

/// What was found in all files.
#[derive(Default)]
struct Found {
    text: String,
    matches: usize,
    files: Vec<PathBuf>,
    troubles: Troubles,
    /// Whether there is more than may be shown.
    is_cut: bool,
}

impl Found {
    fn add(&mut self, file: PathBuf, text: &str, matches: usize) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.matches += matches;
        self.files.push(file);
    }

    fn render(self) -> String {
        let Self { mut text, matches, troubles, is_cut, .. } = self;
        if is_cut {
            let _ = write!(
                text,
                "[more matches left out after the first {matches}: narrow the pattern, the path \
                 or the glob to see them]"
            );
        } else if matches == 0 {
            text.push_str("[no match]");
        }
        let _ = write!(text, "{troubles}");
        text.trim_end().to_owned()
    }
}

/// What was found in one file.
struct Lines<'a> {
    name: &'a str,
    found: &'a Found,
    matcher: &'a RegexMatcher,
    text: String,
    matches: usize,
    is_cut: bool,
}

impl Lines<'_> {
    fn push(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let number = number.unwrap_or_default();
        let shown = self.shown(line);
        let text = String::from_utf8_lossy(&line[shown.clone()]);
        let _ = write!(self.text, "{}{mark}{number}{mark} {text}", self.name);
        if shown.len() < line.len() {
            let (first, last, all) = (shown.start + 1, shown.end, line.len());
            let _ = write!(
                self.text,
                " [bytes {first} to {last} of {all}: read_file shows more with offset {number}, \
                 limit 1, column {first}]"
            );
        }
        self.text.push('\n');
    }

    /// Returns which bytes of a line are shown: of a long one those around its first match.
    fn shown(&self, line: &[u8]) -> Range<usize> {
        if line.len() <= MOST_LINE_BYTES {
            return 0..line.len();
        }
        let found = self.matcher.find(line).ok().flatten();
        let start = match found {
            Some(found) if found.end() > MOST_LINE_BYTES => {
                found.start() - BEFORE_MATCH.min(found.start())
            }
            _ => 0,
        };
        let end = line.len().min(start + MOST_LINE_BYTES);
        floor(line, start)..floor(line, end)
    }

    fn is_full(&self) -> bool {
        self.found.matches + self.matches == MOST_MATCHES
            || self.found.text.len() + self.text.len() >= MOST_BYTES
    }
}

/// Returns the start of the character that a byte of a line belongs to.
fn floor(line: &[u8], at: usize) -> usize {
    let is_within = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !is_within(at)).unwrap_or(at)
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.is_full() {
            self.is_cut = true;
            return Ok(false);
        }
        self.push(found.line_number(), ':', found.bytes());
        self.matches += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.text.len() < MOST_BYTES {
            self.push(context.line_number(), '-', context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text.push_str("--\n");
        Ok(true)
    }

    // What came before the first zero byte is no text either.
    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.text.clear();
        self.matches = 0;
        Ok(false)
    }
}
