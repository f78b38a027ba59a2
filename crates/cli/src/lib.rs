//! The command line of the program `jackfield`, one file per command. The crate [`jackfield_hub`] is the hub
//! that `jackfield serve` runs.

pub mod cli;
mod client;
mod cmd;
mod config_file;
mod demo;
mod exit;
mod local;
mod output;
mod prompt;
mod reply;
mod sent_token;
mod sessions;
mod shell;
mod size;
mod telemetry;
mod transfers;
mod user;

use std::process::ExitCode;

/// Runs the program.
pub fn main() -> ExitCode {
    cli::main()
}
