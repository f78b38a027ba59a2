//! Resolution of the argument PEER: an address, or the id or name of a peer in the hub's registry.

use anyhow::Result;
use jackfield_peer::{
    Multiaddr, PeerId,
    address::{AddressError, way_to_peer},
};

use super::registry::{self, RegistryEntry, RegistryQuery};
use crate::{
    client::Client,
    exit::{CliError, ExitKind},
    output,
};

/// Keyword for the hub itself.
const HUB: &str = "hub";

/// Number of characters of a peer's id in the ids of its agents on a hub: `weather@wUpT3WyJGkoj`.
const AGENT_END: usize = 12;

/// A peer and its addresses.
#[derive(Debug)]
pub(super) struct ResolvedPeer {
    pub(super) id: PeerId,
    pub(super) addresses: Vec<Multiaddr>,
}

impl ResolvedPeer {
    /// Resolves the argument to a [`ResolvedPeer`].
    pub(super) async fn find(text: &str, client: &Client) -> Result<Self> {
        if text.starts_with('/') {
            match (
                way_to_peer(text),
                text.strip_prefix("/p2p/").map(str::parse),
            ) {
                (Ok((id, address)), _) => {
                    return Ok(Self {
                        id,
                        addresses: vec![address],
                    });
                }
                (Err(AddressError::NotDialled), Some(Ok(id))) => {
                    return Self::by_id(id, client).await;
                }
                (Err(why), _) => return Err(CliError::usage(format!("PEER {text:?} {why}")).into()),
            }
        }
        match text.parse() {
            Ok(id) => Self::by_id(id, client).await,
            Err(_) if text == HUB => {
                let own = registry::find_own(&client.connect().await?).await?;
                let next = "start it with enabled = true in [p2p], or name another with --hub URL";
                let none =
                    || CliError::new(ExitKind::Missing, "the hub has no address for peers", next);
                Self::of(&own.ok_or_else(none)?)
            }
            Err(_) => match text.rsplit_once('@') {
                Some((_, end)) if end.len() == AGENT_END => Self::by_agent(text, end, client).await,
                _ => Self::by_name(text, client).await,
            },
        }
    }

    /// Resolves the argument to a [`PeerId`], even without an address.
    pub(super) async fn id_of(text: &str, client: &Client) -> Result<PeerId> {
        let id = text.rsplit_once("/p2p/").map_or(text, |(_, id)| id);
        match id.parse() {
            Ok(id) => Ok(id),
            Err(_) => Ok(Self::find(text, client).await?.id),
        }
    }

    async fn by_id(id: PeerId, client: &Client) -> Result<Self> {
        let found = registry::find_id(&client.connect().await?, &id.to_string()).await?;
        let found = found.ok_or_else(|| unknown(&format!("no peer {id} is registered"), client))?;
        Self::of(&found)
    }

    /// Finds the peer of a hub's agent; the agent's id ends in the end of the peer's id.
    async fn by_agent(agent: &str, end: &str, client: &Client) -> Result<Self> {
        let is_it = |listed: &RegistryEntry| listed.peer_id().ends_with(end);
        let found = registry::find_first(&client.connect().await?, is_it).await?;
        let text = format!("no peer of agent {agent:?} is registered");
        Self::of(&found.ok_or_else(|| unknown(&text, client))?)
    }

    async fn by_name(name: &str, client: &Client) -> Result<Self> {
        let sought = RegistryQuery {
            name: Some(name),
            ..RegistryQuery::default()
        };
        let found = registry::find(&client.connect().await?, &sought).await?;
        match found.as_slice() {
            [] => Err(unknown(&format!("no peer called {name:?} is registered"), client).into()),
            [only] => Self::of(only),
            several => {
                // Any peer may use any name.
                let ids: Vec<_> = several
                    .iter()
                    .map(RegistryEntry::peer_id)
                    .map(output::clean)
                    .collect();
                Err(CliError::new(
                    ExitKind::Usage,
                    format!("{} peers are called {name:?}", several.len()),
                    format!("choose one by its id: {}", ids.join(", ")),
                )
                .into())
            }
        }
    }

    /// Converts an entry of the registry ([`RegistryEntry`]). Only addresses that lead to this peer are ever dialled.
    pub(super) fn of(listed: &RegistryEntry) -> Result<Self> {
        let id = listed.peer_id();
        let name = output::clean(listed.name());
        let parsed = id.parse().map_err(|_| {
            CliError::usage(format!(
                "the registry's peer id of {name} is invalid: {id:?}"
            ))
        })?;
        let ways = listed.addresses().into_iter().map(way_to_peer);
        let ways = ways.filter_map(|way| way.ok().filter(|(peer, _)| *peer == parsed));
        let addresses: Vec<_> = ways.map(|(_, address)| address).collect();
        if addresses.is_empty() {
            return Err(CliError::new(
                ExitKind::Missing,
                format!("the registry has no address of {name} ({id}) that can be dialled"),
                "give its address instead of its name, such as /ip4/192.0.2.7/tcp/7412/p2p/ID",
            )
            .into());
        }
        Ok(Self {
            id: parsed,
            addresses,
        })
    }
}

fn unknown(text: &str, client: &Client) -> CliError {
    let next = format!(
        "jackfield p2p peers{} lists the registered peers; an address that ends in /p2p/ID needs no registry",
        client.flags()
    );
    CliError::new(ExitKind::Missing, text, next)
}
