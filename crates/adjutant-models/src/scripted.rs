//! A model that says what a script says, for tests without a key or a network.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use adjutant_core::{
    AgentPath, Delta, Manner, Message, Model, ModelError, ModelInfo, Part, Request, StopReason,
    ToolCall, ToolChoice, Trouble, WireLog,
};
use futures_util::stream::{self, BoxStream, StreamExt};

use crate::{
    brief::brief,
    script::{BadScript, Recording, Reply, Script, Severity},
    speech::{self, End, Speech},
};

/// A model that says what a script says. What an agent gets depends on the script and on
/// what that agent got before, never on other agents.
pub struct Scripted {
    info: ModelInfo,
    title: String,
    script: Script,
    /// What is wrong with a script that was built in Rust; every answer says so.
    fault: Option<String>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    uses: HashMap<(AgentPath, usize), u32>,
    seen: Vec<Seen>,
}

/// A request the model got.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Who asked.
    pub agent: AgentPath,
    /// In which turn.
    pub turn: u64,
    /// With which system prompt.
    pub system: String,
    /// The conversation, shared and not copied.
    pub messages: Vec<Arc<Message>>,
    /// The names of the tools on offer.
    pub tools: Vec<String>,
    /// Whether they might be called.
    pub choice: ToolChoice,
    /// The most tokens in the answer.
    pub max_output: u64,
    /// How the model was to go about it.
    pub manner: Manner,
}

impl Scripted {
    /// Makes a model of a script. One that makes no sense gives a model that refuses every
    /// request and says why.
    pub fn new(script: Script) -> Self {
        let name = script.name.clone().unwrap_or_else(|| "script".to_owned());
        Self::named(name, script)
    }

    /// Makes a model of a script in a file. Its full name is `scripted/` and the path.
    pub fn open(path: &Path) -> Result<Self, BadScript> {
        Ok(Self::named(path.display().to_string(), Script::read(path)?))
    }

    fn named(name: String, script: Script) -> Self {
        let Script { window, max_output, price, .. } = script;
        let (full_name, provider) = (format!("scripted/{name}").into(), "scripted".into());
        let info = ModelInfo { name: full_name, provider, window, max_output, price: Some(price) };
        let fault = script.check().err().map(|(_, problem)| problem);
        let title = script.name.clone().unwrap_or(name);
        Self { info, title, script, fault, memory: Mutex::default() }
    }

    /// Describes the replies nobody got.
    pub fn unused(&self) -> Vec<String> {
        let memory = self.memory();
        let used: HashSet<usize> = memory.uses.keys().map(|(_, place)| *place).collect();
        let replies = self.script.replies.iter().enumerate();
        let unused = replies.filter(|(place, _)| !used.contains(place));
        unused
            .map(|(place, reply)| format!("reply {} for {}", place + 1, reply.describe()))
            .collect()
    }

    /// Returns what it means when a reply was not used.
    pub fn severity(&self) -> Severity {
        self.script.unused
    }

    /// Returns the requests so far, if the script is [recording](Script::recording).
    pub fn requests(&self) -> Vec<Seen> {
        self.memory().seen.clone()
    }

    fn choose(&self, request: &Request<'_>) -> Result<&Reply, ModelError> {
        let refused = |message| Err(ModelError::new(Trouble::Refused, message));
        if let Some(fault) = &self.fault {
            return refused(format!("the script `{}` makes no sense: {fault}", self.title));
        }
        let length = speech::estimate(request, &[]).input;
        if length > self.info.window {
            let window = self.info.window;
            let message = format!("the conversation has about {length} tokens of at most {window}");
            return Err(ModelError::new(Trouble::TooLong, message));
        }
        let task = task(request);
        let mut memory = self.memory();
        if self.script.recording == Recording::On {
            memory.seen.push(Seen::new(request));
        }
        for (place, reply) in self.script.replies.iter().enumerate() {
            if !reply.fits(request, &task) {
                continue;
            }
            let uses = memory.uses.entry((request.agent.clone(), place)).or_default();
            if reply.is_left_after(*uses) {
                *uses += 1;
                return Ok(reply);
            }
        }
        refused(self.nothing(request, &task))
    }

    fn nothing(&self, request: &Request<'_>, task: &str) -> String {
        let Request { agent, turn, .. } = request;
        let without = match request.choice {
            ToolChoice::Free => "",
            ToolChoice::None => " without calls",
        };
        format!(
            "the script `{}` has no reply{without} for `{agent}`, turn {turn} (its task begins \
             “{}”)",
            self.title,
            brief(task, 40)
        )
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Scripted {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(
        &self,
        request: Request<'_>,
        _: &mut WireLog,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        match self.choose(&request) {
            Ok(reply) => speak(reply, &request).stream(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

impl Seen {
    fn new(request: &Request<'_>) -> Self {
        Self {
            agent: request.agent.clone(),
            turn: request.turn,
            system: request.system.to_owned(),
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            choice: request.choice,
            max_output: request.max_output,
            manner: request.manner.clone(),
        }
    }
}

/// Returns the agent's first user message.
fn task(request: &Request<'_>) -> String {
    let first = request.messages.iter().find(|message| matches!(***message, Message::User { .. }));
    first.map(|message| message.text()).unwrap_or_default()
}

fn speak(reply: &Reply, request: &Request<'_>) -> Speech {
    let said = if reply.hang || reply.error.is_some() || reply.break_after.is_some() {
        unfinished(reply)
    } else {
        finished(reply, request)
    };
    let end = if reply.hang { End::Hang } else { End::Over };
    Speech { delay: reply.delay(), pause: reply.pause(), said, end }
}

fn finished(reply: &Reply, request: &Request<'_>) -> Vec<Result<Delta, ModelError>> {
    let mut parts = reply.words();
    parts.extend(calls(reply, request.turn));
    let natural = if reply.calls.is_empty() { StopReason::Done } else { StopReason::Calls };
    let mut stop = reply.stop.unwrap_or(natural);
    if reply.usage.is_none() && speech::cut(&mut parts, request.max_output) {
        stop = StopReason::Length;
    }
    let usage = reply.usage.unwrap_or_else(|| speech::estimate(request, &parts));
    speech::whole(parts, reply.grain(), usage, stop)
}

/// Returns what is heard of an answer that has no end. Providers count before they
/// answer, so the usage is heard too if the script says what it is.
fn unfinished(reply: &Reply) -> Vec<Result<Delta, ModelError>> {
    let heard = reply.break_after.unwrap_or(usize::MAX);
    let fragments = speech::fragments(&reply.words(), reply.grain()).into_iter().take(heard);
    let usage = reply.usage.map(Delta::Usage);
    let error = reply.error.clone().map(Err);
    fragments.chain(usage).map(Ok).chain(error).collect()
}

fn calls(reply: &Reply, turn: u64) -> impl Iterator<Item = Part> {
    reply.calls.iter().enumerate().map(move |(place, call)| {
        let id = match &call.id {
            Some(id) => id.as_str().into(),
            None => format!("c{turn}-{}", place + 1).into(),
        };
        let (name, arguments) = (call.tool.clone(), call.args.clone());
        Part::Call(ToolCall { id, name, arguments, native: None })
    })
}
