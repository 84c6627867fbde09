//! Ways out of what was judged, none of which leads anywhere.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use adjutant_core::{Effect, Target, Touch};
use serde_json::{Value, json};

use crate::{ground::Ground, seat::tool};

const MOVED: &str = "leads somewhere else than when it was judged: try again";

/// Every tool that takes a path, with arguments that would do something there.
fn calls(path: &str) -> [(&'static str, Value); 8] {
    [
        ("read_file", json!({ "path": path })),
        ("list_dir", json!({ "path": path })),
        ("find_files", json!({ "path": path, "pattern": "*" })),
        ("search_files", json!({ "path": path, "pattern": "secret" })),
        ("write_file", json!({ "path": path, "content": "mine" })),
        ("edit_file", json!({ "path": path, "old_text": "secret", "new_text": "mine" })),
        (
            "multi_edit",
            json!({ "path": path, "edits": [{ "old_text": "secret", "new_text": "mine" }] }),
        ),
        ("delete_file", json!({ "path": path })),
    ]
}

fn judged(tool_name: &str, arguments: &Value, workdir: &Path) -> PathBuf {
    match tool(tool_name).touches(arguments, workdir).as_slice() {
        [Touch { target: Target::Path(path), .. }] => path.clone(),
        other => panic!("{other:?}"),
    }
}

/// Puts a link in the place of something.
fn swap(from: &Path, to: &Path) {
    if from.is_dir() && !from.is_symlink() {
        fs::rename(from, from.with_extension("old")).unwrap();
    } else {
        fs::remove_file(from).unwrap();
    }
    symlink(to, from).unwrap();
}

fn ground() -> Ground {
    let files = [("dir/file", "word"), ("dir/sub/file", "word"), ("../outside/file", "secret")];
    Ground::with(&files)
}

#[tokio::test]
async fn a_file_swapped_for_a_link_is_not_followed() {
    for (tool, arguments) in calls("dir/file") {
        if matches!(tool, "list_dir" | "find_files") {
            continue;
        }
        let ground = ground();
        let outside = ground.at("../outside/file");
        let swapped = || swap(&ground.at("dir/file"), &outside);
        let end = ground.seat.call_after(tool, arguments, swapped).await;
        assert_eq!(fs::read_to_string(&outside).unwrap(), "secret", "{tool}");
        if tool == "delete_file" {
            // It is the link itself that was judged.
            assert_eq!(
                end.unwrap(),
                format!("deleted the link `dir/file`: {} bytes", outside.as_os_str().len())
            );
        } else {
            assert_eq!(end.unwrap_err(), format!("`dir/file` {MOVED}"), "{tool}");
            assert!(ground.seat.changes.lock().unwrap().is_empty(), "{tool}");
        }
        assert!(
            ground
                .seat
                .facts
                .lock()
                .unwrap()
                .iter()
                .all(|fact| { !format!("{fact:?}").contains("outside") })
        );
    }
}

#[tokio::test]
async fn a_directory_on_the_way_swapped_for_a_link_is_not_followed() {
    for (path, swapped) in
        [("dir/file", "dir"), ("dir/sub/../file", "dir"), ("dir/sub/file", "dir")]
    {
        for (tool, arguments) in calls(path) {
            if matches!(tool, "list_dir" | "find_files") {
                continue;
            }
            let ground = ground();
            fs::create_dir(ground.at("../outside/sub")).unwrap();
            fs::write(ground.at("../outside/sub/file"), "secret").unwrap();
            let happens = || swap(&ground.at(swapped), &ground.at("../outside"));
            let error = ground.seat.call_after(tool, arguments, happens).await.unwrap_err();
            assert_eq!(error, format!("`{path}` {MOVED}"), "{tool}");
            assert_eq!(ground.read("../outside/file"), "secret", "{tool}");
            assert_eq!(ground.read("../outside/sub/file"), "secret", "{tool}");
            assert_eq!(ground.names("../outside"), ["file", "sub"], "{tool}");
        }
    }
}

#[tokio::test]
async fn a_directory_to_look_through_swapped_for_a_link_is_not_followed() {
    for (tool, arguments) in calls("dir") {
        if !matches!(tool, "list_dir" | "find_files" | "search_files") {
            continue;
        }
        let ground = ground();
        let happens = || swap(&ground.at("dir"), &ground.at("../outside"));
        let error = ground.seat.call_after(tool, arguments, happens).await.unwrap_err();
        assert_eq!(error, format!("`dir` {MOVED}"), "{tool}");
    }
}

#[tokio::test]
async fn a_link_that_leads_elsewhere_than_it_did_is_not_followed() {
    for (tool, arguments) in calls("link") {
        let ground = ground();
        symlink("dir/file", ground.at("link")).unwrap();
        let happens = || swap(&ground.at("link"), &ground.at("../outside/file"));
        let end = ground.seat.call_after(tool, arguments, happens).await;
        if tool == "delete_file" {
            assert!(end.unwrap().starts_with("deleted the link"));
        } else {
            assert_eq!(end.unwrap_err(), format!("`link` {MOVED}"), "{tool}");
        }
        assert_eq!(ground.read("../outside/file"), "secret", "{tool}");
        assert_eq!(ground.read("dir/file"), "word", "{tool}");
    }
}

/// Once the call is judged, a link comes and goes all the time.
#[test]
fn a_link_swapped_in_at_any_moment_leads_nowhere() {
    let ground = ground();
    let (file, spare) = (ground.at("dir/file"), ground.at("spare"));
    let outside = ground.at("../outside/file");
    let is_over = AtomicBool::new(false);
    let swap_on = || {
        while !is_over.load(Relaxed) {
            symlink(&outside, &spare).unwrap();
            fs::rename(&spare, &file).unwrap();
            fs::write(&spare, "word").unwrap();
            fs::rename(&spare, &file).unwrap();
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for _ in 0..200 {
        for (tool, arguments) in calls("dir/file").into_iter().chain(calls("dir")) {
            if !matches!(tool, "read_file" | "search_files" | "edit_file" | "write_file") {
                continue;
            }
            is_over.store(false, Relaxed);
            let end = thread::scope(|scope| {
                let begin = || drop(scope.spawn(swap_on));
                let end = runtime.block_on(ground.seat.call_after(tool, arguments, begin));
                is_over.store(true, Relaxed);
                end
            });
            assert!(!end.is_ok_and(|text| text.contains("secret")), "{tool}");
        }
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
}

#[tokio::test]
async fn a_directory_that_is_made_is_not_made_behind_a_link() {
    let ground = ground();
    let happens = || symlink(ground.at("../outside"), ground.at("new")).unwrap();
    let arguments = json!({ "path": "new/sub/file", "content": "mine" });
    let error = ground.seat.call_after("write_file", arguments, happens).await.unwrap_err();
    assert_eq!(error, format!("`new/sub/file` {MOVED}"));
    assert_eq!(ground.names("../outside"), ["file"]);
}

#[tokio::test]
async fn writing_through_a_link_is_judged_by_where_it_leads_and_goes_there() {
    let ground = ground();
    symlink("dir/file", ground.at("link")).unwrap();
    symlink("dir/new", ground.at("dangling")).unwrap();
    symlink("../outside", ground.at("out")).unwrap();
    let cases = [
        ("link", ground.at("dir/file")),
        ("dangling", ground.at("dir/new")),
        ("out/x/../new", ground.at("..").canonicalize().unwrap().join("outside/new")),
        ("dir/../../outside/file", ground.at("..").canonicalize().unwrap().join("outside/file")),
        ("/proc/self/root/tmp/x", "/tmp/x".into()),
        ("/proc/self/cwd", std::env::current_dir().unwrap()),
    ];
    for (path, expected) in cases {
        for (name, arguments) in calls(path) {
            if name != "delete_file" {
                assert_eq!(judged(name, &arguments, &ground.seat.workdir), expected, "{name}");
            }
        }
    }
    let arguments = json!({ "path": "dangling", "content": "made" });
    assert_eq!(
        ground.seat.call("write_file", arguments).await.unwrap(),
        "created `dangling`: 1 line, 4 bytes"
    );
    assert_eq!(ground.read("dir/new"), "made");
    assert!(ground.at("dangling").is_symlink());
    let arguments = json!({ "path": "link", "old_text": "word", "new_text": "words" });
    ground.seat.call("edit_file", arguments).await.unwrap();
    assert_eq!(ground.read("dir/file"), "words");
    assert!(ground.at("link").is_symlink());
}

#[tokio::test]
async fn a_deleted_link_is_not_what_it_leads_to() {
    let ground = ground();
    symlink("../outside/file", ground.at("link")).unwrap();
    let arguments = json!({ "path": "./link" });
    assert_eq!(judged("delete_file", &arguments, &ground.seat.workdir), ground.at("link"));
    ground.seat.call("delete_file", arguments).await.unwrap();
    assert_eq!(ground.read("../outside/file"), "secret");
    assert_eq!(ground.names("."), ["dir"]);
    let changes = ground.seat.changes.lock().unwrap();
    let (state, content) = changes[0].before.as_ref().unwrap();
    assert_eq!((state.mode, &content[..]), (0o120_777, &b"../outside/file"[..]));
    assert_eq!(changes[0].path, ground.at("link").display().to_string());
}

#[tokio::test]
async fn what_the_kernel_makes_up_is_no_way_around() {
    let ground = ground();
    let held = fs::File::open(ground.at("../outside/file")).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&held);
    let path = format!("/proc/self/fd/{number}");
    // It is judged by the file it leads to, and once that is gone it leads nowhere.
    let real = ground.at("..").canonicalize().unwrap().join("outside/file");
    for (tool, arguments) in calls(&path) {
        if tool != "delete_file" {
            assert_eq!(judged(tool, &arguments, &ground.seat.workdir), real, "{tool}");
        }
    }
    fs::remove_file(&real).unwrap();
    let error = ground.seat.call("read_file", json!({ "path": path })).await.unwrap_err();
    assert!(error.contains("No such file"), "{error}");
}

#[tokio::test]
async fn links_in_a_circle_are_said_to_be_that() {
    let ground = Ground::with(&[]);
    symlink("b", ground.at("a")).unwrap();
    symlink("a", ground.at("b")).unwrap();
    for (tool, arguments) in calls("a") {
        if tool != "delete_file" {
            let error = ground.seat.call(tool, arguments).await.unwrap_err();
            assert!(error.contains("Too many levels of symbolic links"), "{tool}: {error}");
        }
    }
}

#[tokio::test]
async fn a_pipe_holds_nobody_up() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let ground = ground();
    mknodat(CWD, ground.at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for (tool, arguments) in calls("pipe") {
        match (tool, ground.seat.call(tool, arguments).await) {
            // A walk from it comes upon no file.
            ("search_files", end) => assert_eq!(end.unwrap(), "[no match]"),
            (_, end) => {
                let error = end.unwrap_err();
                assert!(error.contains("not a regular file") || error.contains("not a directory"));
            }
        }
    }
    let happens = || {
        fs::remove_file(ground.at("dir/file")).unwrap();
        mknodat(CWD, ground.at("dir/file"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    };
    let end = ground.seat.call_after("read_file", json!({ "path": "dir/file" }), happens).await;
    assert_eq!(end.unwrap_err(), "`dir/file`: not a regular file");
}

#[test]
fn changing_is_judged_as_writing() {
    for (name, arguments) in calls("dir/file") {
        let touches = tool(name).touches(&arguments, Path::new("/work"));
        let is_change = matches!(name, "write_file" | "edit_file" | "multi_edit" | "delete_file");
        let effect = if is_change { Effect::Write } else { Effect::Read };
        assert_eq!(touches[0].effect, effect, "{name}");
        assert_eq!(tool(name).spec().effect, effect, "{name}");
    }
}
