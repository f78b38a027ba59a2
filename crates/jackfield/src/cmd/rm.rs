//! `jackfield rm`: forgets an agent and who owned it, or a peer that the hub keeps a connection with.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::{Error, Hub, encode};
use serde_json::{Value, json};

use super::show::{peer, remote};
use crate::{
    client::{self, Client},
    exit::{About, Code, Stop, WhatAbout},
    output, prompt, shell,
};

/// Forget an agent and who owned it; one that is attached is told to go. Or let the hub keep no connection with a peer any
/// more: its agents go offline.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield rm old-agent --yes\n  jackfield rm /p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
)]
pub(crate) struct Rm {
    /// The agent's id; or /p2p/ID, ID being the peer's
    #[arg(value_name = "AGENT|/p2p/ID", value_parser = forgotten)]
    target: Target,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: Client,
}

/// What is to be forgotten.
#[derive(Debug, Clone)]
enum Target {
    Agent(String),
    Peer(String),
}

impl Rm {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        match &self.target {
            Target::Peer(id) => self.forget_peer(&hub, id).await?,
            Target::Agent(id) => {
                let path = format!("/v1/agents/{}", encode(id));
                match client::ask(&hub, Method::GET, &path, None).await {
                    Ok(agent) => self.forget_agent(&hub, id, &path, &agent).await?,
                    // Perhaps it is the id of a peer, without anything before it.
                    Err(Error::Refused { .. }) if is_kept(&hub, id).await => {
                        self.forget_peer(&hub, id).await?
                    }
                    Err(error) => return Err(Stop::from_hub(&error, About::Agent).into()),
                }
            }
        }
        Ok(Code::Ok.into())
    }

    async fn forget_agent(&self, hub: &Hub, id: &str, path: &str, agent: &Value) -> Result<()> {
        self.confirm(&format!(
            "forget {id}? Its id is then free for whoever registers it first."
        ))?;
        let remote = remote(hub, agent).await;
        let peer = peer(hub, agent).await;
        client::ask(hub, Method::DELETE, path, None)
            .await
            .about(About::Agent)?;
        self.done(id)?;
        if remote.is_some_and(|it| it["configured"] == true) {
            output::chat(
                "it stands in the hub's configuration file, and comes back when the hub is restarted",
            );
        }
        if let Some(peer) = peer.filter(|it| it["state"] == "online" || it["kept"] == true) {
            let address = format!("/p2p/{}", output::text(&peer, "id"));
            let rm = shell::command("rm", &[&address], "", "");
            output::chat(&format!(
                "it comes back when its peer connects again; {rm} forgets a peer that is kept"
            ));
        }
        Ok(())
    }

    async fn forget_peer(&self, hub: &Hub, id: &str) -> Result<()> {
        self.confirm(&format!(
            "keep no connection with peer {id} any more? Its agents go offline."
        ))?;
        let path = format!("/v1/peers/{}", encode(id));
        client::ask(hub, Method::DELETE, &path, None)
            .await
            .about(About::Contact)?;
        self.done(id)
    }

    fn confirm(&self, question: &str) -> Result<()> {
        if self.yes || !prompt::somebody_is_there() || prompt::confirm(question) {
            return Ok(());
        }
        Err(Stop::new(Code::Cancelled, "nothing was done", "--yes does not ask").into())
    }

    fn done(&self, id: &str) -> Result<()> {
        if self.client.json {
            output::json(&json!({ "id": id, "forgotten": true }))?;
        } else {
            output::chat(&format!("{id} is forgotten"));
        }
        Ok(())
    }
}

/// What was typed: a peer by the end of any of its addresses, else an agent.
fn forgotten(text: &str) -> Result<Target, String> {
    if !text.starts_with('/') {
        return client::agent_id(text).map(Target::Agent);
    }
    match text.rsplit_once("/p2p/") {
        Some((_, id)) if is_peer_id(id) => Ok(Target::Peer(id.to_owned())),
        _ => Err("write /p2p/ and the peer's id".to_owned()),
    }
}

/// Whether the hub keeps a connection with this peer, as far as we may know.
async fn is_kept(hub: &Hub, id: &str) -> bool {
    let path = format!("/v1/peers/{}", encode(id));
    let peer = client::ask(hub, Method::GET, &path, None).await;
    peer.is_ok_and(|peer| peer["kept"] == true)
}

fn is_peer_id(text: &str) -> bool {
    jackfield_wire::p2p::is_peer_id(text)
}
