//! A tree of files like that of a large repository.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

/// How many files there are.
pub(crate) const FILES: usize = 50_000;
/// How many of them are in one directory.
const TOGETHER: usize = 20;
/// What stands in a few files, in about two hundred, and in most.
pub(crate) const RARE: &str = "needle_[0-9]+";
pub(crate) const SPREAD: &str = r"\bunwrap_or_spread\(\)";
pub(crate) const COMMON: &str = "return";
/// Of so many files one has what is rare, or spread.
const RARE_IN: usize = 2500;
const SPREAD_IN: usize = 300;

/// Grows the files below a directory. They are the same each time.
pub(crate) fn grow(root: &Path) -> Result<()> {
    fs::create_dir_all(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "*.log\n/build/\nnode_modules/\n!keep.log\n")?;
    for number in 0..FILES {
        let path = root.join(path(number));
        if number % TOGETHER == 0 {
            let directory = path.parent().unwrap_or(root);
            fs::create_dir_all(directory)?;
            // Some directories say more about what is theirs.
            if number % (50 * TOGETHER) == 0 {
                fs::write(directory.join(".gitignore"), "*.tmp\n/local/\n")?;
            }
        }
        fs::write(path, content(number))?;
    }
    Ok(())
}

/// Returns where a file is, from the root.
pub(crate) fn path(number: usize) -> PathBuf {
    let directory = number / TOGETHER;
    // Of ten directories one is ignored.
    let top = if directory % 10 == 7 { "node_modules" } else { "src" };
    let ending = match number % TOGETHER {
        0..10 => "rs",
        10..14 => "ts",
        14..16 => "md",
        16 => "toml",
        17 => "png",
        18 => "log",
        _ => "json",
    };
    let (high, low) = (directory / 100, directory % 100);
    format!("part_{high}/{top}/area_{}/module_{low}/file_{number}.{ending}", low / 10).into()
}

/// Reports whether a file is text that is not ignored.
pub(crate) fn is_text(path: &Path) -> bool {
    let is_ignored = path.components().any(|part| part.as_os_str() == "node_modules");
    let ending = path.extension().and_then(|ending| ending.to_str());
    !is_ignored && !matches!(ending, Some("png" | "log"))
}

/// Makes what is in a file: most are short, some are long.
fn content(number: usize) -> Vec<u8> {
    let lines = 5 + number * 7919 % 90 + if number % 100 == 1 { 2000 } else { 0 };
    let mut text = String::new();
    for line in 0..lines {
        let _ = match (number * 31 + line) % 6 {
            0 => writeln!(text, "    let value_{line} = compute(input, {});", number % 1000),
            1 => writeln!(text, "    // What file {number} does here is much like the others."),
            2 => writeln!(text, "    if value_{} > {line} {{ return None; }}", line / 2),
            3 => writeln!(text, "}}\n"),
            4 => writeln!(text, "pub fn function_{line}(input: &Input) -> Option<Output> {{"),
            _ => writeln!(text, "    log::debug!(\"größer als {line}\");"),
        };
    }
    if number % RARE_IN == 3 {
        let _ = writeln!(text, "// needle_{number}");
    }
    if number % SPREAD_IN == 5 {
        let _ = writeln!(text, "    input.unwrap_or_spread()");
    }
    let mut bytes = text.into_bytes();
    if path(number).extension().is_some_and(|ending| ending == "png") {
        bytes.insert(8, 0);
    }
    bytes
}
