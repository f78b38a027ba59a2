//! `jackfield mcp`: the hub's MCP door for programs that start their MCP servers as a process. What comes on standard
//! input goes to the hub, what the hub says goes to standard output, and nothing else ever does.

mod message;
mod pump;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::Args;
use http::{HeaderMap, HeaderValue};
use jackfield_model::{AgentId, CallId};

use self::pump::Pump;
use crate::{
    client::Client,
    exit::{Code, Stop},
};

/// This hub as MCP server on standard input and output: find_agents, call_agent, task, cancel.
#[derive(Debug, Args)]
#[command(
    after_long_help = "For a program that takes MCP servers, such as Claude Code:\n  \
                       claude mcp add jackfield -- jackfield mcp\n\n\
                       It ends with its standard input. A hub that is restarted is found again."
)]
pub(crate) struct Mcp {
    /// The call for which agents are called: it passes on its deadline and its cancel
    #[arg(
        long,
        env = "JACKFIELD_CALL",
        value_name = "ID",
        hide_env_values = true
    )]
    call: Option<String>,
    /// A file that names the call instead, read for every request: for servers that outlive one call
    #[arg(
        long,
        env = "JACKFIELD_CALL_FILE",
        value_name = "FILE",
        hide_env_values = true
    )]
    call_file: Option<PathBuf>,
    /// Act as this agent of yours
    #[arg(
        long,
        env = "JACKFIELD_AGENT",
        value_name = "ID",
        hide_env_values = true
    )]
    agent: Option<String>,
    #[command(flatten)]
    client: Client,
}

impl Mcp {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let headers = self.headers()?;
        let hub = self.client.connect().await?;
        Pump::new(hub, headers, self.call_file)
            .run(tokio::io::stdin(), tokio::io::stdout())
            .await
            .context("standard input cannot be read")?;
        Ok(Code::Ok.into())
    }

    /// For whom and for which call the hub is asked.
    fn headers(&self) -> Result<HeaderMap> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let mut headers = HeaderMap::new();
        if let Some(call) = given(&self.call) {
            let id = CallId::parse(call.trim()).ok_or_else(|| {
                Stop::usage("--call (or JACKFIELD_CALL) is not the id of a call; leave it out")
            })?;
            headers.insert(pump::CALL, HeaderValue::from_str(&id.to_string())?);
        }
        if let Some(agent) = given(&self.agent) {
            let id = AgentId::parse(agent.trim()).map_err(|error| {
                Stop::usage(format!(
                    "--agent (or JACKFIELD_AGENT): {error}; leave it out"
                ))
            })?;
            headers.insert("jackfield-agent", HeaderValue::from_str(id.as_str())?);
        }
        Ok(headers)
    }
}
