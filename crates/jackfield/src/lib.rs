//! The program `jackfield`: its command line, one file per command. The hub that it runs is [`jackfield_hub`].

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
mod sessions;
mod shell;
mod shown;
mod telemetry;
mod transfers;
mod user;

use std::process::ExitCode;

/// Runs the program.
pub fn main() -> ExitCode {
    cli::main()
}
