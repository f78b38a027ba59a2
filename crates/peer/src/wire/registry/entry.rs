//! A registered peer, and the three shapes in which the registry lists peers.

use jackfield_wire::{
    json::{self, MAX_DEPTH},
    p2p::read_body,
    read::read_part,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Peer, json_of};
use crate::wire::{BodyLimits, PeerInputError};

/// Largest list of peers that is read: 1,000 entries of the usual size.
const MAX_PEERS: BodyLimits = BodyLimits {
    max_bytes: 8 * 1024 * 1024,
    max_depth: MAX_DEPTH,
};

/// A registered peer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// Peer id.
    pub peer_id: String,
    /// Name of the agent.
    pub agent_name: Option<String>,
    /// Addresses of the peer.
    pub addresses: Vec<String>,
    /// Skills, by id or name.
    pub capabilities: Vec<String>,
    /// Start of the registration, as a time stamp.
    pub registered_at: Option<String>,
    /// End of the registration, as a time stamp.
    pub expires_at: Option<String>,
}

/// An entry as written: the addresses stand under every name that a reader may look for.
#[derive(Serialize)]
struct EntryFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
    peer_id: &'a str,
    addresses: &'a [String],
    addrs: &'a [String],
    multiaddresses: &'a [String],
    capabilities: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    registered_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<&'a str>,
}

impl Entry {
    fn from_value(raw: &RawValue) -> Result<Self, PeerInputError> {
        /// The original's mock wrote numbers here, which carry no information.
        #[derive(Deserialize)]
        struct Times<'a> {
            #[serde(borrow)]
            registered_at: Option<&'a RawValue>,
            #[serde(borrow)]
            expires_at: Option<&'a RawValue>,
        }
        let peer = Peer::read(raw)?;
        let times: Times<'_> = read_part(raw)?;
        let text = |raw: Option<&RawValue>| read_part(raw?).ok();
        Ok(Entry {
            peer_id: peer.peer_id,
            agent_name: peer.agent_name,
            addresses: peer.addresses,
            capabilities: peer.capabilities,
            registered_at: text(times.registered_at),
            expires_at: text(times.expires_at),
        })
    }

    fn fields(&self) -> EntryFields<'_> {
        EntryFields {
            agent_name: self.agent_name.as_deref(),
            peer_id: &self.peer_id,
            addresses: &self.addresses,
            addrs: &self.addresses,
            multiaddresses: &self.addresses,
            capabilities: &self.capabilities,
            registered_at: self.registered_at.as_deref(),
            expires_at: self.expires_at.as_deref(),
        }
    }
}

/// Reads a list of peers in any of the shapes: `{"peers": […]}`, one entry, or a bare list.
pub fn read_peers(bytes: &[u8]) -> Result<Vec<Entry>, PeerInputError> {
    #[derive(Deserialize)]
    struct Peers<'a> {
        #[serde(borrow)]
        peers: Option<Vec<&'a RawValue>>,
    }
    let raw: &RawValue = read_body(bytes, &MAX_PEERS)?;
    if json::is_array(raw) {
        return read_list(&read_part::<Vec<_>>(raw)?);
    }
    match read_part::<Peers<'_>>(raw)?.peers {
        Some(peers) => read_list(&peers).map_err(|fault| fault.within("peers")),
        None => Ok(vec![Entry::from_value(raw)?]),
    }
}

fn read_list(list: &[&RawValue]) -> Result<Vec<Entry>, PeerInputError> {
    let entries = list.iter().enumerate();
    let entries = entries.map(|(index, raw)| {
        Entry::from_value(raw).map_err(|fault| fault.within(&format!("[{index}]")))
    });
    entries.collect()
}

/// Writes each [`Entry`]: `{"peers": […]}`.
pub fn write_peers(peers: &[Entry]) -> String {
    #[derive(Serialize)]
    struct Peers<'a> {
        peers: Vec<EntryFields<'a>>,
    }
    json_of(&Peers { peers: all(peers) })
}

/// Writes the answer to a search by name: the fields of the first of `peers`, and all of them under `peers`.
/// Returns `None` for an empty list.
pub fn write_one(peers: &[Entry]) -> Option<String> {
    #[derive(Serialize)]
    struct One<'a> {
        #[serde(flatten)]
        first: EntryFields<'a>,
        peers: Vec<EntryFields<'a>>,
    }
    Some(json_of(&One {
        first: peers.first()?.fields(),
        peers: all(peers),
    }))
}

/// Writes the bare list.
pub fn write_list(peers: &[Entry]) -> String {
    json_of(&all(peers))
}

fn all(peers: &[Entry]) -> Vec<EntryFields<'_>> {
    peers.iter().map(Entry::fields).collect()
}
