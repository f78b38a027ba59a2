//! `jackfield config`: checks the configuration file, or shows the settings that result from file, flags and
//! environment.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use clap::{Args, Subcommand};

use super::serve::Settings;
use jackfield_hub::config::{Config as HubConfig, DEFAULT_FILE, Overrides};

use crate::{
    config_file,
    exit::{Code, Stop},
    output,
};

/// Check or show the configuration.
#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
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
    Show(Settings),
}

impl Config {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.what {
            What::Check { file } => check(file.as_deref())?,
            What::Show(settings) => {
                let config = settings.load()?;
                // Secrets are in separate files, except the credentials of ICE servers, which are not
                // printed.
                output::write(&toml::to_string(&config)?)?;
            }
        }
        Ok(Code::Ok.into())
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
pub(super) fn load(file: Option<&Path>, overrides: Overrides) -> Result<HubConfig, Stop> {
    config_file::load(file, overrides).map_err(|error| match error.downcast::<Stop>() {
        Ok(stop) => stop,
        Err(error) => Stop::new(
            Code::Usage,
            format!("{error:#}").trim_end(),
            "correct or remove the named key; jackfield.example.toml shows all keys with their defaults",
        ),
    })
}
