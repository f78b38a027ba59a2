//! `jackfield rm`: forgets an agent and who owned it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use http::Method;
use jackfield_sdk::encode;
use serde_json::json;

use super::show::remote;
use crate::{
    client::{self, Client},
    exit::{About, Code, Stop, WhatAbout},
    output, prompt,
};

/// Forget an agent and who owned it; one that is attached is told to go.
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  jackfield rm old-agent --yes")]
pub(crate) struct Rm {
    /// The agent's id
    #[arg(value_parser = client::agent_id)]
    agent: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: Client,
}

impl Rm {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect()?;
        let question = format!(
            "forget {}? Its id is then free for whoever registers it first.",
            self.agent
        );
        if !self.yes && prompt::somebody_is_there() && !prompt::confirm(&question) {
            return Err(
                Stop::new(Code::Cancelled, "nothing was done", "--yes does not ask").into(),
            );
        }
        let path = format!("/v1/agents/{}", encode(&self.agent));
        let agent = client::get(&hub, &path, About::Agent).await?;
        let comes_back = remote(&hub, &agent)
            .await
            .is_some_and(|it| it["configured"] == true);
        client::ask(&hub, Method::DELETE, &path, None)
            .await
            .about(About::Agent)?;
        if self.client.json {
            output::json(&json!({ "id": self.agent, "forgotten": true }))?;
        } else {
            output::chat(&format!("{} is forgotten", self.agent));
        }
        if comes_back {
            output::chat(
                "it stands in the hub's configuration file, and comes back when the hub is restarted",
            );
        }
        Ok(Code::Ok.into())
    }
}
