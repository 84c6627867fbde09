//! Events to check with.

use std::{
    iter,
    num::{NonZeroU64, NonZeroUsize},
    sync::Arc,
    time::Duration,
};

use adjutant_core::{
    Access, AgentId, AgentPath, Allowance, Answer, Artifact, Ask, Backoff, Calls, Cause, Chosen,
    Clamp, Context, Delivery, Digest, Effect, Effort, Ending, Event, EventKind, Fact, FileState,
    Handed, Handover, Image, Isolation, Limits, Manner, Message, Mode, Native, OnError, Order,
    Outcome, Part, Peers, Plan, QuestionId, Receipt, Retry, Rules, SessionId, Share, Stay, Task,
    TaskNote, ToolCall, ToolResult, Usage, When, Wish,
};
use serde_json::{Number, Value, json};
use uuid::Uuid;

/// Text that is easily damaged on its way.
const AWKWARD: &str = "\"quoted\" 'too' \\ \r\n\t🦀 e\u{301} \u{0} \u{1b}[0m \u{2028} \u{feff}";

/// Returns one of the sessions of a check.
pub(super) fn session(number: u128) -> SessionId {
    Uuid::from_u128(number).into()
}

/// Makes an event that can be told from others.
pub(super) fn named(name: &str) -> Event {
    let (tool, summary) = ("read_file".to_owned(), name.to_owned());
    Event {
        seq: 0,
        at: 1_700_000_000_000,
        path: AgentPath::root(),
        id: AgentId::from(Uuid::from_u128(1)),
        call: None,
        kind: EventKind::Called { call_id: "c1".into(), tool, summary },
    }
}

/// Returns what a named event was named.
pub(super) fn name_of(event: &Event) -> &str {
    match &event.kind {
        EventKind::Called { summary, .. } => summary,
        other => panic!("an event that was not appended: {other:?}"),
    }
}

/// Makes an event whose every field is out of the ordinary. Its position means nothing.
pub(super) fn awkward(kind: EventKind) -> Event {
    let path = AgentPath::root().child("scout", u32::MAX);
    Event { seq: 12345, at: u64::MAX, path, call: Some(AWKWARD.into()), kind, ..named("") }
}

/// Returns one event of each kind that is kept.
pub(super) fn kept_kinds() -> impl Iterator<Item = EventKind> {
    iter::successors(Some(started()), next).filter(EventKind::is_kept)
}

/// Returns a sample of the kind that comes next. A new kind must find its place here.
fn next(kind: &EventKind) -> Option<EventKind> {
    let text = || AWKWARD.to_owned();
    let question = QuestionId::from(Uuid::from_u128(u128::MAX));
    Some(match kind {
        EventKind::Started { .. } => EventKind::Said { message: Arc::new(message()) },
        EventKind::Said { .. } => {
            EventKind::Called { call_id: AWKWARD.into(), tool: text(), summary: text() }
        }
        EventKind::Called { .. } => {
            let state = |text: &str| FileState {
                digest: Digest::of(text.as_bytes()),
                bytes: 3,
                mode: 0o100_644,
            };
            let (before, after) = (Some(state("old")), Some(state("new")));
            EventKind::Changed { call_id: AWKWARD.into(), file: text(), before, after }
        }
        EventKind::Changed { .. } => {
            EventKind::Asked { question, call_id: "c1".into(), ask: Arc::new(ask()) }
        }
        EventKind::Asked { .. } => {
            EventKind::Answered { question, answer: Answer::Deny { reason: Some(text()) } }
        }
        EventKind::Answered { .. } => EventKind::Withdrawn { question },
        EventKind::Withdrawn { .. } => {
            EventKind::Spent { usage: usage(), micros: u64::MAX, estimated: true }
        }
        EventKind::Spent { .. } => {
            EventKind::Retrying { attempt: u32::MAX, wait_ms: u64::MAX, reason: text() }
        }
        EventKind::Retrying { .. } => {
            EventKind::Compacted { upto: usize::MAX, with: vec![Arc::new(results())] }
        }
        EventKind::Compacted { .. } => {
            EventKind::Mailed { from: Some(AgentPath::root()), text: text(), when: When::Steer }
        }
        EventKind::Mailed { .. } => {
            EventKind::Planned { call_id: AWKWARD.into(), plan: Arc::new(plan()) }
        }
        EventKind::Planned { .. } => {
            let end = TaskNote::Ended { agent: AgentPath::root(), ending: Ending::Timeout };
            EventKind::TaskEnded { call_id: AWKWARD.into(), task: usize::MAX, end }
        }
        EventKind::TaskEnded { .. } => EventKind::Noted { key: text(), value: Some(text()) },
        EventKind::Noted { .. } => EventKind::Rested,
        EventKind::Rested => finished(),
        EventKind::Finished { .. } | EventKind::Saying { .. } | EventKind::Progressed { .. } => {
            return None;
        }
    })
}

fn started() -> EventKind {
    let pattern = || vec!["run_command(git *)".parse().unwrap()];
    let authority = Wish {
        mode: Some(Mode::Plan),
        rules: Rules { allow: pattern(), ask: pattern(), deny: pattern(), only: pattern() },
        access: Access::AllowList { tools: [AWKWARD.to_owned()].into() },
        passes: [AWKWARD.to_owned()].into(),
        scope: Some(AWKWARD.into()),
        depth: Some(u8::MAX),
    };
    let most = Some(NonZeroU64::MAX);
    let allowance =
        Allowance { tokens: most, micros: most, millis: most, turns: most, calls: most };
    let order = Order {
        name: AWKWARD.to_owned(),
        task: AWKWARD.to_owned(),
        agent: Some(AWKWARD.to_owned()),
        context: Context::Cut { last: NonZeroUsize::MAX },
        provider: Some(AWKWARD.to_owned()),
        model: Some(AWKWARD.to_owned()),
        instructions: Some(AWKWARD.to_owned()),
        schema: Some(Arc::new(serde_json::json!({ AWKWARD: null }))),
        limits: Limits { authority, allowance, asked: allowance, share: Share::Proportional },
        delivery: Delivery::Pushed,
        isolation: Isolation::Worktree,
        stay: Stay::UntilTold,
        peers: Peers::Family,
        workdir: Some(AWKWARD.into()),
        manner: manner(),
        within: Some(AWKWARD.to_owned()),
        // Not kept: the path has it.
        number: None,
    };
    EventKind::Started {
        order: Arc::new(order),
        model: AWKWARD.into(),
        chosen: Chosen::Configured,
        mode: Mode::Dangerous,
        tools: vec![AWKWARD.to_owned()],
        clamped: vec![clamp()],
        inherited: usize::MAX,
        workdir: Some(AWKWARD.to_owned()),
    }
}

fn manner() -> Manner {
    let retry = Retry {
        attempts: u32::MAX,
        base: Duration::MAX,
        cap: Duration::ZERO,
        backoff: Backoff::Linear,
    };
    Manner {
        temperature: Some(0.into()),
        top_p: Number::from_f64(0.1),
        effort: Some(Effort::High),
        max_output: Some(NonZeroU64::MAX),
        retry: Some(retry),
        calls: Calls::OneByOne,
    }
}

fn plan() -> Plan {
    let order = Order { task: AWKWARD.to_owned(), ..Order::default() };
    let task = Task { order, needs: vec![usize::MAX] };
    let (goal, tasks) = (AWKWARD.to_owned(), vec![task]);
    Plan { goal, tasks, at_once: usize::MAX, on_error: OnError::GoOn }
}

fn finished() -> EventKind {
    let receipt = Receipt {
        turns: u64::MAX,
        calls: u64::MAX,
        usage: usage(),
        tokens: u64::MAX,
        micros: u64::MAX,
        millis: u64::MAX,
        read: [AWKWARD.into()].into(),
        modified: [AWKWARD.into()].into(),
        commands: vec![(AWKWARD.to_owned(), Some(i32::MIN)), (String::new(), None)],
        artifacts: vec![Artifact { path: AWKWARD.to_owned(), bytes: u64::MAX }],
        unfinished: vec![AgentPath::root().child("scout", 1)],
        clamped: vec![clamp()],
        uncontained: vec![AWKWARD.to_owned()],
        unheard: vec![AWKWARD.to_owned()],
        failed_hooks: [AWKWARD.to_owned()].into(),
        handover: Some(handover()),
    };
    let outcome = Outcome::failed(Cause::Stuck, AWKWARD, AWKWARD);
    EventKind::Finished { outcome: Arc::new(outcome), receipt: Arc::new(receipt) }
}

fn handover() -> Handover {
    let (files, worktree) = (vec![AWKWARD.to_owned()], AWKWARD.to_owned());
    Handover {
        patch: Some(AWKWARD.to_owned()),
        directory: AWKWARD.to_owned(),
        files: files.clone(),
        handed: Handed::Conflict { files, worktree },
        left_out: vec![AWKWARD.to_owned()],
    }
}

fn message() -> Message {
    let (text, native) = (AWKWARD.to_owned(), Some(native()));
    Message::Assistant {
        parts: vec![
            Part::Text { text: text.clone(), native: native.clone() },
            Part::Reasoning { text, native },
            Part::Image(image()),
            Part::Call(call()),
        ],
    }
}

fn results() -> Message {
    let facts = vec![
        Fact::Read { path: AWKWARD.into() },
        Fact::Modified { path: AWKWARD.into() },
        Fact::Ran { command: AWKWARD.to_owned(), code: None },
        Fact::Unwatched { why: AWKWARD.to_owned() },
    ];
    let result =
        ToolResult { images: vec![image()], facts, ..ToolResult::failure(AWKWARD.into(), AWKWARD) };
    Message::Tools { results: vec![result] }
}

fn ask() -> Ask {
    Ask::Permission {
        call: call(),
        effect: Effect::Reach,
        because: AWKWARD.to_owned(),
        rules: vec!["run_command(git *)".parse().unwrap()],
    }
}

fn call() -> ToolCall {
    let arguments = json!({
        AWKWARD: [u64::MAX, i64::MIN, f64::MAX, 5e-324, 25.658075872638918, null, true],
        "event": "a key that events have",
        "deep": nested(),
    });
    ToolCall { id: AWKWARD.into(), name: AWKWARD.to_owned(), arguments, native: Some(native()) }
}

/// Nests a value as deep as a parser lets a model write it.
fn nested() -> Value {
    (0..126).fold(json!("core"), |inner, _| json!([inner]))
}

fn native() -> Native {
    // Verbatim means that order, spaces, escapes and repeated keys stay.
    let json = "{ \"b\":1e400 ,\"a\": \"\\u00e9\\u0000\",\"a\":18446744073709551616\n}";
    Native { origin: AWKWARD.into(), json: json.into() }
}

fn image() -> Image {
    Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".into() }
}

fn usage() -> Usage {
    let most = u64::MAX;
    Usage { input: most, output: most, cache_read: most, cache_write: most, reasoning: most }
}

fn clamp() -> Clamp {
    Clamp { what: AWKWARD.to_owned(), asked: AWKWARD.to_owned(), given: AWKWARD.to_owned() }
}
