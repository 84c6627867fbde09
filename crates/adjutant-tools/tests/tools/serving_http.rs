//! Servers of tools that are spoken to over HTTP.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use adjutant_tools::mcp::{Mcp, Private, Server, ServerSettings};
use serde_json::{Value, json};

use crate::{seat::Seat, serving::environment};

/// How a server answers.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Json,
    Events,
    /// Forgets its session after the greeting, once.
    Forgetful,
    Redirects,
    Denies,
    Endless,
}

/// A server on this machine and what it has heard: `METHOD NAME session token`.
struct Web {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Web {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let log = Arc::clone(&log);
                thread::spawn(move || serve(&stream.unwrap(), manner, &log));
            }
        });
        Self { url, heard }
    }

    async fn connect(&self) -> Mcp {
        let headers = [("X-Token".to_owned(), "${OPENAI_API_KEY}".to_owned())];
        let (url, headers) = (Some(self.url.clone()), Private(headers.into()));
        let settings = ServerSettings { url, headers, ..ServerSettings::default() };
        let server = Server::new("web", settings).unwrap();
        Mcp::start(vec![server], environment(Path::new("/"))).await.unwrap()
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// Reads requests from a connection, and answers them.
fn serve(stream: &TcpStream, manner: Manner, log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let header = |name: &str| {
            let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
            line.and_then(|line| line.split_once(": ")).map_or("-", |(_, value)| value)
        };
        let mut body = vec![0; header("content-length:").parse().unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (method, name) = (&head[..head.find(' ').unwrap()], message["method"].as_str());
        let name = name.unwrap_or("-");
        let (session, token) = (header("mcp-session-id:"), header("x-token:"));
        log.lock().unwrap().push(format!("{method} {name} {session} {token}"));
        let greetings = log.lock().unwrap().iter().filter(|it| it.contains("initialize ")).count();
        let answer = answer(manner, (method, name, session), &message, greetings);
        let mut stream = stream;
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        if manner == Manner::Endless && name == "tools/call" {
            while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
            return;
        }
    }
}

fn answer(manner: Manner, of: (&str, &str, &str), message: &Value, greetings: usize) -> String {
    let plain =
        |status: &str, more: &str| format!("HTTP/1.1 {status}\r\n{more}content-length: 0\r\n\r\n");
    let result = match of {
        _ if manner == Manner::Redirects => {
            return plain("307 Temporary Redirect", "location: http://127.0.0.2:9/mcp\r\n");
        }
        _ if manner == Manner::Denies => return plain("401 Unauthorized", ""),
        ("POST", "tools/call", "s1") if manner == Manner::Forgetful => {
            return plain("404 Not Found", "");
        }
        ("POST", "tools/call", _) if manner == Manner::Endless => {
            return "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                    content-length: 99999999999\r\n\r\n"
                .to_owned();
        }
        ("POST", "initialize", _) => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "web", "version": "1" },
        }),
        ("POST", "tools/list", _) => {
            json!({ "tools": [{ "name": "look", "inputSchema": { "type": "object" } }] })
        }
        ("POST", "tools/call", _) => json!({ "content": [{ "type": "text", "text": "seen" }] }),
        ("POST", ..) => return plain("202 Accepted", ""),
        _ => return plain("405 Method Not Allowed", ""),
    };
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
    let (kind, body) = match manner {
        Manner::Events => ("text/event-stream", format!("data: {body}\n\n")),
        _ => ("application/json", body),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nmcp-session-id: s{greetings}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

fn seat(mcp: &Mcp) -> Seat {
    Seat { tools: mcp.tools.clone(), ..Seat::at(Path::new("/")) }
}

#[tokio::test]
async fn a_server_is_spoken_to_with_its_headers_and_its_session() {
    for manner in [Manner::Json, Manner::Events] {
        let web = Web::start(manner);
        let mcp = web.connect().await;
        assert_eq!(mcp.warnings, [""; 0]);
        assert_eq!(seat(&mcp).call("mcp__web__look", json!({})).await.unwrap(), "seen");
        mcp.end().await;
        let heard = web.heard();
        assert_eq!(heard[0], "POST initialize - secret");
        assert!(heard.contains(&"POST tools/call s1 secret".to_owned()), "{heard:?}");
        assert!(heard.contains(&"DELETE - s1 secret".to_owned()), "{heard:?}");
    }
}

#[tokio::test]
async fn a_session_that_was_forgotten_is_made_anew() {
    let web = Web::start(Manner::Forgetful);
    let mcp = web.connect().await;
    assert_eq!(seat(&mcp).call("mcp__web__look", json!({})).await.unwrap(), "seen");
    mcp.end().await;
    let heard = web.heard();
    assert_eq!(heard.iter().filter(|it| it.starts_with("POST initialize")).count(), 2, "{heard:?}");
    assert!(heard.contains(&"POST tools/call s2 secret".to_owned()), "{heard:?}");
}

#[tokio::test]
async fn nothing_is_told_to_another_place() {
    let web = Web::start(Manner::Redirects);
    let mcp = web.connect().await;
    assert!(mcp.warnings[0].contains("sends to another place"), "{:?}", mcp.warnings);
    assert_eq!(web.heard().len(), 1, "{:?}", web.heard());
}

#[tokio::test]
async fn a_server_that_cannot_be_spoken_to_is_a_warning() {
    let web = Web::start(Manner::Denies);
    let denied = web.connect().await.warnings.concat();
    assert!(denied.contains("401") && denied.contains("`headers` can tell"), "{denied}");
    let away = Web { url: "http://127.0.0.1:9/mcp".to_owned(), heard: Arc::default() };
    let away = away.connect().await.warnings.concat();
    assert!(away.starts_with("MCP server `web` cannot be used: "), "{away}");
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let web = Web::start(Manner::Endless);
    let mcp = web.connect().await;
    let endless = seat(&mcp).call("mcp__web__look", json!({})).await.unwrap_err();
    assert!(endless.contains("the answer has more than 16 MiB"), "{endless}");
    mcp.end().await;
}
