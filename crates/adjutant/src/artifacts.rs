//! Where agents hand back files.

use std::path::{Path, PathBuf};

use adjutant_core::{SessionId, grant::steers};
use adjutant_tools::{ArtifactPlace, ArtifactSettings, ChosenBy, resolve};

use crate::{
    CliError, Surroundings,
    agents::{Agents, Definition, Library, Owner},
    error::Kind,
    memory::within,
};

/// Where files are that were handed back, unless somebody says otherwise.
const USUAL: &str = "artifacts";

/// Returns where a person wants files to be handed back, if anywhere, and has every agent do so.
/// It need not be there yet.
pub(crate) fn prepare(
    named: Option<&Path>,
    around: &Surroundings,
    agents: &mut Library,
) -> Result<Option<PathBuf>, CliError> {
    let Some(named) = named else { return Ok(None) };
    let path = around.directory.join(named);
    let real = resolve(Path::new("/"), &path);
    let own = [&around.config_home, &around.data_home].map(|home| home.join("adjutant"));
    if steers(&real) || own.iter().any(|own| real.starts_with(resolve(Path::new("/"), own))) {
        let why = format!("`{}` is read by git or the runtime", named.display());
        return Err(elsewhere(&why));
    }
    if path.exists() && !path.is_dir() {
        let message = format!("`--artifacts`: `{}` is no directory", named.display());
        return Err(CliError::new(Kind::Usage, message));
    }
    agents.hand_back();
    Ok(Some(path))
}

/// Refuses a place in which the root works: what is handed back would replace what it works on.
pub(crate) fn check(place: &Path, workdir: &Path) -> Result<(), CliError> {
    if workdir.starts_with(resolve(Path::new("/"), place)) {
        return Err(elsewhere(&format!("agents work in `{}`", place.display())));
    }
    Ok(())
}

fn elsewhere(why: &str) -> CliError {
    let error = CliError::new(Kind::Usage, format!("`--artifacts`: {why}"));
    error.hint("name a directory for what they hand back, and nothing else")
}

/// Returns where the agents of a session hand back files unless somebody says otherwise, with every
/// link resolved.
pub(crate) fn usual(data: Option<&Path>, session: SessionId) -> Option<PathBuf> {
    let place = data?.join(USUAL).join(session.to_string());
    Some(resolve(Path::new("/"), &place))
}

/// Returns where the agents of a session hand back files.
pub(crate) fn settings(
    agents: &Agents,
    everyone: Option<PathBuf>,
    data: Option<&Path>,
    session: SessionId,
) -> ArtifactSettings {
    let usual = usual(data, session);
    // Whoever may not have the place its file names is refused when it is to be started.
    let place = |definition: &Definition| {
        let own = own(definition, &agents.directory).ok()?;
        let usual = || Some(ArtifactPlace { directory: usual.clone()?, chosen: ChosenBy::Person });
        definition.artifacts.is_some().then(|| own.or_else(usual)).flatten()
    };
    let named = agents.library.iter().filter_map(|it| Some((it.name.clone(), place(it)?)));
    ArtifactSettings { everyone, named: named.collect() }
}

/// Returns the place that an agent's file names, for a run in a directory.
pub(crate) fn own(
    definition: &Definition,
    directory: &Path,
) -> Result<Option<ArtifactPlace>, String> {
    let Some(named) = definition.artifacts.as_ref().and_then(|it| it.directory.as_deref()) else {
        return Ok(None);
    };
    Ok(Some(match &definition.origin.owner {
        Owner::User if steers(&resolve(directory, named)) => {
            return Err("is read by git or the runtime".to_owned());
        }
        Owner::User => ArtifactPlace { directory: directory.join(named), chosen: ChosenBy::Person },
        Owner::Project(project) => ArtifactPlace {
            directory: within(project, directory, named)?,
            chosen: ChosenBy::Project,
        },
    }))
}
