//! Looking at files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use adjutant_core::{Effect, Rules, Target, Touch};
use serde_json::json;
use tempfile::TempDir;

use crate::seat::{Seat, tool};

/// A directory with these files in it.
fn project(files: &[(&str, &str)]) -> (TempDir, Seat) {
    let keep = tempfile::tempdir().unwrap();
    let root = keep.path().canonicalize().unwrap();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let seat = Seat::at(&root);
    (keep, seat)
}

fn touched(tool_name: &str, arguments: &serde_json::Value, workdir: &Path) -> PathBuf {
    let touches = tool(tool_name).touches(arguments, workdir);
    match touches.as_slice() {
        [Touch { effect: Effect::Read, target: Target::Path(path) }] => path.clone(),
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_outside_is_judged_by_where_it_leads() {
    let (_keep, seat) = project(&[("work/a.txt", "x"), ("outside/secret", "x")]);
    let (work, outside) = (seat.workdir.join("work"), seat.workdir.join("outside"));
    std::os::unix::fs::symlink(&outside, work.join("link")).unwrap();
    let cases = [
        ("read_file", json!({ "path": "link/secret" }), outside.join("secret")),
        ("read_file", json!({ "path": "a.txt" }), work.join("a.txt")),
        ("list_dir", json!({ "path": "link" }), outside.clone()),
        ("list_dir", json!({}), work.clone()),
        ("find_files", json!({ "pattern": "*", "path": "link" }), outside.clone()),
        ("search_files", json!({ "pattern": "x", "path": "../outside" }), outside),
    ];
    for (name, arguments, expected) in cases {
        assert_eq!(touched(name, &arguments, &work), expected);
    }
}

#[tokio::test]
async fn a_walk_passes_by_what_a_rule_denies() {
    let files = [("a.txt", "word"), ("secrets/key.txt", "word"), ("deep/secrets/key.txt", "word")];
    let (_keep, seat) = project(&files);
    let deny = vec!["*(secrets/**)".parse().unwrap(), "*(deep/secrets)".parse().unwrap()];
    let seat = seat.with_rules(Rules { deny, ..Rules::default() });
    let out = |count: usize| format!("\n[{count} left out by a rule; name them to be told which]");
    let found = seat.call("search_files", json!({ "pattern": "word" })).await.unwrap();
    assert_eq!(found, format!("a.txt:1: word{}", out(2)));
    let found = seat.call("find_files", json!({ "pattern": "*.txt" })).await.unwrap();
    assert_eq!(found, format!("a.txt{}", out(2)));
    let listed = seat.call("list_dir", json!({ "path": "secrets" })).await.unwrap();
    assert_eq!(listed, format!("[the directory is empty]{}", out(1)));
    let listed = seat.call("list_dir", json!({ "recursive": true })).await.unwrap();
    assert_eq!(listed, format!("a.txt (4 bytes)\ndeep/\nsecrets/{}", out(2)));
}

#[tokio::test]
async fn a_walk_goes_no_further_than_a_rule_allows() {
    let files = [("work/a.txt", "word"), ("there/b.txt", "word"), ("there/deep/c.txt", "word")];
    let (_keep, mut seat) = project(&files);
    let there = seat.workdir.join("there");
    seat.workdir.push("work");
    for (below, expected) in [("none", 0), ("*.txt", 1), ("**", 2)] {
        let rules = [there.clone(), there.join(below)];
        let rule = |path: PathBuf| format!("search_files({})", path.display()).parse().unwrap();
        let rules = Rules { allow: rules.map(rule).into(), ..Rules::default() };
        let seat = Seat::at(&seat.workdir).with_rules(rules);
        let call = json!({ "pattern": "word", "path": there });
        let found = seat.call("search_files", call).await.unwrap();
        assert_eq!(found.matches(": word").count(), expected, "{below}: {found}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_walk_does_not_follow_links_out_of_its_directory() {
    let (_keep, mut seat) = project(&[("work/a.txt", "word"), ("outside/secret.txt", "word")]);
    let outside = seat.workdir.join("outside");
    seat.workdir.push("work");
    std::os::unix::fs::symlink(&outside, seat.workdir.join("dir")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret.txt"), seat.workdir.join("file.txt")).unwrap();
    let found = seat.call("search_files", json!({ "pattern": "word" })).await.unwrap();
    assert_eq!(found, "a.txt:1: word");
    let found = seat.call("find_files", json!({ "pattern": "**/*.txt" })).await.unwrap();
    assert_eq!(found, "a.txt\nfile.txt");
    let listed = seat.call("list_dir", json!({ "recursive": true })).await.unwrap();
    let outside = outside.display();
    let expected = format!("a.txt (4 bytes)\ndir -> {outside}\nfile.txt -> {outside}/secret.txt");
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn a_file_is_read_and_noted() {
    let (_keep, seat) = project(&[("src/a.txt", "one\r\ntwö\r\n")]);
    let text = seat.call("read_file", json!({ "path": "src/../src/a.txt" })).await.unwrap();
    assert_eq!(text, "     1\tone\n     2\ttwö\n[lines end in CRLF]\n");
    assert_eq!(seat.files_read(), [seat.workdir.join("src/a.txt")]);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_a_reason() {
    let (_keep, seat) = project(&[("dir/a.txt", "x"), ("image", "\u{89}PNG\0")]);
    let cases = [
        (json!({ "path": "dir" }), "`dir` is a directory: use list_dir"),
        (json!({ "path": "image" }), "`image` is a binary file"),
        (json!({ "path": "none" }), "`none`: No such file"),
        (json!({ "path": "/dev/null" }), "not a regular file"),
        (json!({ "path": "dir/a.txt", "offset": 0 }), "`offset`"),
        (json!({ "path": "dir/a.txt", "limit": 0 }), "`limit`"),
        (json!({ "path": "dir/a.txt", "offset": 9 }), "the file has 1 line"),
        (json!({}), "missing field `path`"),
    ];
    for (arguments, expected) in cases {
        let error = seat.call("read_file", arguments).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert!(seat.files_read().is_empty());
}

#[tokio::test]
async fn a_picture_is_shown_as_one_and_other_bytes_are_not() {
    let (_keep, seat) = project(&[]);
    let write = |name: &str, start: &[u8], length: usize| {
        let mut bytes = start.to_vec();
        bytes.resize(length, 0);
        fs::write(seat.workdir.join(name), bytes).unwrap();
    };
    let (png, most) = (b"\x89PNG\r\n\x1a\n", 5 * 1024 * 1024);
    write("small.png", png, 9);
    write("large.png", png, most);
    write("huge.png", png, most + 1);
    write("program", b"\x7FELF", most + 1);
    write("archive", b"PK\x03\x04", 100);
    let read = async |arguments| seat.call("read_file", arguments).await;
    let said = read(json!({ "path": "small.png" })).await.unwrap();
    assert_eq!(said, "[a picture, image/png, 9 bytes: it is attached]");
    assert!(read(json!({ "path": "large.png" })).await.unwrap().contains("5242880 bytes"));
    {
        let images = seat.images.lock().unwrap();
        assert_eq!((images.len(), images[0].media_type.as_str()), (2, "image/png"));
        assert_eq!(&*images[0].data, "iVBORw0KGgoA");
        assert_eq!(images[1].data.len(), most.div_ceil(3) * 4);
    }
    let cases = [
        (
            json!({ "path": "huge.png" }),
            "picture (image/png) of 5242881 bytes: the most shown are 5 MiB",
        ),
        (json!({ "path": "small.png", "offset": 1 }), "leave out `offset`, `limit` and `column`"),
        (json!({ "path": "small.png", "column": 1 }), "leave out `offset`"),
        (json!({ "path": "small.png", "limit": 1 }), "leave out `offset`"),
        (json!({ "path": "program" }), "is a binary file (a program, 5242881 bytes)"),
        (json!({ "path": "archive" }), "is a binary file (a zip archive, 100 bytes)"),
    ];
    for (arguments, expected) in cases {
        let error = read(arguments).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(seat.images.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_long_file_is_read_in_pages() {
    let text: String = (1..=100_000).map(|number| format!("line {number}\n")).collect();
    let (_keep, seat) = project(&[("long", &text)]);
    let page = seat.call("read_file", json!({ "path": "long" })).await.unwrap();
    assert_eq!(page.lines().count(), 2001);
    assert!(page.ends_with("  2000\tline 2000\n[more lines left out: go on with offset 2001]\n"));
    let arguments = json!({ "path": "long", "offset": 99_999 });
    let page = seat.call("read_file", arguments).await.unwrap();
    assert_eq!(page, " 99999\tline 99999\n100000\tline 100000\n");
}

#[tokio::test]
async fn a_listing_is_sorted_and_marks_directories() {
    let files = [("b.txt", "12345"), ("a/x", ""), (".hidden", "1"), (".gitignore", "b.txt\n")];
    let (_keep, seat) = project(&files);
    let listed = seat.call("list_dir", json!({})).await.unwrap();
    assert_eq!(listed, ".gitignore (6 bytes)\n.hidden (1 byte)\na/\nb.txt (5 bytes)");
    fs::create_dir(seat.workdir.join(".git")).unwrap();
    let below = seat.call("list_dir", json!({ "recursive": true })).await.unwrap();
    assert_eq!(below, ".gitignore (6 bytes)\n.hidden (1 byte)\na/\na/x (0 bytes)");
    let error = seat.call("list_dir", json!({ "path": "b.txt" })).await.unwrap_err();
    assert_eq!(error, "`b.txt` is not a directory: use read_file");
    fs::create_dir(seat.workdir.join("empty")).unwrap();
    let empty = seat.call("list_dir", json!({ "path": "empty" })).await.unwrap();
    assert_eq!(empty, "[the directory is empty]");
}

#[tokio::test]
async fn a_long_listing_says_how_much_is_left_out() {
    let (_keep, seat) = project(&[]);
    for number in 0..510 {
        fs::write(seat.workdir.join(format!("{number:03}")), "").unwrap();
    }
    for (tool, arguments) in [("list_dir", json!({})), ("find_files", json!({ "pattern": "*" }))] {
        let listed = seat.call(tool, arguments).await.unwrap();
        assert_eq!(listed.lines().count(), 501, "{tool}");
        let note = listed.lines().last().unwrap();
        assert!(note.starts_with("[10 more left out; to see them "), "{note}");
    }
}

#[tokio::test]
async fn files_are_found_by_pattern_and_ignored_ones_are_not() {
    let files = [
        ("src/b.rs", ""),
        ("src/a/c.rs", ""),
        ("target/x.rs", ""),
        (".github/ci.yml", ""),
        (".git/config.rs", ""),
        (".gitignore", "target/\n"),
    ];
    let (_keep, seat) = project(&files);
    let find = async |pattern: &str, path: &str| {
        let arguments = json!({ "pattern": pattern, "path": path });
        seat.call("find_files", arguments).await.unwrap()
    };
    assert_eq!(find("*.rs", ".").await, "src/a/c.rs\nsrc/b.rs");
    assert_eq!(find("*/*.rs", ".").await, "src/b.rs");
    assert_eq!(find("**/*.rs", "src").await, "src/a/c.rs\nsrc/b.rs");
    assert_eq!(find("*.yml", ".").await, "[no file matches `*.yml`]");
    assert_eq!(find(".github/*.yml", ".").await, ".github/ci.yml");
    let error = seat.call("find_files", json!({ "pattern": "a[" })).await.unwrap_err();
    assert!(error.contains("`a[` is not a pattern"), "{error}");
}

#[tokio::test]
async fn a_search_shows_lines_by_file_and_notes_what_it_showed() {
    let late_binary = format!("two\n{}\0", "x\n".repeat(100_000));
    let files = [
        ("a.txt", "one\r\nTwo\r\nthree\r\nfour\r\n"),
        ("b/c.rs", "two\n"),
        ("b/none.txt", "zero\n"),
        ("early", "two\nx\0"),
        ("late", &late_binary),
        ("ignored.txt", "two"),
        (".gitignore", "ignored.txt"),
    ];
    let (_keep, seat) = project(&files);
    let found = seat.call("search_files", json!({ "pattern": "^two$" })).await.unwrap();
    assert_eq!(found, "b/c.rs:1: two");
    assert_eq!(seat.files_read(), [seat.workdir.join("b/c.rs")]);
    let arguments = json!({ "pattern": "^two$", "case_insensitive": true, "context": 1 });
    let found = seat.call("search_files", arguments).await.unwrap();
    assert_eq!(found, "a.txt-1- one\na.txt:2: Two\na.txt-3- three\n\nb/c.rs:1: two");
    let arguments = json!({ "pattern": "o", "glob": "*.txt", "path": "b" });
    assert_eq!(seat.call("search_files", arguments).await.unwrap(), "b/none.txt:1: zero");
    let arguments = json!({ "pattern": "t", "path": "b/c.rs", "glob": "*.rs" });
    assert_eq!(seat.call("search_files", arguments).await.unwrap(), "b/c.rs:1: two");
    let found = seat.call("search_files", json!({ "pattern": "five" })).await.unwrap();
    assert_eq!(found, "[no match]");
}

#[tokio::test]
async fn a_bad_expression_is_refused_with_its_own_complaint() {
    let (_keep, seat) = project(&[("a", "x")]);
    let error = seat.call("search_files", json!({ "pattern": "(x" })).await.unwrap_err();
    assert!(error.contains("unclosed group"), "{error}");
    let error = seat.call("search_files", json!({ "pattern": "x", "path": "no" })).await;
    assert!(error.unwrap_err().contains("`no`: No such file"));
}

#[tokio::test]
async fn a_search_with_many_matches_stops_and_says_so() {
    let (_keep, seat) = project(&[("a", &"x\n".repeat(200)), ("b", "y\n")]);
    let found = seat.call("search_files", json!({ "pattern": "x" })).await.unwrap();
    assert_eq!(found.lines().count(), 200);
    let found = seat.call("search_files", json!({ "pattern": "x|y" })).await.unwrap();
    assert!(found.ends_with(
        "[more matches left out after the first 200: narrow the pattern, the path or the glob \
         to see them]"
    ));
    assert!(!found.contains("b:1"));
    let (_keep, seat) = project(&[("a", &format!("{}\n", "é".repeat(500)).repeat(199))]);
    let found = seat.call("search_files", json!({ "pattern": "é" })).await.unwrap();
    assert!(found.len() < 70_000, "{}", found.len());
    let first = format!(
        "a:1: {} [bytes 1 to 500 of 1000: read_file shows more with offset 1, limit 1, column 1]\n",
        "é".repeat(250)
    );
    assert!(found.starts_with(&first), "{found}");
    assert!(found.contains("[more matches left out after the first "));
}

#[tokio::test]
async fn a_match_far_along_a_line_is_shown_and_so_is_the_way_to_the_rest() {
    let line = format!("{}needle{}", "é".repeat(2000), "ü".repeat(2000));
    let (_keep, seat) = project(&[("a", &format!("first\n{line}\nlast\n"))]);
    let found = seat.call("search_files", json!({ "pattern": "needle" })).await.unwrap();
    let shown = format!("a:2: {}needle{}", "é".repeat(50), "ü".repeat(197));
    let note =
        "[bytes 3901 to 4400 of 8006: read_file shows more with offset 2, limit 1, column 3901]";
    assert_eq!(found, format!("{shown} {note}"));
    let arguments = json!({ "path": "a", "offset": 2, "limit": 1, "column": 3901 });
    let read = seat.call("read_file", arguments).await.unwrap();
    let text = format!("{}needle{}", "é".repeat(50), "ü".repeat(1944));
    let note = "[the rest of the line is left out: go on with offset 2, limit 1, column 7895]";
    assert!(read.starts_with(&format!("     2\t{text} {note}\n")), "{read}");
    let arguments = json!({ "path": "a", "offset": 2, "limit": 1, "column": 7895 });
    let read = seat.call("read_file", arguments).await.unwrap();
    assert!(read.starts_with(&format!("     2\t{}\n[more", "ü".repeat(56))), "{read}");
    let arguments = json!({ "path": "a", "limit": 1, "column": 6 });
    let error = seat.call("read_file", arguments).await.unwrap_err();
    assert_eq!(error, "`a`: there is no column 6 in these lines: they are shorter");
}

#[cfg(unix)]
#[tokio::test]
async fn a_name_cannot_pass_for_something_else() {
    let (_keep, seat) = project(&[("b\n[5 more left out]\u{1b}[2J", "word")]);
    let name = r#""b\n[5 more left out]\u{1b}[2J""#;
    std::os::unix::fs::symlink("c\rd", seat.workdir.join("link")).unwrap();
    let listed = seat.call("list_dir", json!({})).await.unwrap();
    assert_eq!(listed, format!("{name} (4 bytes)\nlink -> \"c\\rd\""));
    let found = seat.call("find_files", json!({ "pattern": "b*" })).await.unwrap();
    assert_eq!(found, name);
    let found = seat.call("search_files", json!({ "pattern": "word" })).await.unwrap();
    assert_eq!(found, format!("{name}:1: word"));
}

#[tokio::test]
async fn a_stopped_call_ends_with_an_error() {
    let (_keep, seat) = project(&[("a", "x")]);
    seat.token.cancel();
    let calls = [
        ("list_dir", json!({})),
        ("read_file", json!({ "path": "a" })),
        ("find_files", json!({ "pattern": "*" })),
        ("search_files", json!({ "pattern": "x" })),
    ];
    for (tool, arguments) in calls {
        let error = seat.call(tool, arguments).await.unwrap_err();
        assert!(error.contains("stopped"), "{tool}: {error}");
    }
}

/// Root may read everything, so there is nothing to see for it.
#[cfg(unix)]
#[tokio::test]
async fn what_may_not_be_read_is_not_passed_over_in_silence() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        return;
    }
    let (_keep, seat) = project(&[("a", "x"), ("locked/b", "x"), ("shut", "x")]);
    for path in ["locked", "shut"] {
        let nothing = fs::Permissions::from_mode(0o000);
        fs::set_permissions(seat.workdir.join(path), nothing).unwrap();
    }
    let error = seat.call("read_file", json!({ "path": "shut" })).await.unwrap_err();
    assert!(error.starts_with("`shut`: Permission denied"), "{error}");
    let calls = [
        ("list_dir", json!({ "recursive": true })),
        ("find_files", json!({ "pattern": "*" })),
        ("search_files", json!({ "pattern": "x" })),
    ];
    for (tool, arguments) in calls {
        let text = seat.call(tool, arguments).await.unwrap();
        assert!(text.contains("[not read: ") && text.contains("locked"), "{tool}: {text}");
        assert_eq!(text.matches("not read").count() == 2, tool == "search_files", "{text}");
    }
    fs::set_permissions(seat.workdir.join("locked"), fs::Permissions::from_mode(0o700)).unwrap();
}
