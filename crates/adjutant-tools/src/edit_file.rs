//! `edit_file`: one text of a file replaced by another.

use std::{path::Path, sync::Arc};

use adjutant_core::{Effect, Host, ToolError, Touch};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{edit::Edit, editing, files::Files, place::Place, typed::TypedTool};

pub(crate) struct EditFile(pub(crate) Arc<Files>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The file.
    path: String,
    /// The text to replace, as it is in the file, with enough lines around it to be there
    /// only once.
    old_text: String,
    /// The text to put in its place.
    new_text: String,
    /// Whether to replace it wherever it is (default: false).
    replace_all: Option<bool>,
}

impl TypedTool for EditFile {
    type Args = Args;
    const NAME: &'static str = "edit_file";
    const EFFECT: Effect = Effect::Write;

    fn description(&self) -> String {
        "Replaces a text in a file by another. The rest of the file stays as it is. For several \
         changes to one file use multi_edit, for a new file write_file."
            .into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        Place::find(&args.path, workdir).written()
    }

    fn summary(&self, args: &Args) -> String {
        args.path.clone()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let place = Place::judged(&args.path, host, Place::find)?;
        let Args { old_text, new_text, replace_all, .. } = args;
        editing::run(&self.0, place, host, vec![Edit { old_text, new_text, replace_all }]).await
    }
}
