//! `jackfield invite`: prints a command that connects an agent on another machine to the hub.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use clap::{Args, ValueEnum};
use http::Method;
use jackfield_connect::setup::is_plain_url;
use jackfield_sdk::{Error, Fingerprint, Hub, HubAddress, HubTlsError, TlsTrust, try_socket};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::connect::kind::{COMMAND, URL};
use crate::{
    client::{self, Client},
    exit::{CliError, ErrorSubject, ExitKind},
    output::{self, text},
    shell,
};

/// Time limit for testing the address of an invite; no warning if the time is over.
const GLANCE: Duration = Duration::from_secs(3);

/// Print a command that connects an agent on another machine to this hub, once and within 15 minutes.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield invite my-laptop\n  jackfield invite my-model --type openai"
)]
pub(crate) struct Invite {
    /// Give the agent this id, which must not belong to another owner
    #[arg(value_parser = client::agent_id)]
    agent: String,
    /// Print the command for this kind of agent
    #[arg(long = "type", value_name = "TYPE", default_value = "claude")]
    kind: InviteKind,
    /// Make this owner the agent's owner, if its id is new; only admins may choose another owner [default: you]
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    #[command(flatten)]
    client: Client,
}

/// A kind of agent that `connect` supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InviteKind {
    Claude,
    Acp,
    Exec,
    Http,
    Openai,
    A2a,
}

impl InviteKind {
    /// Returns the name of the kind, and the placeholder that the user must replace.
    fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Claude => ("claude", None),
            Self::Acp => ("acp", Some(COMMAND)),
            Self::Exec => ("exec", Some(COMMAND)),
            Self::Http => ("http", Some(URL)),
            Self::Openai => ("openai", Some(URL)),
            Self::A2a => ("a2a", Some(URL)),
        }
    }
}

impl Invite {
    pub(crate) async fn run(self) -> Result<ExitCode> {
        let hub = self.client.connect().await?;
        let (kind, replaced) = self.kind.words();
        let mut body = json!({"agent": self.agent, "type": kind});
        if let Some(owner) = &self.owner {
            body["owner"] = json!(owner);
        }
        let answer = client::request(&hub, Method::POST, "/v1/invites", Some(&body)).await;
        let mut invite = answer.map_err(|error| refused(&error))?;
        let url = text(&invite, "url").to_owned();
        if !url.starts_with("http") || !is_plain_url(&url) {
            let what = "the hub's invite is not a plain URL";
            return Err(CliError::new(ExitKind::Failed, what, "set public_url at the hub").into());
        }
        let trust = hub_trust(&invite, &url, &hub).await;
        let ca = trust.ca.as_ref();
        let ca = ca.map_or_else(String::new, |ca| format!(" --ca {}", shell::word(ca)));
        let besides = replaced.map_or_else(String::new, |word| format!(" {word}"));
        let command = format!("jackfield connect{ca} --setup {url} {kind}{besides}");
        // The bridge's published client starts only Claude.
        let bridge = (self.kind == InviteKind::Claude).then(|| {
            let ca = if ca.is_empty() {
                ""
            } else {
                "NODE_EXTRA_CA_CERTS=FILE "
            };
            format!("{ca}agent-mesh connect --setup {url}")
        });
        if self.client.json {
            invite["command"] = command.into();
            invite["bridge_command"] = bridge.into();
            output::json(&invite)?;
            return Ok(ExitKind::Ok.into());
        }
        output::line(&command)?;
        match replaced {
            Some(COMMAND) => {
                output::print_message(
                    "On that machine, replace COMMAND by the command that runs the agent.",
                );
            }
            Some(URL) => output::print_message(
                "On that machine, replace URL by the address of the agent's server.",
            ),
            _ => {}
        }
        if let Some(bridge) = bridge {
            output::print_message(&format!("or with the client of Agent Mesh: {bridge}"));
        }
        output::print_message(
            "It works once, within 15 minutes. Anyone who has it can connect as this agent.",
        );
        output::print_message(&self.whose(&invite, &hub).await);
        if let Some(note) = trust.note {
            output::print_message(&note);
        }
        if client::is_loopback_url(&url) {
            output::print_message(
                "It works on this machine only; for agents on other machines set public_url (every request then needs a token).",
            );
        } else if let Some(why) = unreachable(&url, &hub).await {
            output::print_message(&format!(
                "warning: {why}; if the other machine cannot reach it either, set public_url at the hub to an address that works there"
            ));
        }
        Ok(ExitKind::Ok.into())
    }

    /// Returns a sentence with the future owner, and how an admin chooses a different owner.
    async fn whose(&self, invite: &Value, hub: &Hub) -> String {
        let owner = output::clean(text(invite, "owner"));
        let whose = format!("Owner of {}: {owner}", self.agent);
        if self.owner.is_some() {
            return whose;
        }
        let me = client::request(hub, Method::GET, "/v1/whoami", None).await;
        let may_choose = me.is_ok_and(|me| me["admin"] == true && text(&me, "owner") == owner);
        match may_choose {
            true => format!("{whose} (--owner NAME invites for another owner)"),
            false => whose,
        }
    }
}

/// Converts an [`Error`] of the hub, with advice.
fn refused(error: &Error) -> CliError {
    let mut stop = CliError::from_hub(error, ErrorSubject::Agent);
    if error.code() == Some("unsupported") {
        stop.next = Some(
            "start the hub with: jackfield serve --public-url URL, the address at which the other machine reaches it"
                .to_owned(),
        );
    }
    stop
}

/// Returns why the hub cannot be reached at the address of an invite, as seen from here within a short time.
async fn unreachable(url: &str, hub: &Hub) -> Option<String> {
    let base = url.split("/invite/").next().unwrap_or(url);
    let at = HubAddress::new(base).ok()?;
    let at = at.with_trust(hub.address().trust().clone());
    match timeout(GLANCE, try_socket(&at)).await {
        Ok(Err(error @ Error::Unreachable { .. })) => {
            Some(CliError::from_hub(&error, ErrorSubject::Agent).text)
        }
        _ => None,
    }
}

/// Trust in the hub's certificate on the invited machine.
#[derive(Debug, Default)]
struct HubTrust {
    /// Value for the flag `--ca`.
    ca: Option<String>,
    /// Instruction for the user.
    note: Option<String>,
}

/// Returns the [`HubTrust`] from the hub's statement about its certificate, else from our own flags.
async fn hub_trust(invite: &Value, url: &str, hub: &Hub) -> HubTrust {
    if !url.starts_with("https://") {
        return HubTrust::default();
    }
    let address = hub.address();
    let ours = address.trust();
    let told = invite["ca"].as_str().and_then(|ca| ca.parse().ok());
    if let Some(pin) = told.or(ours.fingerprint())
        && !shows_another(url, pin).await
    {
        return HubTrust {
            ca: Some(pin.to_string()),
            note: None,
        };
    }
    match ours.ca() {
        Some(file) if ours.fingerprint().is_none() => HubTrust {
            note: Some(format!(
                "The other machine needs a copy of {file}; name it there with --ca FILE."
            )),
            ca: Some("FILE".to_owned()),
        },
        _ => HubTrust::default(),
    }
}

/// Returns whether the server at the invite's URL has a different certificate: a proxy with its own
/// certificate stands in front of the hub. False for a server that cannot be reached from here.
async fn shows_another(url: &str, pin: Fingerprint) -> bool {
    let base = url.split("/invite/").next().unwrap_or(url);
    let Ok(at) = HubAddress::new(base) else {
        return false;
    };
    let tried = try_socket(&at.with_trust(TlsTrust::pinned(pin))).await;
    let why = match tried {
        Err(Error::Tls { why, .. }) => why,
        _ => return false,
    };
    matches!(why, HubTlsError::NotPinned { .. })
}
