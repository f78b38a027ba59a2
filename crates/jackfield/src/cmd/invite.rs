//! `jackfield invite`: one line that brings an agent of another machine to the hub.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use clap::{Args, ValueEnum};
use http::Method;
use jackfield_connect::setup::is_plain_url;
use jackfield_sdk::{Address, Error, Fingerprint, Hub, TlsError, Trust, try_socket};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::connect::kind::{COMMAND, URL};
use crate::{
    client::{self, Client},
    exit::{About, Code, Stop},
    output::{self, text},
    shell,
};

/// How long the address of an invite is tried before nothing is said about it.
const GLANCE: Duration = Duration::from_secs(3);

/// Print a command that brings an agent of another machine to this hub, once and within 15 minutes.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  jackfield invite my-laptop\n  jackfield invite my-model --type openai"
)]
pub(crate) struct Invite {
    /// The id that the agent gets; nobody else's
    #[arg(value_parser = client::agent_id)]
    agent: String,
    /// What kind of agent it is to be
    #[arg(long = "type", value_name = "TYPE", default_value = "claude")]
    kind: Kind,
    /// Whose the agent will be, if its id is new: only admins invite for others [default: you]
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    #[command(flatten)]
    client: Client,
}

/// A kind of agent that `connect` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Claude,
    Acp,
    Exec,
    Http,
    Openai,
    A2a,
}

impl Kind {
    /// Its name, and the word that whoever copies the line has to replace.
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
        let answer = client::ask(&hub, Method::POST, "/v1/invites", Some(&body)).await;
        let mut invite = answer.map_err(|error| refused(&error))?;
        let url = text(&invite, "url").to_owned();
        if !url.starts_with("http") || !is_plain_url(&url) {
            let what = "the hub's invite is no plain URL";
            return Err(Stop::new(Code::Failed, what, "set public_url at the hub").into());
        }
        let trust = hub_trust(&invite, &url, &hub).await;
        let ca = trust.ca.as_ref();
        let ca = ca.map_or_else(String::new, |ca| format!(" --ca {}", shell::word(ca)));
        let besides = replaced.map_or_else(String::new, |word| format!(" {word}"));
        let command = format!("jackfield connect{ca} --setup {url} {kind}{besides}");
        // The published client of the bridge starts nothing else.
        let bridge = (self.kind == Kind::Claude).then(|| {
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
            return Ok(Code::Ok.into());
        }
        output::line(&command)?;
        match replaced {
            Some(COMMAND) => {
                output::chat("There, replace COMMAND by the command that the agent is to run.");
            }
            Some(URL) => output::chat("There, replace URL by the address of the agent's server."),
            _ => {}
        }
        if let Some(bridge) = bridge {
            output::chat(&format!("or with the client of Agent Mesh: {bridge}"));
        }
        output::chat("It works once and for 15 minutes; whoever has it can be this agent.");
        output::chat(&self.whose(&invite, &hub).await);
        if let Some(note) = trust.note {
            output::chat(&note);
        }
        if client::is_here(&url) {
            output::chat(
                "It leads to this machine only; set public_url for agents of others, from when on every request needs a token.",
            );
        } else if let Some(why) = unreachable(&url, &hub).await {
            output::chat(&format!(
                "warning: {why}; if that is so on the other machine too, set public_url at the hub to an address that works there"
            ));
        }
        Ok(Code::Ok.into())
    }

    /// Whose the agent will be, and how an admin makes it somebody else's.
    async fn whose(&self, invite: &Value, hub: &Hub) -> String {
        let owner = output::clean(text(invite, "owner"));
        let whose = format!("Owner of {}: {owner}", self.agent);
        if self.owner.is_some() {
            return whose;
        }
        let me = client::ask(hub, Method::GET, "/v1/whoami", None).await;
        let may_choose = me.is_ok_and(|me| me["admin"] == true && text(&me, "owner") == owner);
        match may_choose {
            true => format!("{whose} (--owner NAME invites for another owner)"),
            false => whose,
        }
    }
}

/// Why the hub made no invite, and what to do.
fn refused(error: &Error) -> Stop {
    let mut stop = Stop::from_hub(error, About::Agent);
    if error.code() == Some("unsupported") {
        stop.next = Some(
            "start the hub with: jackfield serve --public-url URL, the address at which the other machine reaches it"
                .to_owned(),
        );
    }
    stop
}

/// Why nobody can connect to the hub at the address of an invite, as far as can be told from here within a moment.
async fn unreachable(url: &str, hub: &Hub) -> Option<String> {
    let base = url.split("/invite/").next().unwrap_or(url);
    let at = Address::new(base).ok()?;
    let at = at.with_trust(hub.address().trust().clone());
    match timeout(GLANCE, try_socket(&at)).await {
        Ok(Err(error @ Error::Unreachable { .. })) => {
            Some(Stop::from_hub(&error, About::Agent).text)
        }
        _ => None,
    }
}

/// How the invited machine knows the hub's certificate.
#[derive(Debug, Default)]
struct HubTrust {
    /// What it is to say after `--ca`.
    ca: Option<String>,
    /// What has to be done besides.
    note: Option<String>,
}

/// What the hub says of its own certificate, or what we were told ourselves.
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

/// Whether who answers at the invite's URL shows another certificate than this: a proxy with one of its own stands before
/// the hub. One that cannot be reached from here shows nothing.
async fn shows_another(url: &str, pin: Fingerprint) -> bool {
    let base = url.split("/invite/").next().unwrap_or(url);
    let Ok(at) = Address::new(base) else {
        return false;
    };
    let tried = try_socket(&at.with_trust(Trust::pinned(pin))).await;
    let why = match tried {
        Err(Error::Tls { why, .. }) => why,
        _ => return false,
    };
    matches!(why, TlsError::NotPinned { .. })
}
