//! What a cassette looks like, and what it must not have in it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use adjutant_core::{
    AgentPath, Message, Model, ModelError, Models, Origin, Request, ToolChoice, Trouble, WireLog,
};
use adjutant_models::{
    cassette::{Cassette, Player, Redactor},
    script::{Reply, Script, call},
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::{
    cassettes::{DIRECTORY, cassette, find, read, recorder, results, say, written},
    support::Asking,
};

#[tokio::test]
async fn who_was_first_makes_no_difference() {
    let mut files = Vec::new();
    for names in [["a-1", "a-2", "a-10", "b-1"], ["b-1", "a-10", "a-2", "a-1"]] {
        let recorder = recorder(Script::new().on("*", [Reply::text("x")]));
        for name in names {
            let asking = Asking::new(&format!("root.{name}"), name).offering(&[name]);
            asking.text(&*find(&recorder)).await;
        }
        files.push(written(&cassette(&recorder)));
    }
    assert_eq!(files[0], files[1]);
    let file: Value = serde_json::from_str(&files[0]).unwrap();
    let agents = file["agents"].as_array().unwrap().iter().map(|agent| &agent["agent"]);
    let sorted = ["root.a-1", "root.a-2", "root.a-10", "root.b-1"];
    assert_eq!(agents.collect::<Vec<_>>(), sorted);
}

#[tokio::test]
async fn everything_is_kept_once() {
    let recorder = recorder(Script::new().on(
        "*",
        (0..20).map(|turn| {
            Reply::calls([call("c", "look", json!({ "said": format!("said {turn}.") }))])
        }),
    ));
    let mut asking = Asking::new("root", "the task").offering(&["look"]);
    for turn in 0..20 {
        let calls = asking.parts(&*find(&recorder)).await;
        asking.push(Message::Assistant { parts: calls });
        asking.push(results(&format!("heard {turn}.\nand more")));
    }
    Asking::new("root.a-1", "another").offering(&["look"]).hear(&*find(&recorder)).await;
    let file = written(&cassette(&recorder));
    let texts = (1..19).flat_map(|turn| [format!("said {turn}."), format!("heard {turn}.")]);
    for text in texts.chain(["the task".to_owned(), "\"parameters\"".to_owned()]) {
        assert_eq!(file.matches(&text).count(), 1, "{text}");
    }
    // A text of several lines has its lines to itself.
    assert!(file.lines().any(|line| line.trim() == "\"heard 7.\","), "{file}");
}

#[test]
fn nobody_else_sees_the_file_and_the_one_before_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("it.json"), directory.path().join("link"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    fs::write(&file, "before").unwrap();
    let cassette = cassette(&recorder(Script::new()));
    for path in [&file, &link] {
        cassette.write(path).unwrap();
        Cassette::read(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(&file).unwrap();
        fs::write(&file, "before").unwrap();
    }
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn a_place_that_cannot_be_written_is_known_before() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("file"), "as it was").unwrap();
    for name in ["file", "new"] {
        Cassette::check_writable(&at(name)).unwrap();
    }
    for name in ["", "missing/new", "file/new"] {
        Cassette::check_writable(&at(name)).unwrap_err();
    }
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "as it was");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let error = Cassette::check_writable(Path::new("/dev/null")).unwrap_err();
    assert_eq!(error.to_string(), "it is not a file");
}

#[tokio::test]
async fn a_file_that_is_no_cassette_is_told_by_its_line() {
    let recorder = recorder(Script::new().on("*", [Reply::text("x")]));
    Asking::new("root", "go").text(&*find(&recorder)).await;
    let good = written(&cassette(&recorder));
    let line = |text: &str| good.lines().position(|line| line.contains(text)).unwrap() + 1;
    let expected = "expected one of `done`, `calls`, `length`, `filtered`, `broken_off`, `cut`, \
                    `stopped`, `failed`";
    for (old, new, place, problem) in [
        (
            "\"cassette\": 1",
            "\"cassette\": 2",
            "\"cassette\"",
            "version 2 is not known: expected 1",
        ),
        ("\"turn\": 1", "\"turm\": 1", "\"turn\"", "unknown field `turm`"),
        ("\"end\": \"done\"", "\"end\": \"doen\"", "\"end\"", expected),
        ("\"system\": 1", "\"system\": 2", "\"agent\"", "`root` has `system` 2: expected a number"),
        ("\"tools\": 1", "\"tools\": 0", "\"agent\"", "`root` has `tools` 0: expected a number"),
        ("\"agent\": \"root\"", "\"agent\": \"me\"", "\"agent\"", "`me` is not an agent's path"),
        ("\"heard\": [", "\"heard\": {", "\"heard\"", "expected"),
    ] {
        let bad = good.replacen(old, new, 1);
        assert_ne!(bad, good, "{old}");
        let bad = read(&bad).unwrap_err().to_string();
        let place = format!("…/it.json:{}: ", line(place));
        assert!(bad.starts_with(&place) && bad.contains(problem), "{place}{problem}\n{bad}");
    }
    let late = good.replacen("\n}\n", ",\n  \"order\": [[\"root\", 3]]\n}\n", 1);
    let late = read(&late).unwrap_err().to_string();
    assert!(late.ends_with("`order` has more steps of `root` than it took"), "{late}");
    assert!(read("").unwrap_err().to_string().starts_with("…/it.json:1: "));
    let half = read(&good[..good.len() / 2]).unwrap_err();
    assert!(half.line.is_some(), "{half}");
    let missing = Cassette::read(Path::new("/nowhere/it.json")).unwrap_err().to_string();
    assert!(missing.starts_with("/nowhere/it.json: cannot be read: "), "{missing}");
}

const KEY: &str = "sk-ant-api03-AbCdEfGh12345678";
const OWN_KEY: &str = "correct-horse-battery";

fn redactor() -> Redactor {
    Redactor::new(|text| text.replace(OWN_KEY, "[key]"))
}

/// Asks with keys everywhere in the system prompt, the schema and these messages.
async fn ask(model: &dyn Model, messages: &[Arc<Message>]) -> Result<(), ModelError> {
    let request = Request {
        agent: &AgentPath::root(),
        turn: 1,
        system: &format!("The key is {KEY}, or {OWN_KEY}"),
        messages,
        tools: &[],
        choice: ToolChoice::Free,
        schema: Some(&json!({ "const": KEY })),
        max_output: 100,
        manner: &adjutant_core::Manner::default(),
    };
    let answer = model.stream(request, &mut WireLog::default());
    answer.collect::<Vec<_>>().await.into_iter().find_map(Result::err).map_or(Ok(()), Err)
}

#[tokio::test]
async fn a_key_is_nowhere_in_the_file_and_not_missed() {
    let both = format!("{KEY} {OWN_KEY}");
    let call = call("c", "use", json!({ "key": [both.clone()] }));
    let recorder = recorder(Script::new().on(
        "*",
        [
            Reply::error(ModelError::new(Trouble::Busy, both.clone())).saying(both.clone()),
            Reply::text("fine"),
            Reply::calls([call]).saying(both.clone()).reasoning(both.clone()),
        ],
    ));
    recorder.find(&both).err().unwrap();
    let messages = [
        Message::user(Origin::Person, format!("use {both}")),
        say(&both),
        results(&format!("API_KEY={KEY}\nOWN={OWN_KEY};\nin {DIRECTORY}")),
        say("fine"),
        Message::user(Origin::Person, "and then?"),
    ];
    let messages = messages.map(Arc::new);
    let model = find(&recorder);
    ask(&*model, &messages[..3]).await.unwrap_err();
    ask(&*model, &messages[..3]).await.unwrap();
    ask(&*model, &messages).await.unwrap();
    let file = written(&recorder.cassette(Path::new(DIRECTORY), redactor()));
    for key in [KEY, OWN_KEY] {
        assert!(!file.contains(key), "{file}");
    }
    // Whoever replays may have the keys, or not.
    for redactor in [redactor(), Redactor::default()] {
        let cassette = read(&file).unwrap();
        let player = Player::new(cassette, "it.json", Path::new(DIRECTORY), redactor);
        let model = find(&player);
        let error = ask(&*model, &messages[..3]).await.unwrap_err();
        assert_eq!(error.message, "[key] [key]");
        assert_eq!(ask(&*model, &messages[..3]).await, Ok(()));
        assert_eq!(ask(&*model, &messages).await, Ok(()));
    }
}

#[tokio::test]
async fn a_key_nobody_knows_any_more_is_passed_over_once_and_for_all() {
    let recorder = recorder(Script::new().on("*", [Reply::text("fine"), Reply::text("done")]));
    let mut asking = Asking::new("root", &format!("use {OWN_KEY}"));
    let first = asking.text(&*find(&recorder)).await;
    asking.push(say(&first));
    asking.push(results("used"));
    asking.text(&*find(&recorder)).await;
    let cassette = recorder.cassette(Path::new(DIRECTORY), redactor());
    let player = Player::new(cassette, "it.json", Path::new(DIRECTORY), Redactor::default());
    let mut asking = Asking::new("root", &format!("use {OWN_KEY}"));
    asking.text(&*find(&player)).await;
    asking.push(say(&first));
    asking.push(results("used"));
    assert_eq!(asking.text(&*find(&player)).await, "done");
}
