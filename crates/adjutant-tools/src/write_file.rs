//! `write_file`: a file with a new content.

use std::{path::Path, sync::Arc};

use adjutant_core::{Effect, Host, ToolError, Touch};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    brief,
    directory::Former,
    files::Files,
    place::Place,
    rewrite::{Act, Next, rewrite},
    typed::TypedTool,
};

pub(crate) struct WriteFile(pub(crate) Arc<Files>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The file. Directories that are missing are made.
    path: String,
    /// All that is to be in it.
    content: String,
}

impl TypedTool for WriteFile {
    type Args = Args;
    const NAME: &'static str = "write_file";
    const EFFECT: Effect = Effect::Write;

    fn description(&self) -> String {
        "Makes a file, or replaces all that is in it. A file that is there already has to be \
         read first, a binary one too. To change a part of a file use edit_file."
            .into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        Place::find(&args.path, workdir).written()
    }

    fn summary(&self, args: &Args) -> String {
        format!("{} ({} bytes)", args.path, args.content.len())
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let place = Place::judged(&args.path, host, Place::find)?;
        if args.path.ends_with('/') {
            return Err(place.refusal("is the name of a directory: name a file"));
        }
        let make = |place: &Place, former: Option<&Former>| make(place, former, args.content);
        rewrite(&self.0, place, host, Act::Write, make).await
    }
}

fn make(
    place: &Place,
    former: Option<&Former>,
    content: String,
) -> Result<(Next, String), ToolError> {
    if former.is_some_and(|former| former.content == content.as_bytes()) {
        return Err(place.refusal("has that content already: nothing was changed"));
    }
    let done = if former.is_some() { "replaced" } else { "created" };
    let lines = brief::count(content.lines().count(), "line");
    let bytes = brief::count(content.len(), "byte");
    let mut said = format!("{done} `{}`: {lines}, {bytes}", place.given());
    let had_crlf = former.is_some_and(|former| has_crlf(&former.content));
    if had_crlf && !has_crlf(content.as_bytes()) {
        said.push_str("\n[it had lines that ended in CRLF and has none now]");
    }
    Ok((Next::Content(content.into()), said))
}

fn has_crlf(content: &[u8]) -> bool {
    memchr::memmem::find(content, b"\r\n").is_some()
}
