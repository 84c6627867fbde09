use proptest::prelude::*;

use super::*;

fn edit(old_text: &str, new_text: &str) -> Edit {
    Edit { old_text: old_text.into(), new_text: new_text.into(), replace_all: None }
}

fn edited(content: &str, old: &str, new: &str) -> Result<String, Misfit> {
    let applied = apply(content.as_bytes(), &edit(old, new))?;
    Ok(String::from_utf8(applied.content).unwrap())
}

fn all(content: &str, old: &str, new: &str) -> String {
    let edit = Edit { replace_all: Some(true), ..edit(old, new) };
    String::from_utf8(apply(content.as_bytes(), &edit).unwrap().content).unwrap()
}

#[track_caller]
fn check(content: &str, old: &str, new: &str, expected: &str) {
    assert_eq!(edited(content, old, new).as_deref(), Ok(expected));
}

#[test]
fn a_text_that_is_there_once_is_replaced() {
    check("one two three", "two", "2", "one 2 three");
    check("a\nb\nc\n", "a\nb\n", "", "c\n");
    check("a\nb", "b", "b\nc\n", "a\nb\nc\n");
    assert_eq!(all("a b a", "a", "aa"), "aa b aa");
}

#[test]
fn a_text_that_is_there_more_than_once_is_not_guessed_at() {
    let many = |count, lines: &[usize]| Err(Misfit::Many { count, lines: lines.to_vec() });
    assert_eq!(edited("x\ny\nx\n", "x", "z"), many(2, &[1, 3]));
    assert_eq!(edited("aaa", "aa", "b"), many(2, &[1, 1]));
    assert_eq!(edited(&"x\n".repeat(12), "x", "z"), many(12, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    // Nobody sees that the lines end differently.
    assert_eq!(edited("a\r\nb\nc\na\nb\n", "a\nb", "z"), many(2, &[1, 4]));
    assert_eq!(all("a\r\nb\nc\na\nb\n", "a\nb", "z"), "z\nc\nz\n");
    // With other blanks it is there twice.
    assert_eq!(edited("  x \ny\n\tx\n", "x\t", "z"), many(2, &[1, 3]));
}

#[test]
fn nothing_is_no_text_and_no_change() {
    assert_eq!(edited("", "", "x"), Err(Misfit::Empty));
    assert_eq!(edited("a", "", "x"), Err(Misfit::Empty));
    assert_eq!(edited("a", "a", "a"), Err(Misfit::Same));
    assert_eq!(edited("\u{FEFF}a", "\u{FEFF}a", "a"), Err(Misfit::Same));
    assert_eq!(edited("\u{FEFF}a", "\u{FEFF}", "a"), Err(Misfit::Empty));
}

#[test]
fn lines_end_like_those_around_them() {
    check("a\r\nb\r\nc\r\n", "b", "b\nx", "a\r\nb\r\nx\r\nc\r\n");
    check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n");
    check("a\r\nb", "b", "b\nx", "a\r\nb\r\nx");
    check("a\nb\r\nc\n", "a", "x\ny", "x\ny\nb\r\nc\n");
    check("a\nb\r\nc\n", "b", "x\ny", "a\nx\r\ny\r\nc\n");
    // The lines that stay keep their own ends.
    check("a\r\nb\nc\r\nd\n", "a\nb\nc\nd\n", "a\nb\nx\nd\n", "a\r\nb\nx\r\nd\n");
    check("a\r\nb\nc\r\nd\n", "a\nb\nc", "x\nb\ny", "x\r\nb\ny\r\nd\n");
    check("a\r\nb\nc\r\nd\n", "a\nb\nc", "x\ny\nz", "x\r\ny\nz\r\nd\n");
    check("a\nb\r\nc\nd\n", "a\nb\nc", "x\nb\ny", "x\nb\r\ny\nd\n");
    check("a\r\nb\nc\nd\n", "a\nb\nc", "x\nw\nb\ny", "x\r\nw\r\nb\ny\nd\n");
    check("a\r\nb\nc\nd\n", "a\nb\nc\nd\n", "x\nc\ny\n", "x\r\nc\ny\n");
    check("a\nb\r\n", "a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n");
    check("a", "a", "x\ny", "x\ny");
}

#[test]
fn whoever_writes_carriage_returns_means_them() {
    check("a\r\nb\n", "a\r\n", "a\n", "a\nb\n");
    check("a\nb\n", "a\r\nb\r\n", "x\r\ny\r\n", "x\ny\n");
    check("a\nb\n", "b\n", "b\r\n", "a\nb\r\n");
    check("a\r\nb\r\n", "b", "b\r\nc", "a\r\nb\r\nc\r\n");
    check("a\rb", "a\r", "x", "xb");
}

#[test]
fn what_marks_a_file_as_utf8_stays() {
    check("\u{FEFF}a\nb\n", "a\n", "", "\u{FEFF}b\n");
    check("\u{FEFF}a\nb\n", "\u{FEFF}a", "x", "\u{FEFF}x\nb\n");
    check("\u{FEFF}a  \nb\n", "a\nb", "x\nb", "\u{FEFF}x\nb\n");
    check("a", "a", "\u{FEFF}a", "\u{FEFF}a");
}

#[test]
fn a_missing_end_of_the_last_line_stays_missing() {
    check("a\nlast", "last\n", "x\n", "a\nx");
    check("a\nlast", "a\nlast\n", "a\nx\ny\n", "a\nx\ny");
    check("a\nlast", "last", "x", "a\nx");
}

#[test]
fn blanks_may_drift_where_only_one_place_can_be_meant() {
    check("if x:  \n\ty\nz\n", "if x:\n\ty\n", "if x:\n\tw\n", "if x:  \n\tw\nz\n");
    // Indented by less, by more, with tabs for spaces, with spaces for tabs.
    let class = "class A:\n    def f(self):\n        pass\n";
    check(
        class,
        "def f(self):\n    pass\n",
        "def f(self):\n    if x:\n        pass\n",
        "class A:\n    def f(self):\n        if x:\n            pass\n",
    );
    check("f {\n  a\n}\n", "    f {\n      a\n    }", "    f {\n      b\n    }", "f {\n  b\n}\n");
    let tabs = "f {\n\tif a {\n\t\tb\n\t}\n}\n";
    check(tabs, "    if a {\n        b", "    if a {\n        b\n        c", {
        "f {\n\tif a {\n\t\tb\n\t\tc\n\t}\n}\n"
    });
    check("f {\n  a\n}\n", "f {\n\ta\n", "f {\n\tb\n\t\tc\n", "f {\n  b\n    c\n}\n");
    let applied = apply(b"a  \nb\n", &edit("a\nb", "c\nb")).unwrap();
    assert_eq!(applied.fit, Fit::Blanks);
    assert_eq!(apply(b"a\nb\n", &edit("a\nb", "c\nb")).unwrap().fit, Fit::Exact);
}

#[test]
fn blanks_that_do_not_tell_how_to_indent_are_refused() {
    let mixed = "f {\n\ta\n        b\n}\n";
    let refused = edited(mixed, "f {\n  a\n    b\n}", "f {\n  a\n    c\n}");
    assert_eq!(refused, Err(Misfit::Indentation { line: 1 }));
    // Five blanks are no number of tabs.
    let refused = edited("f {\n\ta\n}\n", "f {\n  a\n}", "f {\n     b\n}");
    assert_eq!(refused, Err(Misfit::Indentation { line: 1 }));
    // Less than what is to be taken away.
    let refused = edited("a\nb\n", "    a\n    b", "    a\n  c");
    assert_eq!(refused, Err(Misfit::Indentation { line: 1 }));
}

#[test]
fn blanks_inside_a_line_and_an_edit_of_blanks_do_not_drift() {
    assert!(matches!(edited("a  = b\n", "a = b", "c"), Err(Misfit::Absent(_))));
    assert!(matches!(edited("\ta\n", "  a", "    a"), Err(Misfit::Absent(_))));
    assert!(matches!(edited("a\n \nb\n", "   \n", "x\n"), Err(Misfit::Absent(_))));
    // Only spaces and tabs are blanks.
    assert!(matches!(edited("\ra \nb\n", "a\nb", "x\nb"), Err(Misfit::Absent(_))));
    // Part of a line is not a line.
    assert!(matches!(edited("foo(a, \n  b)\n", "foo(a,\nb", "c"), Err(Misfit::Absent(_))));
}

#[test]
fn a_text_that_is_not_there_is_answered_with_what_comes_nearest() {
    let file = "fn a() {\n    one();\n    two();\n}\nfn b() {\n    three();\n}\n";
    let nearest = |old: &str| match edited(file, old, "x") {
        Err(Misfit::Absent(nearest)) => nearest,
        other => panic!("{other:?}"),
    };
    let lines = "     1\tfn a() {\n     2\t    one();\n     3\t    two();";
    assert_eq!(nearest("fn a() {\n    one(1);\n    two();").as_deref(), Some(lines));
    assert_eq!(nearest("    three(3);").as_deref(), Some("     6\t    three();"));
    assert_eq!(nearest("nothing of the kind"), None);
    let long = "line\n".repeat(100);
    let Err(Misfit::Absent(Some(shown))) = edited(&long, &(long.clone() + "more"), "x") else {
        panic!("it is not there");
    };
    assert_eq!(shown.lines().count(), 12);
}

/// A file of lines from few words, so that much is there twice, with ends of all kinds.
fn file() -> impl Strategy<Value = Vec<u8>> {
    const LINES: [&[u8]; 8] = [b"", b"a", b"  b", b"\tb ", "é".as_bytes(), b"\xFF", b"a b", b"\r"];
    const ENDS: [&[u8]; 3] = [b"\n", b"\r\n", b""];
    let line = (prop::sample::select(&LINES[..]), prop::sample::select(&ENDS[..]));
    let lines = prop::collection::vec(line, 0..8);
    lines.prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end].concat()).collect())
}

/// Counts the carriage returns that end no line.
fn lone(bytes: &[u8]) -> usize {
    let count = |sought: &[u8]| memmem::find_iter(bytes, sought).count();
    count(b"\r") - count(b"\r\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_is_replaced_the_rest_stays(
        content in file(),
        (from, to) in (0usize..40, 1usize..20),
        new in "[ab é\n\r\t]{0,6}",
        replace_all in any::<bool>(),
        blank in "[ \t]{0,2}",
    ) {
        // Something that is there, perhaps with other blanks and without carriage returns.
        let text = String::from_utf8_lossy(&content).into_owned();
        let old: String = text.chars().skip(from).take(to).filter(|it| *it != '\r').collect();
        let old = old.replace("\n", &format!("{blank}\n{blank}"));
        let edit = Edit { old_text: old, new_text: new, replace_all: Some(replace_all) };
        let Ok(Applied { content: after, swaps, places, .. }) = apply(&content, &edit) else {
            return Ok(());
        };
        let (mut was, mut is) = (0, 0);
        for (swap, place) in swaps.iter().zip(&places) {
            prop_assert_eq!(&content[was..swap.range.start], &after[is..place.start]);
            prop_assert_eq!(&after[place.clone()], &swap.with[..]);
            (was, is) = (swap.range.end, place.end);
        }
        prop_assert_eq!(&content[was..], &after[is..]);
        if !edit.new_text.contains('\r') {
            prop_assert!(lone(&after) <= lone(&content), "a carriage return was doubled");
        }
    }

    #[test]
    fn a_text_that_is_there_once_is_always_found(
        before in "[a-c\n ]{0,12}", after in "[a-c\n ]{0,12}", old in "[x-z][x-z\n é]{0,6}[x-z]",
        is_crlf in any::<bool>(),
    ) {
        let ended = |text: &str| if is_crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let file = ended(&format!("{before}{old}{after}"));
        let expected = ended(&format!("{before}NEW\nLINE{after}"));
        let has_end = file.contains('\n');
        prop_assume!(has_end || !is_crlf);
        prop_assert_eq!(edited(&file, &old, "NEW\nLINE"), Ok(expected));
    }
}
