//! What a server's tools are called here: `mcp__SERVER__TOOL`.
//!
//! Providers take few characters and few of them. A name that had to be changed, or that
//! another server's tool could have too, ends in a digest of the two names it was made of,
//! so that it is the same each time and nobody else's.

use adjutant_core::Digest;

/// The longest name every provider takes.
const LONGEST: usize = 64;
/// What is left of it for the server, so that there is room for the tool and a digest.
pub(crate) const LONGEST_SERVER: usize = 40;
const DIGEST: usize = 8;

/// Makes the name of a server's tool.
pub(crate) fn tool_name(server: &str, tool: &str) -> String {
    let plain = format!("mcp__{server}__{tool}");
    let mut name = prefix(server) + &fit(tool);
    // Where the server's name ends could not be told otherwise.
    let is_ambiguous = server.contains("__") || server.ends_with('_') || tool.is_empty();
    if name != plain || name.len() > LONGEST || is_ambiguous {
        let digest = Digest::of(format!("{server}\0{tool}").as_bytes());
        name.truncate(LONGEST - DIGEST - 1);
        name = format!("{name}_{}", &digest.as_str()[..DIGEST]);
    }
    name
}

/// Returns what the names of all of a server's tools begin with.
pub(crate) fn prefix(server: &str) -> String {
    format!("mcp__{}__", fit(server))
}

fn fit(name: &str) -> String {
    name.chars().map(|c| if is_taken(c) { c } else { '_' }).collect()
}

fn is_taken(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_plain_name_stays_as_it_is() {
        assert_eq!(tool_name("git-hub", "create_issue"), "mcp__git-hub__create_issue");
        assert_eq!(tool_name("a", "read_file"), "mcp__a__read_file");
        let longest = "t".repeat(LONGEST - "mcp__a__".len());
        assert_eq!(tool_name("a", &longest).len(), LONGEST);
        assert!(tool_name("a", &longest).ends_with("tttttttttttt"));
    }

    #[test]
    fn names_that_do_not_fit_are_made_to_and_stay_apart() {
        let (long, longer) = ("t".repeat(200), "t".repeat(201));
        let pairs = [
            ("a", "b__c"),
            ("a__b", "c"),
            ("a", "_b"),
            ("a_", "b"),
            ("a", "x y"),
            ("a", "x.y"),
            ("a", "x/y"),
            ("a b", "x_y"),
            ("a_b", "x_y"),
            ("a", ""),
            ("a", "größe"),
            ("a", &long),
            ("a", &longer),
            (&long[..LONGEST_SERVER], &long),
        ];
        let names: BTreeSet<_> = pairs.iter().map(|(s, t)| tool_name(s, t)).collect();
        assert_eq!(names.len(), pairs.len(), "{names:?}");
        for name in &names {
            assert!(name.len() <= LONGEST && name.chars().all(is_taken), "{name}");
            assert!(name.starts_with("mcp__"), "{name}");
        }
        assert_eq!(tool_name("a", "x y"), "mcp__a__x_y_2f084c7e");
    }
}
