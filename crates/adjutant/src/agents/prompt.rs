//! All an agent is told before its task.

use std::path::Path;

use adjutant_core::Grant;

use super::definition::Definition;

/// Puts together what an agent is told before its task.
pub(super) async fn assemble(
    definition: &Definition,
    _grant: &Grant,
    _workdir: &Path,
) -> Result<String, String> {
    Ok(definition.prompt.clone())
}
