//! `jackfield p2p handoff`: one request to a path of a peer, as the seed's protocol has it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jackfield_core::units::Span;
use jackfield_peer::delegate::{Delegation, unreachable};
use jackfield_peer::wire::{HandOff, Method, path};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    input,
    peer::Peer,
    station::{Identified, Station},
    work::{self, TIMEOUT, Told},
};
use crate::{
    client::Client,
    exit::{Code, Stop},
    output,
};

/// Hand work to a path of a peer; the answer is streamed to standard output.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Ctrl-c cancels the work. Exit codes: 3 offline or not found, 4 no right to, 5 timeout, 6 the peer failed.\n\nExamples:\n  jackfield p2p handoff weather POST /forecast/{city} --params city=Paris\n  jackfield p2p handoff hub POST /agents/echo/ask --data hello\n  jackfield p2p handoff /ip4/192.0.2.7/tcp/7412/p2p/12D3KooW… POST /sum --data @numbers.json --no-stream"
)]
pub(crate) struct Handoff {
    /// An address that ends in /p2p/ID, the id, name or agent id of a peer that the hub's registry knows, or hub for the hub itself
    peer: String,
    /// GET, POST, PUT, PATCH or DELETE, as its card says
    #[arg(value_parser = method)]
    method: Method,
    /// The path, with {name} where a parameter goes
    path: String,
    /// What goes into the path: name=value, or an object of JSON; may be repeated
    #[arg(long, value_name = "JSON|NAME=VALUE", num_args = 1..)]
    params: Vec<String>,
    /// What to work on: JSON, words, @FILE, or - for standard input
    #[arg(long, value_name = "DATA", allow_hyphen_values = true)]
    data: Option<String>,
    /// Ask for the answer in one piece, as the oldest peers give it
    #[arg(long)]
    no_stream: bool,
    /// How long it may take, such as 30s [default: 1h]
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show what the peer does meanwhile on standard error even if it is no terminal
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    identified: Identified,
    #[command(flatten)]
    client: Client,
}

impl Handoff {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hand_off = self.hand_off()?;
        let peer = Peer::find(&self.peer, &self.client).await?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let station = Station::start(&self.identified).await?;
        let done = tokio::select! {
            done = self.carry_out(&station, &peer, &hand_off) => done.map(|()| Code::Ok),
            _ = interrupt.recv() => {
                output::chat("cancelled");
                Ok(Code::Interrupted)
            }
        };
        station.stop().await;
        Ok(done?.into())
    }

    /// What is handed over. What cannot be is said here, not by the peer.
    fn hand_off(&self) -> Result<HandOff, Stop> {
        let mut hand_off = HandOff::new(self.method, self.path.as_str());
        hand_off.params = input::params(&self.params)?;
        path::expand(&hand_off.path, &hand_off.params).map_err(|fault| {
            let next = "--params name=value fills the gaps of a path";
            Stop::new(Code::Usage, format!("PATH {:?}: {fault}", self.path), next)
        })?;
        hand_off.input = self.data.as_deref().map(input::data).transpose()?;
        Ok(hand_off)
    }

    async fn carry_out(&self, station: &Station, peer: &Peer, hand_off: &HandOff) -> Result<()> {
        let opened = Delegation::open(&station.node, peer.id, &peer.addresses, !self.no_stream);
        let delegation = opened
            .await
            .map_err(|error| station.stop_for(&unreachable(&error)))?;
        let told = Told {
            json: self.client.json,
            verbose: self.verbose,
        };
        let timeout = self.timeout.unwrap_or(TIMEOUT);
        work::carry_out(station, delegation, hand_off, timeout, told).await
    }
}

fn method(text: &str) -> Result<Method, String> {
    Method::from_name(text).map_err(|fault| fault.problem.into_owned())
}
