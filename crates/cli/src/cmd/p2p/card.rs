//! `jackfield p2p card`: shows a peer's card.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jackfield_peer::inquire::fetch_card;
use jackfield_peer::wire::PeerCard;
use serde_json::Value;

use super::{
    command_node::{CommandNode, IdentityArgs},
    peer::ResolvedPeer,
};
use crate::{
    client::Client,
    exit::ExitKind,
    output::{self, Table},
};

/// Explanation for a hub's empty card that a different key would not change.
const OF_PEERS: &str = "it is a hub, which shows agents of its peers (NAME@…) to no peer: ask for the card of the peer itself, NAME@…";

/// Show the card of a peer: its name and skills. The card is fetched from the peer itself, over a connection
/// that proves the peer's identity.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield p2p card weather\n  jackfield p2p card /ip4/192.0.2.7/tcp/7412/p2p/12D3KooW… --json"
)]
pub(crate) struct Card {
    /// Show this peer: an address that ends in /p2p/ID, an id, name or agent id in the hub's registry, or hub
    /// for the hub itself
    peer: String,
    #[command(flatten)]
    identified: IdentityArgs,
    #[command(flatten)]
    client: Client,
}

impl Card {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let peer = ResolvedPeer::find(&self.peer, &self.client).await?;
        let station = CommandNode::start(&self.identified).await?;
        let card = fetch_card(&station.node, peer.id, &peer.addresses).await;
        let card = card.map_err(|failure| station.stop_for(&failure));
        let is_bare = !self.client.json && card.as_ref().is_ok_and(|card| card.skills.is_empty());
        let hidden = match is_bare && station.is_hub(peer.id).await {
            true => format!("{}\n{OF_PEERS}", station.hidden()),
            false => station.hidden(),
        };
        station.stop().await;
        let card = card?;
        if self.client.json {
            let card: Value = serde_json::from_str(&card.to_json())?;
            output::json(&card)?;
        } else {
            print(&card, &peer, &hidden)?;
        }
        Ok(ExitKind::Ok.into())
    }
}

fn print(card: &PeerCard, peer: &ResolvedPeer, hidden: &str) -> Result<()> {
    output::facts(&[
        ("name", card.name.clone()),
        ("version", card.version.clone()),
        ("description", card.description.clone()),
        ("peer", peer.id.to_string()),
    ])?;
    if card.skills.is_empty() {
        output::print_message(hidden);
        return Ok(());
    }
    output::line("")?;
    let mut table = Table::new(["skill", "method", "path", "description"]);
    for skill in &card.skills {
        table.row([
            skill.id.clone(),
            skill.method.clone(),
            skill.path.clone(),
            skill.description.clone(),
        ]);
    }
    table.print()
}
