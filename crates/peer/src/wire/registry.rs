//! The bodies of the registry's HTTP API, in the shapes of all generations of the original: [`Registration`]
//! and [`Heartbeat`] are requests, [`Entry`] is a registered peer, and [`find`] is the search by goal.
//!
//! Addresses are called `addrs`, `addresses` or `multiaddresses`, skills `capabilities` or `skills`. All
//! names are read, and an entry is written with all names for its addresses. Addresses stay text: the
//! registry parses them.

mod entry;
pub mod find;
mod register;

use jackfield_wire::{
    json,
    p2p::checked_text,
    read::{FieldError, read_part},
};
use serde::Deserialize;
use serde_json::value::RawValue;

pub use self::entry::{Entry, read_peers, write_list, write_one, write_peers};
pub use self::register::{Heartbeat, Proof, RegisteredReply, Registration};
use super::{MAX_ADDRESSES, MAX_NAME, MAX_SKILLS, PeerInputError, multiaddr};

/// Lifetime in seconds of a registration that names none.
pub const DEFAULT_TTL: u64 = 10 * 60;

/// Longest lifetime of a registration in seconds.
pub const MAX_TTL: u64 = 24 * 60 * 60;

/// Fields of a peer in every body, under all names that the generations of the original use.
#[derive(Deserialize)]
struct PeerFields<'a> {
    peer_id: String,
    agent_name: Option<String>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    addresses: Option<Vec<String>>,
    addrs: Option<Vec<String>>,
    multiaddresses: Option<Vec<String>>,
    #[serde(borrow)]
    capabilities: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    skills: Option<Vec<&'a RawValue>>,
}

/// Fields of a peer that all bodies share.
struct Peer {
    peer_id: String,
    agent_name: Option<String>,
    addresses: Vec<String>,
    capabilities: Vec<String>,
}

impl Peer {
    fn read(raw: &RawValue) -> Result<Self, PeerInputError> {
        let fields: PeerFields<'_> = read_part(raw)?;
        let addresses = [
            ("addresses", fields.addresses),
            ("addrs", fields.addrs),
            ("multiaddresses", fields.multiaddresses),
        ];
        let address = |field: &str, text| checked_text(field, text, multiaddr::MAX_ADDRESS);
        let skills = [
            ("capabilities", fields.capabilities),
            ("skills", fields.skills),
        ];
        Ok(Peer {
            peer_id: peer_id(fields.peer_id)?,
            agent_name: agent_name(fields.agent_name, fields.name)?,
            addresses: united(addresses, MAX_ADDRESSES, address)?,
            capabilities: united(skills, MAX_SKILLS, skill)?,
        })
    }
}

/// Checks a peer id.
fn peer_id(id: String) -> Result<String, PeerInputError> {
    match multiaddr::is_peer_id(&id) {
        true => Ok(id),
        false => Err(PeerInputError::in_field("peer_id", "must be a peer id")),
    }
}

/// Reads the name of an agent; a blank name counts as absent.
fn agent_name(
    agent_name: Option<String>,
    name: Option<&RawValue>,
) -> Result<Option<String>, PeerInputError> {
    let (field, name) = match (agent_name, name) {
        (Some(name), _) => ("agent_name", name),
        (None, Some(raw)) => {
            let name = read_part(raw).map_err(|misread: FieldError| misread.within("name"))?;
            ("name", name)
        }
        (None, None) => return Ok(None),
    };
    match name.trim() {
        "" => Ok(None),
        _ => checked_text(field, name, MAX_NAME).map(Some),
    }
}

/// Reads a skill: a word, or an object with an id or a name.
fn skill(field: &str, raw: &RawValue) -> Result<String, PeerInputError> {
    #[derive(Deserialize)]
    struct Skill {
        id: Option<String>,
        name: Option<String>,
    }
    let within = |misread: FieldError| misread.within(field);
    if !json::is_container(raw.get()) {
        return checked_text(field, read_part(raw).map_err(within)?, MAX_NAME);
    }
    let skill: Skill = read_part(raw).map_err(within)?;
    let named = match (skill.id, skill.name) {
        (Some(id), _) => checked_text("id", id, MAX_NAME),
        (None, Some(name)) => checked_text("name", name, MAX_NAME),
        (None, None) => Err(FieldError::missing("id").into()),
    };
    named.map_err(|fault| fault.within(field))
}

/// Merges values that were given under several names, each once.
fn united<T, const N: usize>(
    given: [(&str, Option<Vec<T>>); N],
    max: usize,
    read: impl Fn(&str, T) -> Result<String, PeerInputError>,
) -> Result<Vec<String>, PeerInputError> {
    let first = given[0].0;
    let mut all = Vec::new();
    for (field, items) in given {
        let items = items.unwrap_or_default();
        if items.len() > max {
            return Err(PeerInputError::too_large(max, "entries").within(field));
        }
        for (index, item) in items.into_iter().enumerate() {
            let text = read(&format!("{field}[{index}]"), item)?;
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    if all.len() > max {
        return Err(PeerInputError::too_large(max, "entries").within(first));
    }
    Ok(all)
}

/// Writes a body as JSON.
fn json_of(body: &impl serde::Serialize) -> String {
    // Texts and JSON always serialize.
    serde_json::to_string(body).unwrap_or_default()
}
