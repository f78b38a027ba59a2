//! `jackfield acp`: an agent or team of the hub as an ACP agent, for editors that start agents as a process. Forwards messages
//! between standard input and output and the hub. Nothing else is ever written to standard output.

mod forward;
mod message;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jackfield_sdk::{HubSocket, encode};

use self::forward::AcpForwarder;
use crate::{
    client::Client,
    exit::{ErrorSubject, ExitKind, WithErrorSubject as _},
};

/// Run an ACP agent on standard input and output: an agent of the hub, for editors.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Editors start it by their settings. For Zed, in settings.json:\n  \
                       \"agent_servers\": {\"echo\": {\"type\": \"custom\", \"command\": \"jackfield\", \"args\": [\"acp\", \"echo\"]}}\n\n\
                       docs/protocols/acp.md has the lines for JetBrains and Neovim.\n\
                       It ends when its standard input closes, and reconnects to a hub that is restarted."
)]
pub(crate) struct Acp {
    /// Agent or team that the editor talks to
    #[arg(value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    client: Client,
}

impl Acp {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        let path = format!("/acp/{}", encode(&self.agent));
        let socket = HubSocket::open(&hub.address(), &path).await;
        let socket = socket.about(ErrorSubject::Agent)?;
        AcpForwarder::new(hub, path)
            .run(socket, tokio::io::stdin(), tokio::io::stdout())
            .await?;
        Ok(ExitKind::Ok.into())
    }
}
