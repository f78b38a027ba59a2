//! The command line: what can be typed, and which file does it.

use std::{ffi::OsString, process::ExitCode, time::Duration};

use anyhow::Result;
use clap::{
    ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind,
    parser::ValueSource,
};

use crate::{client::Early, cmd, exit};

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
    #[command(flatten)]
    #[allow(dead_code, reason = "what it reads comes to the verb")]
    early: Early,
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
    /// Make a CA of your own and a certificate for a hub, for TLS without a public CA
    Cert(cmd::cert::Cert),
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
            Self::Cert(cert) => cert.run(),
            Self::Config(config) => config.run(),
            Self::Backup(backup) => backup.run().await,
            Self::Doctor(doctor) => doctor.run().await,
            Self::Completions(completions) => completions.run(),
        }
    }
}

/// Reads the command line and does what it says.
pub(crate) fn main() -> ExitCode {
    let (cli, typed) = match read(std::env::args_os()) {
        Ok(read) => read,
        Err(error) => error.exit(),
    };
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
    result.unwrap_or_else(|error| exit::explain(&error, &typed))
}

/// Reads what was typed; also says which command it is, as `help` takes it.
fn read(args: impl Iterator<Item = OsString>) -> Result<(Cli, String), clap::Error> {
    let mut command = Cli::command();
    let matches = command.try_get_matches_from_mut(args)?;
    let typed = words(&matches).join(" ");
    for flag in ["hub", "token_file", "ca", "json"] {
        let is_typed = matches.value_source(flag) == Some(ValueSource::CommandLine);
        if is_typed && !is_taken(flag, &words(&matches)) {
            let flag = flag.replace('_', "-");
            let text = format!("{typed} has no use for --{flag}\n\nSee: jackfield help {typed}\n");
            return Err(command.error(ErrorKind::UnknownArgument, text));
        }
    }
    Ok((Cli::from_arg_matches(&matches)?, typed))
}

/// Whether one of the verbs, each below the one before it, has a flag of its own.
fn is_taken(flag: &str, words: &[&str]) -> bool {
    // Not yet built, so that nothing was passed down.
    let mut verb = &Cli::command();
    words.iter().any(|word| match verb.find_subcommand(word) {
        Some(found) => {
            verb = found;
            verb.get_arguments().any(|arg| arg.get_id() == flag)
        }
        None => false,
    })
}

/// The verbs that were typed.
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
            assert!(error.to_string().contains("has no use for --"), "{error}");
        }
    }

    #[test]
    fn what_stands_before_the_verb_is_no_longer_than_it_must_be() {
        let help = Cli::command().render_help().to_string();
        assert!(!help.contains("--token-file"), "{help}");
    }
}
