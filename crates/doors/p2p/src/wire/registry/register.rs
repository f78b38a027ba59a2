//! What a peer or its owner says to be found, to stay so, and how it proves that the peer id is its own.

use serde_json::value::RawValue;

use super::{DEFAULT_TTL, MAX_TTL, addresses, name, peer_id, skills};
use crate::wire::{Card, Fault, Limits};
use jackfield_wire::json::ObjectWriter;
use jackfield_wire::p2p::fields::{self, Fields};

/// The longest part of a proof: an RSA key in base64 is the longest that peers have.
const MAX_PROOF: usize = 4096;

/// The body of `POST /register`.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    /// The peer that is to be found.
    pub peer_id: String,
    /// What it is called; the original requires it, its later callers do not.
    pub agent_name: Option<String>,
    /// Where it is, as text; not checked.
    pub addresses: Vec<String>,
    /// What it can do, by id or name.
    pub capabilities: Vec<String>,
    /// Its card.
    pub card: Option<Card>,
    /// How long this holds, in seconds, at most [`MAX_TTL`].
    pub ttl: u64,
    /// That the peer itself says so.
    pub proof: Option<Proof>,
}

/// The body of `POST /heartbeat`: what was registered holds for longer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heartbeat {
    /// The peer that is still there.
    pub peer_id: String,
    /// How long this holds, in seconds; `None` for as long as it was registered for.
    pub ttl: Option<u64>,
    /// That the peer itself says so.
    pub proof: Option<Proof>,
}

/// That whoever asks holds the key of a peer: a challenge of the registry, signed. All texts, as they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// What was to be signed.
    pub challenge: String,
    /// The signature.
    pub signature: String,
    /// The key, for peer ids that hold only a hash of it.
    pub public_key: Option<String>,
}

/// The answer of `POST /register`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The peer that can be found now.
    pub peer_id: String,
    /// Until when, as a time stamp.
    pub expires_at: Option<String>,
}

impl Registration {
    /// Reads the body.
    pub fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let fields = Fields::of(fields::value(bytes, &Limits::SMALL)?)?;
        Ok(Registration {
            peer_id: fields.require("peer_id", peer_id)?,
            agent_name: name(&fields)?,
            addresses: addresses(&fields)?,
            capabilities: skills(&fields)?,
            card: fields.read("card", Card::from_value)?,
            ttl: fields.read("ttl", ttl)?.unwrap_or(DEFAULT_TTL),
            proof: Proof::read(&fields)?,
        })
    }

    /// Writes the body, so that registries of the original take it too.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        let mut object = ObjectWriter::open(&mut out);
        object
            .maybe_text("agent_name", self.agent_name.as_deref())
            .text("peer_id", &*self.peer_id)
            .texts("addrs", &self.addresses)
            .texts("capabilities", &self.capabilities)
            .number("ttl", self.ttl);
        if let Some(card) = &self.card {
            let card = RawValue::from_string(card.to_json());
            object.maybe_raw("card", card.ok().as_deref());
        }
        Proof::write(self.proof.as_ref(), &mut object);
        object.close();
        out
    }
}

impl Heartbeat {
    /// Reads the body.
    pub fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let fields = Fields::of(fields::value(bytes, &Limits::SMALL)?)?;
        Ok(Heartbeat {
            peer_id: fields.require("peer_id", peer_id)?,
            ttl: fields.read("ttl", ttl)?,
            proof: Proof::read(&fields)?,
        })
    }

    /// Writes the body.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        let mut object = ObjectWriter::open(&mut out);
        object
            .text("peer_id", &*self.peer_id)
            .maybe_number("ttl", self.ttl);
        Proof::write(self.proof.as_ref(), &mut object);
        object.close();
        out
    }
}

impl Proof {
    /// Reads the proof among the fields of a body. Half a proof is refused, so that nobody takes it for a whole one.
    fn read(fields: &Fields<'_>) -> Result<Option<Self>, Fault> {
        let word = |name| fields.read(name, |raw| fields::word(raw, MAX_PROOF));
        let (challenge, signature) = (word("challenge")?, word("signature")?);
        let public_key = word("public_key")?;
        match (challenge, signature) {
            (Some(challenge), Some(signature)) => Ok(Some(Proof {
                challenge,
                signature,
                public_key,
            })),
            // A key alone proves nothing and asks for nothing.
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Fault::at("challenge", "is required beside a signature")),
            (Some(_), None) => Err(Fault::at("signature", "is required beside a challenge")),
        }
    }

    fn write(proof: Option<&Self>, object: &mut ObjectWriter<'_>) {
        if let Some(proof) = proof {
            object
                .text("challenge", &*proof.challenge)
                .text("signature", &*proof.signature)
                .maybe_text("public_key", proof.public_key.as_deref());
        }
    }
}

impl Registered {
    /// Reads the answer.
    pub fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let fields = Fields::of(fields::value(bytes, &Limits::SMALL)?)?;
        let expires_at = fields.read("expires_at", fields::text)?;
        Ok(Registered {
            peer_id: fields.require("peer_id", peer_id)?,
            expires_at: expires_at.map(Into::into),
        })
    }

    /// Writes the answer.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        let mut object = ObjectWriter::open(&mut out);
        object
            .text("status", "registered")
            .text("peer_id", &*self.peer_id)
            .maybe_text("expires_at", self.expires_at.as_deref());
        object.close();
        out
    }
}

/// Reads a time to live: whole seconds from 1. More than the longest becomes the longest, since the answer says it.
fn ttl(raw: &RawValue) -> Result<u64, Fault> {
    match fields::number::<u64>(raw) {
        Ok(seconds @ 1..) => Ok(seconds.min(MAX_TTL)),
        _ => Err(Fault::here("must be a whole number of seconds from 1")),
    }
}
