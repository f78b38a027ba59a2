//! `jackfield team`: agents that work together under one name: who they are, what there is to do, a word with them.

mod board;
mod change;
mod list;
mod make;
mod steer;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use jackfield_sdk::encode;

use crate::exit::Code;

/// Agents that work together: see them, make and change teams, talk to them and steer them.
#[derive(Debug, Args)]
#[command(after_long_help = "What a team does is seen live with: jackfield watch TEAM")]
pub(crate) struct Team {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// The teams that you may see
    Ls(list::Ls),
    /// A team: its members, how they are, and its board
    Show(list::Show),
    /// Make a team of agents and other teams
    Create(make::Create),
    /// Change a team; what is not named stays
    Change(change::Change),
    /// Remove a team; its members stay
    Rm(make::Rm),
    /// The board of a team: ls, add, set
    Task(board::Board),
    /// Say something to a team, or to one of its members
    Say(steer::Say),
    /// Stop what a team is doing, or one of its members
    Stop(steer::Stop),
    /// Let a member do what it asks for
    Approve(steer::Approve),
    /// Do not let it
    Deny(steer::Deny),
}

impl Team {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.verb {
            Verb::Ls(ls) => ls.run().await?,
            Verb::Show(show) => show.run().await?,
            Verb::Create(create) => create.run().await?,
            Verb::Change(change) => change.run().await?,
            Verb::Rm(rm) => rm.run().await?,
            Verb::Task(board) => board.run().await?,
            Verb::Say(say) => say.run().await?,
            Verb::Stop(stop) => stop.run().await?,
            Verb::Approve(approve) => approve.run().await?,
            Verb::Deny(deny) => deny.run().await?,
        }
        Ok(Code::Ok.into())
    }
}

/// Where a team is found at the hub.
fn path(team: &str) -> String {
    format!("/v1/teams/{}", encode(team))
}
