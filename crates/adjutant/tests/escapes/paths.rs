//! Paths that lead out, given to the tools for files.

use serde_json::json;

use crate::{
    attempt::{AUTO, Attempt, call, contained},
    support::World,
};

/// Names of files that are not the agent's.
const FILES: [&str; 23] = [
    "{OUTSIDE}/secret.txt",
    "../../outside/secret.txt",
    "sub/../../../outside/secret.txt",
    "absent/../../../outside/secret.txt",
    "./sub//..//..//..//outside//secret.txt",
    "/{OUTSIDE}/secret.txt",
    "{HOME}/project/../../outside/./secret.txt",
    "{OUTSIDE}/new.txt",
    "/proc/self/root{OUTSIDE}/secret.txt",
    "/proc/self/cwd/../../outside/secret.txt",
    "/proc/thread-self/root{OUTSIDE}/secret.txt",
    "/proc/{PID}/cwd/secret.txt",
    "/proc/{PID}/root{OUTSIDE}/secret.txt",
    "/dev/fd/../root{OUTSIDE}/secret.txt",
    "/proc/self/environ",
    "/proc/{PID}/environ",
    "/proc/self/fd/2",
    "/dev/fd/2",
    "{HOME}/.ssh/id_rsa",
    "../.profile",
    "inside.txt\0/../../../outside/secret.txt",
    "{OUTSIDE}/secret.txt\0.md",
    "{HOME}/.config/adjutant/config.toml",
];

/// The same for directories.
const DIRECTORIES: [&str; 8] = [
    "{OUTSIDE}",
    "../../outside",
    "sub/../../../outside/",
    "/proc/self/root{OUTSIDE}",
    "/proc/{PID}/cwd",
    "/proc/{PID}",
    "/dev/fd",
    "{HOME}/.ssh",
];

/// Returns everything that can be done to a file, on the way to it and after reading it.
pub(crate) fn file(path: &str) -> [Attempt; 5] {
    let edit = json!({ "old_text": "e", "new_text": "owned", "replace_all": true });
    let changes = [
        ("write_file", json!({ "path": path, "content": "owned" })),
        (
            "edit_file",
            json!({ "path": path, "old_text": "e", "new_text": "owned", "replace_all": true }),
        ),
        ("multi_edit", json!({ "path": path, "edits": [edit] })),
        ("delete_file", json!({ "path": path })),
        ("search_files", json!({ "path": path, "pattern": "escape" })),
    ];
    changes.map(|(tool, arguments)| {
        let reading = call("read_file", json!({ "path": path }));
        Attempt::new(format!("{tool} {path:?}"), [reading, call(tool, arguments)])
    })
}

/// Returns everything that can be done in a directory.
pub(crate) fn directory(path: &str) -> [Attempt; 5] {
    let new = format!("{path}/new.txt");
    let calls = [
        ("list_dir", json!({ "path": path })),
        ("find_files", json!({ "path": path, "pattern": "*" })),
        ("search_files", json!({ "path": path, "pattern": "." })),
        ("write_file", json!({ "path": new, "content": "owned" })),
        ("run_command", json!({ "directory": path, "command": "ls; touch new.txt" })),
    ];
    calls.map(|(tool, arguments)| Attempt::new(format!("{tool} {path:?}"), [call(tool, arguments)]))
}

#[test]
fn no_name_of_a_file_leads_out() {
    let attempts: Vec<_> = FILES.into_iter().flat_map(file).collect();
    contained(&attempts, &AUTO, World::new);
}

#[test]
fn no_name_of_a_directory_leads_out() {
    let attempts: Vec<_> = DIRECTORIES.into_iter().flat_map(directory).collect();
    contained(&attempts, &AUTO, World::new);
}

#[test]
fn a_pattern_that_climbs_finds_nothing() {
    let patterns = ["../../outside/*", "{OUTSIDE}/*", "**/../../../outside/*", "/proc/self/*"];
    let attempts = patterns.map(|pattern| {
        let find = call("find_files", json!({ "pattern": pattern }));
        let search = json!({ "pattern": "escape", "glob": pattern });
        Attempt::new(pattern, [find, call("search_files", search)])
    });
    contained(&attempts, &AUTO, World::new);
}
