//! The section `[p2p]`: the door's [`Config`], and how the door is opened.

use std::{collections::HashSet, net::IpAddr, sync::Arc};

use jackfield_core::units::Span;
use jackfield_kit::{
    auth::TokenlessAccess,
    dial::{DialError, RemoteProtocol},
    door::{ConfigError, DoorConfig, DoorContext, DoorOpenError, OpenedDoor, check_url},
    outbound::OutboundError,
};
use jackfield_model::AgentId;
use jackfield_peer::{
    address,
    allowed::Allowed,
    identity::Identity,
    limits::WORDS_SILENCE,
    node::{NodeConfig, NodeRole, RelayLimits},
};
use jackfield_registry::RegistryRules;
use jackfield_sidecar::Endpoint;
use serde::{Deserialize, Serialize};

use crate::{
    DOOR, dial,
    door::{P2p, P2pSetting},
    serve::HandoffTerms,
};

/// The protocol of peers that the hub dials.
pub const REMOTES: &dyn RemoteProtocol = &dial::Peers;

/// Configuration of the hub as a peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whether the hub is a peer.
    pub enabled: bool,
    /// Name of the hub among peers.
    pub name: String,
    /// Listen addresses, as multiaddrs. By default the hub's own address, one port higher, by TCP and QUIC.
    pub listen: Vec<String>,
    /// Multiaddrs under which others reach the hub, where the hub cannot find them out.
    pub external: Vec<String>,
    /// Whether the hub relays calls to registered peers that cannot be reached directly.
    pub relay: bool,
    /// Ids of the peers that may hand off. If empty, and if callers need no token, programs of this machine
    /// may.
    pub allowed: HashSet<String>,
    /// Agent that gets handoffs to the hub itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<AgentId>,
    /// Time that an agent has for a plain answer.
    pub deadline: Span,
    /// How long a peer that answers in plain text and does not close its stream may be silent before its
    /// answer counts as complete.
    pub words_silence: Span,
    /// Peers to keep a connection with, as multiaddrs that end in `/p2p/ID`.
    pub peers: Vec<String>,
    /// Agents behind HTTP, for peers only.
    #[serde(rename = "endpoint", skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointConfig>,
}

/// An agent behind HTTP, with its card at `/card`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// Id of the agent.
    pub id: AgentId,
    /// URL of the agent.
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
    /// Checks the rules that serde cannot express.
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

    /// Returns the listen addresses: as configured, else beside the hub.
    fn addresses(&self, context: &DoorContext) -> Vec<String> {
        if !self.listen.is_empty() {
            return self.listen.clone();
        }
        let hub = &context.address;
        // If the hub takes any free port, so does its node.
        let port = match hub.configured.port() {
            0 => 0,
            _ => hub.bound.port().checked_add(1).unwrap_or(0),
        };
        beside(hub.bound.ip(), port).into()
    }

    fn setting(self, context: &DoorContext) -> Result<P2pSetting, DoorOpenError> {
        let parse = |addresses: &[String]| -> Result<Vec<_>, DoorOpenError> {
            let parsed = addresses.iter().map(|text| address::parse(text));
            let parsed = parsed.collect::<Result<_, _>>();
            parsed.map_err(|error| DoorOpenError::new("an address of [p2p] cannot be used", error))
        };
        let mut peers = parse(&self.peers)?;
        for target in context.configured_remotes(DOOR) {
            let (_, address) = dial::way(target).map_err(not_usable)?;
            peers.push(address);
        }
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
        Ok(P2pSetting {
            files: context.files.clone(),
            hub: context.hub.clone(),
            store: context.store.clone(),
            gatekeeper: context.gatekeeper.clone(),
            tasks: context.tasks.clone(),
            key,
            node: NodeConfig {
                listen: parse(&self.addresses(context))?,
                external: parse(&self.external)?,
                relay_server: self.relay.then(RelayLimits::default),
                role: NodeRole::Hub,
                words_silence: self.words_silence.0,
            },
            terms: HandoffTerms {
                // Where programs of this machine need no token, they need no entry here, unless the operator
                // made a list.
                allowed: if trust != TokenlessAccess::Nobody && self.allowed.is_empty() {
                    Allowed::ThisMachine
                } else {
                    Allowed::Only(self.allowed)
                },
                name: self.name,
                default_agent: self.default_agent,
                deadline: self.deadline.0,
                ..HandoffTerms::default()
            },
            rules: RegistryRules {
                allow_private: trust != TokenlessAccess::Nobody || context.allow_private_outbound,
            },
            endpoints: endpoints.map_err(|error| {
                DoorOpenError::new("a url of [[p2p.endpoint]] cannot be used", error)
            })?,
            peers,
        })
    }
}

impl DoorConfig for Config {
    /// The open door; `None` if it is disabled.
    type Handle = Option<P2p>;

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor<Option<P2p>>, DoorOpenError> {
        if !self.enabled {
            if let Some(target) = context.configured_remotes(DOOR).next() {
                let text = format!("[[agent]] {:?} requires p2p.enabled = true", target.address);
                return Err(ConfigError(text).into());
            }
            return Ok(OpenedDoor {
                dialler: Some(Arc::new(dial::Disabled)),
                ..OpenedDoor::new(None)
            });
        }
        let setting = self.setting(context)?;
        let door = P2p::open(setting).await.map_err(|error| {
            let text = "cannot listen for peers; is another hub running? ([p2p] listen chooses another address, enabled = false none)";
            DoorOpenError::new(text, error)
        })?;
        let (routes, dialler) = (door.router(), door.dialler());
        let opened = OpenedDoor::new(Some(door)).with_routes(routes);
        Ok(OpenedDoor {
            dialler: Some(dialler),
            ..opened
        })
    }
}

fn not_usable(error: DialError) -> DoorOpenError {
    DoorOpenError::new("a peer of [[agent]] cannot be used", error)
}

/// Returns the multiaddrs of an address and port, by TCP and QUIC.
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
