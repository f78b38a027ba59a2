//! `jackfield p2p block` and `unblock`: control which peers the hub refuses.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::encode;

use super::peer::ResolvedPeer;
use crate::{
    client::{self, Client},
    cmd::show::peer_facts,
    exit::{ErrorSubject, ExitKind, WithErrorSubject},
    output,
};

/// Block or unblock a peer at the hub. Needs an admin token.
#[derive(Debug, Args)]
pub(crate) struct Block {
    /// Use this peer: its id, an address that ends in its id, or a name or agent id in the hub's registry
    peer: String,
    #[command(flatten)]
    client: Client,
}

impl Block {
    /// Blocks or unblocks the peer.
    pub(crate) async fn run(self, is_blocked: bool) -> Result<ExitCode> {
        let peer = ResolvedPeer::id_of(&self.peer, &self.client)
            .await?
            .to_string();
        let verb = if is_blocked { "block" } else { "unblock" };
        let path = format!("/v1/peers/{}/{verb}", encode(&peer));
        let hub = self.client.connect().await?;
        let told = client::request(&hub, Method::POST, &path, None).await;
        let told = told.about(ErrorSubject::Contact)?;
        if self.client.json {
            output::json(&told)?;
            return Ok(ExitKind::Ok.into());
        }
        output::facts(&peer_facts(&told))?;
        let flags = self.client.flags();
        output::print_message(&match is_blocked {
            true => format!(
                "the peer is blocked and no longer listed; jackfield p2p unblock {peer}{flags} unblocks it"
            ),
            false => "the peer is unblocked; the hub dials it again if it is stored".to_owned(),
        });
        Ok(ExitKind::Ok.into())
    }
}
