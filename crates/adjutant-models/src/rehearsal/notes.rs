//! What the contents of files tell.

use super::listing::File;

const MANIFESTS: [&str; 9] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "composer.json",
    "Gemfile",
    "Makefile",
];
const ENTRIES: [&str; 8] = ["main", "lib", "index", "mod", "app", "server", "__main__", "__init__"];
const SOURCES: [&str; 16] = [
    "rs", "py", "js", "ts", "tsx", "go", "java", "kt", "c", "cc", "cpp", "h", "rb", "ex", "swift",
    "sh",
];

/// Picks up to three files that say most about an area: its read-me, its manifest, and
/// where its code begins or else its largest piece of code.
pub(crate) fn notable(files: &[File]) -> Vec<&File> {
    let shallowest = |is_wanted: &dyn Fn(&File) -> bool| {
        let wanted = files.iter().filter(|file| is_wanted(file));
        wanted.min_by_key(|file| (file.path.matches('/').count(), file.path.as_str()))
    };
    let largest = || files.iter().filter(|file| is_source(file)).max_by_key(|file| file.size);
    let readme = shallowest(&is_readme);
    let manifest = shallowest(&|file| MANIFESTS.contains(&file.name()));
    let code = shallowest(&is_entry).or_else(largest);
    [readme, manifest, code].into_iter().flatten().collect()
}

fn is_readme(file: &File) -> bool {
    file.name().to_lowercase().starts_with("readme")
}

fn is_source(file: &File) -> bool {
    file.extension().is_some_and(|extension| SOURCES.contains(&extension))
}

fn is_entry(file: &File) -> bool {
    let stem = file.name().split('.').next().unwrap_or_default();
    is_source(file) && ENTRIES.contains(&stem)
}

/// Finds what a file says it is about.
pub(crate) fn about(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(unnumbered).map(str::trim).collect();
    let described = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(['=', ':'])?;
        let is_description = name.trim().trim_matches('"') == "description";
        is_description.then(|| value.trim().trim_matches(['"', ',', '\'']).to_owned())
    });
    described.or_else(|| {
        let mut words = lines.iter().filter_map(|line| prose(line));
        let title = words.next()?;
        let is_heading = lines.iter().any(|line| line.starts_with("# "));
        match words.next() {
            Some(more) if is_heading => Some(format!("{title}: {more}")),
            _ => Some(title.to_owned()),
        }
    })
}

/// Returns the words of a heading, of a comment at the top or of a paragraph; code,
/// pictures and tags have none.
fn prose(line: &str) -> Option<&str> {
    let marks = ["//!", "///", "/**", "//", "#!", "#", "\"\"\"", "--", ";;", "*"];
    let bare = marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim();
    let is_prose = bare.chars().next().is_some_and(char::is_alphanumeric)
        && bare.contains(|c: char| c.is_alphabetic())
        && !bare.contains(['{', '}', ';', '=']);
    is_prose.then_some(bare)
}

/// Takes off the number some tools put before a line.
fn unnumbered(line: &str) -> &str {
    let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let has_number = rest.len() < line.trim_start().len();
    let text = rest.strip_prefix(['\t', ':', '|', '→']);
    text.filter(|_| has_number).unwrap_or(line)
}

/// A line somebody left for later.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LooseEnd {
    /// The file, if the tool said.
    pub(crate) path: String,
    /// The line, as the tool showed it.
    pub(crate) line: String,
}

/// Reads the lines with TODO or FIXME from what `search_files` found.
pub(crate) fn loose_ends(text: &str) -> Vec<LooseEnd> {
    let is_end = |line: &&str| {
        !line.starts_with('[') && ["TODO", "FIXME"].iter().any(|mark| line.contains(mark))
    };
    let lines = text.lines().map(str::trim).filter(is_end);
    lines
        .map(|line| {
            let path = line.split_once(':').map_or("", |(path, _)| path);
            LooseEnd { path: path.trim_start_matches("./").to_owned(), line: line.to_owned() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_it_is_about() {
        let table = [
            ("# Adjutant\n\n[![badge](x)](y)\n\nRuns trees.", Some("Adjutant: Runs trees.")),
            ("1\t# Title\n2\t\n3\tWords here.", Some("Title: Words here.")),
            ("[package]\nname = \"x\"\ndescription = \"Does y\"", Some("Does y")),
            ("{\n  \"name\": \"x\",\n  \"description\": \"Does y\",\n}", Some("Does y")),
            ("//! Where answers come from.\n\nuse std::fmt;", Some("Where answers come from.")),
            ("fn main() {}", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(about(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_files_that_stand_out_are_a_read_me_a_manifest_and_code() {
        let file = |path: &str, size| File { path: path.to_owned(), size: Some(size) };
        let files = [
            file("deep/README.md", 1),
            file("README.md", 1),
            file("Cargo.toml", 1),
            file("big.rs", 900),
            file("a.rs", 10),
            file("logo.png", 9000),
        ];
        let names: Vec<_> = notable(&files).iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["README.md", "Cargo.toml", "big.rs"]);
        let with_entry: Vec<_> = files.into_iter().chain([file("src/main.rs", 5)]).collect();
        assert_eq!(notable(&with_entry)[2].path, "src/main.rs");
    }
}
