//! The `jackfield` program: configuration, assembly, shutdown, telemetry, and one file per subcommand.
//! The assembly is a library, so that tests run the very same hub.

pub mod assembly;
pub mod cli;
mod cmd;
pub mod config;
mod telemetry;

use std::process::ExitCode;

/// Runs the program.
pub fn main() -> ExitCode {
    cli::main()
}
