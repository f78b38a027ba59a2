//! `jackfield share`: sets who besides the owner may see and call an agent.

use std::process::ExitCode;

use anyhow::Result;
use clap::{ArgGroup, Args};
use http::Method;
use jackfield_sdk::{Hub, encode};
use serde_json::{Value, json};

use super::show::shared;
use crate::{
    client::{self, Client},
    exit::{ErrorSubject, ExitKind, WithErrorSubject},
    output::{self, text},
    shell,
};

/// Choose who may see and call an agent; without a flag, show who may.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield share echo --with ann --with bob\n  jackfield share echo --nobody",
    group(ArgGroup::new("whom").args(["with", "everyone", "nobody"]))
)]
pub(crate) struct Share {
    /// Share the agent with this id
    #[arg(value_parser = client::agent_id)]
    agent: String,
    /// Share with this owner only; may be repeated
    #[arg(long, value_name = "OWNER", value_parser = owner)]
    with: Vec<String>,
    /// Share with all users of the hub
    #[arg(long)]
    everyone: bool,
    /// Share with nobody but the owner
    #[arg(long)]
    nobody: bool,
    #[command(flatten)]
    client: Client,
}

/// Parses an owner as typed. Refuses words that have their own flag.
fn owner(text: &str) -> Result<String, String> {
    match text {
        "everyone" => Err("use --everyone to share it with all users of the hub".to_owned()),
        "nobody" => Err("use --nobody to share it with nobody but its owner".to_owned()),
        owner => Ok(owner.to_owned()),
    }
}

impl Share {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        let path = format!("/v1/agents/{}", encode(&self.agent));
        let answer = match self.wanted() {
            Some(share) => {
                let body = json!({ "share": share });
                client::request(&hub, Method::PATCH, &path, Some(&body)).await
            }
            None => client::request(&hub, Method::GET, &path, None).await,
        };
        let agent = answer.about(ErrorSubject::Agent)?;
        for owner in self.unknown_owners(&hub).await {
            let owner = shell::word(&owner);
            output::print_message(&format!(
                "warning: no token has the owner {owner}, so nobody can use this share yet; jackfield token create --owner {owner} creates one"
            ));
        }
        if self.client.json {
            output::json(&agent)?;
        } else {
            output::facts(&[("id", self.agent), ("shared", shared(&agent))])?;
        }
        Ok(ExitKind::Ok.into())
    }

    /// Returns the named owners without a token. Empty if the hub does not let us see the tokens.
    async fn unknown_owners(&self, hub: &Hub) -> Vec<String> {
        if self.with.is_empty() {
            return Vec::new();
        }
        let Ok(tokens) = client::request(hub, Method::GET, "/v1/tokens", None).await else {
            return Vec::new();
        };
        let known = output::items(&tokens, "tokens");
        let is_known = |owner: &str| known.iter().any(|token| text(token, "owner") == owner);
        let unknown = self.with.iter().filter(|owner| !is_known(owner));
        unknown.cloned().collect()
    }

    fn wanted(&self) -> Option<Value> {
        match self {
            Self { everyone: true, .. } => Some(json!("everyone")),
            Self { nobody: true, .. } => Some(json!("nobody")),
            Self { with, .. } if !with.is_empty() => Some(json!({ "with": with })),
            _ => None,
        }
    }
}
