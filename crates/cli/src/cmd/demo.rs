//! `jackfield demo`: runs a hub in a temporary folder with one agent per protocol, until ctrl-c or SIGTERM.

use std::{
    env,
    io::IsTerminal as _,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Args;
use jackfield_core::{
    principal::Principal,
    tap::{Seen, Sight, TapFilter},
};
use jiff::tz::TimeZone;
use tokio::signal::unix::{Signal, SignalKind, signal};

use jackfield_hub::{
    address,
    config::{DEFAULT_LISTEN, LogFormat},
};

use crate::{
    client,
    demo::{CAST, Greeting, Newsroom},
    exit::{CliError, ExitKind},
    output::{self, Style},
    telemetry,
};

/// Start a hub in a temporary folder, with a scripted agent per protocol and a team of them.
///
/// The demo uses and writes none of your files, and sends nothing to other machines. It prints what to try,
/// shows incoming calls, and removes everything when it stops.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield demo\n  jackfield demo --quiet --port 0 --json"
)]
pub(crate) struct Demo {
    /// Listen on this port, 0 for any [default: 7411, or any if that is in use]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Make no calls; without this flag the demo calls the team every 20 seconds
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON object when the demo is ready, and nothing else
    #[arg(long)]
    json: bool,
    /// Log at this level (error, warn, info, debug, trace) or with this filter [default: error]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

/// Signals that end the demo.
struct DemoSignals {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal was closed.
    hangup: Signal,
}

impl DemoSignals {
    fn new() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal, and returns the exit [`ExitKind`] for a program that stops at this point.
    async fn any(&mut self) -> ExitKind {
        tokio::select! {
            _ = self.interrupt.recv() => ExitKind::Interrupted,
            _ = self.terminate.recv() => ExitKind::Ok,
            _ = self.hangup.recv() => ExitKind::Ok,
        }
    }
}

impl Demo {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        telemetry::start(self.log.as_deref().unwrap_or("error"), LogFormat::Text)?;
        // Listen for signals from here on, so that every stop removes the folder.
        let mut signals = DemoSignals::new()?;
        let folder = tempfile::Builder::new().prefix("jackfield-demo-").tempdir();
        let folder =
            folder.context("cannot create a temporary folder; set TMPDIR to another place")?;
        let places = self.places()?;
        let newsroom = tokio::select! {
            opened = Newsroom::open(&places, folder.path()) => opened?,
            code = signals.any() => return Ok(code.into()),
        };
        let named = env::var("JACKFIELD_HUB").ok().filter(|url| !url.is_empty());
        // Commands find this user's own hub before the demo, wherever that hub listens.
        let found = || address::find(&client::own_data_dir().ok()?).map(|own| own.url);
        let named = named.or_else(found);
        let moved = (self.port.is_none() && newsroom.addr() != usual())
            .then(|| format!("({} is in use, so the demo uses another port)", usual()));
        let greeting = Greeting::new(&newsroom.url(), moved, named.as_deref());
        if self.json {
            greeting.print_json();
        } else {
            greeting.print();
        }
        if !self.quiet {
            newsroom.start_calls()?;
        }
        tokio::select! {
            () = self.show_calls(&newsroom) => {}
            _ = signals.any() => {}
        }
        if std::io::stderr().is_terminal() {
            output::print_message("stopping; press ctrl-c again to stop at once");
        }
        let code = tokio::select! {
            () = newsroom.close() => ExitKind::Ok,
            code = signals.any() => code,
        };
        folder
            .close()
            .context("cannot remove the temporary folder")?;
        Ok(code.into())
    }

    /// Returns the [`SocketAddr`]s to try, in order.
    fn places(&self) -> Result<Vec<SocketAddr>, CliError> {
        let Some(port) = self.port else {
            return Ok(vec![usual(), at(0)]);
        };
        // Check the port here, where the error can name the flag.
        TcpListener::bind(at(port)).map_err(|error| {
            CliError::new(
                ExitKind::Failed,
                format!("cannot listen on {}: {error}", at(port)),
                "--port 0 uses any free port",
            )
        })?;
        Ok(vec![at(port)])
    }

    /// Prints one [`line`] for each incoming call. Never returns.
    async fn show_calls(&self, newsroom: &Newsroom) {
        let hub = newsroom.hub();
        let mut watching = hub.taps().watch(Principal::local(), TapFilter::default());
        loop {
            let seen = watching.next().await;
            if let Some(line) = line(&seen)
                && !self.json
            {
                // A closed stdout is no error.
                output::line(&line).ok();
            }
        }
    }
}

/// Returns the address of a port on this machine.
fn at(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Returns the [`SocketAddr`] at which clients look for a hub.
fn usual() -> SocketAddr {
    DEFAULT_LISTEN.parse().unwrap_or_else(|_| at(0))
}

/// Returns the line for a call from outside the demo. `watch` shows the calls between the agents.
fn line(seen: &Seen) -> Option<String> {
    let Sight::Started {
        caller,
        door,
        message,
    } = &seen.sight
    else {
        return None;
    };
    if CAST.iter().any(|player| player.id == caller) {
        return None;
    }
    let style = Style::stdout();
    let at = seen.at.to_zoned(TimeZone::system());
    let at = style.dim(&at.strftime("%H:%M:%S").to_string());
    let (caller, agent) = (output::clean(caller), seen.agent.as_str());
    let agent = style.agent(agent, agent);
    // Calls by the hub's own API, as of `jackfield call`, are the normal case and not labelled.
    let by = match *door {
        "own" => String::new(),
        door => format!(" by {door}"),
    };
    let words = output::clean(&message.joined_text());
    Some(format!("{at} {caller} calls {agent}{by}: {words}"))
}
