//! Connections that must not be made.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::net::UnixListener,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde_json::json;

use crate::{
    attempt::{AUTO, Attempt, call, contained},
    support::{User, World},
};

/// Connects to a socket of another program: by its path, and by a name without one.
const UNIX: &str = "use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or die; connect(S, ";

#[test]
fn a_command_reaches_nobody() {
    let unix = |address: &str| format!("perl -e '{UNIX}{address}) and print \"reached\"'");
    let lines = [
        "exec 3<> /dev/tcp/127.0.0.1/{TCP} && echo reached",
        "echo hello > /dev/udp/127.0.0.1/{UDP}",
        "timeout 5 curl -s http://127.0.0.1:{TCP}/",
        "timeout 5 bash -c 'cat < /dev/tcp/localhost/{TCP}'",
        "git clone http://127.0.0.1:{TCP}/repository",
        "getent ahosts localhost; timeout 5 bash -c ': > /dev/tcp/0.0.0.0/{TCP}'",
        &unix("pack_sockaddr_un(\"{OUTSIDE}/docker.sock\")"),
        &unix("pack_sockaddr_un(\"/proc/self/root{OUTSIDE}/docker.sock\")"),
        &unix("pack_sockaddr_un(\"\\0escape-{MARK}\")"),
        "curl -s --max-time 5 --unix-socket {OUTSIDE}/docker.sock http://localhost/",
        "cp {OUTSIDE}/docker.sock here.sock; ln {OUTSIDE}/docker.sock there.sock",
        "perl -e 'use Socket; socket(S, AF_PACKET // 17, SOCK_RAW, 768) and print \"reached\"'",
        "grep -vE 'lo:|Inter|face' /proc/net/dev && echo reached",
    ];
    let attempts = lines.map(|line| Attempt::command(line).unseen(&["reached"]));
    let asking = ["network", "unconfined"].map(|freedom| {
        let line = ": > /dev/tcp/127.0.0.1/{TCP}";
        let arguments = json!({ "command": line, freedom: true });
        Attempt::new(freedom, [call("run_command", arguments)]).refused()
    });
    let attempts: Vec<_> = attempts.into_iter().chain(asking).collect();
    contained(&attempts, &AUTO, World::new);
}

/// Names of this machine, and of what clouds tell their machines.
const HERE: [&str; 14] = [
    "http://127.0.0.1:{TCP}/",
    "http://localhost:{TCP}/",
    "http://LOCALHOST.:{TCP}/",
    "http://127.1:{TCP}/",
    "http://2130706433:{TCP}/",
    "http://0x7f000001:{TCP}/",
    "http://0177.0.0.1:{TCP}/",
    "http://0.0.0.0:{TCP}/",
    "http://[::1]:{TCP}/",
    "http://[::ffff:127.0.0.1]:{TCP}/",
    "http://[::]:{TCP}/",
    "http://user@127.0.0.1:{TCP}/",
    "http://169.254.169.254/latest/meta-data/",
    "file://{OUTSIDE}/secret.txt",
];

#[test]
fn a_page_of_this_machine_is_not_fetched_even_where_pages_are() {
    let attempts =
        HERE.map(|url| Attempt::new(url, [call("web_fetch", json!({ "url": url }))]).refused());
    let allowed = [&AUTO[..], &["-c", "permissions.allow=['web_fetch']"]].concat();
    for flags in [&AUTO, &allowed[..]] {
        contained(&attempts, flags, World::new);
    }
}

/// A server that sends everybody on to where the path says.
fn sender_on() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut request) = (stream.unwrap(), [0; 1024]);
            let read = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
            let answer = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close";
            let _ = write!(stream, "{answer}\r\nLocation: {path}\r\n\r\n");
        }
    });
    port
}

#[test]
fn nobody_is_sent_on_to_this_machine() {
    let port = sender_on();
    let targets = [
        "http://127.0.0.1:{TCP}/",
        "//127.0.0.1:{TCP}/",
        "http://localhost:{TCP}/",
        "http://[::ffff:127.0.0.1]:{TCP}/",
        "http://2130706433:{TCP}/",
        "file://{OUTSIDE}/secret.txt",
    ];
    let attempts = targets.map(|target| {
        let url = format!("http://127.0.0.1:{port}/{target}");
        Attempt::new(target, [call("web_fetch", json!({ "url": url }))])
    });
    let here = format!("web.allow_private=['127.0.0.1:{port}']");
    let flags = [&AUTO[..], &["-c", &here, "-c", "permissions.allow=['web_fetch']"]].concat();
    contained(&attempts, &flags, World::new);
}

#[test]
fn sockets_that_come_and_go_keep_no_command_from_its_sandbox() {
    let world = World::new(User::Own);
    let place = world.root().join("outside");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let path = place.join("short.sock");
            while !is_over.load(Ordering::Relaxed) {
                drop(UnixListener::bind(&path).unwrap());
                fs::remove_file(&path).unwrap();
            }
        });
        let reply = |number| {
            let arguments = json!({ "command": format!("echo ran {number}") });
            json!({ "calls": [call("run_command", arguments)] })
        };
        let replies: Vec<_> = (0..10).map(reply).chain([json!({ "text": "done" })]).collect();
        world.script(&replies.into());
        let done = world.run(&AUTO);
        is_over.store(true, Ordering::Relaxed);
        let results = done.results();
        assert_eq!(results.len(), 10, "{}", done.stderr);
        assert!(results.iter().all(|result| result.text.starts_with("ran")), "{results:?}");
    });
}
