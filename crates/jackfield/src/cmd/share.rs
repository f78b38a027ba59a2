//! `jackfield share`: who besides its owner may see and call an agent.

use std::process::ExitCode;

use anyhow::Result;
use clap::{ArgGroup, Args};
use http::Method;
use jackfield_sdk::encode;
use serde_json::{Value, json};

use super::show::shared;
use crate::{
    client::{self, Client},
    exit::{About, Code, WhatAbout},
    output,
};

/// Let others see and call an agent; without a flag, say who may.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield share echo --with ann --with bob\n  jackfield share echo --nobody",
    group(ArgGroup::new("whom").args(["with", "everyone", "nobody"]))
)]
pub(crate) struct Share {
    /// The agent's id
    #[arg(value_parser = client::agent_id)]
    agent: String,
    /// With these owners and nobody else; may be repeated
    #[arg(long, value_name = "OWNER")]
    with: Vec<String>,
    /// With everybody on the hub
    #[arg(long)]
    everyone: bool,
    /// With nobody but its owner
    #[arg(long)]
    nobody: bool,
    #[command(flatten)]
    client: Client,
}

impl Share {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect()?;
        let path = format!("/v1/agents/{}", encode(&self.agent));
        let answer = match self.wanted() {
            Some(share) => {
                let body = json!({ "share": share });
                client::ask(&hub, Method::PATCH, &path, Some(&body)).await
            }
            None => client::ask(&hub, Method::GET, &path, None).await,
        };
        let agent = answer.about(About::Agent)?;
        if self.client.json {
            output::json(&agent)?;
        } else {
            output::facts(&[("id", self.agent), ("shared", shared(&agent))])?;
        }
        Ok(Code::Ok.into())
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
