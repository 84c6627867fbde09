//! `multi_edit`: several texts of a file replaced at once.

use std::{path::Path, sync::Arc};

use adjutant_core::{Effect, Host, ToolError, Touch};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{edit::Edit, editing, files::Files, place::Place, typed::TypedTool};

pub(crate) struct MultiEdit(pub(crate) Arc<Files>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The file.
    path: String,
    /// What to replace, in this order: each edit finds the file as those before left it.
    edits: Vec<Edit>,
}

impl TypedTool for MultiEdit {
    type Args = Args;
    const NAME: &'static str = "multi_edit";
    const EFFECT: Effect = Effect::Write;

    fn description(&self) -> String {
        "Replaces several texts in one file, all of them or, if one cannot be, none.".into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        Place::find(&args.path, workdir).written()
    }

    fn summary(&self, args: &Args) -> String {
        format!("{} ({} edits)", args.path, args.edits.len())
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let place = Place::judged(&args.path, host, Place::find)?;
        if args.edits.is_empty() {
            return Err(ToolError("`edits` is empty: there is nothing to do".into()));
        }
        editing::run(&self.0, place, host, args.edits).await
    }
}
