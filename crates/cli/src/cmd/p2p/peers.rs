//! `jackfield p2p peers`: lists peers.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::registry::{self, RegistryEntry, RegistryQuery};
use crate::{
    client::Client,
    exit::ExitKind,
    output::{self, Table},
};

/// List the peers in a hub's registry, including the hub itself.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield p2p peers --skill translate\n  jackfield p2p peers --query \"weather forecast\" --json"
)]
pub(crate) struct Peers {
    /// List only peers with this skill
    #[arg(long, value_name = "SKILL")]
    skill: Option<String>,
    /// List only peers with this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// List only peers with one of these words in their name, skills or description
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl Peers {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        let sought = RegistryQuery {
            name: self.name.as_deref(),
            skill: self.skill.as_deref(),
            words: self.query.as_deref(),
        };
        let found = registry::find(&hub, &sought).await?;
        if self.client.json {
            let peers: Vec<_> = found.iter().map(told).collect();
            output::json(&json!({ "peers": peers }))?;
            return Ok(ExitKind::Ok.into());
        }
        if found.is_empty() {
            output::print_message("no matching peers; jackfield p2p peers lists all of them");
        }
        table(&found).print()?;
        Ok(ExitKind::Ok.into())
    }
}

/// Formats a peer as a JSON object.
fn told(listed: &RegistryEntry) -> Value {
    let mut told = json!({
        "name": listed.name(),
        "peer_id": listed.peer_id(),
        "skills": listed.skills(),
        "addresses": listed.addresses(),
    });
    for key in ["registered_at", "expires_at"] {
        if let Some(time) = listed.0[key].as_str() {
            told[key] = json!(time);
        }
    }
    told
}

fn table(found: &[RegistryEntry]) -> Table {
    let mut table = Table::new(["name", "peer", "skills", "addresses"]);
    for listed in found {
        table.row([
            listed.name().to_owned(),
            listed.peer_id().to_owned(),
            listed.skills().join(", "),
            listed.addresses().join(", "),
        ]);
    }
    table
}
