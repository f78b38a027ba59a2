//! The command line: what can be typed, and which file does it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cmd;

/// The switchboard for AI agents: one hub through which any agent reaches any other.
#[derive(Debug, Parser)]
#[command(name = "jackfield", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a hub (this machine only until --listen says otherwise)
    Serve(cmd::serve::Serve),
}

/// Reads the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    // Two TLS providers may be built in; choose before anybody needs one. A second choice changes nothing.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("jackfield: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(async {
        match cli.command {
            Command::Serve(serve) => serve.run().await,
        }
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("jackfield: {error:#}");
            ExitCode::FAILURE
        }
    }
}
