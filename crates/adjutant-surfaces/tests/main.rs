//! Front ends on a real session, with a scripted model.

use std::{
    io::{self, Write},
    num::NonZeroUsize,
    path::Path,
    sync::Arc,
};

use adjutant_core::{
    Access, Allowance, Answer, Ask, Bus, Charter, Effect, Grant, Host, Journal, Mode, NoRulebook,
    Refusal, Tool, ToolError, ToolSpec,
};
use adjutant_engine::{Events, Parts, Root, Session, Settings};
use adjutant_models::{
    Catalogue, Pace, Scripted,
    script::{Reply, Script, call},
};
use adjutant_store::{LocalBus, MemoryJournal, MemoryVault};
use adjutant_surfaces::{
    Jsonl, Keyboard, Live, Output, Person, Plain, Reader, Size, Style, SurfaceError, follow,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

/// How many events the bus remembers.
const RING: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);

/// A tool that asks a person for a colour.
struct AskColour;

impl Tool for AskColour {
    fn spec(&self) -> Arc<ToolSpec> {
        let (name, description) = ("ask_colour".to_owned(), "asks".to_owned());
        let parameters = json!({"type": "object", "properties": {}});
        Arc::new(ToolSpec { name, description, parameters, effect: Effect::Ask })
    }

    fn summary(&self, _: &Value) -> String {
        "a colour".to_owned()
    }

    fn call<'a>(
        &'a self,
        _: Value,
        host: &'a dyn Host,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        let choices = vec!["red".to_owned(), "blue".to_owned()];
        let ask = Ask::Question { prompt: "Which colour?".to_owned(), choices };
        Box::pin(async move {
            match host.ask(ask).await {
                Answer::Words { text } => Ok(text),
                other => Err(ToolError(format!("{other:?}"))),
            }
        })
    }
}

/// Hands what is written on it to the test.
#[derive(Clone)]
struct Wire(mpsc::UnboundedSender<String>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.0.send(text).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wire() -> (Box<Wire>, mpsc::UnboundedReceiver<String>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Box::new(Wire(sender)), receiver)
}

fn written(receiver: &mut mpsc::UnboundedReceiver<String>) -> String {
    std::iter::from_fn(|| receiver.try_recv().ok()).collect()
}

fn output(writer: Box<Wire>) -> Output {
    Output::new(writer, Reader::Program)
}

/// Opens a session whose root asks for a colour and then says good-bye.
fn session() -> (Session, Events) {
    let ask = Reply::calls([call("c1", "ask_colour", json!({}))]);
    let script = Script::new().on("root", [ask, Reply::text("good-bye")]);
    let models = Catalogue::new(Pace::Prompt);
    let models = Arc::new(models.with("scripted/one", Arc::new(Scripted::new(script))));
    let bus: Arc<dyn Bus> = Arc::new(LocalBus::new(RING));
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new(Arc::clone(&bus)));
    let (tools, settings) = (vec![Arc::new(AskColour) as Arc<dyn Tool>], Settings::default());
    let session = Session::open(
        Uuid::now_v7().into(),
        Parts {
            models,
            tools,
            journal,
            vault: Arc::new(MemoryVault::default()),
            rulebook: Arc::new(NoRulebook),
            hooks: None,
            workshop: None,
            bus,
            settings,
        },
    );
    let events = session.events(0);
    (session, events)
}

async fn begin(session: &Session) -> Result<(), Refusal> {
    #[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
    let grant = Grant::mint(Charter {
        mode: Mode::Ask,
        rules: Vec::new(),
        access: Access::Inherit,
        scope: vec!["/".into()],
        protected: Vec::new(),
        shown: Vec::new(),
        depth: 1,
    });
    let root = Root {
        model: "scripted/one".to_owned(),
        system: "".into(),
        schema: None,
        grant,
        allowance: Allowance::default(),
        workdir: Path::new("/").into(),
        stay: adjutant_core::Stay::UntilDone,
        agent: None,
        manner: adjutant_core::Manner::default(),
    };
    session.begin(root, "greet".to_owned()).await
}

#[tokio::test(start_paused = true)]
async fn a_person_answers_what_is_asked() {
    let (session, events) = session();
    let (prompt, mut prompts) = wire();
    let (lines, received) = mpsc::channel(1);
    let keyboard = Keyboard { lines: received, forget: Box::new(|| ()) };
    let person = Person::attend(&session, keyboard, prompt);
    let (log, mut logged) = wire();
    let (answer, mut answered) = wire();
    begin(&session).await.unwrap();
    tokio::spawn(async move {
        let mut asked = String::new();
        while let Some(text) = prompts.recv().await {
            asked += &text;
            if asked.ends_with("> ") {
                lines.send("2".to_owned()).await.unwrap();
            }
        }
    });
    let mut view = Plain::new(log, output(answer));
    let ended = follow(&session, Some(events), &mut view, Some(person)).await.unwrap();
    assert!(ended.unanswered.is_empty());
    let logged = written(&mut logged);
    assert!(logged.contains("root asks: Which colour?\nroot was answered: blue\n"), "{logged}");
    assert_eq!(written(&mut answered), "good-bye\n");
}

/// Attends with lines that have ended.
fn gone(session: &Session) -> Person {
    let (_, lines) = mpsc::channel(1);
    let keyboard = Keyboard { lines, forget: Box::new(|| ()) };
    Person::attend(session, keyboard, Box::new(io::sink()))
}

#[tokio::test(start_paused = true)]
async fn a_person_who_is_gone_leaves_the_question_unanswered() {
    let (session, events) = session();
    let person = gone(&session);
    let (terminal, mut drawn) = wire();
    let (answer, mut answered) = wire();
    let size = || Size { columns: 60, rows: 24 };
    let mut view = Live::new(terminal, Box::new(size), Style::Coloured, output(answer));
    begin(&session).await.unwrap();
    let ended = follow(&session, Some(events), &mut view, Some(person)).await.unwrap();
    assert_eq!(ended.unanswered.len(), 1);
    let drawn = written(&mut drawn);
    assert!(drawn.contains("root was not answered: nobody was there\u{1b}[K\n"), "{drawn}");
    assert_eq!(written(&mut answered), "good-bye\n");
}

#[tokio::test(start_paused = true)]
async fn a_front_end_nobody_reads_ends_quietly() {
    let (session, events) = session();
    let (writer, reader) = wire();
    drop(reader);
    begin(&session).await.unwrap();
    let ended = follow(&session, Some(events), &mut Jsonl::new(writer), None).await;
    assert!(matches!(ended, Err(SurfaceError::ReaderGone)), "{ended:?}");
}
