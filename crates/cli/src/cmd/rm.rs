//! `jackfield rm`: removes an agent with its owner, or a remote by its address.

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

/// Remove an agent and its owner; a connected agent is disconnected. Or remove a remote by its address: the hub
/// dials it no longer, and its agents are removed or go offline.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield rm old-agent --yes\n  jackfield rm /p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
)]
pub(crate) struct Rm {
    /// Remove the agent with this id, the server with this URL, or the peer with this id after /p2p/
    #[arg(value_name = "AGENT|URL|/p2p/ID", value_parser = forgotten)]
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
    /// A remote by its address.
    Remote(String),
}

impl Rm {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        match &self.target {
            RemovalTarget::Remote(address) => self.forget_remote(&hub, address).await?,
            RemovalTarget::Agent(id) => {
                let path = format!("/v1/agents/{}", encode(id));
                match client::request(&hub, Method::GET, &path, None).await {
                    Ok(agent) => self.forget_agent(&hub, id, &path, &agent).await?,
                    // A remote that is no agent has an id of its own.
                    Err(Error::Refused { .. }) if find_remote(&hub, id).await.is_some() => {
                        self.forget_remote(&hub, id).await?
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

    /// Removes a remote by its id or address.
    async fn forget_remote(&self, hub: &Hub, name: &str) -> Result<()> {
        self.confirm(&format!(
            "remove {name}? Its agents are removed or go offline."
        ))?;
        let remote = find_remote(hub, name).await;
        let path = format!("/v1/remotes/{}", encode(name));
        client::request(hub, Method::DELETE, &path, None)
            .await
            .about(ErrorSubject::Remote)?;
        let id = remote.map(|remote| output::text(&remote, "id").to_owned());
        self.done(id.as_deref().unwrap_or(name))
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

/// Parses the argument: an address, or an agent's id.
fn forgotten(text: &str) -> Result<RemovalTarget, String> {
    if text.starts_with('/') || text.contains("://") {
        return Ok(RemovalTarget::Remote(text.to_owned()));
    }
    client::agent_id(text).map(RemovalTarget::Agent)
}

/// Returns the remote with an id or address, as far as this user may know.
async fn find_remote(hub: &Hub, name: &str) -> Option<Value> {
    let path = format!("/v1/remotes/{}", encode(name));
    client::request(hub, Method::GET, &path, None).await.ok()
}
