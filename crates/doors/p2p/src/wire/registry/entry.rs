//! What the registry knows of a peer, and the three shapes in which it tells.

use serde_json::value::RawValue;

use super::{ADDRESSES, addresses, name, peer_id, skills};
use crate::wire::{Fault, Limits};
use jackfield_wire::json::{self, ObjectWriter};
use jackfield_wire::p2p::fields::{self, Fields};

/// The largest list of peers that is read: 1,000 entries of the usual size.
const MAX_PEERS: Limits = Limits {
    max_bytes: 8 * 1024 * 1024,
    max_depth: json::MAX_DEPTH,
};

/// A registered peer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The peer.
    pub peer_id: String,
    /// What it is called.
    pub agent_name: Option<String>,
    /// Where it is.
    pub addresses: Vec<String>,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// Since when it is known, as a time stamp.
    pub registered_at: Option<String>,
    /// Until when, as a time stamp.
    pub expires_at: Option<String>,
}

impl Entry {
    fn from_value(raw: &RawValue) -> Result<Self, Fault> {
        let fields = Fields::of(raw)?;
        let text = |name| -> Result<Option<String>, Fault> {
            Ok(fields.read(name, fields::text)?.map(Into::into))
        };
        // The original's mock wrote numbers here, which tell nobody anything.
        let time = |name| text(name).unwrap_or_default();
        Ok(Entry {
            peer_id: fields.require("peer_id", peer_id)?,
            agent_name: name(&fields)?,
            addresses: addresses(&fields)?,
            capabilities: skills(&fields)?,
            registered_at: time("registered_at"),
            expires_at: time("expires_at"),
        })
    }

    /// Adds the members, the addresses under every name that a reader may look for.
    fn write(&self, object: &mut ObjectWriter<'_>) {
        object
            .maybe_text("agent_name", self.agent_name.as_deref())
            .text("peer_id", &*self.peer_id);
        for name in ADDRESSES {
            object.texts(name, &self.addresses);
        }
        object
            .texts("capabilities", &self.capabilities)
            .maybe_text("registered_at", self.registered_at.as_deref())
            .maybe_text("expires_at", self.expires_at.as_deref());
    }

    fn push_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        self.write(&mut object);
        object.close();
    }
}

/// Reads a list of peers in any of the shapes: `{"peers": […]}`, one entry, or a bare list.
pub fn read_peers(bytes: &[u8]) -> Result<Vec<Entry>, Fault> {
    let raw = fields::value(bytes, &MAX_PEERS)?;
    let list = |raw| fields::list(raw, usize::MAX, Entry::from_value);
    if json::is_array(raw) {
        return list(raw);
    }
    match Fields::of(raw)?.read("peers", list)? {
        Some(peers) => Ok(peers),
        None => Ok(vec![Entry::from_value(raw)?]),
    }
}

/// Writes all peers: `{"peers": […]}`.
pub fn write_peers(peers: &[Entry]) -> String {
    let mut out = String::new();
    let mut object = ObjectWriter::open(&mut out);
    object.list("peers", peers, |out, peer| peer.push_json(out));
    object.close();
    out
}

/// Writes the answer to who looked for one: the first of `peers`, and all of them in `peers` beside it. `None` if there
/// are none.
pub fn write_one(peers: &[Entry]) -> Option<String> {
    let mut out = String::new();
    let mut object = ObjectWriter::open(&mut out);
    peers.first()?.write(&mut object);
    object.list("peers", peers, |out, peer| peer.push_json(out));
    object.close();
    Some(out)
}

/// Writes the bare list.
pub fn write_list(peers: &[Entry]) -> String {
    let mut out = String::new();
    super::push_list(&mut out, peers, Entry::push_json);
    out
}
