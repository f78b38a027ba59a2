//! `jackfield p2p handoff`: one request to a path of a peer, in the original handoff protocol.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jackfield_core::units::Span;
use jackfield_peer::delegate::{Delegation, unreachable};
use jackfield_peer::wire::{HandOff, Method, path};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    command_node::{CommandNode, IdentityArgs},
    input,
    peer::ResolvedPeer,
    work::{self, TIMEOUT, WorkOutput},
};
use crate::{
    client::Client,
    exit::{CliError, ExitKind},
    output,
};

/// Hand off work to a path of a peer, and stream the answer to standard output.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Ctrl-c cancels the work. Exit codes: 3 offline or not found, 4 not allowed, 5 timeout, 6 the peer failed.\n\nExamples:\n  jackfield p2p handoff weather POST /forecast/{city} --params city=Paris\n  jackfield p2p handoff hub POST /agents/echo/ask --data hello\n  jackfield p2p handoff /ip4/192.0.2.7/tcp/7412/p2p/12D3KooW… POST /sum --data @numbers.json --no-stream"
)]
pub(crate) struct Handoff {
    /// Use this peer: an address that ends in /p2p/ID, an id, name or agent id in the hub's registry, or hub
    /// for the hub itself
    peer: String,
    /// Use this method, as on the card: GET, POST, PUT, PATCH or DELETE
    #[arg(value_parser = method)]
    method: Method,
    /// Request this path, with {name} for each parameter
    path: String,
    /// Fill in path parameters: name=value, or a JSON object; may be repeated
    #[arg(long, value_name = "JSON|NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    /// Send this data: JSON, text, @FILE, or - for standard input
    #[arg(long, value_name = "DATA", allow_hyphen_values = true)]
    data: Option<String>,
    /// Request the answer in one piece, for old peers
    #[arg(long)]
    no_stream: bool,
    /// Fail after this time, such as 30s [default: 1h]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show status of the peer on standard error even if standard error is not a terminal
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    identified: IdentityArgs,
    #[command(flatten)]
    client: Client,
}

impl Handoff {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hand_off = self.hand_off()?;
        let peer = ResolvedPeer::find(&self.peer, &self.client).await?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let station = CommandNode::start(&self.identified).await?;
        let done = tokio::select! {
            done = self.carry_out(&station, &peer, &hand_off) => done.map(|()| ExitKind::Ok),
            _ = interrupt.recv() => {
                output::print_message("cancelled");
                Ok(ExitKind::Interrupted)
            }
        };
        station.stop().await;
        Ok(done?.into())
    }

    /// Builds the [`HandOff`]. Invalid input is reported here, not by the peer.
    fn hand_off(&self) -> Result<HandOff, CliError> {
        let mut hand_off = HandOff::new(self.method, self.path.as_str());
        hand_off.params = input::params(&self.params)?;
        path::expand(&hand_off.path, &hand_off.params).map_err(|fault| {
            let next = "--params name=value fills in the parameters of a path";
            CliError::new(
                ExitKind::Usage,
                format!("PATH {:?}: {fault}", self.path),
                next,
            )
        })?;
        hand_off.input = self.data.as_deref().map(input::data).transpose()?;
        Ok(hand_off)
    }

    async fn carry_out(
        &self,
        station: &CommandNode,
        peer: &ResolvedPeer,
        hand_off: &HandOff,
    ) -> Result<()> {
        let opened = Delegation::open(&station.node, peer.id, &peer.addresses, !self.no_stream);
        let delegation = opened
            .await
            .map_err(|error| station.stop_for(&unreachable(&error)))?;
        let told = WorkOutput {
            json: self.client.json,
            verbose: self.verbose,
        };
        let timeout = self.timeout.unwrap_or(TIMEOUT);
        work::run(station, delegation, hand_off, timeout, told).await
    }
}

fn method(text: &str) -> Result<Method, String> {
    Method::from_name(text).map_err(|fault| fault.problem.into_owned())
}
