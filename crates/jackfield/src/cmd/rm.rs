//! `jackfield rm`: removes an agent with its owner, or a stored peer.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::{Error, Hub, encode};
use serde_json::{Value, json};

use super::show::{peer, remote};
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    output, prompt, shell,
};

/// Remove an agent and its owner; a connected agent is disconnected. Or remove a stored peer: the hub
/// disconnects, and the peer's agents go offline.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield rm old-agent --yes\n  jackfield rm /p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
)]
pub(crate) struct Rm {
    /// Remove the agent with this id, or the peer with this id after /p2p/
    #[arg(value_name = "AGENT|/p2p/ID", value_parser = forgotten)]
    target: RemovalTarget,
    /// Remove without asking
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: Client,
}

/// Object to remove.
#[derive(Debug, Clone)]
enum RemovalTarget {
    Agent(String),
    Peer(String),
}

impl Rm {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        match &self.target {
            RemovalTarget::Peer(id) => self.forget_peer(&hub, id).await?,
            RemovalTarget::Agent(id) => {
                let path = format!("/v1/agents/{}", encode(id));
                match client::request(&hub, Method::GET, &path, None).await {
                    Ok(agent) => self.forget_agent(&hub, id, &path, &agent).await?,
                    // The text may be the id of a peer without the prefix.
                    Err(Error::Refused { .. }) if is_kept(&hub, id).await => {
                        self.forget_peer(&hub, id).await?
                    }
                    Err(error) => {
                        return Err(CliError::from_hub(&error, ErrorSubject::Agent).into());
                    }
                }
            }
        }
        Ok(ExitKind::Ok.into())
    }

    async fn forget_agent(&self, hub: &Hub, id: &str, path: &str, agent: &Value) -> Result<()> {
        self.confirm(&format!(
            "remove {id}? Its id is then free for the first agent that registers it."
        ))?;
        let remote = remote(hub, agent).await;
        let peer = peer(hub, agent).await;
        client::request(hub, Method::DELETE, path, None)
            .await
            .about(ErrorSubject::Agent)?;
        self.done(id)?;
        if remote.is_some_and(|it| it["configured"] == true) {
            output::print_message(
                "it is in the hub's configuration file, and comes back when the hub is restarted",
            );
        }
        if let Some(peer) = peer.filter(|it| it["state"] == "online" || it["kept"] == true) {
            let address = format!("/p2p/{}", output::text(&peer, "id"));
            let rm = shell::command("rm", &[&address], "", "");
            output::print_message(&format!(
                "it comes back when its peer connects again; {rm} removes a stored peer"
            ));
        }
        Ok(())
    }

    async fn forget_peer(&self, hub: &Hub, id: &str) -> Result<()> {
        self.confirm(&format!("remove peer {id}? Its agents go offline."))?;
        let path = format!("/v1/peers/{}", encode(id));
        client::request(hub, Method::DELETE, &path, None)
            .await
            .about(ErrorSubject::Contact)?;
        self.done(id)
    }

    fn confirm(&self, question: &str) -> Result<()> {
        if self.yes || !prompt::is_interactive() || prompt::confirm(question) {
            return Ok(());
        }
        Err(CliError::new(
            ExitKind::Cancelled,
            "nothing was done",
            "--yes removes without asking",
        )
        .into())
    }

    fn done(&self, id: &str) -> Result<()> {
        if self.client.json {
            output::json(&json!({ "id": id, "forgotten": true }))?;
        } else {
            output::print_message(&format!("{id} is removed"));
        }
        Ok(())
    }
}

/// Parses the argument: a peer by the end of any of its addresses, else an agent.
fn forgotten(text: &str) -> Result<RemovalTarget, String> {
    if !text.starts_with('/') {
        return client::agent_id(text).map(RemovalTarget::Agent);
    }
    match text.rsplit_once("/p2p/") {
        Some((_, id)) if is_peer_id(id) => Ok(RemovalTarget::Peer(id.to_owned())),
        _ => Err("write /p2p/ and the peer's id".to_owned()),
    }
}

/// Returns whether the hub stores this peer, as far as this user may know.
async fn is_kept(hub: &Hub, id: &str) -> bool {
    let path = format!("/v1/peers/{}", encode(id));
    let peer = client::request(hub, Method::GET, &path, None).await;
    peer.is_ok_and(|peer| peer["kept"] == true)
}

fn is_peer_id(text: &str) -> bool {
    jackfield_wire::p2p::is_peer_id(text)
}
