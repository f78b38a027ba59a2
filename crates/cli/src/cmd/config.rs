//! `jackfield config`: checks the configuration file, or shows the settings that result from file, flags and
//! environment.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use clap::{Args, Subcommand};

use super::serve::ServeArgs;
use jackfield_hub::config::{DEFAULT_FILE, HubConfig, Overrides};

use crate::{
    config_file,
    exit::{CliError, ExitKind},
    output,
};

/// Check or show the configuration.
#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check a configuration file
    #[command(
        after_long_help = "Example:\n  jackfield config check /etc/jackfield.toml && systemctl restart jackfield"
    )]
    Check {
        /// Check this file [default: jackfield.toml in this folder]
        file: Option<PathBuf>,
    },
    /// Print the configuration that `serve` would use, with all defaults
    #[command(after_long_help = "Example:\n  jackfield config show > jackfield.toml")]
    Show(ServeArgs),
}

impl Config {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.what {
            ConfigCommand::Check { file } => check(file.as_deref())?,
            ConfigCommand::Show(settings) => {
                let config = settings.load()?;
                // Secrets are in separate files, except the credentials of ICE servers, which are not
                // printed.
                output::write(&toml::to_string(&config)?)?;
            }
        }
        Ok(ExitKind::Ok.into())
    }
}

fn check(file: Option<&Path>) -> Result<()> {
    if file.is_none() && !Path::new(DEFAULT_FILE).exists() {
        output::line(&format!(
            "ok: there is no {DEFAULT_FILE} here; the defaults apply"
        ))?;
        return Ok(());
    }
    load(file, Overrides::default())?;
    let file = file.unwrap_or(Path::new(DEFAULT_FILE));
    output::line(&format!("ok: {}", file.display()))?;
    Ok(())
}

/// Loads the [`HubConfig`]. The error names file, key and remedy.
pub(super) fn load(file: Option<&Path>, overrides: Overrides) -> Result<HubConfig, CliError> {
    config_file::load(file, overrides).map_err(|error| match error.downcast::<CliError>() {
        Ok(stop) => stop,
        Err(error) => CliError::new(
            ExitKind::Usage,
            format!("{error:#}").trim_end(),
            "correct or remove the named key; jackfield.example.toml shows all keys with their defaults",
        ),
    })
}
