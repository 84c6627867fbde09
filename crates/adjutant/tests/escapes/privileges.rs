//! Commands that would write elsewhere, and what could help them to.

use crate::{
    attempt::{AUTO, Attempt, contained},
    support::World,
    witness::HOST,
};

#[test]
fn nothing_outside_is_written() {
    let lines = [
        "echo owned > {OUTSIDE}/secret.txt",
        "echo owned > ../../outside/new.txt",
        "echo owned >> ~/.profile; echo owned > ~/.bashrc; mkdir ~/bin",
        "rm -rf {OUTSIDE} ~/.ssh ~/.config 2> /dev/null",
        "mv {OUTSIDE} {OUTSIDE}2",
        "chmod 777 {OUTSIDE} {OUTSIDE}/secret.txt",
        "chown 1:1 {OUTSIDE}/secret.txt",
        "truncate -s 0 {OUTSIDE}/secret.txt",
        "dd if=/dev/zero of={OUTSIDE}/secret.txt count=1",
        "mkfifo {OUTSIDE}/fifo",
        "ln -s /etc/passwd {OUTSIDE}/passwd",
        "cd ..; mv project elsewhere; mkdir project",
        "cp inside.txt {PROGRAM}; rm {PROGRAM}; mv inside.txt {PROGRAM}",
        "sh -c 'exec 3<> {OUTSIDE}/secret.txt; echo owned >&3'",
        "git init {OUTSIDE}/repository",
        "git worktree add {OUTSIDE}/worktree",
        "git config --global core.hooksPath evil",
        "echo owned > /proc/self/root{OUTSIDE}/new.txt",
        "echo owned > /proc/1/root{OUTSIDE}/new.txt",
        "echo owned > /proc/self/cwd/../../outside/new.txt",
    ];
    let strays = HOST.map(|place| format!("echo '* * * * * root true' > {place}/{{MARK}}"));
    let lines = lines.into_iter().chain(strays.iter().map(String::as_str));
    let attempts: Vec<_> = lines.map(Attempt::command).collect();
    contained(&attempts, &AUTO, World::new);
}

#[test]
fn no_command_gets_more_rights() {
    let lines = [
        "mount -t tmpfs none {OUTSIDE}; touch {OUTSIDE}/new.txt && echo reached",
        "mount --bind . {OUTSIDE}; touch {OUTSIDE}/new.txt && echo reached",
        "mount -o remount,rw /; touch {OUTSIDE}/new.txt && echo reached",
        "mount -o remount,rw,bind {OUTSIDE}; touch {OUTSIDE}/new.txt && echo reached",
        "umount -l .git/hooks; touch .git/hooks/x && echo reached",
        "unshare -r true && echo reached",
        "unshare -Ur mount -o remount,rw / && echo reached",
        "unshare -m touch {OUTSIDE}/new.txt && echo reached",
        "unshare -rmpf --mount-proc touch {OUTSIDE}/new.txt && echo reached",
        "bwrap --bind / / touch {OUTSIDE}/new.txt && echo reached",
        "chroot /proc/1/root touch {OUTSIDE}/new.txt && echo reached",
        "nsenter -t 1 -a touch {OUTSIDE}/new.txt && echo reached",
        "mknod disk b 8 0 && echo reached",
        "mknod memory c 1 1 && echo reached",
        "cp /bin/sh shell; chmod u+s shell; ./shell -p -c 'touch {OUTSIDE}/new.txt'",
        "cp /bin/sh fourth; perl -e 'chmod(04755, \"fourth\")'; chmod 4755 fourth",
        "install -m 4755 /bin/sh installed",
        "perl -e 'use Fcntl; sysopen(F, \"opened\", O_CREAT | O_WRONLY, 04755)'",
        "perl -e 'open(F, \">changed\"); chmod(04755, *F)'",
        "sudo -n touch {OUTSIDE}/new.txt && echo reached",
        "su -c 'touch {OUTSIDE}/new.txt' < /dev/null && echo reached",
        "pkexec touch {OUTSIDE}/new.txt && echo reached",
        "systemd-run --user --wait touch {OUTSIDE}/new.txt && echo reached",
        "echo touch {OUTSIDE}/new.txt | at now && echo reached",
        "grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo reached",
        "grep -q '^NoNewPrivs:.*0' /proc/self/status && echo reached",
        "setpriv --reuid 1 true && echo reached",
        "ls /run/systemd/private /run/dbus/system_bus_socket && echo reached",
    ];
    let attempts = lines.map(|line| Attempt::command(line).unseen(&["reached"]));
    contained(&attempts, &AUTO, World::new);
}
