//! `jackfield completions`: prints completion scripts for shells.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::{cli::Cli, exit::ExitKind, output};

/// Print the completions for a shell.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n  jackfield completions bash > ~/.local/share/bash-completion/completions/jackfield"
)]
pub(crate) struct Completions {
    /// Print completions for this shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "jackfield", &mut script);
        output::write(&String::from_utf8_lossy(&script))?;
        Ok(ExitKind::Ok.into())
    }
}
