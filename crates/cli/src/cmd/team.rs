//! `jackfield team`: manages teams, their boards, and messages to their members.

mod board;
mod change;
mod list;
mod make;
mod steer;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use jackfield_sdk::encode;

use crate::exit::ExitKind;

/// Manage teams: list, create and change them, and send messages to members.
#[derive(Debug, Args)]
#[command(after_long_help = "Watch a team live with: jackfield watch TEAM")]
pub(crate) struct Team {
    #[command(subcommand)]
    verb: TeamCommand,
}

#[derive(Debug, Subcommand)]
enum TeamCommand {
    /// List the teams that you may see
    Ls(list::Ls),
    /// Show a team with its members, their state, and its board
    Show(list::Show),
    /// Create a team of agents and other teams
    Create(make::Create),
    /// Change a team; omitted settings stay as they are
    Change(change::Change),
    /// Remove a team; its members stay
    Rm(make::Rm),
    /// Manage the board of a team: ls, add, set
    Task(board::Board),
    /// Send a message to a team, or to one of its members
    Say(steer::Say),
    /// Stop the work of a team, or of one member
    Stop(steer::Stop),
    /// Approve what a member asks for
    Approve(steer::Approve),
    /// Deny what a member asks for
    Deny(steer::Deny),
}

impl Team {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.verb {
            TeamCommand::Ls(ls) => ls.run().await?,
            TeamCommand::Show(show) => show.run().await?,
            TeamCommand::Create(create) => create.run().await?,
            TeamCommand::Change(change) => change.run().await?,
            TeamCommand::Rm(rm) => rm.run().await?,
            TeamCommand::Task(board) => board.run().await?,
            TeamCommand::Say(say) => say.run().await?,
            TeamCommand::Stop(stop) => stop.run().await?,
            TeamCommand::Approve(approve) => approve.run().await?,
            TeamCommand::Deny(deny) => deny.run().await?,
        }
        Ok(ExitKind::Ok.into())
    }
}

/// Returns the API path of a team.
fn path(team: &str) -> String {
    format!("/v1/teams/{}", encode(team))
}
