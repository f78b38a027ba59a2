//! The `jackfield` program: configuration, assembly, shutdown, telemetry, and one file per subcommand.
//! The assembly is a library, so that tests run the very same hub.

mod address;
pub mod assembly;
mod callbacks;
mod cards;
pub mod carried;
pub mod cli;
mod client;
mod cmd;
pub mod config;
mod demo;
mod exit;
mod files;
mod output;
#[cfg(feature = "p2p")]
mod p2p;
mod platform;
mod prompt;
mod reply;
mod sessions;
mod shell;
mod shown;
mod signpost;
mod telemetry;
mod transfers;
mod ws;

use std::process::ExitCode;

/// Runs the program.
pub fn main() -> ExitCode {
    cli::main()
}
