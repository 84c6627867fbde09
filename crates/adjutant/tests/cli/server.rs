//! A model's server on this machine, which checks what it is asked and can misbehave.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Receiver, Sender},
    thread,
};

use serde_json::{Value, json};

/// What the server does with one request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Answers with events.
    Say(Vec<Value>),
    /// Answers with a status, headers and a body.
    Refuse(&'static str, &'static str, String),
    /// Begins to answer and hangs up.
    HangUp(Vec<Value>),
    /// Begins to answer and says no more until the other side hangs up.
    Wait(Vec<Value>),
}

/// A request, as it came.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) headers: Vec<String>,
    pub(crate) body: Value,
}

/// A server that does one thing after the other.
pub(crate) struct Server {
    pub(crate) address: String,
    asked: Receiver<Asked>,
    gone: Receiver<()>,
}

impl Server {
    pub(crate) fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let ((asking, asked), (going, gone)) = (mpsc::channel(), mpsc::channel());
        thread::spawn(move || {
            let mut acts = acts.into_iter();
            let mut connections = listener.incoming();
            while let Some(Ok(connection)) = connections.next() {
                serve(&connection, &mut acts, &asking, &going);
            }
        });
        Self { address, asked, gone }
    }

    /// Returns the requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.try_iter().collect()
    }

    /// Waits until the other side has hung up on an answer.
    pub(crate) fn was_left(&self) {
        self.gone.recv().unwrap();
    }
}

/// Serves a connection until it is closed by either side.
fn serve(
    mut connection: &TcpStream,
    acts: &mut impl Iterator<Item = Act>,
    asking: &Sender<Asked>,
    going: &Sender<()>,
) {
    let mut reader = BufReader::new(connection);
    while let Some(asked) = receive(&mut reader) {
        check(&asked.body);
        let _ = asking.send(asked);
        let Some(act) = acts.next() else { return };
        let is_kept = match act {
            Act::Say(events) => {
                let data = data(&events) + "data: [DONE]\n\n";
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", data.len());
                connection.write_all((head + &data).as_bytes()).is_ok()
            }
            Act::Refuse(status, headers, body) => {
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n");
                connection.write_all((head + &body).as_bytes()).is_ok()
            }
            Act::HangUp(events) => {
                let _ = connection.write_all(begin(&events).as_bytes());
                false
            }
            Act::Wait(events) => {
                let _ = connection.write_all(begin(&events).as_bytes());
                let _ = reader.read(&mut [0]);
                let _ = going.send(());
                false
            }
        };
        if !is_kept {
            return;
        }
    }
}

fn begin(events: &[Value]) -> String {
    let data = data(events);
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{data}\r\n", data.len())
}

fn data(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn receive(reader: &mut impl BufRead) -> Option<Asked> {
    let (mut headers, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        headers.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { headers, body: serde_json::from_slice(&body).unwrap() })
}

/// Checks what real servers check: every call has its result, in the messages right after
/// it, and nothing else has one.
fn check(body: &Value) {
    let mut open: HashSet<&str> = HashSet::new();
    let mut last = "";
    for message in body["messages"].as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        match role {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                assert!(open.remove(id), "a result for {id} that was not asked for: {body}");
                assert!(message["content"].is_string(), "{message}");
            }
            _ => assert!(open.is_empty(), "calls without results {open:?}: {body}"),
        }
        if role == "assistant" {
            assert_ne!(last, "assistant", "two answers in a row: {body}");
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            open.extend(calls.map(|call| call["id"].as_str().unwrap()));
        }
        last = role;
    }
    assert!(open.is_empty(), "calls without results {open:?}: {body}");
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

/// The events of an answer in words.
pub(crate) fn words(text: &str) -> Vec<Value> {
    let usage = json!({ "prompt_tokens": 90, "completion_tokens": 10 });
    vec![
        chunk(&json!({ "content": text }), &Value::Null),
        chunk(&json!({}), &json!("stop")),
        json!({ "choices": [], "usage": usage }),
    ]
}

/// The events of an answer that calls tools, in the form `(name, arguments)`.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Vec<Value> {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "index": index, "id": format!("call_{index}"), "function": function })
    });
    let calls: Vec<_> = calls.collect();
    vec![
        chunk(&json!({ "tool_calls": calls }), &Value::Null),
        chunk(&json!({}), &json!("tool_calls")),
    ]
}
