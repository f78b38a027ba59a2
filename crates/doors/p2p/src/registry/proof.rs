//! How a peer proves that it is itself to somebody who has no connection to it: it signs a challenge of the registry's, and
//! what it wants, with its key. The key of an Ed25519 peer is inside its id; others give theirs, and the id is its hash.
//!
//! A challenge is the registry's own word, which it needs not remember: it is for one peer, ends soon, and is used once.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jackfield_model::{Failure, Reason};
use jiff::{SignedDuration, Timestamp};
use libp2p::{
    PeerId,
    identity::{Keypair, PublicKey, SigningError},
};
use parking_lot::Mutex;
use sha2::Sha256;
use uuid::Uuid;

use crate::wire::registry::Proof;

/// How long a challenge can be answered: enough for a slow peer, too short to be found in a log.
const LIFETIME: SignedDuration = SignedDuration::from_secs(120);

/// How many used challenges are remembered until they have ended anyway.
const MAX_USED: usize = 16 * 1024;

/// The code of a multihash that is no hash: the key itself.
const IDENTITY: u64 = 0;

/// What a peer signs: that it wants this, now.
#[derive(Debug, Clone, Copy)]
pub enum Statement<'a> {
    /// To be found under this name at these addresses.
    Register {
        /// The name; empty if the request has none.
        name: &'a str,
        /// The addresses, in the order of the request.
        addresses: &'a [String],
    },
    /// To be found for longer.
    Renew,
    /// To be forgotten.
    Remove,
}

impl Statement<'_> {
    /// The text that is signed: lines, none of which can have a line break in it.
    pub fn text(&self, peer: &PeerId, challenge: &str) -> String {
        let (verb, rest): (_, Vec<&str>) = match self {
            Self::Register { name, addresses } => {
                let addresses = addresses.iter().map(String::as_str);
                ("register", [*name].into_iter().chain(addresses).collect())
            }
            Self::Renew => ("renew", Vec::new()),
            Self::Remove => ("remove", Vec::new()),
        };
        let peer = peer.to_string();
        let mut lines = vec!["jackfield-registry", verb, &peer, challenge];
        lines.extend(rest);
        lines.join("\n")
    }
}

/// The proof of a peer that holds its key.
pub fn sign(
    key: &Keypair,
    challenge: &str,
    statement: &Statement<'_>,
) -> Result<Proof, SigningError> {
    let public = key.public();
    let peer = public.to_peer_id();
    let signature = key.sign(statement.text(&peer, challenge).as_bytes())?;
    let needs_key = key_inside(&peer).is_none();
    Ok(Proof {
        challenge: challenge.to_owned(),
        signature: STANDARD.encode(signature),
        public_key: needs_key.then(|| STANDARD.encode(public.encode_protobuf())),
    })
}

/// The challenges of a registry.
pub(super) struct Challenges {
    key: [u8; 32],
    /// Those that were used, and when they end.
    used: Mutex<HashMap<String, Timestamp>>,
}

impl Challenges {
    pub(super) fn new() -> Self {
        Self {
            key: rand::random(),
            used: Mutex::default(),
        }
    }

    /// A challenge for a peer.
    pub(super) fn issue(&self, peer: &PeerId, now: Timestamp) -> String {
        let ends = (now + LIFETIME).as_second();
        let body = format!("{ends}.{}", Uuid::new_v4().simple());
        let seal = STANDARD.encode(self.seal(peer, &body).finalize().into_bytes());
        format!("{body}.{seal}")
    }

    /// Whether the peer itself says what it is said to say.
    pub(super) fn check(
        &self,
        peer: &PeerId,
        proof: &Proof,
        statement: &Statement<'_>,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let ends = self.ends(peer, &proof.challenge);
        let ends = ends.ok_or_else(|| {
            unproved("the challenge is not one that this registry gave to this peer")
        })?;
        if ends <= now {
            return Err(unproved("the challenge has ended; ask for a new one"));
        }
        let key = match &proof.public_key {
            None => key_inside(peer),
            Some(text) => {
                let bytes = STANDARD.decode(text).ok();
                let key = bytes.and_then(|bytes| PublicKey::try_decode_protobuf(&bytes).ok());
                key.filter(|key| key.to_peer_id() == *peer)
            }
        };
        let key = key.ok_or_else(|| {
            unproved("the key of this peer is needed: give public_key, its protobuf in base64")
        })?;
        let signature = STANDARD.decode(&proof.signature).ok();
        let signature = signature.ok_or_else(|| unproved("the signature is not base64"))?;
        if !key.verify(
            statement.text(peer, &proof.challenge).as_bytes(),
            &signature,
        ) {
            return Err(unproved(
                "the signature is not this peer's, or of something else",
            ));
        }
        self.use_up(&proof.challenge, ends, now)
    }

    /// When a challenge ends, if it is ours and for this peer.
    fn ends(&self, peer: &PeerId, challenge: &str) -> Option<Timestamp> {
        let (body, seal) = challenge.rsplit_once('.')?;
        let seal = STANDARD.decode(seal).ok()?;
        self.seal(peer, body).verify_slice(&seal).ok()?;
        let (ends, _) = body.split_once('.')?;
        Timestamp::from_second(ends.parse().ok()?).ok()
    }

    fn use_up(&self, challenge: &str, ends: Timestamp, now: Timestamp) -> Result<(), Failure> {
        let mut used = self.used.lock();
        used.retain(|_, ends| *ends > now);
        if used.contains_key(challenge) {
            return Err(unproved("the challenge was used before; ask for a new one"));
        }
        if used.len() >= MAX_USED {
            let text = "too many peers register at this moment; try again later";
            return Err(Failure::new(Reason::Busy, text));
        }
        used.insert(challenge.to_owned(), ends);
        Ok(())
    }

    fn seal(&self, peer: &PeerId, body: &str) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.key);
        let mut mac = mac.expect("HMAC takes keys of any length");
        mac.update(peer.to_string().as_bytes());
        mac.update(b"\n");
        mac.update(body.as_bytes());
        mac
    }
}

/// The key is nobody's business.
impl std::fmt::Debug for Challenges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Challenges").finish_non_exhaustive()
    }
}

/// The key that a peer id holds, if it holds one.
fn key_inside(peer: &PeerId) -> Option<PublicKey> {
    let hash = peer.as_ref();
    let is_key = hash.code() == IDENTITY;
    is_key.then(|| PublicKey::try_decode_protobuf(hash.digest()).ok())?
}

fn unproved(text: &'static str) -> Failure {
    Failure::new(Reason::Unauthorized, text)
}
