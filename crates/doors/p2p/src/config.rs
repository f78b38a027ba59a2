//! `[p2p]`: the door's configuration, and how the door is opened.

use std::{collections::HashSet, net::IpAddr};

use jackfield_core::units::Span;
use jackfield_kit::{
    auth::TokenlessAccess,
    door::{ConfigError, DoorConfig, DoorContext, DoorOpenError, OpenedDoor, check_url},
    outbound::OutboundError,
};
use jackfield_model::AgentId;
use jackfield_peer::{
    address,
    allowed::Allowed,
    identity::Identity,
    limits::WORDS_SILENCE,
    node::{NodeConfig, RelayLimits, Role},
};
use jackfield_registry::RegistryRules;
use jackfield_sidecar::Endpoint;
use serde::{Deserialize, Serialize};

use crate::{
    door::{P2p, Setting},
    serve::Terms,
};

/// The hub as a peer among peers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
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

impl Default for Config {
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
            words_silence: Span(WORDS_SILENCE),
            peers: Vec::new(),
            endpoints: Vec::new(),
        }
    }
}

impl Config {
    /// Checks what serde cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |text: String| Err(ConfigError(text));
        if self.relay && !self.enabled {
            return wrong("p2p.relay (--relay) requires p2p.enabled = true".to_owned());
        }
        if self.name.trim().is_empty() || self.name.chars().any(char::is_control) {
            return wrong("p2p.name must be a name of one line".to_owned());
        }
        if self.words_silence.0.is_zero() {
            let text = "p2p.words_silence must be more than 0s: every answer would be cut after its first words";
            return wrong(text.to_owned());
        }
        for (key, addresses) in [("listen", &self.listen), ("external", &self.external)] {
            for text in addresses {
                if let Err(error) = address::parse(text) {
                    return wrong(format!("{text:?} in p2p.{key} is no multiaddr: {error}"));
                }
            }
        }
        for text in &self.peers {
            if let Err(why) = address::way_to_peer(text) {
                return wrong(format!("{text:?} in p2p.peers {why}"));
            }
        }
        for endpoint in &self.endpoints {
            let key = format!("url of [[p2p.endpoint]] {}", endpoint.id);
            check_url(&key, &endpoint.url)?;
        }
        Ok(())
    }

    /// Where the node listens: as configured, else beside the hub.
    fn addresses(&self, context: &DoorContext) -> Vec<String> {
        if !self.listen.is_empty() {
            return self.listen.clone();
        }
        let hub = &context.address;
        // A hub that was given any free port lets its node take any free port, too.
        let port = match hub.configured.port() {
            0 => 0,
            _ => hub.bound.port().checked_add(1).unwrap_or(0),
        };
        beside(hub.bound.ip(), port).into()
    }

    fn setting(self, context: &DoorContext) -> Result<Setting, DoorOpenError> {
        let parse = |addresses: &[String]| -> Result<Vec<_>, DoorOpenError> {
            let parsed = addresses.iter().map(|text| address::parse(text));
            let parsed = parsed.collect::<Result<_, _>>();
            parsed.map_err(|error| DoorOpenError::new("an address of [p2p] cannot be used", error))
        };
        let trust = context.gatekeeper.trust();
        let key = context.secrets.folder();
        let key = Identity::load_or_create(key).map_err(|error| {
            DoorOpenError::new("cannot read or make the hub's key among peers", error)
        })?;
        let endpoint = |it: &EndpointConfig| {
            Ok((
                it.id.clone(),
                Endpoint::new(&context.outbound, &it.url, None)?,
            ))
        };
        let endpoints = self.endpoints.iter().map(endpoint);
        let endpoints = endpoints.collect::<Result<_, OutboundError>>();
        Ok(Setting {
            hub: context.hub.clone(),
            store: context.store.clone(),
            gatekeeper: context.gatekeeper.clone(),
            tasks: context.tasks.clone(),
            key,
            node: NodeConfig {
                listen: parse(&self.addresses(context))?,
                external: parse(&self.external)?,
                relay_server: self.relay.then(RelayLimits::default),
                role: Role::Hub,
                words_silence: self.words_silence.0,
            },
            terms: Terms {
                // Where the programs of this machine need no token, they need no entry here, unless the operator made a list.
                allowed: if trust != TokenlessAccess::Nobody && self.allowed.is_empty() {
                    Allowed::ThisMachine
                } else {
                    Allowed::Only(self.allowed)
                },
                name: self.name,
                default_agent: self.default_agent,
                deadline: self.deadline.0,
                ..Terms::default()
            },
            rules: RegistryRules {
                allow_private: trust != TokenlessAccess::Nobody || context.allow_private_outbound,
            },
            endpoints: endpoints.map_err(|error| {
                DoorOpenError::new("a url of [[p2p.endpoint]] cannot be used", error)
            })?,
            peers: parse(&self.peers)?,
        })
    }
}

impl DoorConfig for Config {
    /// The hub as a peer, if it is one.
    type Handle = Option<P2p>;

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor<Option<P2p>>, DoorOpenError> {
        if !self.enabled {
            return Ok(OpenedDoor::new(None));
        }
        let setting = self.setting(context)?;
        let door = P2p::open(setting).await.map_err(|error| {
            let text = "cannot listen for peers; is another hub running? ([p2p] listen chooses another address, enabled = false none)";
            DoorOpenError::new(text, error)
        })?;
        let routes = door.router();
        Ok(OpenedDoor::new(Some(door)).with_routes(routes))
    }
}

/// The multiaddrs of this address and port, by TCP and QUIC.
fn beside(ip: IpAddr, port: u16) -> [String; 2] {
    let ip = match ip {
        IpAddr::V4(ip) => format!("/ip4/{ip}"),
        IpAddr::V6(ip) => format!("/ip6/{ip}"),
    };
    [
        format!("{ip}/tcp/{port}"),
        format!("{ip}/udp/{port}/quic-v1"),
    ]
}
