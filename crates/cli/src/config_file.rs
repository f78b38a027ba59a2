//! Loading of the hub's configuration by commands.

use std::path::Path;

use anyhow::Result;
use jackfield_hub::config::{HubConfig, Overrides, UntrustedConfigFile};

use crate::{
    exit::{CliError, ExitKind},
    output, shell,
    user::name_of_user,
};

/// Advice for a configuration file that is not trusted.
const ON_PURPOSE: &str =
    "name it explicitly with --config FILE or JACKFIELD_CONFIG=FILE, or run this in another folder";

/// Loads the [`HubConfig`]: from a named file, else from the file in the working directory if trusted, else the
/// defaults. A refusal becomes a [`CliError`] with advice.
pub(crate) fn load(file: Option<&Path>, overrides: Overrides) -> Result<HubConfig> {
    HubConfig::load(file, overrides).map_err(|error| {
        match error.downcast::<UntrustedConfigFile>() {
            Ok(refusal) => refused(&refusal).into(),
            Err(error) => error,
        }
    })
}

fn refused(refusal: &UntrustedConfigFile) -> CliError {
    let shown = |path: &Path| output::clean(&path.display().to_string()).to_string();
    match refusal {
        UntrustedConfigFile::Foreign { path, owner } => {
            let (file, owner) = (shown(path), name_of_user(*owner));
            let text = format!("{file} in this folder belongs to {owner}, so it is not read");
            CliError::new(ExitKind::Usage, text, ON_PURPOSE)
        }
        UntrustedConfigFile::Writable { path } => {
            let file = shown(path);
            let text = format!("other users can write {file} in this folder, so it is not read");
            let next = format!("run: chmod go-w {}; or {ON_PURPOSE}", shell::word(&file));
            CliError::new(ExitKind::Usage, text, next)
        }
    }
}
