//! Edits as a model makes them, right and wrong.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use crate::ground::Ground;

#[tokio::test]
async fn an_edit_shows_the_lines_around_it() {
    let text: String = (1..=9).map(|number| format!("line {number}\n")).collect();
    let ground = Ground::with(&[("a.txt", &text)]);
    let arguments =
        json!({ "path": "a.txt", "old_text": "line 5", "new_text": "five\nand a half" });
    let said = ground.seat.call("edit_file", arguments).await.unwrap();
    assert_eq!(
        said,
        "edited `a.txt` in 1 place\n     3\tline 3\n     4\tline 4\n     5\tfive\n     6\tand a \
         half\n     7\tline 6\n     8\tline 7\n"
    );
    assert_eq!(ground.read("a.txt"), text.replace("line 5", "five\nand a half"));
    let arguments =
        json!({ "path": "a.txt", "old_text": "line", "new_text": "row", "replace_all": true });
    let said = ground.seat.call("edit_file", arguments).await.unwrap();
    assert!(said.starts_with("edited `a.txt` in 8 places\n     1\trow 1\n"), "{said}");
    assert_eq!(ground.read("a.txt").matches("line").count(), 0);
}

#[tokio::test]
async fn a_long_change_is_shown_in_part() {
    let ground = Ground::with(&[("a", "x\n")]);
    let new = format!("{}\n", "y".repeat(1000)).repeat(100);
    let arguments = json!({ "path": "a", "old_text": "x\n", "new_text": new });
    let said = ground.seat.call("edit_file", arguments).await.unwrap();
    assert!(said.len() < 5000 && said.contains("[the rest of the line is left out]"), "{said}");
}

#[tokio::test]
async fn why_an_edit_cannot_be_made_is_said() {
    let ground = Ground::with(&[("a", "one\ntwo\none\n"), ("empty", "")]);
    let cases = [
        (("a", "one", "1"), "is there 2 times, at lines 1, 3: add lines around it"),
        (("a", "tow\n", "2"), "`old_text` is not there"),
        (("a", "two()", "2"), "The nearest lines:\n     2\ttwo"),
        (("a", "", "x"), "to fill an empty file use write_file"),
        (("empty", "", "x"), "to fill an empty file use write_file"),
        (("a", "two", "two"), "come to the same"),
    ];
    for ((path, old_text, new_text), expected) in cases {
        let arguments = json!({ "path": path, "old_text": old_text, "new_text": new_text });
        let error = ground.seat.call("edit_file", arguments).await.unwrap_err();
        assert!(error.starts_with(&format!("`{path}`: ")), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    assert!(ground.seat.changes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn drifting_blanks_are_mentioned() {
    let ground = Ground::with(&[("a.py", "class A:\n\tdef f(self):\n\t\tpass\n")]);
    let arguments = json!({
        "path": "a.py",
        "old_text": "    def f(self):\n        pass",
        "new_text": "    def f(self):\n        return 1",
    });
    let said = ground.seat.call("edit_file", arguments).await.unwrap();
    assert!(said.contains("[blanks at the ends of lines differ from `old_text`"), "{said}");
    assert_eq!(ground.read("a.py"), "class A:\n\tdef f(self):\n\t\treturn 1\n");
}

#[tokio::test]
async fn several_edits_are_all_made_or_none() {
    let ground = Ground::with(&[("a", "one\ntwo\nthree\n")]);
    let edits = |last: &str| {
        json!({ "path": "a", "edits": [
            { "old_text": "three", "new_text": "3" },
            { "old_text": "one\n", "new_text": "1\n1.5\n" },
            { "old_text": last, "new_text": "2" },
        ] })
    };
    let error = ground.seat.call("multi_edit", edits("four")).await.unwrap_err();
    assert!(error.starts_with("`a`: edit 3 of 3: `old_text` is not there"), "{error}");
    assert!(error.ends_with("[none of the edits was made]"), "{error}");
    assert_eq!(ground.read("a"), "one\ntwo\nthree\n");
    // Each finds the file as those before left it, and is shown where it is in the end.
    let said = ground.seat.call("multi_edit", edits("1.5\ntwo")).await.unwrap();
    assert_eq!(said, "edited `a` in 3 places\n     1\t1\n     2\t2\n     3\t3\n");
    assert_eq!(ground.read("a"), "1\n2\n3\n");
    assert_eq!(ground.seat.changes.lock().unwrap().len(), 1);
    let error = ground.seat.call("multi_edit", json!({ "path": "a", "edits": [] })).await;
    assert_eq!(error.unwrap_err(), "`edits` is empty: there is nothing to do");
    let back = json!({ "path": "a", "edits": [
        { "old_text": "3", "new_text": "x" },
        { "old_text": "x", "new_text": "3" },
    ] });
    let error = ground.seat.call("multi_edit", back).await.unwrap_err();
    assert!(error.ends_with("nothing was changed"), "{error}");
}

#[tokio::test]
async fn what_is_not_edited_survives_byte_by_byte() {
    let ground = Ground::with(&[]);
    let cases: [(&[u8], &str, &str, &[u8]); 5] = [
        (b"\xFF\xFE one \x00 two", "one", "1", b"\xFF\xFE 1 \x00 two"),
        (b"a\r\nb\r\nc", "b", "b\nx", b"a\r\nb\r\nx\r\nc"),
        (b"\xEF\xBB\xBFone\ntwo", "one\n", "1\n", b"\xEF\xBB\xBF1\ntwo"),
        (b"a\r\nb\nc\n\xE9", "b", "x", b"a\r\nx\nc\n\xE9"),
        ("é😀è".as_bytes(), "😀", "ö", "éöè".as_bytes()),
    ];
    for (agent, (before, old_text, new_text, after)) in (1..).zip(cases) {
        ground.write("a", before);
        fs::set_permissions(ground.at("a"), fs::Permissions::from_mode(0o751)).unwrap();
        let arguments = json!({ "path": "a", "old_text": old_text, "new_text": new_text });
        let edited =
            ground.seat.other(&format!("root.x-{agent}")).call("edit_file", arguments).await;
        edited.unwrap_or_else(|error| panic!("{before:?}: {error}"));
        assert_eq!(fs::read(ground.at("a")).unwrap(), after);
        let mode = fs::metadata(ground.at("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o751);
    }
}

#[tokio::test]
async fn a_file_that_is_too_long_is_refused_with_its_size() {
    let ground = Ground::with(&[]);
    fs::File::create(ground.at("a")).unwrap().set_len(16 * 1024 * 1024 + 1).unwrap();
    for (tool, arguments) in [
        ("edit_file", json!({ "path": "a", "old_text": "x", "new_text": "y" })),
        ("delete_file", json!({ "path": "a" })),
    ] {
        let error = ground.seat.call(tool, arguments).await.unwrap_err();
        let expected = "`a`: too long to be changed here: 16777217 bytes, the most are 16 MiB";
        assert_eq!(error, expected);
    }
}
