//! `find_files`: files by name.

use std::path::Path;

use adjutant_core::{Effect, Host, ToolError, Touch};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::{
    blocking, gate::Gate, glob::Glob, listing::Listing, place::Place, typed::TypedTool, walk,
};

pub(crate) struct FindFiles;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// A glob such as `*.rs` (at any depth) or `src/**/*.{ts,tsx}` (from `path` down).
    pattern: String,
    /// The directory to look in (default: the working directory).
    path: Option<String>,
}

impl Args {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

impl TypedTool for FindFiles {
    type Args = Args;
    const NAME: &'static str = "find_files";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Finds files whose path matches a glob, sorted by path. What .gitignore names is left \
         out, and so are hidden files unless the pattern names them (`.github/**`). To look \
         for text inside files use search_files."
            .into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        Place::find(args.path(), workdir).touch(Effect::Read)
    }

    fn summary(&self, args: &Args) -> String {
        format!("{} in {}", args.pattern, args.path())
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let place = Place::judged(args.path(), host, Place::find)?;
        let (gate, token) = (Gate::new::<Self>(host, &place), host.token().clone());
        blocking::run(move || find(&place, &args.pattern, &gate, &token)).await
    }
}

fn find(
    place: &Place,
    pattern: &str,
    gate: &Gate,
    token: &CancellationToken,
) -> Result<String, ToolError> {
    let glob = Glob::new(pattern)?;
    place.check_directory("is not a directory")?;
    let mut listing = Listing::default();
    for entry in walk::below(&place.real, glob.hidden, gate) {
        blocking::check(token)?;
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_dir()) => {}
            Ok(entry) => {
                let path = entry.path();
                if path.strip_prefix(&place.real).is_ok_and(|below| glob.is_match(below)) {
                    listing.push(path, |_| place.name(path));
                }
            }
            Err(error) => listing.troubles.push_walk(place, &error),
        }
    }
    let nothing = format!("[no file matches `{pattern}`]");
    Ok(listing.render(&nothing, "use a narrower pattern or path") + &gate.to_string())
}
