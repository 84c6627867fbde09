//! A thousand answers at once, from a server that sees when each has been heard to its end.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Result, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime,
    time::{Instant, sleep_until},
};

use crate::{
    bench::{self, CHILDREN, TASK},
    measure::{self, Cost},
};

/// An answer takes four seconds: longer than it takes to begin them all.
const CHUNKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(40);
/// Runs a command that may have few files open unless it asks for more, as on most systems.
const FEW_FILES: &str = r#"ulimit -Sn 256 && exec "$0" "$@""#;
/// How much longer than most an answer may take.
const SLOWEST: f64 = 2.0;

/// Measures a tree whose children all hear an answer at the same time.
#[expect(clippy::print_stdout, reason = "it is what was asked for")]
pub(crate) fn run() -> Result<()> {
    let (_, alone) = hear(1)?;
    let (seen, cost) = hear(CHILDREN)?;
    let (median, slowest) = seen.durations();
    let ratio = slowest / median;
    let each = (cost.memory - alone.memory) as f64 / (CHILDREN - 1) as f64;
    let (all, cpu) = (seen.most, cost.cpu as f64 / 1e3 / CHILDREN as f64);
    println!(
        "\n{all} streams at once: {median:.2} s each, the slowest {slowest:.2} s ({ratio:.2})"
    );
    println!("a stream: {cpu:.3} ms CPU, {each:.1} KiB");
    ensure!(
        seen.heard.len() == CHILDREN,
        "{} streams were heard, not {CHILDREN}",
        seen.heard.len()
    );
    ensure!(all == CHILDREN, "{all} streams were heard at one time, not {CHILDREN}");
    ensure!(ratio <= SLOWEST, "the slowest stream took more than {SLOWEST} times the median");
    Ok(())
}

/// Runs a root with so many children.
fn hear(children: usize) -> Result<(Seen, Cost)> {
    let (address, seen) = serve(children)?;
    let base = format!("OPENAI_BASE_URL={address}");
    let before = ["sh", "-c", FEW_FILES, "env", &base, "OPENAI_API_KEY=none"].map(str::to_owned);
    let run = bench::command("openai/bench", &["journal=memory".to_owned()]);
    let cost = measure::run(&[&before[..], &run].concat())?;
    let seen = lock(&seen).clone();
    Ok((seen, cost))
}

/// What the server has seen of the children.
#[derive(Clone, Default)]
struct Seen {
    now: usize,
    most: usize,
    /// How long each answer took that was heard to its end.
    heard: Vec<Duration>,
}

impl Seen {
    fn begin(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }

    fn end(&mut self, duration: Duration) {
        self.now -= 1;
        self.heard.push(duration);
    }

    /// Returns the median and the longest, in seconds.
    fn durations(&self) -> (f64, f64) {
        let mut heard = self.heard.clone();
        heard.sort_unstable();
        let at = |place: usize| heard.get(place).map_or(f64::NAN, Duration::as_secs_f64);
        (at(heard.len() / 2), at(heard.len().saturating_sub(1)))
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the server, and returns where it is and what it sees.
fn serve(children: usize) -> Result<(String, Arc<Mutex<Seen>>)> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    ensure!(most > 2 * CHILDREN as u64, "a process may only have {most} files open here");
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = format!("http://{}/v1", listener.local_addr()?);
    let seen = Arc::new(Mutex::default());
    let shared = Arc::clone(&seen);
    thread::spawn(move || {
        runtime.block_on(async {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(attend(connection, children, Arc::clone(&shared)));
            }
        });
    });
    Ok((address, seen))
}

/// Answers the one request of a connection: a child's slowly, the root's with calls and, once
/// they have results, with a word.
async fn attend(mut connection: TcpStream, children: usize, seen: Arc<Mutex<Seen>>) -> Result<()> {
    let begun = Instant::now();
    let asked = receive(&mut connection).await?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    connection.write_all(head.as_bytes()).await?;
    let last = asked["messages"].as_array().and_then(|messages| messages.last());
    let is_child = last.is_some_and(|last| last["role"] == "user" && last["content"] != TASK);
    if is_child {
        lock(&seen).begin();
        for chunk in 1..=CHUNKS {
            say(&mut connection, &json!({ "content": "word " }), None).await?;
            sleep_until(begun + chunk * PAUSE).await;
        }
        say(&mut connection, &json!({}), Some("stop")).await?;
    } else if last.is_some_and(|last| last["role"] == "tool") {
        say(&mut connection, &json!({ "content": "done" }), Some("stop")).await?;
    } else {
        say(&mut connection, &calls(children), Some("tool_calls")).await?;
    }
    connection.write_all(b"data: [DONE]\n\n").await?;
    connection.shutdown().await?;
    // It hangs up when it has heard everything, and not before.
    let _ = connection.read_to_end(&mut Vec::new()).await;
    if is_child {
        lock(&seen).end(begun.elapsed());
    }
    Ok(())
}

async fn receive(connection: &mut TcpStream) -> Result<Value> {
    let mut bytes = Vec::new();
    loop {
        ensure!(connection.read_buf(&mut bytes).await? > 0, "the request was cut off");
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if body.len() >= length.map_or(Ok(0), |(_, length)| length.parse())? {
            return Ok(serde_json::from_str(body)?);
        }
    }
}

async fn say(connection: &mut TcpStream, delta: &Value, finish: Option<&str>) -> Result<()> {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    let chunk = json!({ "object": "chat.completion.chunk", "choices": [choice] });
    Ok(connection.write_all(format!("data: {chunk}\n\n").as_bytes()).await?)
}

fn calls(children: usize) -> Value {
    let call = |number: usize| {
        let arguments = json!({ "prompt": format!("part {number}") }).to_string();
        let function = json!({ "name": "sub_agent", "arguments": arguments });
        json!({ "index": number, "id": format!("call_{number}"), "function": function })
    };
    json!({ "tool_calls": (0..children).map(call).collect::<Vec<_>>() })
}
