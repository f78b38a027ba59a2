//! The bodies of the registry's HTTP API, in the shapes of all generations of the original: [`Registration`] and
//! [`Heartbeat`] come in, [`Entry`] is what was registered, and [`find`] is the search by goal.
//!
//! Addresses are called `addrs`, `addresses` or `multiaddresses`, skills `capabilities` or `skills`. All are read, and of an
//! entry all of the former are written. Addresses stay text: the door parses them.

mod entry;
pub mod find;
mod register;

use serde_json::value::RawValue;

pub use self::entry::{Entry, read_peers, write_list, write_one, write_peers};
pub use self::register::{Heartbeat, Proof, Registered, Registration};
use super::{Fault, MAX_ADDRESSES, MAX_NAME, MAX_SKILLS, multiaddr};
use jackfield_wire::json;
use jackfield_wire::p2p::fields::{self, Fields};

/// How long a registration lasts that does not say it, in seconds.
pub const DEFAULT_TTL: u64 = 10 * 60;

/// The longest that one lasts, in seconds.
pub const MAX_TTL: u64 = 24 * 60 * 60;

/// How addresses are called.
const ADDRESSES: [&str; 3] = ["addresses", "addrs", "multiaddresses"];

/// How skills are called.
const SKILLS: [&str; 2] = ["capabilities", "skills"];

/// Reads a peer id.
fn peer_id(raw: &RawValue) -> Result<String, Fault> {
    let id = fields::text(raw)?;
    match multiaddr::is_peer_id(&id) {
        true => Ok(id.into_owned()),
        false => Err(Fault::here("must be a peer id")),
    }
}

/// Reads a name that is as good as absent when it is blank.
fn name(fields: &Fields<'_>) -> Result<Option<String>, Fault> {
    let name = fields.any_of(&["agent_name", "name"], |raw| {
        let name = fields::text(raw)?;
        match name.trim() {
            "" => Ok(None),
            _ => fields::word(raw, MAX_NAME).map(Some),
        }
    })?;
    Ok(name.flatten())
}

/// Reads the addresses, however they are called; each once.
fn addresses(fields: &Fields<'_>) -> Result<Vec<String>, Fault> {
    let address = |raw| fields::word(raw, multiaddr::MAX_ADDRESS);
    let given =
        ADDRESSES.map(|name| fields.read(name, |raw| fields::list(raw, MAX_ADDRESSES, address)));
    united(given, ADDRESSES[0], MAX_ADDRESSES)
}

/// Reads the skills, however they are called; each once. They are words, or objects with an id or a name.
fn skills(fields: &Fields<'_>) -> Result<Vec<String>, Fault> {
    let given = SKILLS.map(|name| fields.read(name, |raw| fields::list(raw, MAX_SKILLS, skill)));
    united(given, SKILLS[0], MAX_SKILLS)
}

fn skill(raw: &RawValue) -> Result<String, Fault> {
    if !json::is_container(raw.get()) {
        return fields::word(raw, MAX_NAME);
    }
    let fields = Fields::of(raw)?;
    let word = fields.any_of(&["id", "name"], |raw| fields::word(raw, MAX_NAME))?;
    word.ok_or_else(|| Fault::at("id", fields::REQUIRED))
}

/// What was given under several names, each once.
fn united<const N: usize>(
    given: [Result<Option<Vec<String>>, Fault>; N],
    field: &str,
    max: usize,
) -> Result<Vec<String>, Fault> {
    let mut all = Vec::new();
    for words in given {
        for word in words?.unwrap_or_default() {
            if !all.contains(&word) {
                all.push(word);
            }
        }
    }
    if all.len() > max {
        return Err(Fault::too_large(max, "entries").within(field));
    }
    Ok(all)
}

/// Appends a bare list.
fn push_list<T>(out: &mut String, items: &[T], write: impl Fn(&T, &mut String)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}
