//! What tools of other products are called here. Models that know those write their names into
//! tool lists.

/// Their names, and ours.
const ALIASES: [(&str, &[&str]); 30] = [
    ("Read", &["read_file"]),
    ("View", &["read_file"]),
    ("NotebookRead", &["read_file"]),
    ("Write", &["write_file"]),
    ("Edit", &["edit_file", "multi_edit"]),
    ("MultiEdit", &["multi_edit"]),
    ("str_replace_editor", &["edit_file", "multi_edit"]),
    ("apply_patch", PATCHES),
    ("patch", PATCHES),
    ("replace", &["edit_file", "multi_edit"]),
    ("Glob", &["find_files"]),
    ("Grep", &["search_files"]),
    ("search_file_content", &["search_files"]),
    ("grep_search", &["search_files"]),
    ("LS", &["list_dir"]),
    ("list", &["list_dir"]),
    ("list_directory", &["list_dir"]),
    ("Bash", COMMANDS),
    ("shell", COMMANDS),
    ("exec_command", COMMANDS),
    ("run_shell_command", COMMANDS),
    ("BashOutput", &["read_output"]),
    ("KillBash", &["stop_command"]),
    ("KillShell", &["stop_command"]),
    ("WebFetch", &["web_fetch"]),
    ("fetch", &["web_fetch"]),
    ("Task", &["sub_agent"]),
    ("Agent", &["sub_agent"]),
    ("AskUserQuestion", &["ask_user"]),
    ("question", &["ask_user"]),
];

const PATCHES: &[&str] = &["edit_file", "multi_edit", "write_file", "delete_file"];
const COMMANDS: &[&str] = &["run_command", "read_output", "write_input", "stop_command"];

/// Returns what another product's tool is called here, in whatever case it is written.
pub fn ours(name: &str) -> Option<&'static [&'static str]> {
    let found = ALIASES.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name));
    found.map(|(_, ours)| *ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;

    fn list(names: &[&str]) -> Access {
        Access::AllowList { tools: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn a_name_is_found_in_any_case_and_only_as_a_whole() {
        assert_eq!(ours("Grep"), Some(&["search_files"][..]));
        assert_eq!(ours("grep"), ours("Grep"));
        assert_eq!(ours("Edit"), Some(&["edit_file", "multi_edit"][..]));
        assert_eq!(ours("Gre"), None);
        assert_eq!(ours("read_file"), None);
    }

    #[test]
    fn every_name_stands_there_once() {
        for (place, (name, _)) in ALIASES.iter().enumerate() {
            let first = ALIASES.iter().position(|(other, _)| other.eq_ignore_ascii_case(name));
            assert_eq!(first, Some(place), "{name}");
        }
    }

    #[test]
    fn a_tool_that_is_there_keeps_its_name() {
        let mut access = list(&["Read", "shell", "grep_it"]);
        access.rename(|name| name == "shell");
        assert_eq!(access, list(&["read_file", "shell", "grep_it"]));
        let mut denied = Access::DenyList { tools: ["Edit".to_owned()].into() };
        denied.rename(|_| false);
        assert_eq!(denied.names().collect::<Vec<_>>(), ["edit_file", "multi_edit"]);
    }
}
