//! What a surveyor does: look around, read what stands out, report.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    answer::{Answer, Focus},
    conversation::Conversation,
    listing::{File, Listing},
    notes::{self, LooseEnd},
    step::Step,
    survey::Survey,
};

const TASK: &str = "Survey the area `";
const WHOLE: &str = "`:";
const TOP: &str = "` (only the files at its top):";
const ASK: &str = "Ask the person what the survey should dwell on.";
/// How many examples of a thing a report has.
const EXAMPLES: usize = 3;

/// What is to be surveyed, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    /// The directory.
    pub(crate) path: String,
    /// How far down.
    pub(crate) reach: Reach,
    /// Whether the person is asked.
    pub(crate) manner: Manner,
}

/// How far down an area goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All the way.
    Whole,
    /// No further than the files at its top.
    Top,
}

/// Whether a surveyor asks the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It does.
    Asking,
    /// Another one does.
    Silent,
}

impl Area {
    /// Puts the area into words, as a task for a surveyor.
    pub(crate) fn to_task(&self) -> String {
        let reach = match self.reach {
            Reach::Whole => WHOLE,
            Reach::Top => TOP,
        };
        let ask = match self.manner {
            Manner::Asking => ASK,
            Manner::Silent => "",
        };
        format!(
            "{TASK}{}{reach} count its files, look for loose ends (TODO, FIXME), read up to \
             three files that stand out, and report in a few lines. {ask}",
            self.path
        )
    }

    /// Reads the area back from a task. Other tasks have none.
    pub(crate) fn of_task(task: &str) -> Option<Self> {
        let (_, rest) = task.split_once(TASK)?;
        let (path, reach) = match rest.split_once(TOP) {
            Some((path, _)) => (path, Reach::Top),
            None => (rest.split_once(WHOLE).or_else(|| rest.split_once('`'))?.0, Reach::Whole),
        };
        let manner = if rest.contains(ASK) { Manner::Asking } else { Manner::Silent };
        Some(Self { path: path.to_owned(), reach, manner })
    }

    /// Returns what reports call the area.
    pub(crate) fn name(&self) -> &str {
        match self.reach {
            Reach::Whole => &self.path,
            Reach::Top => "./*",
        }
    }

    fn holds(&self, path: &str) -> bool {
        self.reach == Reach::Whole || !path.contains('/')
    }

    fn full_path(&self, file: &str) -> String {
        if self.path == "." { file.to_owned() } else { format!("{}/{file}", self.path) }
    }
}

/// Returns what a surveyor does after it has called tools so often.
pub(crate) fn next(area: &Area, conversation: &Conversation<'_>, rounds: usize) -> Step {
    let step = match rounds {
        _ if conversation.is_cut_short() => Step::default(),
        0 => look(area),
        1 => read(area, conversation),
        _ => Step::default(),
    };
    let calls: Vec<_> =
        step.calls.into_iter().filter(|(tool, _)| conversation.offers(tool)).collect();
    if calls.is_empty() {
        return Step::say(report(area, conversation).to_string());
    }
    Step { calls, ..step }
}

fn look(area: &Area) -> Step {
    let Area { path, reach, .. } = area;
    let recursive = *reach == Reach::Whole;
    let text = format!("Looking around in `{path}`.");
    let calls = vec![
        ("list_dir", json!({ "path": path, "recursive": recursive })),
        ("find_files", json!({ "pattern": "*.{md,rst,txt}", "path": path })),
        ("search_files", json!({ "pattern": "TODO|FIXME", "path": path })),
    ];
    Step { text, calls }
}

fn read(area: &Area, conversation: &Conversation<'_>) -> Step {
    let listing = listing(conversation).unwrap_or_default();
    let files = notes::notable(&listing.files);
    let mut calls: Vec<(&str, Value)> = files
        .iter()
        .map(|file| ("read_file", json!({ "path": area.full_path(&file.path), "limit": 40 })))
        .collect();
    if area.manner == Manner::Asking {
        let choices = Focus::ALL.map(Focus::name);
        let question = "What should the survey dwell on?";
        calls.push(("ask_user", json!({ "question": question, "choices": choices })));
    }
    Step { text: "Reading what stands out.".to_owned(), calls }
}

/// Returns the last listing, or why there is none.
fn listing(conversation: &Conversation<'_>) -> Result<Listing, String> {
    match conversation.calls_of("list_dir").last() {
        Some(exchange) => exchange.text().map(Listing::parse).map_err(str::to_owned),
        None => Err("nothing was listed".to_owned()),
    }
}

/// Reports what is known so far.
pub(crate) fn report(area: &Area, conversation: &Conversation<'_>) -> Survey {
    let mut survey = Survey::new(area.name());
    let listing = listing(conversation).unwrap_or_default();
    note_files(&mut survey, &listing, area.reach);
    if let Some(about) = about(conversation) {
        survey.note("about", about);
    }
    let ends = loose_ends(area, conversation);
    survey.note("loose ends", summary_of_ends(&ends));
    let documents = documents(area, conversation);
    survey.note("documents", counted(&documents));
    if let Some(answer) = answer(conversation) {
        let lines: Vec<_> = ends.iter().map(|end| end.line.clone()).collect();
        let dwelling = match answer.focus() {
            Focus::Structure => directories(&listing.files),
            Focus::LooseEnds => lines,
            Focus::Documentation => documents,
        };
        survey.note_answer(&answer);
        dwelling.into_iter().take(2 * EXAMPLES).for_each(|fact| survey.note("detail", fact));
    }
    troubles(conversation).for_each(|trouble| survey.note("trouble", trouble));
    if conversation.is_cut_short() {
        survey.note("trouble", "cut short: this is what was known by then");
    }
    survey
}

fn note_files(survey: &mut Survey, listing: &Listing, reach: Reach) {
    let is_partial = listing.notes.iter().any(|note| note.contains("left out"));
    let least = if is_partial { "at least " } else { "" };
    let below = match (reach, listing.directories.len()) {
        (Reach::Top, _) | (_, 0) => String::new(),
        (Reach::Whole, 1) => " (and 1 directory)".to_owned(),
        (Reach::Whole, count) => format!(" (and {count} directories)"),
    };
    survey.note("files", format!("{least}{}{below}", listing.files.len()));
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for file in &listing.files {
        *kinds.entry(file.extension().unwrap_or("other")).or_default() += 1;
    }
    if !kinds.is_empty() {
        survey.note("kinds", most(kinds).join(", "));
    }
    let notable = notes::notable(&listing.files);
    if !notable.is_empty() {
        let names: Vec<_> = notable.iter().map(|file| format!("`{}`", file.path)).collect();
        survey.note("notable", names.join(", "));
    }
    let unread = listing.notes.iter().filter(|note| note.starts_with("not read"));
    unread.for_each(|note| survey.note("trouble", note));
}

/// Returns the most frequent ones, each with its number.
fn most(counts: BTreeMap<&str, usize>) -> Vec<String> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().take(EXAMPLES).map(|(name, count)| format!("{count} {name}")).collect()
}

fn directories(files: &[File]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let directory = file.path.split_once('/').map_or("files at the top", |(first, _)| first);
        *counts.entry(directory).or_default() += 1;
    }
    most(counts)
}

fn about(conversation: &Conversation<'_>) -> Option<String> {
    conversation.calls_of("read_file").find_map(|exchange| {
        let about = notes::about(exchange.text().ok()?)?;
        Some(format!("{about} (from `{}`)", exchange.argument("path")))
    })
}

/// Returns the loose ends of an area. The search goes all the way down, so what is not
/// at the top is taken out here.
fn loose_ends(area: &Area, conversation: &Conversation<'_>) -> Vec<LooseEnd> {
    let found = conversation.calls_of("search_files").filter_map(|exchange| exchange.text().ok());
    let mut ends: Vec<_> = found.flat_map(notes::loose_ends).collect();
    ends.retain(|end| area.holds(&end.path));
    ends
}

fn summary_of_ends(ends: &[LooseEnd]) -> String {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for end in ends {
        *files.entry(&end.path).or_default() += 1;
    }
    let todo = ends.iter().filter(|end| end.line.contains("TODO")).count();
    match most(files).first() {
        Some(first) => format!("{todo} TODO, {} FIXME (most: {first})", ends.len() - todo),
        None => "none".to_owned(),
    }
}

fn documents(area: &Area, conversation: &Conversation<'_>) -> Vec<String> {
    let found = conversation.calls_of("find_files").filter_map(|exchange| exchange.text().ok());
    let files = found.flat_map(|text| Listing::parse(text).files);
    let files = files.filter(|file| area.holds(&file.path));
    files.map(|file| format!("`{}`", file.path)).collect()
}

fn counted(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        _ => format!("{}: {}", names.len(), names[..names.len().min(EXAMPLES)].join(", ")),
    }
}

fn answer(conversation: &Conversation<'_>) -> Option<Answer> {
    let asked = conversation.calls_of("ask_user").last()?;
    Some(asked.text().map_or(Answer::Nobody, |words| Answer::Said(words.to_owned())))
}

fn troubles(conversation: &Conversation<'_>) -> impl Iterator<Item = String> {
    conversation.exchanges.iter().filter_map(|exchange| {
        let (why, path) = (exchange.text().err()?, exchange.argument("path"));
        let is_of_file = !path.is_empty();
        is_of_file.then(|| format!("{} of `{path}` failed: {why}", exchange.call.name))
    })
}
