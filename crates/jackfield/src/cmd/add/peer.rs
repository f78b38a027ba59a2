//! `jackfield add MULTIADDR`: adds a libp2p peer to the hub.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use http::Method;
use jackfield_sdk::{Error, Hub, HubAddress};
use serde_json::{Value, json};

use super::{Add, PATIENCE};
use crate::{
    client,
    cmd::show::peer_facts,
    exit::{CliError, ErrorSubject, ExitKind, WithErrorSubject},
    output::{self, items, text},
    shell,
};

/// Time limit for asking a hub for its libp2p address, which only improves a hint.
const KINDNESS: Duration = Duration::from_secs(3);

/// Returns the libp2p address of the hub at a URL, if the hub reveals the address without a token.
pub(super) async fn address_of_hub(url: &str) -> Option<String> {
    let hub = Hub::new(HubAddress::new(url).ok()?).ok()?;
    let listed = client::request_within(KINDNESS, &hub, Method::GET, "/peers?format=list", None);
    let listed = listed.await.ok()?;
    // Only the hub's own entry has no time of registration.
    let own = listed
        .as_array()?
        .iter()
        .find(|it| it["registered_at"].is_null())?;
    let mut addresses = items(own, "addresses").iter().filter_map(Value::as_str);
    addresses.next().map(output::clean)
}

impl Add {
    /// Returns whether the argument is a peer's address.
    pub(super) fn is_peer(&self) -> bool {
        self.target.starts_with('/')
    }

    /// Returns the first flag that does not apply to peers.
    fn flag_for_servers(&self) -> Option<&'static str> {
        let given = [
            ("--as", self.id.is_some()),
            ("--bearer-env", self.bearer_env.is_some()),
            ("--bearer-file", self.bearer_file.is_some()),
            ("--header", !self.header.is_empty()),
            ("--oauth-token-url", self.oauth_token_url.is_some()),
            ("--timeout", self.timeout.is_some()),
        ];
        given.iter().find(|(_, is)| *is).map(|(flag, _)| *flag)
    }

    pub(super) async fn run_peer(self) -> Result<ExitCode> {
        if let Some(flag) = self.flag_for_servers() {
            let text = format!("{flag} is for A2A servers, and {} is a peer", self.target);
            return Err(CliError::new(ExitKind::Usage, text, "remove the flag").into());
        }
        let hub = self.client.connect().await?;
        let body = json!({ "address": self.target, "keep": self.keep });
        output::print_message(&format!("connecting with {} …", self.target));
        let added = client::request_within(PATIENCE, &hub, Method::POST, "/v1/peers", Some(&body));
        let peer = match added.await {
            Err(Error::Refused { status: 404, .. }) => {
                return Err(CliError::new(
                    ExitKind::Missing,
                    "libp2p is not enabled on this hub",
                    "start it with enabled = true in [p2p], or name another with --hub URL",
                )
                .into());
            }
            added => added.about(ErrorSubject::Contact)?,
        };
        if self.client.json {
            output::json(&peer)?;
            return Ok(ExitKind::Ok.into());
        }
        output::facts(&peer_facts(&peer))?;
        let (id, flags) = (text(&peer, "id"), self.client.flags());
        let first = items(&peer, "agents").first().and_then(|it| it.as_str());
        output::print_message(&match (text(&peer, "state"), first) {
            ("online", Some(agent)) => {
                let call = shell::command("call", &[agent], "hello", &flags);
                format!("try it: {call}")
            }
            ("online", None) => {
                "it brought no agents: it may have none, or not allow handoffs of this hub"
                    .to_owned()
            }
            _ => {
                let rm = shell::command("rm", &[&format!("/p2p/{id}")], "", &flags);
                format!("the hub keeps dialling it; {rm} removes it")
            }
        });
        Ok(ExitKind::Ok.into())
    }
}
