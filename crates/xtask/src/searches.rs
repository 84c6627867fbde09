//! Searching and reading a large tree, against `rg` doing the same.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    bench,
    forest::{self, FILES},
};

/// How many files are read one by one, and how many of them by one child, which could not
/// remember them all.
const READ: usize = 2000;
const EACH: usize = 50;
/// How many times the processor time of `rg` is too much.
const MOST: f64 = 2.0;

/// Something that both do.
struct Case {
    name: &'static str,
    /// What the model says.
    replies: Vec<Value>,
    /// What `rg` is told.
    arguments: Vec<String>,
}

/// Measures the release build on a tree of fifty thousand files.
#[expect(clippy::print_stdout, reason = "it is what was asked for")]
pub(crate) fn run(runs: usize) -> Result<()> {
    let place = TempDir::new()?;
    let root = place.path().join("tree");
    forest::grow(&root)?;
    let ours = |replies: &[Value], rule: &str| {
        bench::median(runs, &command(place.path(), &root, replies, rule)?)
    };
    let theirs = |arguments: &[String]| {
        bench::median(runs, &[&["rg".to_owned()], arguments].concat())
            .context("ripgrep is compared with: install it as `cargo xtask setup` does")
    };
    let title = format!("{FILES} files, CPU ms");
    println!("\n{title:<36}{:>10}{:>12}{:>10}{:>10}", "adjutant", "with rules", "rg", "ratio");
    let mut worst = 0.0_f64;
    for Case { name, replies, arguments } in cases(&root.display().to_string()) {
        let rules = "permissions.deny=['*(**/.env)', 'run_command(rm *)']";
        let plain = ours(&replies, "permissions.deny=[]")?.cpu as f64 / 1e3;
        let ruled = ours(&replies, rules)?.cpu as f64 / 1e3;
        let theirs = theirs(&arguments)?.cpu as f64 / 1e3;
        let ratio = plain.max(ruled) / theirs;
        println!("{name:<36}{plain:>10.1}{ruled:>12.1}{theirs:>10.1}{ratio:>10.2}");
        worst = worst.max(ratio);
    }
    ensure!(worst <= MOST, "{worst:.2} times the processor time of rg is more than {MOST}");
    Ok(())
}

fn cases(tree: &str) -> [Case; 5] {
    [
        search("search: 18 lines", forest::RARE, tree),
        search("search: a line in 165 files", forest::SPREAD, tree),
        search("search: more lines than are shown", forest::COMMON, tree),
        Case {
            name: "find: 50 files by their names",
            replies: vec![calls(&[call("find_files", &json!({ "pattern": "*_7*.toml" }))]), done()],
            arguments: told(["--files", "--glob=*_7*.toml", tree]),
        },
        read(tree),
    ]
}

fn search(name: &'static str, pattern: &str, tree: &str) -> Case {
    Case {
        name,
        replies: vec![calls(&[call("search_files", &json!({ "pattern": pattern }))]), done()],
        arguments: told(["--line-number", "--regexp", pattern, tree]),
    }
}

/// Each child reads some files.
fn read(tree: &str) -> Case {
    let files = (0..FILES).map(forest::path).filter(|path| forest::is_text(path));
    let files: Vec<_> = files.step_by(15).take(READ).collect();
    let children: Vec<_> = files.chunks(EACH).zip(1..).collect();
    let start = |number: i32| call("sub_agent", &json!({ "prompt": format!("part {number}") }));
    let starts: Vec<_> = children.iter().map(|(_, number)| start(*number)).collect();
    let mut replies = vec![of("agent", "root", calls(&starts)), of("agent", "root", done())];
    for (files, number) in children {
        let reads = files.iter().map(|path| call("read_file", &json!({ "path": path })));
        let part = format!("part {number}");
        replies.push(of("task", &part, calls(&reads.collect::<Vec<_>>())));
        replies.push(of("task", &part, done()));
    }
    let paths = files.iter().map(|path| format!("{tree}/{}", path.display()));
    let mut arguments = told(["--line-number", "--regexp="]);
    arguments.extend(paths);
    Case { name: "read: 2000 files one by one", replies, arguments }
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "tool": tool, "args": arguments })
}

fn calls(calls: &[Value]) -> Value {
    json!({ "calls": calls })
}

fn done() -> Value {
    json!({ "text": "done" })
}

/// Makes a reply that of some agents.
fn of(key: &str, value: &str, mut reply: Value) -> Value {
    reply[key] = json!(value);
    reply
}

/// Returns what `rg` is told: everything it would find out for itself, and our order.
fn told<const N: usize>(arguments: [&str; N]) -> Vec<String> {
    let always = ["--no-config", "--color=never", "--no-heading", "--sort=path"];
    always.into_iter().chain(arguments).map(str::to_owned).collect()
}

/// Returns a run in a directory on a model that says these replies.
fn command(place: &Path, root: &Path, replies: &[Value], rule: &str) -> Result<Vec<String>> {
    let model = bench::script(place, "calls", &json!({ "reply": replies }))?;
    let mut command = bench::command(&model, &["journal=memory".to_owned(), rule.to_owned()]);
    command.splice(2..2, ["--cwd".to_owned(), root.display().to_string()]);
    Ok(command)
}
