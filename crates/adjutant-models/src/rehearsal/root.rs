//! What the root of a survey does: list, delegate, wait, report.

use serde_json::json;

use super::{
    answer::{Answer, Focus},
    conversation::{Conversation, Exchange},
    listing::Listing,
    step::Step,
    survey::Survey,
    surveyor::{self, Area, Manner, Reach},
};

/// How a report begins.
pub(crate) const HEADING: &str = "# Survey of this directory";

/// How many directories are surveyed.
const MOST_AREAS: usize = 4;
/// Directories with what tools have made.
const PRODUCTS: [&str; 3] = ["target", "node_modules", "__pycache__"];

const GREETING: &str = "This is a rehearsal, not a language model: a fixed routine that really \
    delegates. It can only survey the directory it runs in, whatever the task, so it lists that \
    first.";
const FAREWELL: &str = "_This was a rehearsal. A fixed routine wrote this, not a language model; \
    the agents, their tools, the question and the numbers were real._";

/// Returns what the root does next.
pub(crate) fn next(conversation: &Conversation<'_>) -> Step {
    match conversation.rounds {
        _ if conversation.is_cut_short() => report(conversation),
        0 if conversation.offers("list_dir") => greet(),
        0 => report(conversation),
        1 => survey(conversation),
        _ if !is_delegated(conversation) => survey_alone(conversation),
        _ if is_waiting(conversation) => Step::say(
            "The other areas are done. One is still being surveyed in the background; its \
             report comes by itself.",
        ),
        _ => report(conversation),
    }
}

fn greet() -> Step {
    Step { text: GREETING.to_owned(), calls: vec![("list_dir", json!({ "path": "." }))] }
}

/// Gives each area to an agent, or looks itself if it cannot delegate.
fn survey(conversation: &Conversation<'_>) -> Step {
    let (areas, _) = areas(conversation);
    let spawn = conversation.offers("agent_spawn");
    let wait = conversation.offers("sub_agent");
    if areas.is_empty() {
        return report(conversation);
    }
    if !spawn && !wait {
        return survey_alone(conversation);
    }
    let last = areas.len() - 1;
    let tool = |place| match (wait, spawn) {
        (true, true) if place == last && last > 0 => "agent_spawn",
        (true, _) => "sub_agent",
        (false, _) => "agent_spawn",
    };
    let calls: Vec<_> = areas
        .iter()
        .enumerate()
        .map(|(place, area)| (tool(place), json!({ "prompt": area.to_task() })))
        .collect();
    let names: Vec<_> = areas.iter().map(|area| title(area.name())).collect();
    let text = format!("An agent for each area: {}.", names.join(", "));
    Step { text, calls }
}

fn survey_alone(conversation: &Conversation<'_>) -> Step {
    // What came before: the listing, and perhaps an attempt to delegate.
    let before = 1 + usize::from(delegations(conversation).next().is_some());
    let step = surveyor::next(&everything(), conversation, conversation.rounds - before);
    if step.calls.is_empty() { report(conversation) } else { step }
}

fn everything() -> Area {
    Area { path: ".".to_owned(), reach: Reach::Whole, manner: Manner::Asking }
}

/// Returns the areas to survey and the names of those there are too many of.
fn areas(conversation: &Conversation<'_>) -> (Vec<Area>, Vec<String>) {
    let listed = conversation.calls_of("list_dir").next();
    let listing = listed.and_then(|exchange| exchange.text().ok()).map(Listing::parse);
    let listing = listing.unwrap_or_default();
    let is_wanted = |name: &String| !name.starts_with('.') && !PRODUCTS.contains(&name.as_str());
    let mut wanted: Vec<_> = listing.directories.into_iter().filter(is_wanted).collect();
    let left_out = wanted.split_off(wanted.len().min(MOST_AREAS));
    let whole = |path| Area { path, reach: Reach::Whole, manner: Manner::Silent };
    let mut areas: Vec<_> = wanted.into_iter().map(whole).collect();
    if !listing.files.is_empty() {
        areas.push(Area { reach: Reach::Top, ..whole(".".to_owned()) });
    }
    if let Some(first) = areas.first_mut() {
        first.manner = Manner::Asking;
    }
    (areas, left_out)
}

fn title(area: &str) -> String {
    match area {
        "./*" => "the files at the top".to_owned(),
        "." => "the whole directory".to_owned(),
        path => format!("`{path}`"),
    }
}

fn delegations<'a>(conversation: &'a Conversation<'a>) -> impl Iterator<Item = &'a Exchange<'a>> {
    let is_delegation = |tool: &str| matches!(tool, "sub_agent" | "agent_spawn");
    conversation.exchanges.iter().filter(move |exchange| is_delegation(&exchange.call.name))
}

/// Reports whether anyone took over an area.
fn is_delegated(conversation: &Conversation<'_>) -> bool {
    let was_started = |exchange: &Exchange<'_>| {
        exchange.text().is_ok() || !Survey::parse(&exchange.result.text).is_empty()
    };
    delegations(conversation).any(was_started)
}

/// Reports whether a background child is out and the root has not said yet that it waits.
fn is_waiting(conversation: &Conversation<'_>) -> bool {
    let spawned = conversation.calls_of("agent_spawn").filter(|exchange| exchange.text().is_ok());
    spawned.count() > conversation.ended && !conversation.has_waited
}

/// Sums up what is known so far.
fn report(conversation: &Conversation<'_>) -> Step {
    let surveys = surveys(conversation);
    let mut blocks = vec![HEADING.to_owned()];
    blocks.extend(what_it_is(&surveys));
    blocks.push(area_lines(conversation, &surveys));
    if let Some(answer) = surveys.iter().find_map(Survey::answer) {
        blocks.push(dwelling(&answer, &surveys));
    }
    if conversation.is_cut_short() {
        blocks.push("The survey was cut short; this is what was known by then.".to_owned());
    }
    blocks.push(FAREWELL.to_owned());
    blocks.retain(|block| !block.is_empty());
    Step::say(blocks.join("\n\n"))
}

/// Returns the surveys so far. A surveyor that was stopped tells what it had.
fn surveys(conversation: &Conversation<'_>) -> Vec<Survey> {
    let told = delegations(conversation).map(|exchange| exchange.result.text.as_str());
    let told = told.chain([conversation.notices.as_str()]);
    let mut surveys: Vec<_> = told.flat_map(Survey::parse).collect();
    if surveys.is_empty() && conversation.calls_of("list_dir").count() > 1 {
        surveys.push(surveyor::report(&everything(), conversation));
    }
    surveys
}

/// Says what the directory is, from its top if that says anything.
fn what_it_is(surveys: &[Survey]) -> Option<String> {
    let about = |survey: &Survey| survey.fact("about").map(|about| format!("What it is: {about}"));
    let top = surveys.iter().find(|survey| survey.area == "./*").and_then(about);
    top.or_else(|| surveys.iter().find_map(about))
}

fn area_lines(conversation: &Conversation<'_>, surveys: &[Survey]) -> String {
    let mut lines: Vec<_> = surveys.iter().map(area_line).collect();
    for exchange in delegations(conversation) {
        let Some(area) = Area::of_task(exchange.argument("prompt")) else { continue };
        if !surveys.iter().any(|survey| survey.area == area.name()) {
            let why = exchange.text().err().unwrap_or("no report yet");
            lines.push(format!("- **{}**: not surveyed: {why}", title(area.name())));
        }
    }
    let (areas, left_out) = areas(conversation);
    if !left_out.is_empty() {
        let names: Vec<_> = left_out.iter().map(|path| title(path)).collect();
        let names = names.join(", ");
        lines.push(format!("- not surveyed, being more than {MOST_AREAS} directories: {names}"));
    }
    if areas.is_empty() && surveys.is_empty() {
        lines.push(nothing(conversation));
    }
    lines.join("\n")
}

fn nothing(conversation: &Conversation<'_>) -> String {
    match conversation.calls_of("list_dir").next().map(Exchange::text) {
        Some(Ok(_)) => "There is nothing here to survey.".to_owned(),
        Some(Err(why)) => format!("The directory could not be listed: {why}"),
        None => "The directory was not listed.".to_owned(),
    }
}

fn area_line(survey: &Survey) -> String {
    let fact = |name| survey.fact(name).map(|fact| format!("; {name}: {fact}"));
    let facts = ["kinds", "notable", "loose ends"].into_iter().filter_map(fact);
    let troubles = survey.facts("trouble").map(|trouble| format!("; trouble: {trouble}"));
    let files = survey.fact("files").unwrap_or("unknown");
    let rest: String = facts.chain(troubles).collect();
    format!("- **{}**: files: {files}{rest}", title(&survey.area))
}

/// Dwells on what the person wanted.
fn dwelling(answer: &Answer, surveys: &[Survey]) -> String {
    let focus = answer.focus();
    let fact = match focus {
        Focus::Structure => "kinds",
        Focus::LooseEnds => "loose ends",
        Focus::Documentation => "documents",
    };
    let mut lines = vec![format!("## On {}", focus.name()), String::new(), answer.explain()];
    lines.push(String::new());
    for survey in surveys {
        let title = title(&survey.area);
        lines.extend(survey.fact(fact).map(|known| format!("- {title}: {fact}: {known}")));
        lines.extend(survey.facts("detail").map(|detail| format!("  - {detail}")));
    }
    lines.join("\n")
}
