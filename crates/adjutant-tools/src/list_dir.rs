//! `list_dir`: what is in a directory.

use std::path::Path;

use adjutant_core::{Effect, Host, ToolError, Touch};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::{
    blocking, brief,
    gate::Gate,
    listing::Listing,
    lookup::Found,
    place::Place,
    typed::TypedTool,
    walk::{self, Hidden},
};

pub(crate) struct ListDir;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The directory (default: the working directory).
    path: Option<String>,
    /// Whether to list everything below it too, but for `.git` and what .gitignore names
    /// (default: false).
    recursive: Option<bool>,
}

impl Args {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

impl TypedTool for ListDir {
    type Args = Args;
    const NAME: &'static str = "list_dir";
    const EFFECT: Effect = Effect::Read;

    fn description(&self) -> String {
        "Lists a directory, sorted: directories end in `/`, files have their size. To look \
         for files by name use find_files."
            .into()
    }

    fn touches(&self, args: &Args, workdir: &Path) -> Vec<Touch> {
        Place::find(args.path(), workdir).touch(Effect::Read)
    }

    fn summary(&self, args: &Args) -> String {
        args.path().to_owned()
    }

    async fn run(&self, args: Args, host: &dyn Host) -> Result<String, ToolError> {
        let place = Place::judged(args.path(), host, Place::find)?;
        let (gate, token) = (Gate::new::<Self>(host, &place), host.token().clone());
        blocking::run(move || list(&place, &args, &gate, &token)).await
    }
}

fn list(
    place: &Place,
    args: &Args,
    gate: &Gate,
    token: &CancellationToken,
) -> Result<String, ToolError> {
    place.check_directory("is not a directory: use read_file")?;
    let (walk, narrower) = if args.recursive.unwrap_or(false) {
        (walk::below(&place.real, Hidden::Shown, gate), "list a directory further down")
    } else {
        (walk::entries(&place.real, gate), "use find_files with a pattern")
    };
    let mut listing = Listing::default();
    for entry in walk {
        blocking::check(token)?;
        match entry {
            Ok(entry) if entry.depth() == 0 => {}
            Ok(entry) => {
                let name = entry.path().strip_prefix(&place.real).unwrap_or(entry.path());
                listing.push(entry.path(), |found| describe(name, found));
            }
            Err(error) => listing.troubles.push_walk(place, &error),
        }
    }
    Ok(listing.render("[the directory is empty]", narrower) + &gate.to_string())
}

fn describe(name: &Path, found: Found) -> String {
    let name = brief::path(name);
    match found {
        Found::Directory => format!("{name}/"),
        Found::Link(target) => format!("{name} -> {}", brief::path(&target)),
        Found::File(bytes) => format!("{name} ({})", brief::count(bytes, "byte")),
    }
}
