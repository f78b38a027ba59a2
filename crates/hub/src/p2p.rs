//! The p2p door of a hub, as the configuration has it.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use anyhow::{Context, Result};
use jackfield_core::hub::Hub;
use jackfield_kit::{
    auth::Gatekeeper,
    outbound::{Outbound, OutboundError},
    tasks::Tasks,
};
use jackfield_p2p::{
    P2p, Setting, address,
    identity::Identity,
    node::{NodeConfig, RelayLimits, Role},
    registry::RegistryRules,
    serve::{Allowed, Endpoint, Terms},
};
use jackfield_store::SqliteStore;

use crate::config::{Config, EndpointConfig};

/// Opens the door beside a hub that listens here.
pub(crate) async fn open(
    config: &Config,
    addr: SocketAddr,
    hub: &Hub,
    store: &Arc<SqliteStore>,
    gatekeeper: &Gatekeeper,
    outbound: &Outbound,
    tasks: &Tasks,
) -> Result<Option<P2p>> {
    let p2p = &config.p2p;
    if !p2p.enabled {
        return Ok(None);
    }
    let parse = |addresses: &[String]| -> Result<Vec<_>> {
        let parsed = addresses.iter().map(|text| address::parse(text));
        parsed.collect::<Result<_, _>>().map_err(Into::into)
    };
    let listen = if p2p.listen.is_empty() {
        // Where the hub itself was given any free port, so is this.
        let port = match config.listen.port() {
            0 => 0,
            _ => addr.port().checked_add(1).unwrap_or(0),
        };
        parse(&beside(addr.ip(), port))?
    } else {
        parse(&p2p.listen)?
    };
    let endpoint =
        |it: &EndpointConfig| Ok((it.id.clone(), Endpoint::new(outbound, &it.url, None)?));
    let endpoints = p2p.endpoints.iter().map(endpoint);
    let endpoints = endpoints.collect::<Result<_, OutboundError>>();
    let setting = Setting {
        hub: hub.clone(),
        store: store.clone(),
        gatekeeper: gatekeeper.clone(),
        tasks: tasks.clone(),
        key: Identity::load_or_create(&config.data_dir)
            .context("cannot read or make the hub's key among peers")?,
        node: NodeConfig {
            listen,
            external: parse(&p2p.external)?,
            relay_server: p2p.relay.then(RelayLimits::default),
            role: Role::Hub,
            words_silence: p2p.words_silence.0,
        },
        terms: Terms {
            name: p2p.name.clone(),
            // Where the programs of this machine need no token, they need no entry here, unless the operator made a list.
            allowed: if config.trusts_everyone() && p2p.allowed.is_empty() {
                Allowed::ThisMachine
            } else {
                Allowed::Only(p2p.allowed.clone())
            },
            default_agent: p2p.default_agent.clone(),
            deadline: p2p.deadline.0,
            ..Terms::default()
        },
        rules: RegistryRules {
            allow_private: config.trusts_everyone() || config.allow_private_outbound,
        },
        endpoints: endpoints.context("a url of [[p2p.endpoint]] cannot be used")?,
        peers: parse(&p2p.peers)?,
    };
    let door = P2p::open(setting).await.context(
        "cannot listen for peers; is another hub running? ([p2p] listen chooses another address, enabled = false none)",
    )?;
    Ok(Some(door))
}

/// The hub's own address for peers: by TCP and QUIC.
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
