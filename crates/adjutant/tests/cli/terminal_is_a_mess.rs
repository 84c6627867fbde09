//! What a person sees at a terminal, what they are asked there, and what is left of it.

use adjutant_core::{Answer, EventKind};

use crate::{
    scripts::{HANGING, TREE},
    support::{PROGRAM, World},
    terminal::Terminal,
};

const CTRL_C: &str = "\u{3}";

/// Returns the lines of a screen without their figures. A script that was interrupted has
/// replies left, of which it warns.
fn lines(screen: &str) -> Vec<&str> {
    let lines = screen.lines().filter(|line| !line.starts_with("warning: "));
    lines.map(|line| line.split(" · ").next().unwrap()).collect()
}

fn answers(world: &World) -> Vec<Answer> {
    let journal = world.journal();
    let answer = |kind: &EventKind| match kind {
        EventKind::Answered { answer, .. } => Some(answer.clone()),
        _ => None,
    };
    journal.iter().filter_map(|event| answer(&event.kind)).collect()
}

fn words(text: &str) -> Answer {
    Answer::Words { text: text.to_owned() }
}

#[test]
fn a_question_is_asked_and_what_remains_is_a_transcript() {
    // Time for a drawing, which has to make way for the question.
    let question = "calls = [{ tool = \"ask_user\"";
    let script = TREE.replace(question, &format!("delay_ms = 300\n{question}"));
    let world = World::new().script(&script);
    let mut terminal = Terminal::start(&world, &[PROGRAM, "run", "go"]);
    terminal.wait_for("  1) euro\n  2) yen\n>");
    terminal.type_in("3\n");
    terminal.wait_for("there are choices 1 to 2; or answer in words\n>");
    terminal.type_in("2\n");
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(answers(&world), [words("yen")]);

    let mut lines = lines(&screen);
    let answer = lines.split_off(lines.len() - 2);
    assert_eq!(answer, ["Two files,", "in euro."]);
    // Whoever is done before the question is told of before it.
    let done = lines.iter().position(|line| *line == "✓ root.sub-1 completed").unwrap();
    lines.remove(done);
    let expected = [
        "root.sub-2.sub-1 asks: Which?",
        "  1) euro",
        "  2) yen",
        "> 3",
        "there are choices 1 to 2; or answer in words",
        "> 2",
        "✓ root.sub-2.sub-1 completed",
        "✓ root.sub-2 completed",
        "✓ root completed",
    ];
    assert_eq!(lines, expected, "{screen}");
}

#[test]
fn a_tree_is_drawn_while_it_is_at_work_and_gone_when_it_is_interrupted() {
    let world = World::new().script(HANGING);
    let mut terminal = Terminal::start(&world, &[PROGRAM, "run", "go"]);
    terminal.wait_for("sub-1  take your time");
    terminal.type_in(CTRL_C);
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(130), "{screen}");
    let expected = ["■ root.sub-1 cancelled", "■ root cancelled", "I have begun."];
    assert_eq!(lines(&screen)[..3], expected, "{screen}");
}

#[test]
fn an_interrupted_question_is_taken_back() {
    let world = World::new().script(TREE);
    let mut terminal = Terminal::start(&world, &[PROGRAM, "run", "go"]);
    terminal.wait_for("  2) yen\n>");
    terminal.type_in("half an ans");
    terminal.wait_for("> half an ans");
    terminal.type_in(CTRL_C);
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(130), "{screen}");
    assert_eq!(answers(&world), []);
    let withdrawn = "> half an ans^C\nroot.sub-2.sub-1 needs no answer any more\n";
    assert!(screen.contains(withdrawn), "{screen}");
    assert!(lines(&screen).contains(&"I will ask two others."), "{screen}");
}

#[test]
fn a_person_is_asked_at_the_terminal_when_everything_else_is_a_file() {
    let world = World::new().script(TREE).file("task", "go");
    // Somebody has to hold the terminal, or it hangs up.
    let redirected = r#"exec "$0" "$@" 3<&0 < task > answer 2> progress"#;
    let mut terminal = Terminal::start(&world, &["/bin/sh", "-c", redirected, PROGRAM, "run"]);
    terminal.wait_for("  2) yen\n>");
    terminal.type_in("neither\n");
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(answers(&world), [words("neither")]);
    assert_eq!(screen, "root.sub-2.sub-1 asks: Which?\n  1) euro\n  2) yen\n> neither");
    assert_eq!(world.read("answer"), "Two files,  \nin euro.\n");
    let progress = world.read("progress");
    assert!(progress.starts_with("root started: go\n") && !progress.contains('\u{1b}'));
}

#[test]
fn a_person_sees_the_tree_while_a_program_gets_the_result() {
    let world = World::new().script(HANGING);
    let redirected = r#"exec "$0" "$@" > result"#;
    let arguments = ["/bin/sh", "-c", redirected, PROGRAM, "run", "--json", "go"];
    let mut terminal = Terminal::start(&world, &arguments);
    terminal.wait_for("sub-1  take your time");
    terminal.type_in(CTRL_C);
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(130), "{screen}");
    assert_eq!(lines(&screen), ["■ root.sub-1 cancelled", "■ root cancelled"], "{screen}");
    let result: serde_json::Value = serde_json::from_str(&world.read("result")).unwrap();
    assert_eq!(result["ending"], "cancelled");
    assert_eq!(result["agents"][1]["text"], "still thinking");
}
