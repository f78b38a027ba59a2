//! Measures the hub: `cargo xtask bench` builds this program and the hub for release and runs
//! `jackfield-bench run`.
//!
//! - `run` starts servers, one at a time, loads them from this process and writes the results.
//! - `bare` is the baseline: a relay of the same frames without the core.
//! - `bare-a2a` is the baseline of A2A: an echo agent on plain axum.
//! - `load` and `burst` load a server that is already running, for a profiler.

mod a2a;
mod across;
mod bare;
mod bare_a2a;
mod builds;
mod client;
mod echo;
mod empty;
mod fan_out;
mod files;
mod first_chunk;
mod frame;
mod http;
mod http_load;
mod idle;
mod installed;
mod latency;
mod nchan;
mod patterns;
mod proc;
mod question;
mod quiet;
mod report;
mod rival;
mod rivals;
mod rows;
mod server;
mod sse;
mod stats;
mod storm;
mod stream;
mod team;
mod tls;
mod tls_streams;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// Threads of the load generator besides the pacing thread; more would only compete on a small machine.
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
    /// Measure, print the results, and write them to a file
    Run(Box<Run>),
    /// Serve as the bare relay: same frames, same WebSocket, no core
    Bare {
        /// The address to listen on
        #[arg(long, default_value = "127.0.0.1:0")]
        listen: SocketAddr,
    },
    /// Serve as the bare A2A server: an echo agent on plain axum, without the hub
    BareA2a {
        /// The address to listen on
        #[arg(long, default_value = "127.0.0.1:0")]
        listen: SocketAddr,
        /// Say on the card that it streams
        #[arg(long)]
        streaming: bool,
    },
    /// Load a running server repeatedly
    Load(Load),
    /// Send bursts through nested teams of a running server repeatedly
    Burst(BurstOf),
}

/// Arguments of `run`
#[derive(Debug, clap::Args)]
struct Run {
    /// Path of the hub's program
    #[arg(long, value_name = "FILE")]
    jackfield: PathBuf,
    /// Path of a NATS server to compare with
    #[arg(long, value_name = "FILE")]
    nats: Option<PathBuf>,
    /// Path of another build of the hub to compare with
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// Path of nginx with nchan to compare with
    #[arg(long, value_name = "FILE")]
    nginx: Option<PathBuf>,
    #[command(flatten)]
    rivals: rival::RivalPrograms,
    /// File for the results; without it they are only printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Interleaved rounds of each comparison [default: 10, with --quick 3]
    #[arg(long)]
    rounds: Option<usize>,
    /// Use fewer rounds and messages, to check that everything works
    #[arg(long)]
    quick: bool,
    /// Measure also while other processes use the machine; the report shows how much they used
    #[arg(long)]
    noisy: bool,
    /// Measure only this row; may be given more than once
    #[arg(long, value_enum, value_name = "ROW")]
    only: Vec<rows::Row>,
}

/// Arguments of `load`
#[derive(Debug, clap::Args)]
struct Load {
    /// Address of the server
    #[arg(long)]
    addr: SocketAddr,
    /// Process id of the server, to measure its CPU time
    #[arg(long)]
    pid: u32,
    /// Protocol of the server
    #[arg(long, value_enum, default_value_t = client::Dialect::Agora)]
    dialect: client::Dialect,
    /// Load pattern
    #[arg(long, value_enum, default_value_t = patterns::Pattern::Burst)]
    pattern: patterns::Pattern,
    /// Number of measurements
    #[arg(long, default_value_t = 5)]
    times: usize,
}

/// Arguments of `burst`
#[derive(Debug, clap::Args)]
struct BurstOf {
    /// Address of the server
    #[arg(long)]
    addr: SocketAddr,
    /// Process id of the server, to measure its CPU time
    #[arg(long)]
    pid: u32,
    /// Use ten viewers, one of which reads nothing
    #[arg(long)]
    ten: bool,
    /// Number of measurements
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
    if !matches!(cli.command, Command::Bare { .. } | Command::BareA2a { .. }) {
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
        // Ending the work drops it, and thereby the servers that it started.
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
        Command::BareA2a { listen, streaming } => bare_a2a::serve(listen, streaming).await,
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
            if run.noisy {
                quiet::tolerate_noise();
            }
            let plan = rows::Plan {
                programs: server::Programs {
                    jackfield: absolute_path(&run.jackfield)?,
                    nats: run.nats.as_deref().map(absolute_path).transpose()?,
                    nginx: run.nginx.as_deref().map(absolute_path).transpose()?,
                    rivals: run.rivals.absolute()?,
                },
                before: run.before.as_deref().map(absolute_path).transpose()?,
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

/// Returns the absolute path of a program, because servers are started in another folder.
fn absolute_path(program: &Path) -> Result<PathBuf> {
    program
        .canonicalize()
        .with_context(|| format!("there is no program {}", program.display()))
}
