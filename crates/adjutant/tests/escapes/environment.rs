//! What commands could find out: keys in the environment, and in files.

use crate::{
    attempt::{AUTO, Attempt, contained},
    support::{User, World},
};

/// A world in which keys are also where no name tells of them.
fn keys(user: User) -> World {
    World::new(user)
        .variable("CURL_OPTIONS", "-H 'Authorization: escape-provider-key'")
        .variable("GIT_CREDENTIALS", "escape-github-token")
        .variable("AWS_SECRET_ACCESS_KEY", "escape-private-key")
        .variable("PGPASSWORD", "escape-header")
}

#[test]
fn no_key_is_in_the_environment_of_anything_a_command_sees() {
    let lines = [
        "env; export -p; set; declare -p",
        "cat /proc/self/environ /proc/$PPID/environ /proc/1/environ",
        "cat /proc/[0-9]*/environ",
        "ps auxeww || ps -ef",
        "cat /proc/{PID}/environ",
        "echo $OPENAI_API_KEY $GITHUB_TOKEN ${CURL_OPTIONS} $PGPASSWORD",
        "bash -lc env; sh -ic env; env -i bash -lc env",
        "perl -e 'print %ENV'",
        "tr '\\0' '\\n' < /proc/self/task/$$/environ",
        "grep -sa escape- /proc/[0-9]*/task/*/environ /proc/[0-9]*/cmdline",
    ];
    let attempts = lines.map(|line| Attempt::command(line).unseen(&["ADJUTANT_MODEL="]));
    contained(&attempts, &AUTO, keys);
}

#[test]
fn no_file_with_a_secret_can_be_read() {
    let lines = [
        "cat ~/.ssh/id_rsa; ls -la ~/.ssh",
        "cat {HOME}/.config/adjutant/config.toml",
        "cat ~/.config/adjutant/*",
        "cp -r ~/.ssh ~/.config copy; cat copy/*",
        "cd ~/.ssh && cat id_rsa",
        "cat /proc/self/root{HOME}/.ssh/id_rsa",
        "cat /proc/1/root{HOME}/.ssh/id_rsa /proc/1/cwd/../.ssh/id_rsa",
        "umount ~/.ssh; cat ~/.ssh/id_rsa",
        "grep -sr escape- ~/.ssh ~/.config ~/.local",
        "tar cf - -C ~ .ssh | tar xOf -",
        "ln -s ~/.ssh/id_rsa key; cat key",
        "strings {DATA}/journal.db; cat {DATA}/*; ls {DATA}",
        "cat < ~/.ssh/id_rsa; echo $(< ~/.ssh/id_rsa)",
        "git config --global --list; git config --file ~/.ssh/id_rsa --list",
        "mv ~/.ssh ~/visible; cat ~/visible/id_rsa",
    ];
    contained(&lines.map(Attempt::command), &AUTO, World::new);
}
