//! `jackfield p2p block` and `unblock`: which peers the hub refuses.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::encode;

use super::peer::Peer;
use crate::{
    client::{self, Client},
    cmd::show::peer_facts,
    exit::{About, Code, WhatAbout},
    output,
};

/// Which peer, and at which hub. Only an admin may.
#[derive(Debug, Args)]
pub(crate) struct Block {
    /// The peer: its id, an address that ends in it, or a name or agent id that the hub's registry knows
    peer: String,
    #[command(flatten)]
    client: Client,
}

impl Block {
    /// Refuses the peer from now on, or lets it in again.
    pub(crate) async fn run(self, is_blocked: bool) -> Result<ExitCode> {
        let peer = Peer::id_of(&self.peer, &self.client).await?.to_string();
        let verb = if is_blocked { "block" } else { "unblock" };
        let path = format!("/v1/peers/{}/{verb}", encode(&peer));
        let hub = self.client.connect().await?;
        let told = client::ask(&hub, Method::POST, &path, None).await;
        let told = told.about(About::Contact)?;
        if self.client.json {
            output::json(&told)?;
            return Ok(Code::Ok.into());
        }
        output::facts(&peer_facts(&told))?;
        let flags = self.client.flags();
        output::chat(&match is_blocked {
            true => format!(
                "the hub refuses it, and lists it no more; jackfield p2p unblock {peer}{flags} lets it in again"
            ),
            false => "the hub lets it in again; a peer that is kept is dialled".to_owned(),
        });
        Ok(Code::Ok.into())
    }
}
