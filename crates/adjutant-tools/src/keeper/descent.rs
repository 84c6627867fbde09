//! Who descends from this process.

#[cfg(target_os = "linux")]
mod imp {
    use std::{fs, io};

    use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

    /// Makes every orphan below fall to this process.
    pub(crate) fn gather() -> io::Result<()> {
        let me = getpid().as_raw_nonzero().to_string();
        if fs::read_link("/proc/self").ok().as_deref() != Some(me.as_ref()) {
            let why = "/proc is missing or of another namespace, so processes cannot be kept";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Ok(set_child_subreaper(Some(getpid()))?)
    }

    /// Kills all who are there now. One that was started meanwhile, or may not be killed, is
    /// there the next time.
    pub(crate) fn kill(_command: Pid) {
        for pid in below(getpid(), &everyone()) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    fn below(top: Pid, everyone: &[(Pid, Pid)]) -> Vec<Pid> {
        let mut found = vec![top];
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            let children = everyone.iter().filter(|(_, of)| *of == parent);
            found.extend(children.map(|(pid, _)| *pid));
            next += 1;
        }
        found.split_off(1)
    }

    /// Returns all processes, each with its parent.
    fn everyone() -> Vec<(Pid, Pid)> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter_map(|name| Some((pid(&name)?, parent(&name)?))).collect()
    }

    fn parent(name: &str) -> Option<Pid> {
        let stat = fs::read(format!("/proc/{name}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // `pid (command) state parent …`, and the command may contain anything.
        let (_, rest) = stat.rsplit_once(')')?;
        pid(rest.split_ascii_whitespace().nth(1)?)
    }

    fn pid(text: &str) -> Option<Pid> {
        text.parse().ok().and_then(Pid::from_raw)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_process_knows_its_parent_and_its_line() {
            let parent = rustix::process::getppid().unwrap();
            let everyone = everyone();
            assert!(everyone.contains(&(getpid(), parent)));
            assert!(below(parent, &everyone).contains(&getpid()));
            assert!(!below(getpid(), &everyone).contains(&parent));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use rustix::process::{Pid, Signal, kill_process_group};

    /// Does nothing: here a process is kept by its group alone.
    pub(crate) fn gather() -> io::Result<()> {
        Ok(())
    }

    /// Kills the command's group.
    pub(crate) fn kill(command: Pid) {
        let _ = kill_process_group(command, Signal::KILL);
    }
}

pub(crate) use imp::{gather, kill};
