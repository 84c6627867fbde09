//! A model's server on this machine, which checks what it is asked and can misbehave.

mod chat;
mod gemini;
mod messages;
mod responses;
mod strict;
mod strictness;

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use self::strict::Verdict;
pub(crate) use self::{chat::Chat, gemini::Gemini, messages::Messages, responses::Responses};
use crate::support::World;

/// The key that strict servers want.
pub(crate) const KEY: &str = "sk-planted-key-000";

/// No request is so long in coming unless it was never sent.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes a test of each function for each format.
macro_rules! in_each_format {
    ($($test:ident)+) => {$(
        mod $test {
            use crate::server::{Chat, Gemini, Messages, Responses};

            #[test]
            fn in_chat_completions() {
                super::$test(&Chat);
            }

            #[test]
            fn in_messages() {
                super::$test(&Messages);
            }

            #[test]
            fn in_responses() {
                super::$test(&Responses);
            }

            #[test]
            fn in_gemini() {
                super::$test(&Gemini);
            }
        }
    )+};
}
pub(crate) use in_each_format;

/// What a model says, in pieces of whatever kind its format has.
pub(crate) type Said = Vec<Value>;

/// A call, in the form `(name, arguments)`.
pub(crate) type Call<'a> = (&'a str, Value);

/// How an answer is cut into pieces.
pub(crate) type Cut = fn(&str) -> Vec<Vec<u8>>;

/// What is spoken with a provider: what it wants, and how it answers.
pub(crate) trait Format: Sync {
    /// Returns the name of the provider, and that with which its variables begin.
    fn provider(&self) -> (&'static str, &'static str);
    fn path(&self) -> &'static str;
    /// Returns the headers that each request has, with the key in one of them.
    fn headers(&self) -> Vec<String>;
    /// Checks a request as the provider does that has said this up to now.
    fn check(&self, body: &Value, said: &[Said]) -> Verdict;

    fn words(&self, text: &str) -> Said;
    fn calls(&self, calls: &[Call<'_>]) -> Said;
    /// Returns a thought that is to be handed back with what follows it.
    fn thoughts(&self, text: &str) -> Said;

    /// Returns the events of an answer but for its end.
    fn begin(&self, said: &[Value]) -> String;
    fn end(&self, said: &[Value]) -> String;
    /// Returns the event, and the body of a refusal, with which a busy server gives up.
    fn failure(&self, message: &str) -> Value;
    /// Returns what is said of a conversation that no longer fits.
    fn too_long(&self) -> &'static str;
}

/// What the server does with one request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Answers.
    Say(Said),
    /// Answers in other pieces than usual.
    Cut(Said, Cut),
    /// Answers with any bytes.
    Send(Vec<u8>),
    /// Answers with a status, headers and a body.
    Refuse(&'static str, &'static str, String),
    /// Begins to answer and hangs up.
    HangUp(Said),
    /// Begins to answer and says no more until the other side hangs up.
    Wait(Said),
    /// Says nothing at all until then.
    Silence,
}

/// A request, as it came.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) headers: Vec<String>,
    pub(crate) raw: String,
    pub(crate) body: Value,
}

/// A server that does one thing after the other.
pub(crate) struct Server {
    pub(crate) address: String,
    desk: Arc<Desk>,
    asked: Receiver<Asked>,
    waiting: Receiver<TcpStream>,
}

/// A connection with an answer that does not go on.
pub(crate) struct Held(TcpStream);

impl Held {
    /// Reports whether the other side has hung up by now.
    pub(crate) fn is_left(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        match self.0.peek(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// What the connections of a server share.
struct Desk {
    format: &'static dyn Format,
    manners: Manners,
    acts: Mutex<VecDeque<Act>>,
    said: Mutex<Vec<Said>>,
    wrong: Mutex<Vec<String>>,
    asking: Sender<Asked>,
    waits: Sender<TcpStream>,
}

/// What a server makes of what it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manners {
    /// It wants its own requests and no others, all of them, with the key.
    Strict,
    /// It checks those among them that are in its format.
    Easy,
}

impl Server {
    /// Starts a server of Chat Completions that takes other requests too.
    pub(crate) fn start(acts: Vec<Act>) -> Self {
        Self::serve(&Chat, Manners::Easy, acts)
    }

    /// Starts a server that wants nothing but what it acts upon.
    pub(crate) fn strict(format: &'static dyn Format, acts: Vec<Act>) -> Self {
        Self::serve(format, Manners::Strict, acts)
    }

    fn serve(format: &'static dyn Format, manners: Manners, acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let ((asking, asked), (waits, waiting)) = (mpsc::channel(), mpsc::channel());
        let (said, wrong, acts) = (Mutex::default(), Mutex::default(), Mutex::new(acts.into()));
        let desk = Arc::new(Desk { format, manners, acts, said, wrong, asking, waits });
        let server = Self { address, desk: Arc::clone(&desk), asked, waiting };
        thread::spawn(move || {
            while let Ok((connection, _)) = listener.accept() {
                let desk = Arc::clone(&desk);
                thread::spawn(move || desk.attend(&connection));
            }
        });
        server
    }

    /// Sets up a world in which the provider is this server.
    pub(crate) fn set_up(&self, world: World) -> World {
        let (name, variables) = self.desk.format.provider();
        world
            .variable(&format!("{variables}_API_KEY"), KEY)
            .variable(&format!("{variables}_BASE_URL"), self.address.strip_suffix("/v1").unwrap())
            .variable("ADJUTANT_RETRY_BASE_MS", "1")
            .variable("ADJUTANT_MODEL", &format!("{name}/test-model"))
    }

    /// Returns the requests so far, none of which was wrong.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.ensure_content();
        self.asked.try_iter().collect()
    }

    /// Waits until there is an answer that the server does not go on with.
    pub(crate) fn held(&self) -> Held {
        let waiting = self.waiting.recv_timeout(PATIENCE);
        self.ensure_content();
        Held(waiting.unwrap())
    }

    /// Waits until the other side has hung up on an answer.
    pub(crate) fn was_left(&self) {
        let _ = self.held().0.read(&mut [0]);
    }

    fn ensure_content(&self) {
        let wrong = self.desk.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "the server was asked what it refuses: {wrong:#?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.ensure_content();
            let left = self.desk.acts.lock().unwrap().len();
            assert!(left == 0 || self.desk.manners == Manners::Easy, "{left} requests are missing");
        }
    }
}

impl Desk {
    /// Serves a connection until it is closed by either side.
    fn attend(&self, connection: &TcpStream) {
        let mut reader = BufReader::new(connection);
        while let Some(asked) = receive(&mut reader) {
            let verdict = self.check(&asked);
            let act = self.acts.lock().unwrap().pop_front();
            let line = asked.headers[0].clone();
            let _ = self.asking.send(asked);
            let act = match (verdict, act) {
                (Ok(()), Some(act)) => act,
                (Ok(()), None) if self.manners == Manners::Easy => return,
                (Ok(()), None) => self.refuse(format!("{line} is one request too many")),
                (Err(why), _) => self.refuse(why),
            };
            if self.play(act, connection).is_none() {
                return;
            }
        }
    }

    fn check(&self, asked: &Asked) -> Verdict {
        let said = self.said.lock().unwrap();
        match self.manners {
            Manners::Strict => strict::check(self.format, asked, &said),
            Manners::Easy if asked.headers[0].contains("/chat/completions ") => {
                self.format.check(&asked.body, &said)
            }
            Manners::Easy => Ok(()),
        }
    }

    fn refuse(&self, why: String) -> Act {
        let body = json!({ "error": { "message": why } }).to_string();
        self.wrong.lock().unwrap().push(why);
        Act::Refuse("400 Bad Request", "", body)
    }

    /// Does one thing. Returns nothing if the connection is not used again.
    fn play(&self, act: Act, mut connection: &TcpStream) -> Option<()> {
        let format = self.format;
        let mut write = |bytes: &[u8]| connection.write_all(bytes).ok();
        match act {
            Act::Say(said) => self.play(Act::Cut(said, whole), connection),
            Act::Cut(said, cut) => {
                let pieces = cut(&(format.begin(&said) + &format.end(&said)));
                self.said.lock().unwrap().push(said);
                write(&begin(&pieces))?;
                write(b"0\r\n\r\n")
            }
            Act::Send(bytes) => {
                write(&begin(&[bytes]))?;
                write(b"0\r\n\r\n")
            }
            Act::Refuse(status, headers, body) => {
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n");
                write((head + &body).as_bytes())
            }
            Act::HangUp(said) => {
                write(&begin(&whole(&format.begin(&said))))?;
                None
            }
            Act::Wait(said) => {
                write(&begin(&whole(&format.begin(&said))))?;
                self.play(Act::Silence, connection)
            }
            Act::Silence => {
                let _ = self.waits.send(connection.try_clone().ok()?);
                None
            }
        }
    }
}

fn whole(text: &str) -> Vec<Vec<u8>> {
    vec![text.into()]
}

/// Returns the beginning of an answer, each piece in a chunk of its own.
fn begin(pieces: &[Vec<u8>]) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let mut bytes = head.as_bytes().to_vec();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend(piece);
        bytes.extend(b"\r\n");
    }
    bytes
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
    let mut raw = vec![0; length];
    reader.read_exact(&mut raw).ok()?;
    let body = serde_json::from_slice(&raw).unwrap_or_default();
    Some(Asked { headers, raw: String::from_utf8_lossy(&raw).into_owned(), body })
}

/// Writes events as they are sent.
fn sse(events: &[Value]) -> String {
    let events = events.iter().map(|event| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    });
    events.collect()
}

/// Cuts a text in two.
fn halves(text: &str) -> [String; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first.to_owned(), second.to_owned()]
}

/// Returns a name that nothing else has.
fn fresh(kind: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("{kind}_{}", LAST.fetch_add(1, Ordering::Relaxed))
}

/// What a model says in Chat Completions.
pub(crate) fn words(text: &str) -> Said {
    Chat.words(text)
}

/// What a model that calls tools says in Chat Completions.
pub(crate) fn calls(calls: &[Call<'_>]) -> Said {
    Chat.calls(calls)
}
