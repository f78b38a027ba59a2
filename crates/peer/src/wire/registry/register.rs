//! Registration and renewal of a peer, and the proof that the sender holds the peer's key.

use jackfield_wire::{
    p2p::{checked_text, read_body},
    read::read_part,
};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::value::RawValue;

use super::{DEFAULT_TTL, MAX_TTL, Peer, json_of, peer_id};
use crate::wire::{BodyLimits, PeerCard, PeerInputError};

/// Longest part of a proof in bytes: an RSA key in base64 is the longest that peers have.
const MAX_PROOF: usize = 4096;

/// The body of `POST /register`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Registration {
    /// Name of the agent. The original requires it, its later callers do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// Peer to register.
    pub peer_id: String,
    /// Addresses as text; not checked.
    #[serde(rename = "addrs")]
    pub addresses: Vec<String>,
    /// Skills, by id or name.
    pub capabilities: Vec<String>,
    /// Lifetime in seconds, at most [`MAX_TTL`].
    pub ttl: u64,
    /// Card of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<PeerCard>,
    /// Proof that the peer itself registers.
    #[serde(flatten)]
    pub proof: Option<Proof>,
}

/// The body of `POST /heartbeat`, which extends a registration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Heartbeat {
    /// Registered peer.
    pub peer_id: String,
    /// New lifetime in seconds; `None` keeps the registered one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Proof that the peer itself sends the heartbeat.
    #[serde(flatten)]
    pub proof: Option<Proof>,
}

/// Proof that the sender holds the key of a peer: a signed challenge of the registry. All fields are text as
/// received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// The challenge.
    pub challenge: String,
    /// The signature.
    pub signature: String,
    /// The public key, for peer ids that hold only a hash of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
}

/// The answer of `POST /register`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredReply {
    /// Registered peer.
    pub peer_id: String,
    /// End of the registration, as a time stamp.
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

    /// Writes the body so that registries of the original accept it too.
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
    /// Reads the proof among the fields of a body. An incomplete proof is refused, so that it never passes
    /// for a complete one.
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

impl RegisteredReply {
    /// Reads the answer.
    pub fn read(bytes: &[u8]) -> Result<Self, PeerInputError> {
        #[derive(Deserialize)]
        struct Body {
            peer_id: String,
            expires_at: Option<String>,
        }
        let body: Body = read_body(bytes, &BodyLimits::SMALL)?;
        Ok(RegisteredReply {
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

/// Reads a lifetime: whole seconds from 1. Values above the limit become the limit, which the answer reports.
fn ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(raw) = Option::<&RawValue>::deserialize(deserializer)? else {
        return Ok(None);
    };
    match raw.get().parse::<u64>() {
        Ok(seconds @ 1..) => Ok(Some(seconds.min(MAX_TTL))),
        _ => Err(D::Error::custom("must be a whole number of seconds from 1")),
    }
}
