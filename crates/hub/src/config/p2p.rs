//! `[p2p]`: the hub as a peer among peers.

use std::collections::HashSet;

use anyhow::{Result, bail};
use jackfield_core::units::Span;
use jackfield_model::AgentId;
use serde::{Deserialize, Serialize};

/// The hub as a peer among peers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct P2pConfig {
    /// Whether the hub is one.
    pub enabled: bool,
    /// What it calls itself among peers.
    pub name: String,
    /// Where it listens, as multiaddrs; the hub's own address, one port higher, by TCP and QUIC, without any.
    pub listen: Vec<String>,
    /// Under which multiaddrs others reach it, where it cannot know that by itself.
    pub external: Vec<String>,
    /// Whether registered peers that cannot be reached may be called through the hub.
    pub relay: bool,
    /// The peers that may hand off, by id. Without any, and where callers need no token, programs of this machine may.
    pub allowed: HashSet<String>,
    /// Who gets what peers hand to the hub itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<AgentId>,
    /// How long an agent has for a plain answer.
    pub deadline: Span,
    /// How long a peer that answers in words and does not close its stream may be silent before its answer counts as whole.
    pub words_silence: Span,
    /// Peers that the hub keeps a connection with, as multiaddrs that end in `/p2p/ID`.
    pub peers: Vec<String>,
    /// Agents behind HTTP that peers reach, and only they.
    #[serde(rename = "endpoint", skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointConfig>,
}

/// An agent behind HTTP, with its card at `/card`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// Its id.
    pub id: AgentId,
    /// Where it is.
    pub url: String,
}

impl Default for P2pConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            name: "Jackfield".to_owned(),
            listen: Vec::new(),
            external: Vec::new(),
            relay: false,
            allowed: HashSet::new(),
            default_agent: None,
            deadline: Span::secs(10),
            // The door's own default, which has the reason; the door may be left out of the program.
            words_silence: Span::secs(5),
            peers: Vec::new(),
            endpoints: Vec::new(),
        }
    }
}

impl P2pConfig {
    /// What a hub is whose file does not name `[p2p]`: a peer, unless the program was built without.
    pub(super) fn unnamed() -> Self {
        Self {
            enabled: cfg!(feature = "p2p"),
            ..Self::default()
        }
    }

    #[cfg(not(feature = "p2p"))]
    pub(super) fn check(&self) -> Result<()> {
        if self.enabled {
            bail!(
                "[p2p] needs a jackfield that was built with the feature p2p, and this one was not; \
                 take [p2p] out, or say enabled = false in it"
            );
        }
        Ok(())
    }

    #[cfg(feature = "p2p")]
    pub(super) fn check(&self) -> Result<()> {
        use anyhow::Context as _;

        if self.relay && !self.enabled {
            bail!("p2p.relay (--relay) needs p2p.enabled: who is no peer is no relay");
        }
        if self.name.trim().is_empty() || self.name.chars().any(char::is_control) {
            bail!("p2p.name must be a name of one line");
        }
        if self.words_silence.0.is_zero() {
            bail!(
                "p2p.words_silence must be more than 0s: every answer would be cut after its first words"
            );
        }
        for (key, addresses) in [("listen", &self.listen), ("external", &self.external)] {
            for address in addresses {
                jackfield_p2p::address::parse(address)
                    .with_context(|| format!("{address:?} in p2p.{key} is no multiaddr"))?;
            }
        }
        for address in &self.peers {
            if let Err(why) = jackfield_p2p::address::way_to_peer(address) {
                bail!("{address:?} in p2p.peers {why}");
            }
        }
        for endpoint in &self.endpoints {
            super::check_url(
                &format!("url of [[p2p.endpoint]] {}", endpoint.id),
                &endpoint.url,
            )?;
        }
        Ok(())
    }
}
