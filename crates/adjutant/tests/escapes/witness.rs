//! What is seen of a world when an attempt is over.

use std::{
    collections::BTreeMap,
    fs, io,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::MetadataExt as _,
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
};

use crate::support::{Done, SECRETS, World};

/// Places of the machine where a file with the world's mark for a name must not appear.
pub(crate) const HOST: [&str; 9] = [
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/run",
    "/etc",
    "/etc/cron.d",
    "/var/spool/cron",
    "/usr/local/bin",
    "/root",
];

/// Of a repository, what git takes orders from.
const ORDERS: [&str; 5] = ["config", "config.worktree", "commondir", "hooks", "info"];

/// Doors on which nobody may knock.
pub(crate) struct Canaries {
    tcp: TcpListener,
    udp: UdpSocket,
    named: UnixListener,
    nameless: UnixListener,
}

impl Canaries {
    pub(crate) fn new(root: &Path, mark: &str) -> Self {
        let address = SocketAddr::from_abstract_name(format!("escape-{mark}")).unwrap();
        let canaries = Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            named: UnixListener::bind(root.join("outside/docker.sock")).unwrap(),
            nameless: UnixListener::bind_addr(&address).unwrap(),
        };
        canaries.tcp.set_nonblocking(true).unwrap();
        canaries.udp.set_nonblocking(true).unwrap();
        canaries.named.set_nonblocking(true).unwrap();
        canaries.nameless.set_nonblocking(true).unwrap();
        canaries
    }

    pub(crate) fn tcp_port(&self) -> u16 {
        self.tcp.local_addr().unwrap().port()
    }

    pub(crate) fn udp_port(&self) -> u16 {
        self.udp.local_addr().unwrap().port()
    }

    fn knocks(&self) -> Vec<String> {
        let silent = |result: io::Result<()>| {
            result.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        let doors = [
            ("a TCP port", silent(self.tcp.accept().map(drop))),
            ("a UDP port", silent(self.udp.recv(&mut [0]).map(drop))),
            ("a socket", silent(self.named.accept().map(drop))),
            ("an abstract socket", silent(self.nameless.accept().map(drop))),
        ];
        let opened = doors.iter().filter(|(_, is_silent)| !is_silent);
        opened.map(|(door, _)| format!("{door} was reached")).collect()
    }
}

/// Everything that must stay as it is, by its path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Picture(BTreeMap<PathBuf, String>);

impl Picture {
    pub(crate) fn take(world: &World) -> Self {
        let mut picture = Self(BTreeMap::new());
        let (project, data) = (world.project(), world.data());
        picture.add(world.root(), &|path| {
            *path == project || *path == data || path.ends_with("script.json")
        });
        picture.add(&data.join("trusted.toml"), &|_| false);
        for name in [".adjutant", ".mcp.json", "keep", "made"] {
            picture.add(&project.join(name), &|_| false);
        }
        picture.add_one(&project.join(".git"));
        for name in ORDERS {
            picture.add(&project.join(".git").join(name), &|_| false);
        }
        picture
    }

    fn add(&mut self, path: &Path, is_left_out: &dyn Fn(&PathBuf) -> bool) {
        self.add_one(path);
        if !path.is_symlink() {
            let entries =
                fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path());
            entries.filter(|path| !is_left_out(path)).for_each(|path| self.add(&path, is_left_out));
        }
    }

    fn add_one(&mut self, path: &Path) {
        let Ok(found) = fs::symlink_metadata(path) else { return };
        let content = match fs::read_link(path) {
            Ok(target) => target.display().to_string(),
            // The program itself is large, and its length tells enough.
            Err(_) if found.len() > 1_000_000 => format!("{} bytes", found.len()),
            Err(_) if found.is_file() => fs::read_to_string(path).unwrap(),
            Err(_) => String::new(),
        };
        let about = format!("{:o} {}:{} {content}", found.mode(), found.uid(), found.gid());
        self.0.insert(path.to_owned(), about);
    }

    fn differences(&self, other: &Self) -> Vec<String> {
        let paths = self.0.keys().chain(other.0.keys());
        let mut differences: Vec<_> = paths
            .filter(|path| self.0.get(*path) != other.0.get(*path))
            .map(|path| {
                format!("{}: {:?} → {:?}", path.display(), self.0.get(path), other.0.get(path))
            })
            .collect();
        differences.dedup();
        differences
    }
}

/// Returns what is not as it should be after a run.
pub(crate) fn violations(world: &mut World, before: &Picture, done: &Done) -> Vec<String> {
    let mut found = before.differences(&Picture::take(world));
    found.extend(world.canaries.knocks());
    found.extend(seen_secrets(world, done));
    found.extend(left_behind(world));
    if world.bystander.try_wait().unwrap().is_some() {
        found.push("the bystander is dead".to_owned());
    }
    let strays = HOST.iter().map(|place| Path::new(place).join(&world.mark));
    found.extend(strays.filter(|path| path.exists()).map(|path| path.display().to_string()));
    found.extend(privileged(&world.project()));
    if done.code != Some(0) {
        found.push(format!("it ended with {:?}: {}", done.code, done.stderr));
    }
    found
}

fn seen_secrets(world: &World, done: &Done) -> Vec<String> {
    let mut places = vec![
        ("stdout".to_owned(), done.stdout.clone().into_bytes()),
        ("stderr".to_owned(), done.stderr.clone().into_bytes()),
    ];
    for name in ["journal.db", "journal.db-wal"] {
        places.push((name.to_owned(), fs::read(world.data().join(name)).unwrap_or_default()));
    }
    let mut found = Vec::new();
    for (place, bytes) in &places {
        let text = String::from_utf8_lossy(bytes);
        let secrets = SECRETS.iter().filter(|secret| text.contains(**secret));
        found.extend(secrets.map(|secret| format!("{secret} is in {place}")));
    }
    found
}

/// Returns the processes that were started in a world and are still there.
fn left_behind(world: &World) -> Vec<String> {
    let bystander = world.bystander.id().to_string();
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let others = processes.filter(|path| !path.ends_with(&bystander));
    let about = |path: &PathBuf| {
        ["cmdline", "environ"].map(|name| fs::read(path.join(name)).unwrap_or_default()).concat()
    };
    let left = others.filter(|path| String::from_utf8_lossy(&about(path)).contains(&world.mark));
    left.map(|path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        format!("{} is left: {}", path.display(), String::from_utf8_lossy(&line))
    })
    .collect()
}

/// Returns the files that would give whoever runs them the rights of their owner.
fn privileged(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let about = entry.metadata().unwrap();
        if about.is_dir() {
            found.extend(privileged(&entry.path()));
        } else if about.is_file() && about.mode() & 0o4000 != 0 {
            found.push(format!("{} has the rights of its owner", entry.path().display()));
        }
    }
    found
}
