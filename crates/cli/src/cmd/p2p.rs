//! `jackfield p2p`: manual use of libp2p peers: find peers, read their cards, and hand off work.

mod block;
mod card;
mod command_node;
mod delegate;
mod handoff;
mod input;
mod peer;
mod peers;
mod registry;
mod select;
mod sidecar;
mod work;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Use libp2p peers: find them, show their cards, hand off work.
#[derive(Debug, Args)]
pub(crate) struct P2p {
    #[command(subcommand)]
    verb: P2pCommand,
}

#[derive(Debug, Subcommand)]
enum P2pCommand {
    /// List the peers in a hub's registry
    Peers(peers::Peers),
    /// Show the card of a peer: its name and skills
    Card(card::Card),
    /// Hand off work to a path of a peer
    Handoff(Box<handoff::Handoff>),
    /// Find a peer for a job, hand it off, and stream the result
    Delegate(Box<delegate::Delegate>),
    /// Block a peer: the hub disconnects it and removes it from the registry
    Block(block::Block),
    /// Unblock a peer
    Unblock(block::Block),
    /// Run a libp2p node beside an HTTP agent
    Sidecar(Box<sidecar::Sidecar>),
}

impl P2p {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.verb {
            P2pCommand::Peers(peers) => peers.run().await,
            P2pCommand::Card(card) => card.run().await,
            P2pCommand::Handoff(handoff) => handoff.run().await,
            P2pCommand::Delegate(delegate) => delegate.run().await,
            P2pCommand::Block(block) => block.run(true).await,
            P2pCommand::Unblock(block) => block.run(false).await,
            P2pCommand::Sidecar(sidecar) => sidecar.run().await,
        }
    }
}
