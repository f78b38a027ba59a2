//! `jackfield config`: is the file right, and what follows from it, the flags and the environment.

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
    /// Say whether a configuration file is right
    #[command(
        after_long_help = "Example:\n  jackfield config check /etc/jackfield.toml && systemctl restart jackfield"
    )]
    Check {
        /// The file [default: jackfield.toml in this folder]
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
                // Secrets are in files of their own, but for the credentials of ICE servers, which do not show.
                output::write(&toml::to_string(&config)?)?;
            }
        }
        Ok(Code::Ok.into())
    }
}

fn check(file: Option<&Path>) -> Result<()> {
    if file.is_none() && !Path::new(DEFAULT_FILE).exists() {
        output::line(&format!(
            "ok: there is no {DEFAULT_FILE} here; the defaults hold"
        ))?;
        return Ok(());
    }
    load(file, Overrides::default())?;
    let file = file.unwrap_or(Path::new(DEFAULT_FILE));
    output::line(&format!("ok: {}", file.display()))?;
    Ok(())
}

/// Loads the configuration; an error names file, key and remedy.
pub(super) fn load(file: Option<&Path>, overrides: Overrides) -> Result<HubConfig, Stop> {
    config_file::load(file, overrides).map_err(|error| match error.downcast::<Stop>() {
        Ok(stop) => stop,
        Err(error) => Stop::new(
            Code::Usage,
            format!("{error:#}").trim_end(),
            "change or remove what is named; jackfield.example.toml shows all keys with their defaults",
        ),
    })
}
