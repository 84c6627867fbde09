//! What agents write down for one another is there for all, and it is known who wrote it.

use adjutant_core::{EventKind, Note, Tree as Folded};
use adjutant_models::script::{Call, Script};
use serde_json::{Value, json};

use crate::support::{Plan, Reply, Tree, call, path, sub};

fn write(key: &str, value: Value) -> Call {
    let mut note = json!({ "key": key });
    if !value.is_null() {
        note["value"] = value;
    }
    call("w", "notes_write", note)
}

fn read(arguments: Value) -> Call {
    call("r", "notes_read", arguments)
}

fn note(key: &str, value: &str, by: &str) -> Note {
    Note { key: key.to_owned(), value: value.to_owned(), by: path(by) }
}

/// Has the root make these calls, one after the other, and returns their results.
async fn run(script: Script, calls: impl IntoIterator<Item = Call>) -> (Tree, Vec<String>) {
    let calls = calls.into_iter().map(|call| Reply::calls([call]));
    let script = script.on("root", calls).on("root", [Reply::text("done")]);
    let mut tree = Plan::new(script).begin("go").await;
    assert_eq!(tree.end().await.text, "done");
    let results = tree.results("root");
    (tree, results)
}

#[tokio::test(start_paused = true)]
async fn what_a_child_writes_its_parent_reads_with_its_name() {
    let script = Script::new().on(
        "root.sub-1",
        [
            Reply::calls([read(json!({}))]),
            Reply::calls([write("currency", json!("euro"))]),
            Reply::calls([write("a", json!("first"))]),
            Reply::text("noted"),
        ],
    );
    let calls = [
        read(json!({})),
        write("currency", json!("yen")),
        sub("c", "find out"),
        read(json!({})),
        read(json!({ "key": "currency" })),
        read(json!({ "key": "b" })),
    ];
    let (tree, results) = run(script, calls).await;
    assert_eq!(results[0], "[there are no notes yet]");
    assert_eq!(results[1], "written");
    assert_eq!(results[3], "a (by root.sub-1): first\ncurrency (by root.sub-1): euro");
    assert_eq!(results[4], "currency (by root.sub-1): euro");
    assert_eq!(results[5], "there is no note `b`; there are: a, currency");
    let child = tree.results("root.sub-1");
    assert_eq!(child[0], "currency (by root): yen");
    assert_eq!(child[1], "written; root had written: yen");
}

#[tokio::test(start_paused = true)]
async fn the_journal_has_every_note_and_folds_to_those_that_hold() {
    let script = Script::new()
        .on("root.sub-1", [Reply::calls([write("b", json!("two"))]), Reply::text("noted")]);
    let calls = [
        write("b", json!("one")),
        write("c", json!("gone")),
        sub("c", "write"),
        write("a", json!("three")),
        write("c", Value::Null),
        read(json!({})),
    ];
    let (tree, results) = run(script, calls).await;
    assert_eq!(results[4], "taken away; root had written: gone");
    assert_eq!(results[5], "a (by root): three\nb (by root.sub-1): two");
    let events = tree.journal.read(tree.session.id(), 0, usize::MAX).await.unwrap();
    let is_note = |kind: &EventKind| matches!(kind, EventKind::Noted { .. });
    assert_eq!(events.iter().filter(|event| is_note(&event.kind)).count(), 5);
    let folded = Folded::fold(events.iter().map(|event| &**event));
    let notes: Vec<_> = folded.notes().cloned().collect();
    assert_eq!(notes, [note("a", "three", "root"), note("b", "two", "root.sub-1")]);
}

#[tokio::test(start_paused = true)]
async fn a_list_shows_how_notes_begin_and_one_is_shown_whole() {
    let long = "é".repeat(300);
    let calls = [write("a", json!(long)), read(json!({})), read(json!({ "key": "a" }))];
    let (_, results) = run(Script::new(), calls).await;
    let shown = "é".repeat(199);
    assert_eq!(results[1], format!("a (by root): {shown}…\n[`key` shows one whole]"));
    assert_eq!(results[2], format!("a (by root): {long}"));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_many_notes_is_short_and_names_them_all() {
    let key = |number: u8| format!("{number:03}{}", "k".repeat(50));
    let fill = (0..128).map(|number| write(&key(number), json!("v".repeat(500))));
    let (_, results) = run(Script::new(), fill.chain([read(json!({}))])).await;
    let list = &results[128];
    assert!(list.len() < 24 * 1024, "{}", list.len());
    assert!((0..128).all(|number| list.contains(&key(number))), "{list}");
    assert!(list.contains(" more notes: ") && list.ends_with("[`key` shows one whole]"), "{list}");
}

#[tokio::test(start_paused = true)]
async fn notes_are_few_and_short() {
    let fill = (0..128).map(|number| write(&format!("k{number}"), json!("v")));
    let rest = [
        write("one more", json!("v")),
        write("k0", json!("in its place")),
        write("k1", Value::Null),
        write("one more", json!("v")),
        write("k0", json!("x".repeat(8 * 1024 + 1))),
        write("k0", json!("x".repeat(8 * 1024))),
        write("missing", Value::Null),
        write(&"k".repeat(101), json!("v")),
        write(" ", json!("v")),
        write("a\nb", json!("v")),
    ];
    let (_, results) = run(Script::new(), fill.chain(rest)).await;
    let expected = [
        "there are 128 notes, the most there may be: take one away first",
        "written; root had written: v",
        "taken away; root had written: v",
        "written",
        "a note has at most 8192 bytes, and this has 8193: shorten it",
        "written; root had written: in its place",
        "there is no note `missing`",
        "a key has 1 to 100 bytes, and no line breaks",
        "a key has 1 to 100 bytes, and no line breaks",
        "a key has 1 to 100 bytes, and no line breaks",
    ];
    assert_eq!(results[128..], expected);
}
