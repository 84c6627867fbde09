//! What a rehearsal does, step by step, in conversations made by hand.

use adjutant_core::{Delta, Message, Model, Origin, Part, StopReason, ToolCall, ToolResult};
use adjutant_models::{Pace, Rehearsal};
use serde_json::json;
use tokio::time::Instant;

use crate::support::Asking;

const LOOKING: [&str; 5] = ["list_dir", "read_file", "find_files", "search_files", "ask_user"];
const ALL: [&str; 7] =
    ["list_dir", "read_file", "find_files", "search_files", "ask_user", "sub_agent", "agent_spawn"];

fn rehearsal() -> Rehearsal {
    Rehearsal::new(Pace::Prompt)
}

/// Takes a turn and keeps it in the conversation.
async fn step(asking: &mut Asking) -> (String, Vec<ToolCall>) {
    let message = Message::Assistant { parts: asking.parts(&rehearsal()).await };
    let step = (message.text(), message.calls().cloned().collect());
    asking.push(message);
    step
}

/// Answers the calls, each with what came of it.
fn answer(asking: &mut Asking, calls: &[ToolCall], results: &[Result<&str, &str>]) {
    assert_eq!(calls.len(), results.len(), "{calls:?}");
    let results = calls.iter().zip(results).map(|(call, result)| {
        let text = result.unwrap_or_else(|why| why);
        ToolResult { failed: result.is_err(), ..ToolResult::failure(call.id.clone(), text) }
    });
    asking.push(Message::Tools { results: results.collect() });
}

fn names(calls: &[ToolCall]) -> Vec<&str> {
    calls.iter().map(|call| call.name.as_str()).collect()
}

/// The prompts a root gives for a listing of its directory.
async fn prompts(listing: &str) -> (Asking, Vec<ToolCall>) {
    let mut root = Asking::new("root", "write me a poem").offering(&ALL);
    let (_, calls) = step(&mut root).await;
    answer(&mut root, &calls, &[Ok(listing)]);
    let (_, calls) = step(&mut root).await;
    (root, calls)
}

/// A surveyor of `src` that has looked around.
async fn looked(asking: &str) -> Asking {
    let task = format!("Survey the area `src`: look. {asking}");
    let mut child = Asking::new("root.sub-1", &task).offering(&LOOKING);
    let (_, calls) = step(&mut child).await;
    let area = json!({"path": "src", "recursive": true});
    assert_eq!((names(&calls), &calls[0].arguments), (LOOKED.to_vec(), &area));
    answer(
        &mut child,
        &calls,
        &[
            Ok(
                "README.md (40 bytes)\nlib.rs (90 bytes)\nnet/\nnet/io.rs (700 bytes)\nlogo (1 bytes)",
            ),
            Ok("src/README.md"),
            Ok("src/lib.rs:3: // TODO: tidy\nsrc/net/io.rs:1: // FIXME\nsrc/net/io.rs:9: // TODO"),
        ],
    );
    child
}

const LOOKED: [&str; 3] = ["list_dir", "find_files", "search_files"];
const ASK: &str = "Ask the person what the survey should dwell on.";

#[tokio::test]
async fn the_first_words_say_that_it_is_no_model() {
    let mut root = Asking::new("root", "write me a poem").offering(&ALL);
    let (text, calls) = step(&mut root).await;
    assert!(text.starts_with("This is a rehearsal, not a language model"), "{text}");
    assert!(text.contains("It can only survey"), "{text}");
    assert_eq!((names(&calls), &calls[0].arguments), (vec!["list_dir"], &json!({"path": "."})));
}

#[tokio::test]
async fn each_area_gets_an_agent_and_the_last_works_in_the_background() {
    let listing = ".git/\na/\nb c/\nnode_modules/\nd/\nlïb/\nover/\nREADME.md (3 bytes)";
    let (_, calls) = prompts(listing).await;
    let expected = ["sub_agent", "sub_agent", "sub_agent", "sub_agent", "agent_spawn"];
    assert_eq!(names(&calls), expected);
    let prompts: Vec<_> =
        calls.iter().map(|call| call.arguments["prompt"].as_str().unwrap()).collect();
    for (prompt, area) in prompts.iter().zip(["`a`:", "`b c`:", "`d`:", "`lïb`:", "`.` (only"]) {
        assert!(prompt.starts_with(&format!("Survey the area {area}")), "{prompt}");
    }
    let asking: Vec<_> = prompts.iter().map(|prompt| prompt.contains(ASK)).collect();
    assert_eq!(asking, [true, false, false, false, false]);
}

#[tokio::test]
async fn a_surveyor_looks_then_reads_then_reports() {
    let mut child = looked("").await;
    let (_, calls) = step(&mut child).await;
    let paths: Vec<_> = calls.iter().map(|call| call.arguments["path"].clone()).collect();
    assert_eq!(names(&calls), ["read_file", "read_file"]);
    assert_eq!(paths, ["src/README.md", "src/lib.rs"]);
    answer(&mut child, &calls, &[Ok("     1\t# Source\n     2\t\n     3\tAll code."), Err("no")]);
    let (report, calls) = step(&mut child).await;
    assert_eq!(names(&calls), Vec::<&str>::new());
    let expected = "Survey of `src`\n\
                    - files: 4 (and 1 directory)\n\
                    - kinds: 2 rs, 1 md, 1 other\n\
                    - notable: `README.md`, `lib.rs`\n\
                    - about: Source: All code. (from `src/README.md`)\n\
                    - loose ends: 2 TODO, 1 FIXME (most: 2 src/net/io.rs)\n\
                    - documents: 1: `src/README.md`\n\
                    - trouble: read_file of `src/lib.rs` failed: no";
    assert_eq!(report, expected);
}

#[tokio::test]
async fn the_surveyor_of_the_top_leaves_out_what_is_below() {
    let task = "Survey the area `.` (only the files at its top): look.";
    let mut child = Asking::new("root.agent-1", task).offering(&LOOKING);
    let (_, calls) = step(&mut child).await;
    assert_eq!(calls[0].arguments, json!({"path": ".", "recursive": false}));
    answer(
        &mut child,
        &calls,
        &[
            Ok("a.txt (1 bytes)\nsrc/"),
            Ok("a.txt\nsrc/b.txt"),
            Ok("src/b.txt:1: TODO\na.txt:1: FIXME"),
        ],
    );
    let (report, calls) = step(&mut child).await;
    assert!(calls.is_empty());
    let expected = "Survey of `./*`\n- files: 1\n- kinds: 1 txt\n\
                    - loose ends: 0 TODO, 1 FIXME (most: 1 a.txt)\n- documents: 1: `a.txt`";
    assert_eq!(report, expected);
}

#[tokio::test]
async fn a_tool_that_is_not_on_offer_is_not_called() {
    let task = format!("Survey the area `src`: look. {ASK}");
    let mut child = Asking::new("root.sub-1", &task).offering(&["list_dir"]);
    let (_, calls) = step(&mut child).await;
    assert_eq!(names(&calls), ["list_dir"]);
    answer(&mut child, &calls, &[Ok("README.md (3 bytes)")]);
    let (report, calls) = step(&mut child).await;
    assert!(calls.is_empty() && report.contains("- files: 1"), "{report}");
}

#[tokio::test]
async fn the_answer_decides_what_is_dwelt_on() {
    let table = [
        (Ok("loose ends"), "said loose ends", "src/lib.rs:3: // TODO: tidy"),
        (Ok("documentation"), "said documentation", "`src/README.md`"),
        (Ok("structure"), "said structure", "3 files at the top"),
        (Err("nobody is there to answer"), "did not answer", "3 files at the top"),
        (Ok("the moon"), "said the moon", "3 files at the top"),
    ];
    for (given, person, detail) in table {
        let mut child = looked(ASK).await;
        let (_, calls) = step(&mut child).await;
        let question = &calls[2].arguments;
        assert_eq!(question["choices"], json!(["structure", "loose ends", "documentation"]));
        answer(&mut child, &calls, &[Ok(""), Ok(""), given]);
        let (report, _) = step(&mut child).await;
        let expected = format!("\n- person: {person}\n- detail: {detail}");
        assert!(report.contains(&expected), "{report}");
    }
}

#[tokio::test]
async fn the_root_waits_for_the_background_and_then_reports() {
    let (mut root, calls) = prompts("src/\ntests/\nCargo.toml (9 bytes)").await;
    let first = "Survey of `src`\n- files: 4\n- kinds: 3 rs\n- loose ends: 2 TODO, 0 FIXME\n\
                 - person: said loose ends\n- detail: src/a.rs:1: TODO\n\n[root.sub-1 completed]";
    let refused = "2 agents are at work, the most there may be at one time";
    answer(&mut root, &calls, &[Ok(first), Err(refused), Ok("{\"state\": \"running\"}")]);
    let (waiting, calls) = step(&mut root).await;
    assert!(calls.is_empty() && waiting.contains("in the background"), "{waiting}");
    let ended = vec!["root.agent-3".parse().unwrap()];
    let notice = "[children of yours have ended]\n\nSurvey of `./*`\n- files: 1\n\
                  - about: Does y (from `Cargo.toml`)\n- loose ends: none";
    root.push(Message::user(Origin::Runtime { ended }, notice));
    let (report, calls) = step(&mut root).await;
    assert!(calls.is_empty());
    let expected = [
        "# Survey of this directory\n",
        "What it is: Does y (from `Cargo.toml`)\n",
        "- **`src`**: files: 4; kinds: 3 rs; loose ends: 2 TODO, 0 FIXME",
        "- **the files at the top**: files: 1; loose ends: none",
        &format!("- **`tests`**: not surveyed: {refused}"),
        "## On loose ends\n\nYou said “loose ends”, so this dwells on loose ends.\n",
        "- `src`: loose ends: 2 TODO, 0 FIXME\n  - src/a.rs:1: TODO",
        "_This was a rehearsal. A fixed routine wrote this, not a language model;",
    ];
    let mut rest = report.as_str();
    for piece in expected {
        let place = rest.find(piece).unwrap_or_else(|| panic!("{piece:?} is not in\n{rest}"));
        rest = &rest[place + piece.len()..];
    }
}

#[tokio::test]
async fn a_root_that_is_talked_to_while_it_waits_tells_what_it_has() {
    let (mut root, calls) = prompts("src/\ntests/").await;
    answer(&mut root, &calls, &[Ok("Survey of `src`\n- files: 4"), Ok("{}")]);
    step(&mut root).await;
    root.push(Message::user(Origin::Person, "how far are you?"));
    let (report, _) = step(&mut root).await;
    assert!(report.contains("- **`tests`**: not surveyed: no report yet"), "{report}");
}

#[tokio::test]
async fn an_empty_directory_and_one_that_cannot_be_listed_are_reported() {
    let table = [
        (Ok("[the directory is empty]"), "There is nothing here to survey."),
        (Err("permission denied"), "The directory could not be listed: permission denied"),
    ];
    for (listing, expected) in table {
        let mut root = Asking::new("root", "audit").offering(&ALL);
        let (_, calls) = step(&mut root).await;
        answer(&mut root, &calls, &[listing]);
        let (report, calls) = step(&mut root).await;
        assert!(calls.is_empty());
        assert!(report.contains(expected), "{report}");
    }
}

#[tokio::test]
async fn a_root_that_cannot_delegate_surveys_by_itself() {
    let mut root = Asking::new("root", "audit").offering(&LOOKING);
    let (_, calls) = step(&mut root).await;
    answer(&mut root, &calls, &[Ok("a.rs (5 bytes)\nsrc/")]);
    let (_, calls) = step(&mut root).await;
    assert_eq!(names(&calls), LOOKED);
    answer(
        &mut root,
        &calls,
        &[
            Ok(
                "a.rs (5 bytes)\nsrc/\nsrc/b.rs (9 bytes)\n[9 more entries left out]\n[not read: x]",
            ),
            Ok("[no file matches]"),
            Ok("[no match]"),
        ],
    );
    let (_, calls) = step(&mut root).await;
    assert_eq!(names(&calls), ["read_file", "ask_user"]);
    assert_eq!(calls[0].arguments["path"], "src/b.rs");
    answer(&mut root, &calls, &[Err("gone"), Err("nobody is there to answer")]);
    let (report, _) = step(&mut root).await;
    let line = "- **the whole directory**: files: at least 2 (and 1 directory); kinds: 2 rs; \
                notable: `src/b.rs`; loose ends: none; trouble: not read: x; trouble: read_file \
                of `src/b.rs` failed: gone";
    assert!(report.contains(line), "{report}");
    assert!(report.contains("Nobody answered, so this dwells on structure."), "{report}");
}

#[tokio::test]
async fn a_root_whose_agents_are_all_refused_surveys_by_itself() {
    let (mut root, calls) = prompts("src/").await;
    answer(&mut root, &calls, &[Err("agents go no deeper from here: do the task yourself")]);
    let (_, calls) = step(&mut root).await;
    assert_eq!(names(&calls), LOOKED);
}

#[tokio::test]
async fn a_last_turn_tells_what_is_known_so_far() {
    let report = looked("").await.without_calls().text(&rehearsal()).await;
    assert!(report.contains("- files: 4"), "{report}");
    assert!(report.ends_with("- trouble: cut short: this is what was known by then"), "{report}");
    let (mut root, calls) = prompts("src/\ntests/").await;
    let stopped = "the sub-agent did not finish (timeout). Found so far: \n\
                   Survey of `src`\n- files: 4\n\n[root.sub-1 timeout]";
    answer(&mut root, &calls, &[Err(stopped), Ok("{}")]);
    let report = root.without_calls().text(&rehearsal()).await;
    assert!(report.contains("- **`src`**: files: 4"), "{report}");
    assert!(report.contains("The survey was cut short"), "{report}");
}

#[tokio::test]
async fn whoever_speaks_after_a_report_gets_another_survey() {
    let (mut root, calls) = prompts("").await;
    assert!(calls.is_empty());
    root.push(Message::user(Origin::Person, "and now?"));
    let (_, calls) = step(&mut root).await;
    assert_eq!(names(&calls), ["list_dir"]);
}

#[tokio::test(start_paused = true)]
async fn an_unhurried_answer_can_be_followed_and_has_an_end() {
    let start = Instant::now();
    let asking = Asking::new("root", "audit").offering(&ALL);
    let heard = asking.hear(&Rehearsal::new(Pace::Unhurried)).await;
    let fragments = heard.iter().filter(|delta| matches!(delta, Ok(Delta::Text(_)))).count();
    assert!(fragments > 20, "{fragments}");
    assert!((600..=1500).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    let prompt = asking.hear(&rehearsal()).await;
    assert!(matches!(&prompt[..], [
        Ok(Delta::Text(_)),
        Ok(Delta::Part(Part::Text { .. })),
        Ok(Delta::Part(Part::Call(_))),
        Ok(Delta::Usage(usage)),
        Ok(Delta::Stop(StopReason::Calls)),
    ] if usage.output > 40));
    assert_eq!(rehearsal().info().price.unwrap().output, 0);
}
