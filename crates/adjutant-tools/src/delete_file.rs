//! `delete_file`: a file, or a link, that goes.

use std::{path::Path, sync::Arc};

use adjutant_core::{Effect, Host, ToolError, Touch};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    directory::Former,
    files::Files,
    place::Place,
    rewrite::{Act, Next, rewrite},
    typed::TypedTool,
};

pub(crate) struct DeleteFile(pub(crate) Arc<Files>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The file. If it is a link, the link goes and not what it leads to.
    path: String,
}

impl TypedTool for DeleteFile {
    type Args = Args;
    const NAME: &'static str = "delete_file";
    const EFFECT: Effect = Effect::Write;

    fn description(&self) -> String {
        "Deletes a file or a link, not a directory.".into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        Place::find_entry(&args.path, workdir).written()
    }

    fn summary(&self, args: &Args) -> String {
        args.path.clone()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let place = Place::judged(&args.path, host, Place::find_entry)?;
        rewrite(&self.0, place, host, Act::Delete, make).await
    }
}

fn make(place: &Place, former: Option<&Former>) -> Result<(Next, String), ToolError> {
    let former = former.ok_or_else(|| place.error(&Errno::NOENT.into()))?;
    let what = if former.is_link() { "the link " } else { "" };
    let said = format!("deleted {what}`{}`: {} bytes", place.given(), former.content.len());
    Ok((Next::Nothing, said))
}
