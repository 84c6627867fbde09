//! `write_artifact`: a file that an agent hands back.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use adjutant_core::{
    AgentPath, Artifact, Effect, Fact, Grant, Host, Order, Target, ToolError, ToolSpec, Touch,
    Verdict, grant::steers,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    blocking, brief,
    directory::Directory,
    handle,
    place::{Place, resolve},
    typed::TypedTool,
};

/// The longest file that is handed back.
const LONGEST: usize = 64 * 1024 * 1024;

/// Where agents hand back files. An agent that has no place is not offered the tool.
#[derive(Clone, Debug, Default)]
pub struct ArtifactSettings {
    /// A person's directory, for every agent. What is in it may be replaced.
    pub everyone: Option<PathBuf>,
    /// The places of named agents, when there is none for all.
    pub named: BTreeMap<String, ArtifactPlace>,
}

/// Where a named agent hands back files.
#[derive(Clone, Debug)]
pub struct ArtifactPlace {
    /// The directory.
    pub directory: PathBuf,
    /// Who chose it.
    pub chosen: ChosenBy,
}

/// Who chose a directory for files that are handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The person, or the runtime: a file there changes nothing.
    Person,
    /// Whoever wrote the project: the agent may write there if it may write files there.
    Project,
}

pub(crate) struct WriteArtifact {
    settings: ArtifactSettings,
    written: Written,
}

/// Who wrote which file in this run.
type Written = Arc<Mutex<HashMap<PathBuf, AgentPath>>>;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The file's name, such as `report.md` or `charts/one.svg`.
    name: String,
    /// All that is to be in it. Either this or `path`.
    content: Option<String>,
    /// A file to hand back a copy of. Either this or `content`.
    path: Option<String>,
}

impl WriteArtifact {
    pub(crate) fn new(settings: &ArtifactSettings) -> Self {
        let real = |directory: &Path| resolve(Path::new("/"), directory);
        let named = settings.named.iter().map(|(name, place)| {
            let place = ArtifactPlace { directory: real(&place.directory), ..place.clone() };
            (name.clone(), place)
        });
        let everyone = settings.everyone.as_deref().map(real);
        let settings = ArtifactSettings { everyone, named: named.collect() };
        Self { settings, written: Written::default() }
    }

    /// Returns where an agent hands back files, and whether it may replace those of others.
    fn place(&self, order: &Order) -> Option<(ArtifactPlace, Others)> {
        if let Some(directory) = self.settings.everyone.clone() {
            let place = ArtifactPlace { directory, chosen: ChosenBy::Person };
            return Some((place, Others::Replaced));
        }
        let place = self.settings.named.get(order.agent.as_deref()?)?;
        Some((place.clone(), Others::Kept))
    }
}

impl TypedTool for WriteArtifact {
    type Args = Args;
    const NAME: &'static str = "write_artifact";
    const EFFECT: Effect = Effect::Tell;

    fn description(&self) -> String {
        "Hands back a file besides your answer: a report, a table, a picture. It goes to a place \
         of its own and changes nothing you work on. Written again under the same name, it is \
         replaced."
            .into()
    }

    fn check(&self, args: &Args) -> Result<(), ToolError> {
        let refuse = |why: &str| Err(ToolError(why.to_owned()));
        let name = Path::new(&args.name);
        let is_normal = name.components().all(|part| matches!(part, Component::Normal(_)));
        if args.name.is_empty() || !is_normal || args.name.ends_with('/') {
            return refuse(
                "`name` has to be the name of a file, or a path down to one, without `..`",
            );
        }
        if args.name.chars().any(char::is_control) {
            return refuse("`name` has characters that no name should have");
        }
        if steers(name) {
            return refuse("what git or the runtime reads orders from is not handed back");
        }
        match (&args.content, &args.path) {
            (Some(_), None) | (None, Some(_)) => Ok(()),
            _ => refuse("say either `content` or `path`"),
        }
    }

    fn offer(&self, spec: Arc<ToolSpec>, order: &Order, _: &Grant) -> Option<Arc<ToolSpec>> {
        self.place(order).map(|_| spec)
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        let path = args.path.iter();
        path.flat_map(|path| Place::find(path, workdir).touch(Effect::Read)).collect()
    }

    fn summary(&self, args: &Args) -> String {
        match &args.path {
            Some(path) => format!("{} (from {path})", args.name),
            None => args.name.clone(),
        }
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        self.check(&args)?;
        let Some((place, others)) = self.place(host.order()) else {
            return Err(ToolError("this agent has no place for files it hands back".into()));
        };
        let agent = host.agent().clone();
        let mut path = place.directory.clone();
        if agent != AgentPath::root() {
            path.push(agent.as_str());
        }
        path.push(&args.name);
        if place.chosen == ChosenBy::Project {
            check_allowed(&path, host)?;
        }
        let from = args.path.map(|path| Place::judged(&path, host, Place::find)).transpose()?;
        let read = from.as_ref().map(|from| from.real.display().to_string());
        let content = match from {
            Some(from) => Content::Of(from),
            None => Content::Given(args.content.unwrap_or_default()),
        };
        let job = Job { name: args.name, path, agent, content, others };
        let written = Arc::clone(&self.written);
        let (said, artifact) = blocking::run(move || job.write(&written)).await?;
        read.into_iter().for_each(|path| host.note(Fact::Read { path }));
        host.note(Fact::Kept(artifact));
        Ok(said)
    }
}

/// Refuses what the agent may not do as a change of a file of the project's.
fn check_allowed(path: &Path, host: &dyn Host) -> Result<(), ToolError> {
    let (name, effect) = (WriteArtifact::NAME.to_owned(), Effect::Write);
    let spec = ToolSpec { name, description: String::new(), parameters: Value::Null, effect };
    let touch = Touch { effect, target: Target::Path(path.to_owned()) };
    let judgement = host.grant().judge(&spec, &[touch]);
    match judgement.verdict {
        Verdict::Allow => Ok(()),
        Verdict::Ask | Verdict::Deny => Err(ToolError(format!(
            "not done, since a project's file chose that place and `{}` is not allowed there \
             without a question: {judgement}",
            WriteArtifact::NAME
        ))),
    }
}

/// What becomes of files that were there before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    Replaced,
    Kept,
}

enum Content {
    Given(String),
    Of(Place),
}

impl Content {
    fn read(self) -> Result<Vec<u8>, ToolError> {
        let place = match self {
            Self::Given(text) => return Ok(text.into_bytes()),
            Self::Of(place) => place,
        };
        let mut content = Vec::new();
        let (file, _) = handle::open(&place.real).map_err(|error| place.error(&error))?;
        let most = LONGEST as u64 + 1;
        file.take(most).read_to_end(&mut content).map_err(|error| place.error(&error))?;
        Ok(content)
    }
}

/// A file to be handed back.
struct Job {
    name: String,
    path: PathBuf,
    agent: AgentPath,
    content: Content,
    others: Others,
}

impl Job {
    fn write(self, written: &Written) -> Result<(String, Artifact), ToolError> {
        let Self { name, path, agent, content, others } = self;
        let content = content.read()?;
        if content.len() > LONGEST {
            let most = LONGEST / 1024 / 1024;
            return Err(ToolError(format!("`{name}` is too long: the most are {most} MiB")));
        }
        let fail = |error: io::Error| match handle::is_link(&error) {
            true => {
                ToolError(format!("`{name}`: there is a link on the way, which is not followed"))
            }
            false => ToolError(format!("`{name}`: {error}")),
        };
        let (Some(above), Some(last)) = (path.parent(), path.file_name()) else {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        };
        let directory = Directory::make(above, &mut Vec::new()).map_err(fail)?;
        let is_there = directory.has(last).map_err(fail)?;
        claim(written, &path, agent, is_there && others == Others::Kept)
            .map_err(|why| ToolError(format!("`{name}` {why}: choose another name")))?;
        let staged = directory.stage(&content, None).map_err(fail)?;
        staged.replace(last).map_err(fail)?;
        let said = format!("handed back `{name}`: {}", brief::count(content.len(), "byte"));
        let path = path.display().to_string();
        Ok((said, Artifact { path, bytes: content.len() as u64 }))
    }
}

/// Notes that a file is an agent's, unless it is another's.
fn claim(written: &Written, path: &Path, agent: AgentPath, is_old: bool) -> Result<(), String> {
    let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
    match written.get(path) {
        Some(other) if *other == agent => Ok(()),
        Some(other) => Err(format!("was handed back by {other}")),
        None if is_old => Err("was there before this run".to_owned()),
        None => {
            written.insert(path.to_owned(), agent);
            Ok(())
        }
    }
}
