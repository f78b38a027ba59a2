//! Top level of the command line ([`Cli`]): all commands, parsing, and the main function.

use std::{ffi::OsString, process::ExitCode, time::Duration};

use anyhow::Result;
use clap::{
    ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind,
    parser::ValueSource,
};

use crate::{client::LeadingFlags, cmd, exit};

/// Time limit at exit for threads that still resolve a name or read a file.
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
    #[command(flatten)]
    #[allow(dead_code, reason = "what it reads comes to the verb")]
    early: LeadingFlags,
    #[command(subcommand)]
    command: TopLevelCommand,
}

#[derive(Debug, Subcommand)]
enum TopLevelCommand {
    /// Start a hub, reachable from this machine only unless --listen is given
    Serve(cmd::serve::Serve),
    /// Start a temporary hub with one agent per protocol, to try things out
    Demo(cmd::demo::Demo),
    /// Connect an agent on this machine to a hub: claude, acp, exec, http, openai, a2a
    Connect(Box<cmd::connect::Connect>),
    /// List agents with their protocol, state and skills
    Ls(cmd::ls::Ls),
    /// Show one agent, or one call
    Show(cmd::show::Show),
    /// Call an agent and stream its answer
    Call(Box<cmd::call::Call>),
    /// Resume unfinished downloads, or list them
    Fetch(Box<cmd::fetch::Fetch>),
    /// Watch agents live: their calls and messages
    Watch(cmd::watch::Watch),
    /// Manage tasks: ls, show, wait, cancel, answer, resend
    Task(cmd::task::Task),
    /// Manage teams: ls, show, create, change, rm, task, say, stop, approve, deny
    Team(Box<cmd::team::Team>),
    /// Use libp2p peers: peers, card, handoff, delegate, sidecar
    #[cfg(feature = "p2p")]
    P2p(Box<cmd::p2p::P2p>),
    /// Run an MCP server on standard input and output that offers the hub to models
    Mcp(Box<cmd::mcp::Mcp>),
    /// Run an ACP agent on standard input and output: an agent of the hub, for editors
    Acp(Box<cmd::acp::Acp>),
    /// Add an A2A server or a libp2p peer to the hub as an agent
    Add(Box<cmd::add::Add>),
    /// Print a command that connects an agent on another machine to the hub
    Invite(cmd::invite::Invite),
    /// Choose who may see and call an agent
    Share(cmd::share::Share),
    /// Remove an agent, or a stored peer
    Rm(cmd::rm::Rm),
    /// Manage tokens: create, ls, revoke, show, rotate
    Token(cmd::token::Token),
    /// Create a private CA and a certificate for a hub, for TLS without a public CA
    Cert(cmd::cert::Cert),
    /// Check or show the configuration
    Config(cmd::config::Config),
    /// Back up the hub's database while the hub runs
    Backup(cmd::backup::Backup),
    /// Find problems and suggest remedies
    Doctor(cmd::doctor::Doctor),
    /// Print the completions for a shell
    Completions(cmd::completions::Completions),
}

impl TopLevelCommand {
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
            Self::Acp(acp) => acp.run().await,
            Self::Add(add) => add.run().await,
            Self::Invite(invite) => invite.run().await,
            Self::Share(share) => share.run().await,
            Self::Rm(rm) => rm.run().await,
            Self::Token(token) => token.run().await,
            Self::Cert(cert) => cert.run(),
            Self::Config(config) => config.run(),
            Self::Backup(backup) => backup.run().await,
            Self::Doctor(doctor) => doctor.run().await,
            Self::Completions(completions) => completions.run(),
        }
    }
}

/// Parses the command line and runs the command.
pub(crate) fn main() -> ExitCode {
    let (cli, typed) = match read(std::env::args_os()) {
        Ok(read) => read,
        Err(error) => error.exit(),
    };
    // Two TLS providers may be built in, so choose one before the first use. Choosing again has no effect.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            crate::output::print_message(&format!("jackfield: cannot start: {error}"));
            return exit::ExitKind::Failed.into();
        }
    };
    let result = runtime.block_on(cli.command.run());
    runtime.shutdown_timeout(LAST_THREADS);
    result.unwrap_or_else(|error| exit::explain(&error, &typed))
}

/// Parses the arguments into [`Cli`]. Also returns the names of the command and its subcommands, in the form
/// that `help` accepts.
fn read(args: impl Iterator<Item = OsString>) -> Result<(Cli, String), clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(args)?;
    let typed = words(&matches).join(" ");
    for flag in ["hub", "token_file", "ca", "json"] {
        let is_typed = matches.value_source(flag) == Some(ValueSource::CommandLine);
        if is_typed && !is_taken(flag, &words(&matches)) {
            let flag = flag.replace('_', "-");
            let text = format!("{typed} does not accept --{flag}\n\nSee: jackfield help {typed}\n");
            return Err(command.error(ErrorKind::UnknownArgument, text));
        }
    }
    Ok((Cli::from_arg_matches(&matches)?, typed))
}

/// Returns whether one of the commands in the path `words` defines the flag itself.
fn is_taken(flag: &str, words: &[&str]) -> bool {
    // Not built yet, so no global flag was propagated to subcommands.
    let mut verb = &Cli::command();
    words.iter().any(|word| match verb.find_subcommand(word) {
        Some(found) => {
            verb = found;
            verb.get_arguments().any(|arg| arg.get_id() == flag)
        }
        None => false,
    })
}

/// Returns the names of the command and its subcommands, as typed.
fn words(matches: &ArgMatches) -> Vec<&str> {
    let mut words = Vec::new();
    let mut matches = matches;
    while let Some((word, below)) = matches.subcommand() {
        words.push(word);
        matches = below;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<String, clap::Error> {
        let args = ["jackfield"].into_iter().chain(line.split(' '));
        read(args.map(OsString::from)).map(|(_, typed)| typed)
    }

    #[test]
    fn the_command_is_told_from_its_arguments() {
        let task = "0199c2f0-1111-7aaa-8bbb-123456789abc";
        for (line, command) in [
            ("call bob hi", "call"),
            (&format!("task answer {task} q task"), "task answer"),
            ("ls --json", "ls"),
            ("--hub http://h ls", "ls"),
            ("--json --token-file t task --hub http://h ls", "task ls"),
            ("--ca ca.pem ls", "ls"),
            ("--hub http://h connect --as x exec cat", "connect exec"),
        ] {
            assert_eq!(typed(line).unwrap(), command);
        }
    }

    #[test]
    fn a_verb_without_a_hub_refuses_the_flags_for_one() {
        for line in [
            "--hub http://h serve",
            "serve --json",
            "--token-file t config check",
            "--ca ca.pem serve",
        ] {
            let error = typed(line).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{line}");
            assert!(error.to_string().contains("does not accept --"), "{error}");
        }
    }

    #[test]
    fn what_stands_before_the_verb_is_no_longer_than_it_must_be() {
        let help = Cli::command().render_help().to_string();
        assert!(!help.contains("--token-file"), "{help}");
    }
}
