//! `jackfield p2p`: the seed's flow by hand: who is there, what they can do, and work handed to them over libp2p.

mod block;
mod card;
mod delegate;
mod handoff;
mod input;
mod peer;
mod peers;
mod registry;
mod select;
mod sidecar;
mod station;
mod work;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Peers over libp2p: find them, see their cards, hand work to them.
#[derive(Debug, Args)]
pub(crate) struct P2p {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// The peers that a hub's registry knows
    Peers(peers::Peers),
    /// The card of a peer: who it is and what it can do
    Card(card::Card),
    /// Hand work to a path of a peer
    Handoff(Box<handoff::Handoff>),
    /// Find a peer for some work, hand it over, stream the result
    Delegate(Box<delegate::Delegate>),
    /// Refuse a peer: it is not connected with, and listed no more
    Block(block::Block),
    /// Let a peer in again
    Unblock(block::Block),
    /// Run a node beside an HTTP agent
    Sidecar(Box<sidecar::Sidecar>),
}

impl P2p {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        match self.verb {
            Verb::Peers(peers) => peers.run().await,
            Verb::Card(card) => card.run().await,
            Verb::Handoff(handoff) => handoff.run().await,
            Verb::Delegate(delegate) => delegate.run().await,
            Verb::Block(block) => block.run(true).await,
            Verb::Unblock(block) => block.run(false).await,
            Verb::Sidecar(sidecar) => sidecar.run().await,
        }
    }
}
