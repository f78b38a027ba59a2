//! `jackfield serve`: runs a hub until ctrl-c or SIGTERM.

use std::{io::IsTerminal, net::SocketAddr, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::{Args, builder::BoolishValueParser};
use tokio::signal::unix::{SignalKind, signal};

use jackfield_hub::{
    assembly::{self, ADMIN_TOKEN, RunningHub},
    config::{HubConfig, LogFormat, Overrides},
    exposure, platform,
};

use crate::{client, exit::CliError, output, shell, telemetry};

/// Start a hub.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield serve\n  jackfield serve --listen 0.0.0.0:7411 --public-url https://hub.example.com\n\nJACKFIELD_PLATFORM_SECRET holds the secret of the bridge's platform; without it the hub makes one in its data directory."
)]
pub(crate) struct Serve {
    #[command(flatten)]
    settings: ServeArgs,
}

/// Settings of the hub from flags and environment.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Read this configuration file [default: jackfield.toml in this folder, if present]
    #[arg(long, env = "JACKFIELD_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen on this address [default: 127.0.0.1:7411]
    #[arg(long, env = "JACKFIELD_LISTEN", value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Store the database and the secrets in this folder [default: ~/.local/share/jackfield]
    #[arg(long, env = "JACKFIELD_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Announce this URL, under which other machines reach the hub; every request then needs a token
    #[arg(long, env = "JACKFIELD_PUBLIC_URL", value_name = "URL")]
    public_url: Option<String>,
    /// Require a token also from programs on this machine, for a hub behind a proxy
    #[arg(long, env = "JACKFIELD_REQUIRE_TOKEN", value_parser = BoolishValueParser::new())]
    require_token: bool,
    /// Allow every client that can connect to do everything, on any address
    #[arg(long)]
    insecure: bool,
    /// Allow URLs from callers and agents to lead to this machine and to private networks
    #[arg(long, env = "JACKFIELD_ALLOW_PRIVATE_OUTBOUND", value_parser = BoolishValueParser::new())]
    allow_private_outbound: bool,
    /// Relay calls to registered peers that cannot be reached directly (libp2p circuit relay)
    #[cfg(feature = "p2p")]
    #[arg(long, env = "JACKFIELD_RELAY", value_parser = BoolishValueParser::new())]
    relay: bool,
    /// Log at this level (error, warn, info, debug, trace) or with this filter [default: info]
    #[arg(long, env = "JACKFIELD_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// Log in this format [default: text]
    #[arg(long, env = "JACKFIELD_LOG_FORMAT", value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

impl ServeArgs {
    /// Returns the [`HubConfig`]: flags and environment override the file, and the file overrides the defaults.
    pub(crate) fn load(self) -> Result<HubConfig, CliError> {
        let overrides = Overrides {
            listen: self.listen,
            data_dir: self.data_dir,
            public_url: self.public_url,
            require_token: self.require_token,
            insecure: self.insecure,
            allow_private_outbound: self.allow_private_outbound,
            platform_secrets: platform::secrets_from_env(),
            #[cfg(feature = "p2p")]
            relay: self.relay,
            #[cfg(not(feature = "p2p"))]
            relay: false,
            log: self.log,
            log_format: self.log_format,
        };
        super::config::load(self.config.as_deref(), overrides)
    }
}

impl Serve {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let config = self.settings.load()?;
        telemetry::start(&config.log, config.log_format)?;
        // Listen for signals from here on, so that a signal stops a hub that is still starting.
        let (mut interrupt, mut terminate, mut hangup) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        );
        let running = tokio::select! {
            running = assembly::start(&config) => running?,
            _ = interrupt.recv() => return Ok(ExitCode::from(130)),
            _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
        };
        print_address(&config, &running);
        loop {
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                _ = hangup.recv() => reload(&running),
            }
        }
        let grace = config.limits.stop_grace;
        let awaited = match running.hub.calls().awaited() {
            0 => String::new(),
            1 => format!("1 open call has {grace} to end; "),
            calls => format!("{calls} open calls have {grace} to end; "),
        };
        // A JSON log must contain only lines of JSON.
        if std::io::stderr().is_terminal() {
            output::print_message(&format!(
                "stopping; {awaited}press ctrl-c again to stop at once"
            ));
        } else {
            tracing::info!("stopping; {awaited}SIGINT stops at once");
        }
        tokio::select! {
            () = running.stop(grace.0) => {}
            _ = interrupt.recv() => return Ok(ExitCode::from(130)),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn reload(running: &RunningHub) {
    match running.reload().context("reload") {
        Ok(()) => tracing::info!("reloaded the TLS files and the platform's secrets"),
        Err(error) => tracing::error!("{error:#}; the old ones stay in use"),
    }
}

/// Prints the address and what to try next. Only the first line goes to stdout, for programs.
fn print_address(config: &HubConfig, running: &RunningHub) {
    let url = config.own_url(running.addr);
    // A closed stdout is no error.
    output::line(&format!("jackfield listens on {url}")).ok();
    let is_watched = std::io::stderr().is_terminal();
    let mut warnings = Vec::new();
    if config.insecure && !config.listen.ip().is_loopback() {
        warnings.push(format!(
            "--insecure: every client that reaches {} may do everything",
            running.addr
        ));
    }
    let exposure = exposure::check(config, running.addr);
    warnings.extend(exposure.map(|it| format!("{}; {}", it.found, it.remedy)));
    for text in warnings {
        if is_watched {
            output::print_message(&format!("warning: {text}"));
        } else {
            tracing::warn!("{text}");
        }
    }
    let mut facts = vec![format!("its data is in {}", config.data_dir.display())];
    if let Some(public) = config.public_url.as_ref().filter(|public| **public != url) {
        facts.push(format!("other machines reach it at {public}"));
    }
    if !config.allows_missing_token() {
        let file = config.data_dir.join(ADMIN_TOKEN);
        let file = file.display();
        facts.push(match found_with(config) {
            None => format!(
                "every request needs a token; the administrator's is in {file}, where commands on this machine find it"
            ),
            Some(variable) => format!(
                "every request needs a token; the administrator's is in {file}, where commands on this machine find it with {variable}"
            ),
        });
    }
    facts.extend(peer_address(running).map(|address| format!("peers reach it at {address}")));
    for fact in facts {
        if is_watched {
            output::print_message(&fact);
        } else {
            tracing::info!("{fact}");
        }
    }
    if is_watched {
        invite(config);
    }
}

/// Returns the address at which peers reach the hub, in the form that they type.
#[cfg(feature = "p2p")]
fn peer_address(running: &RunningHub) -> Option<String> {
    let node = running.p2p()?.node();
    let address = node.addresses().first()?.to_string();
    let peer = format!("/p2p/{}", node.peer_id());
    let bare = address.strip_suffix(&peer).unwrap_or(&address);
    Some(format!("{bare}{peer}"))
}

#[cfg(not(feature = "p2p"))]
fn peer_address(_: &RunningHub) -> Option<String> {
    None
}

/// Returns the variable that commands need to find the hub by its data directory; `None` if they find the hub
/// without it.
fn found_with(config: &HubConfig) -> Option<String> {
    if client::own_data_dir().is_ok_and(|own| own == config.data_dir) {
        return None;
    }
    let dir = std::path::absolute(&config.data_dir);
    let dir = dir.unwrap_or_else(|_| config.data_dir.clone());
    let dir = shell::word(&dir.to_string_lossy());
    Some(format!("JACKFIELD_DATA_DIR={dir}"))
}

/// Prints commands to try next, after [`print_address`]. Commands find the hub by its data directory.
fn invite(config: &HubConfig) {
    let prefix = found_with(config).map_or_else(String::new, |variable| format!("{variable} "));
    output::print_message("\ntry in another terminal:");
    for (command, about) in [
        ("ls                      ", "list agents"),
        ("call AGENT \"hello\"      ", "call an agent"),
        ("watch                   ", "watch them live"),
    ] {
        output::print_message(&format!("  {prefix}jackfield {command}{about}"));
    }
}
