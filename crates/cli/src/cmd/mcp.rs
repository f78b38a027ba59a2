//! `jackfield mcp`: the hub's MCP server for programs that start MCP servers as a process. Forwards messages
//! from standard input to the hub, and from the hub to standard output. Nothing else is ever written to
//! standard output.

mod files;
mod forward;
mod message;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::Args;
use http::{HeaderMap, HeaderValue};
use jackfield_model::{AgentId, CallId};

use self::{files::AnswerFolder, forward::McpForwarder};
use crate::{
    client::Client,
    exit::{CliError, ExitKind},
};

/// Run an MCP server on standard input and output that offers the hub: find_agents, call_agent, task, cancel.
#[derive(Debug, Args)]
#[command(
    after_long_help = "To use it from an MCP client such as Claude Code:\n  \
                       claude mcp add jackfield -- jackfield mcp\n\n\
                       It ends when its standard input closes, and reconnects to a hub that is restarted.\n\n\
                       With --files, the tools call_agent and task have the argument files. The files of a task are \
                       written to DIR/TASK; existing files are never replaced."
)]
pub(crate) struct Mcp {
    /// Make calls on behalf of this call, with its deadline and its cancellation
    #[arg(
        long,
        env = "JACKFIELD_CALL",
        value_name = "ID",
        hide_env_values = true
    )]
    call: Option<String>,
    /// Read the id of that call from this file for every request, for a server that serves several calls
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
    /// Let the model ask for the files of an answer, and write them below this folder
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    #[command(flatten)]
    client: Client,
}

impl Mcp {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let headers = self.headers()?;
        let flags = self.client.flags();
        let files = self.files.as_deref();
        let files = files
            .map(|dir| AnswerFolder::open(dir, flags))
            .transpose()?;
        let hub = self.client.connect().await?;
        McpForwarder::new(hub, headers, self.call_file, files)
            .run(tokio::io::stdin(), tokio::io::stdout())
            .await
            .context("standard input cannot be read")?;
        Ok(ExitKind::Ok.into())
    }

    /// Returns the headers that name the agent and the call on whose behalf requests are made.
    fn headers(&self) -> Result<HeaderMap> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let mut headers = HeaderMap::new();
        if let Some(call) = given(&self.call) {
            let id = CallId::parse(call.trim()).ok_or_else(|| {
                CliError::usage("--call (or JACKFIELD_CALL) is not the id of a call; leave it out")
            })?;
            headers.insert(forward::CALL, HeaderValue::from_str(&id.to_string())?);
        }
        if let Some(agent) = given(&self.agent) {
            let id = AgentId::parse(agent.trim()).map_err(|error| {
                CliError::usage(format!(
                    "--agent (or JACKFIELD_AGENT): {error}; leave it out"
                ))
            })?;
            headers.insert("jackfield-agent", HeaderValue::from_str(id.as_str())?);
        }
        Ok(headers)
    }
}
