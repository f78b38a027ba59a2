//! Who is meant by PEER: an address, or somebody whom the hub's registry knows by id or name.

use anyhow::Result;
use jackfield_peer::{
    Multiaddr, PeerId,
    address::{AddressError, way_to_peer},
};

use super::registry::{self, Listed, Sought};
use crate::{
    client::Client,
    exit::{Code, Stop},
    output,
};

/// The word for the hub itself, however it is called.
const HUB: &str = "hub";

/// How much of a peer's id is in the ids of its agents on a hub: `weather@wUpT3WyJGkoj`.
const AGENT_END: usize = 12;

/// A peer and the ways to it.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) id: PeerId,
    pub(super) addresses: Vec<Multiaddr>,
}

impl Peer {
    /// Finds whoever is meant.
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
                (Err(why), _) => return Err(Stop::usage(format!("PEER {text:?} {why}")).into()),
            }
        }
        match text.parse() {
            Ok(id) => Self::by_id(id, client).await,
            Err(_) if text == HUB => {
                let own = registry::find_own(&client.connect().await?).await?;
                let next = "start it with enabled = true in [p2p], or name another with --hub URL";
                let none = || Stop::new(Code::Missing, "the hub is reached by no peer", next);
                Self::of(&own.ok_or_else(none)?)
            }
            Err(_) => match text.rsplit_once('@') {
                Some((_, end)) if end.len() == AGENT_END => Self::by_agent(text, end, client).await,
                _ => Self::by_name(text, client).await,
            },
        }
    }

    /// Who is meant, whether there is a way to it or not.
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

    /// The peer of an agent of the hub, whose id ends as that of the peer does.
    async fn by_agent(agent: &str, end: &str, client: &Client) -> Result<Self> {
        let is_it = |listed: &Listed| listed.peer_id().ends_with(end);
        let found = registry::find_first(&client.connect().await?, is_it).await?;
        let text = format!("no peer of agent {agent:?} is registered");
        Self::of(&found.ok_or_else(|| unknown(&text, client))?)
    }

    async fn by_name(name: &str, client: &Client) -> Result<Self> {
        let sought = Sought {
            name: Some(name),
            ..Sought::default()
        };
        let found = registry::find(&client.connect().await?, &sought).await?;
        match found.as_slice() {
            [] => Err(unknown(&format!("no peer called {name:?} is registered"), client).into()),
            [only] => Self::of(only),
            several => {
                // Anybody may take a name.
                let ids: Vec<_> = several
                    .iter()
                    .map(Listed::peer_id)
                    .map(output::clean)
                    .collect();
                Err(Stop::new(
                    Code::Usage,
                    format!("{} peers are called {name:?}", several.len()),
                    format!("say which one by its id: {}", ids.join(", ")),
                )
                .into())
            }
        }
    }

    /// Somebody whom the registry told of. Only addresses that lead to this peer are ever dialled.
    pub(super) fn of(listed: &Listed) -> Result<Self> {
        let id = listed.peer_id();
        let name = output::clean(listed.name());
        let parsed = id
            .parse()
            .map_err(|_| Stop::usage(format!("the registry's id of {name} is none: {id:?}")))?;
        let ways = listed.addresses().into_iter().map(way_to_peer);
        let ways = ways.filter_map(|way| way.ok().filter(|(peer, _)| *peer == parsed));
        let addresses: Vec<_> = ways.map(|(_, address)| address).collect();
        if addresses.is_empty() {
            return Err(Stop::new(
                Code::Missing,
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

fn unknown(text: &str, client: &Client) -> Stop {
    let next = format!(
        "jackfield p2p peers{} shows who is; an address that ends in /p2p/ID needs no registry",
        client.flags()
    );
    Stop::new(Code::Missing, text, next)
}
