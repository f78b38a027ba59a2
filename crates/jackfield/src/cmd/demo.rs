//! `jackfield demo`: a hub in a temporary folder with an agent on every protocol, until ctrl-c or SIGTERM.

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
    demo::{CAST, Demo as Newsroom, Greeting},
    exit::{Code, Stop},
    output::{self, Style},
    telemetry,
};

/// Start a hub in a temporary folder, with a scripted agent on every protocol and a team of them.
///
/// Nothing of yours is used or written, and nothing leaves this machine. It says what to try, shows who calls, and is gone when
/// it stops.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield demo\n  jackfield demo --quiet --port 0 --json"
)]
pub(crate) struct Demo {
    /// The port to listen on, 0 for any [default: 7411, or any if that is taken]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Nobody calls by themselves; without it the team is asked something every 20 seconds
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON object when it is ready, and nothing else
    #[arg(long)]
    json: bool,
    /// What to log: error, warn, info, debug, trace, or a filter [default: error]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

/// What ends it.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal was closed.
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one, and says how a program ends that gives up there.
    async fn any(&mut self) -> Code {
        tokio::select! {
            _ = self.interrupt.recv() => Code::Interrupted,
            _ = self.terminate.recv() => Code::Ok,
            _ = self.hangup.recv() => Code::Ok,
        }
    }
}

impl Demo {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        telemetry::start(self.log.as_deref().unwrap_or("error"), LogFormat::Text)?;
        // Heard from here on, so that the folder is removed whenever it is told to stop.
        let mut signals = Signals::new()?;
        let folder = tempfile::Builder::new().prefix("jackfield-demo-").tempdir();
        let folder =
            folder.context("cannot make a temporary folder; TMPDIR names another place")?;
        let places = self.places()?;
        let newsroom = tokio::select! {
            opened = Newsroom::open(&places, folder.path()) => opened?,
            code = signals.any() => return Ok(code.into()),
        };
        let named = env::var("JACKFIELD_HUB").ok().filter(|url| !url.is_empty());
        // A hub of this user's own comes before the demo, wherever that is.
        let found = || address::find(&client::own_data_dir().ok()?).map(|own| own.url);
        let named = named.or_else(found);
        let moved = (self.port.is_none() && newsroom.addr() != usual())
            .then(|| format!("({} is taken, so it took another port)", usual()));
        let greeting = Greeting::new(&newsroom.url(), moved, named.as_deref());
        if self.json {
            greeting.print_json();
        } else {
            greeting.print();
        }
        if !self.quiet {
            newsroom.come_to_life()?;
        }
        tokio::select! {
            () = self.show_calls(&newsroom) => {}
            _ = signals.any() => {}
        }
        if std::io::stderr().is_terminal() {
            output::chat("stopping; once more ctrl-c stops at once");
        }
        let code = tokio::select! {
            () = newsroom.close() => Code::Ok,
            code = signals.any() => code,
        };
        folder
            .close()
            .context("cannot remove the temporary folder")?;
        Ok(code.into())
    }

    /// Where to listen: the first of these that is free.
    fn places(&self) -> Result<Vec<SocketAddr>, Stop> {
        let Some(port) = self.port else {
            return Ok(vec![usual(), at(0)]);
        };
        // Told here, where it is known how it was asked for.
        TcpListener::bind(at(port)).map_err(|error| {
            Stop::new(
                Code::Failed,
                format!("cannot listen on {}: {error}", at(port)),
                "--port 0 takes any port that is free",
            )
        })?;
        Ok(vec![at(port)])
    }

    /// Shows who calls, one line each. Never ends by itself.
    async fn show_calls(&self, newsroom: &Newsroom) {
        let hub = newsroom.hub();
        let mut watching = hub.taps().watch(Principal::local(), TapFilter::default());
        loop {
            let seen = watching.next().await;
            if let Some(line) = line(&seen)
                && !self.json
            {
                // Nobody may be reading.
                output::line(&line).ok();
            }
        }
    }
}

/// A port of this machine.
fn at(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Where clients look for a hub.
fn usual() -> SocketAddr {
    DEFAULT_LISTEN.parse().unwrap_or_else(|_| at(0))
}

/// The line of a call from outside. What the agents say to each other is for `watch`.
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
    // By the hub's own API, as `jackfield call` does, needs no word.
    let by = match *door {
        "own" => String::new(),
        door => format!(" by {door}"),
    };
    let words = output::clean(&message.words());
    Some(format!("{at} {caller} calls {agent}{by}: {words}"))
}
