//! Measures the hub: `cargo xtask bench` builds this program and the hub for release and runs `jackfield-bench run`.
//!
//! `run` starts servers, one at a time, loads them from this process and writes the results; `bare` is the yardstick,
//! a relay of the same frames without the core; `load` and `burst` drive a server that is already running, for a
//! profiler.

mod bare;
mod client;
mod files;
mod frame;
mod idle;
mod patterns;
mod proc;
mod quiet;
mod report;
mod rows;
mod server;
mod stats;
mod team;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// Threads of the load generator beside the one that paces; more would only take turns on a small machine.
const CLIENT_THREADS: usize = 2;

/// Measure the hub.
#[derive(Debug, Parser)]
#[command(name = "jackfield-bench", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure, print the results, and write them down
    Run(Run),
    /// Serve as the bare relay: same frames, same WebSocket, no core
    Bare {
        /// The address to listen on
        #[arg(long, default_value = "127.0.0.1:0")]
        listen: SocketAddr,
    },
    /// Load a server that is already running, as often as asked
    Load(Load),
    /// Let nested teams of a server that is already running answer in one go, as often as asked
    Burst(BurstOf),
}

/// What `run` is told.
#[derive(Debug, clap::Args)]
struct Run {
    /// The hub's program
    #[arg(long, value_name = "FILE")]
    jackfield: PathBuf,
    /// A NATS server to measure against
    #[arg(long, value_name = "FILE")]
    nats: Option<PathBuf>,
    /// Where the results are written; without it they are only printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Interleaved rounds of each comparison [default: 10, with --quick 3]
    #[arg(long)]
    rounds: Option<usize>,
    /// Fewer rounds and messages, to see whether everything works
    #[arg(long)]
    quick: bool,
    /// Only this row; may be given more than once
    #[arg(long, value_enum, value_name = "ROW")]
    only: Vec<rows::Row>,
}

/// What `load` is told.
#[derive(Debug, clap::Args)]
struct Load {
    /// The server's address
    #[arg(long)]
    addr: SocketAddr,
    /// The server's process, to tell what it spent
    #[arg(long)]
    pid: u32,
    /// What it speaks
    #[arg(long, value_enum, default_value_t = client::Dialect::Agora)]
    dialect: client::Dialect,
    /// The pattern
    #[arg(long, value_enum, default_value_t = patterns::Pattern::Burst)]
    pattern: patterns::Pattern,
    /// How often it is measured
    #[arg(long, default_value_t = 5)]
    times: usize,
}

/// What `burst` is told.
#[derive(Debug, clap::Args)]
struct BurstOf {
    /// The server's address
    #[arg(long)]
    addr: SocketAddr,
    /// The server's process, to tell what it spent
    #[arg(long)]
    pid: u32,
    /// Watch by ten, one of which reads nothing
    #[arg(long)]
    ten: bool,
    /// How often it is measured
    #[arg(long, default_value_t = 5)]
    times: usize,
}

fn main() -> ExitCode {
    match start(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("jackfield-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(cli: Cli) -> Result<()> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if !matches!(cli.command, Command::Bare { .. }) {
        builder.worker_threads(CLIENT_THREADS);
    }
    let runtime = builder
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let (mut interrupt, mut terminate) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        );
        // Whatever ends the work drops it, and with it the servers that it started.
        tokio::select! {
            done = work(cli.command) => done,
            _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
            _ = terminate.recv() => Err(anyhow::anyhow!("terminated")),
        }
    })
}

async fn work(command: Command) -> Result<()> {
    match command {
        Command::Bare { listen } => bare::serve(listen).await,
        Command::Load(load) => {
            patterns::load(load.addr, load.pid, load.dialect, load.pattern, load.times).await
        }
        Command::Burst(told) => {
            let burst = if told.ten {
                team::Burst::to_ten(false)
            } else {
                team::Burst::to_one(false)
            };
            team::load(told.addr, told.pid, burst, told.times).await
        }
        Command::Run(run) => {
            let plan = rows::Plan {
                programs: server::Programs {
                    jackfield: whole(&run.jackfield)?,
                    nats: run.nats.as_deref().map(whole).transpose()?,
                },
                rounds: run.rounds.unwrap_or(if run.quick { 3 } else { 10 }).max(1),
                is_quick: run.quick,
                only: run.only,
            };
            let report = plan.run().await?;
            println!("{}", report.tables());
            if let Some(out) = run.out {
                std::fs::write(&out, report.page())
                    .with_context(|| format!("cannot write {}", out.display()))?;
                eprintln!("written to {}", out.display());
            }
            Ok(())
        }
    }
}

/// The path of a program that is started in another folder.
fn whole(program: &Path) -> Result<PathBuf> {
    program
        .canonicalize()
        .with_context(|| format!("there is no program {}", program.display()))
}
