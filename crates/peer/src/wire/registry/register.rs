//! What a peer or its owner says to be found, to stay so, and how it proves that the peer id is its own.

use jackfield_wire::{
    p2p::{checked_text, read_body},
    read::read_part,
};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;

use super::{DEFAULT_TTL, MAX_TTL, Peer, json_of, peer_id};
use crate::wire::{BodyLimits, PeerCard, PeerInputError};

/// The longest part of a proof: an RSA key in base64 is the longest that peers have.
const MAX_PROOF: usize = 4096;

/// The body of `POST /register`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Registration {
    /// What it is called; the original requires it, its later callers do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The peer that is to be found.
    pub peer_id: String,
    /// Where it is, as text; not checked.
    #[serde(rename = "addrs")]
    pub addresses: Vec<String>,
    /// What it can do, by id or name.
    pub capabilities: Vec<String>,
    /// How long this holds, in seconds, at most [`MAX_TTL`].
    pub ttl: u64,
    /// Its card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<PeerCard>,
    /// That the peer itself says so.
    #[serde(flatten)]
    pub proof: Option<Proof>,
}

/// The body of `POST /heartbeat`: what was registered holds for longer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Heartbeat {
    /// The peer that is still there.
    pub peer_id: String,
    /// How long this holds, in seconds; `None` for as long as it was registered for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// That the peer itself says so.
    #[serde(flatten)]
    pub proof: Option<Proof>,
}

/// That whoever asks holds the key of a peer: a challenge of the registry, signed. All texts, as they were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// What was to be signed.
    pub challenge: String,
    /// The signature.
    pub signature: String,
    /// The key, for peer ids that hold only a hash of it.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    pub fn read(bytes: &[u8]) -> Result<Self, PeerInputError> {
        #[derive(Deserialize)]
        struct Body<'a> {
            #[serde(borrow)]
            card: Option<&'a RawValue>,
            #[serde(default, deserialize_with = "ttl")]
            ttl: Option<u64>,
        }
        let raw: &RawValue = read_body(bytes, &BodyLimits::SMALL)?;
        let peer = Peer::read(raw)?;
        let body: Body<'_> = read_part(raw)?;
        let card = body.card.map(PeerCard::from_value).transpose();
        Ok(Registration {
            agent_name: peer.agent_name,
            peer_id: peer.peer_id,
            addresses: peer.addresses,
            capabilities: peer.capabilities,
            ttl: body.ttl.unwrap_or(DEFAULT_TTL),
            card: card.map_err(|fault| fault.within("card"))?,
            proof: Proof::read(raw)?,
        })
    }

    /// Writes the body, so that registries of the original take it too.
    pub fn to_json(&self) -> String {
        json_of(self)
    }
}

impl Heartbeat {
    /// Reads the body.
    pub fn read(bytes: &[u8]) -> Result<Self, PeerInputError> {
        #[derive(Deserialize)]
        struct Body {
            peer_id: String,
            #[serde(default, deserialize_with = "ttl")]
            ttl: Option<u64>,
        }
        let raw: &RawValue = read_body(bytes, &BodyLimits::SMALL)?;
        let body: Body = read_part(raw)?;
        Ok(Heartbeat {
            peer_id: peer_id(body.peer_id)?,
            ttl: body.ttl,
            proof: Proof::read(raw)?,
        })
    }

    /// Writes the body.
    pub fn to_json(&self) -> String {
        json_of(self)
    }
}

impl Proof {
    /// Reads the proof among the fields of a body. Half a proof is refused, so that nobody takes it for a whole one.
    fn read(raw: &RawValue) -> Result<Option<Self>, PeerInputError> {
        #[derive(Deserialize)]
        struct Body {
            challenge: Option<String>,
            signature: Option<String>,
            public_key: Option<String>,
        }
        let body: Body = read_part(raw)?;
        let part = |field, text: Option<String>| {
            let text = text.map(|text| checked_text(field, text, MAX_PROOF));
            text.transpose()
        };
        let public_key = part("public_key", body.public_key)?;
        let challenge = part("challenge", body.challenge)?;
        match (challenge, part("signature", body.signature)?) {
            (Some(challenge), Some(signature)) => Ok(Some(Proof {
                challenge,
                signature,
                public_key,
            })),
            // A key alone proves nothing and asks for nothing.
            (None, None) => Ok(None),
            (None, Some(_)) => Err(PeerInputError::in_field(
                "challenge",
                "is required beside a signature",
            )),
            (Some(_), None) => Err(PeerInputError::in_field(
                "signature",
                "is required beside a challenge",
            )),
        }
    }
}

impl Registered {
    /// Reads the answer.
    pub fn read(bytes: &[u8]) -> Result<Self, PeerInputError> {
        #[derive(Deserialize)]
        struct Body {
            peer_id: String,
            expires_at: Option<String>,
        }
        let body: Body = read_body(bytes, &BodyLimits::SMALL)?;
        Ok(Registered {
            peer_id: peer_id(body.peer_id)?,
            expires_at: body.expires_at,
        })
    }

    /// Writes the answer.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Body<'a> {
            status: &'static str,
            peer_id: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            expires_at: Option<&'a str>,
        }
        json_of(&Body {
            status: "registered",
            peer_id: &self.peer_id,
            expires_at: self.expires_at.as_deref(),
        })
    }
}

/// A time to live: whole seconds from 1. More than the longest becomes the longest, since the answer says it.
fn ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(raw) = Option::<&RawValue>::deserialize(deserializer)? else {
        return Ok(None);
    };
    match raw.get().parse::<u64>() {
        Ok(seconds @ 1..) => Ok(Some(seconds.min(MAX_TTL))),
        _ => Err(D::Error::custom("must be a whole number of seconds from 1")),
    }
}
