//! Commands a person wants run before and after what agents do.
//!
//! A hook is the person's own: it runs outside the sandbox, where the agent works, and is told
//! on its standard input what it is about. It has a keeper, so that nothing it starts outlives
//! it.

use std::{io, path::Path, sync::Arc, time::Duration};

use adjutant_core::{Held, HookedCall, Hooks, Occasion, Pattern, Scene, Target};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::{
    net::unix::pipe::Receiver,
    time::{sleep, timeout},
};

use crate::{
    Environment, brief,
    keeper::{Keeper, KeptProcess},
    pipe::{hear_out, pipe},
    sandbox::Seals,
};

/// The most of what a hook is told in one place.
const MOST_TEXT: usize = 64 * 1024;
/// The most of what a hook is told in all.
const MOST_INPUT: usize = 4 * 1024 * 1024;
/// The most of what a hook says that is handed on.
const MOST_WORDS: usize = 1024;
/// How long a hook that was ended may take to be gone, before that is left to its agent.
const GOING: Duration = Duration::from_secs(1);

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// Before a call, which does not run if the hook fails.
    BeforeTool,
    /// After a call.
    AfterTool,
    /// Before an agent's first turn.
    AgentStart,
    /// After an agent's end.
    AgentEnd,
}

impl HookEvent {
    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("before_tool", Self::BeforeTool),
        ("after_tool", Self::AfterTool),
        ("agent_start", Self::AgentStart),
        ("agent_end", Self::AgentEnd),
    ];

    fn of(occasion: &Occasion<'_>) -> Self {
        match occasion {
            Occasion::Started { .. } => Self::AgentStart,
            Occasion::Calling(_) => Self::BeforeTool,
            Occasion::Called { .. } => Self::AfterTool,
            Occasion::Ended { .. } => Self::AgentEnd,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeTool => "before_tool",
            Self::AfterTool => "after_tool",
            Self::AgentStart => "agent_start",
            Self::AgentEnd => "agent_end",
        }
    }
}

/// A command a person wants run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Its name.
    pub name: String,
    /// When it runs.
    pub event: HookEvent,
    /// For which calls; without it, for all.
    pub calls: Option<Pattern>,
    /// What `sh -c` runs.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// The hooks of a session.
pub struct CommandHooks {
    /// All of them, in the order in which those of one occasion run.
    pub hooks: Vec<Hook>,
    /// What keeps them.
    pub keeper: Keeper,
    /// What they see of the environment.
    pub environment: Environment,
    /// The files of theirs that agents can come near.
    pub seals: Arc<Seals>,
}

impl Hooks for CommandHooks {
    fn run<'a>(&'a self, scene: Scene<'a>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let event = HookEvent::of(&scene.occasion);
            let mut input = None;
            let mut failures = Vec::new();
            for hook in self.hooks.iter().filter(|hook| hook.hears(event, &scene)) {
                let input = input.get_or_insert_with(|| told(event, &scene));
                if let Err(why) = self.run_one(hook, input, &scene).await {
                    failures.push(format!("`{}`: {why}", hook.name));
                    if event == HookEvent::BeforeTool {
                        break;
                    }
                }
            }
            if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
        })
    }
}

impl Hook {
    fn hears(&self, event: HookEvent, scene: &Scene<'_>) -> bool {
        let is_meant = match (&self.calls, call(&scene.occasion)) {
            (Some(calls), Some(call)) => is_about(calls, &call, scene),
            _ => true,
        };
        self.event == event && is_meant
    }
}

/// Reports whether a pattern speaks of a call. What nobody can tell might be what it speaks of.
fn is_about(calls: &Pattern, call: &HookedCall<'_>, scene: &Scene<'_>) -> bool {
    let covers = |target: &Target| match target {
        Target::Unclear(_) => calls.is_about(call.tool),
        target => calls.covers(call.tool, target, scene.scope),
    };
    match call.touches {
        [] => covers(&Target::Nothing),
        touches => touches.iter().any(|touch| covers(&touch.target)),
    }
}

fn call<'a>(occasion: &Occasion<'a>) -> Option<HookedCall<'a>> {
    match occasion {
        Occasion::Calling(call) | Occasion::Called { call, .. } => Some(*call),
        Occasion::Started { .. } | Occasion::Ended { .. } => None,
    }
}

/// Returns what a hook reads.
fn told(event: HookEvent, scene: &Scene<'_>) -> Vec<u8> {
    let mut told = json!({
        "event": event.name(),
        "session": scene.session,
        "agent": scene.agent,
        "workdir": scene.workdir.to_string_lossy(),
    });
    if let Some(HookedCall { id, tool, arguments, .. }) = call(&scene.occasion) {
        told["call"] = json!(id);
        told["tool"] = json!(tool);
        told["arguments"] = arguments.clone();
    }
    match scene.occasion {
        Occasion::Started { task } => told["task"] = short(task),
        Occasion::Calling(_) => {}
        Occasion::Called { result, failed, .. } => {
            told["result"] = short(result);
            told["failed"] = json!(failed);
        }
        Occasion::Ended { outcome } => {
            told["ending"] = json!(outcome.ending);
            told["text"] = short(&outcome.text);
            told["reason"] = json!(outcome.reason);
        }
    }
    format!("{told}\n").into_bytes()
}

fn short(text: &str) -> Value {
    match brief::beginning(text, MOST_TEXT) {
        (text, 0) => json!(text),
        (text, left_out) => json!(format!("{text}\n[{left_out} bytes left out]")),
    }
}

/// A hook at work. Dropped before it has ended, it is ended, and its agent waits for that.
struct Running<'a> {
    process: Option<KeptProcess>,
    hold: &'a (dyn Fn(Box<dyn Held>) + Send + Sync),
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            (self.hold)(Box::new(process));
        }
    }
}

impl CommandHooks {
    async fn run_one(&self, hook: &Hook, input: &[u8], scene: &Scene<'_>) -> Result<(), String> {
        if input.len() > MOST_INPUT {
            return Err(format!("{} bytes are more than it can be told", input.len()));
        }
        self.seals.check()?;
        let cannot = |error: io::Error| format!("cannot be run: {error}");
        let (stdout, to_stdout) = pipe().map_err(cannot)?;
        let (stderr, to_stderr) = pipe().map_err(cannot)?;
        let command = ["sh".into(), "-c".into(), hook.command.clone().into()];
        let workdir: &Path = scene.workdir;
        let process = self.keeper.start_with(&command, workdir, |keeper| {
            keeper
                .env_clear()
                .envs(self.environment.clean(std::env::vars_os()))
                .env("ADJUTANT_HOOK_EVENT", hook.event.name())
                .env("ADJUTANT_AGENT", scene.agent.as_str())
                .env("ADJUTANT_TOOL", call(&scene.occasion).map_or("", |call| call.tool))
                .stdout(to_stdout)
                .stderr(to_stderr);
        });
        let mut process = process.map_err(cannot)?;
        let pipe = process.input.take();
        let mut running = Running { process: Some(process), hold: scene.hold };
        let feed = Box::pin(async move {
            if let Some(mut pipe) = pipe {
                // One that does not read is not obliged to.
                let _ = pipe.write(input).await;
                let _ = pipe.close().await;
                std::future::pending::<()>().await;
            }
        });
        let words = async { tokio::join!(gather(stdout), gather(stderr)) };
        let end = running.end(hook, scene, feed, words).await;
        // The command is being ended, if it has not ended.
        if let Some(process) = &mut running.process
            && timeout(GOING, process.wait()).await.is_ok_and(|end| end.is_ok())
        {
            running.process = None;
        }
        end
    }
}

impl Running<'_> {
    /// Waits for the end, which may have to be brought about.
    async fn end(
        &mut self,
        hook: &Hook,
        scene: &Scene<'_>,
        feed: impl Future<Output = ()>,
        words: impl Future<Output = (Vec<u8>, Vec<u8>)>,
    ) -> Result<(), String> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let ended = async { tokio::join!(process.wait(), words) };
        tokio::select! {
            (code, (stdout, stderr)) = ended => match code? {
                0 => Ok(()),
                code => Err(reason(code, &stdout, &stderr)),
            },
            () = feed => Err("its input is gone".to_owned()),
            () = sleep(hook.timeout) => {
                Err(format!("took longer than its {} s", hook.timeout.as_secs_f64()))
            }
            () = scene.token.cancelled() => Err("was stopped".to_owned()),
        }
    }
}

/// Returns the beginning of what a hook says.
async fn gather(from: Receiver) -> Vec<u8> {
    let mut words = Vec::new();
    let keep = |piece: &[u8]| {
        let room = MOST_WORDS.saturating_sub(words.len());
        words.extend_from_slice(&piece[..piece.len().min(room)]);
    };
    hear_out(from, keep).await;
    words
}

/// Returns what a hook said about its failure.
fn reason(code: i32, stdout: &[u8], stderr: &[u8]) -> String {
    let words = [stderr, stdout].map(|words| String::from_utf8_lossy(words).trim().to_owned());
    let said = words.into_iter().find(|words| !words.is_empty());
    said.unwrap_or_else(|| format!("failed with code {code} and said nothing"))
}
