//! The command line: what can be typed, and which file does it.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::{cmd, exit};

/// How long threads that still look up a name or read a file may hold up the end.
const LAST_THREADS: Duration = Duration::from_millis(200);

/// The switchboard for AI agents: one hub through which any agent reaches any other.
#[derive(Debug, Parser)]
#[command(
    name = "jackfield",
    version,
    propagate_version = true,
    after_help = "A first look: `jackfield demo`.\nFirst steps: `jackfield serve` in one terminal, `jackfield ls` in another."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a hub (this machine only until --listen says otherwise)
    Serve(cmd::serve::Serve),
    /// Start a hub in a temporary folder, with an agent on every protocol, to look around
    Demo(cmd::demo::Demo),
    /// Bring an agent of this machine to a hub: claude, acp, exec, http, openai, a2a
    Connect(Box<cmd::connect::Connect>),
    /// Agents: door, state, skills
    Ls(cmd::ls::Ls),
    /// All that the hub knows of one agent
    Show(cmd::show::Show),
    /// Say something to an agent; its answer is streamed
    Call(Box<cmd::call::Call>),
    /// Go on with files of an agent that did not come whole, or list them
    Fetch(Box<cmd::fetch::Fetch>),
    /// See what agents say and do, live
    Watch(cmd::watch::Watch),
    /// Calls that the hub keeps: ls, show, wait, cancel, answer, resend
    Task(cmd::task::Task),
    /// Teams of agents: ls, show, create, change, rm, task, say, stop, approve, deny
    Team(Box<cmd::team::Team>),
    /// Peers over libp2p: peers, card, handoff, delegate, sidecar
    #[cfg(feature = "p2p")]
    P2p(Box<cmd::p2p::P2p>),
    /// This hub as MCP server on standard input and output, for models
    Mcp(Box<cmd::mcp::Mcp>),
    /// Let the hub dial an A2A server or a peer: they become agents
    Add(Box<cmd::add::Add>),
    /// Print a command that brings an agent of another machine to the hub
    Invite(cmd::invite::Invite),
    /// Let others see and call an agent
    Share(cmd::share::Share),
    /// Forget an agent, or a peer that is kept
    Rm(cmd::rm::Rm),
    /// Who may do what: create, ls, revoke, show, rotate
    Token(cmd::token::Token),
    /// Check or show the configuration
    Config(cmd::config::Config),
    /// Copy the hub's database, while it runs
    Backup(cmd::backup::Backup),
    /// Look for what may be wrong, and say what to do about it
    Doctor(cmd::doctor::Doctor),
    /// Print the completions for a shell
    Completions(cmd::completions::Completions),
}

impl Command {
    async fn run(self) -> Result<ExitCode> {
        match self {
            Self::Serve(serve) => serve.run().await,
            Self::Demo(demo) => demo.run().await,
            Self::Connect(connect) => connect.run().await,
            Self::Ls(ls) => ls.run().await,
            Self::Show(show) => show.run().await,
            Self::Call(call) => call.run().await,
            Self::Fetch(fetch) => fetch.run().await,
            Self::Watch(watch) => watch.run().await,
            Self::Task(task) => task.run().await,
            Self::Team(team) => team.run().await,
            #[cfg(feature = "p2p")]
            Self::P2p(p2p) => p2p.run().await,
            Self::Mcp(mcp) => mcp.run().await,
            Self::Add(add) => add.run().await,
            Self::Invite(invite) => invite.run().await,
            Self::Share(share) => share.run().await,
            Self::Rm(rm) => rm.run().await,
            Self::Token(token) => token.run().await,
            Self::Config(config) => config.run(),
            Self::Backup(backup) => backup.run().await,
            Self::Doctor(doctor) => doctor.run().await,
            Self::Completions(completions) => completions.run(),
        }
    }
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
            crate::output::chat(&format!("jackfield: cannot start: {error}"));
            return exit::Code::Failed.into();
        }
    };
    let result = runtime.block_on(cli.command.run());
    runtime.shutdown_timeout(LAST_THREADS);
    result.unwrap_or_else(|error| exit::explain(&error, &typed(std::env::args().skip(1))))
}

/// Which command was typed, as `help` takes it.
fn typed(args: impl Iterator<Item = String>) -> String {
    let mut command = &Cli::command();
    let mut words = Vec::new();
    for arg in args {
        if let Some(found) = command.find_subcommand(&arg) {
            command = found;
            words.push(arg);
        } else if !arg.starts_with('-') {
            break;
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_told_from_its_arguments() {
        for (line, command) in [
            ("call bob hi", "call"),
            ("task answer 1 q task", "task answer"),
            ("ls --json", "ls"),
        ] {
            let args = line.split(' ').map(str::to_owned);
            assert_eq!(typed(args), command);
        }
    }
}
