//! Challenges of the registry, and the check of their signatures. A challenge is sealed with a key of the
//! registry, so the registry stores none: each is valid for one peer, for a short time, and once.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jackfield_model::{Failure, Reason};
use jackfield_peer::{
    PeerId,
    keys::PublicKey,
    proof::{Statement, key_inside},
    wire::registry::Proof,
};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use sha2::Sha256;
use uuid::Uuid;

/// Lifetime of a challenge: enough for a slow peer, too short for a copy from a log.
const LIFETIME: SignedDuration = SignedDuration::from_secs(120);

/// Most used challenges that are remembered until they expire.
const MAX_USED: usize = 16 * 1024;

/// Issuer of challenges.
pub(super) struct Challenges {
    key: [u8; 32],
    /// Used challenges with their end.
    used: Mutex<HashMap<String, Timestamp>>,
}

impl Challenges {
    pub(super) fn new() -> Self {
        Self {
            key: rand::random(),
            used: Mutex::default(),
        }
    }

    /// Issues a challenge for a peer.
    pub(super) fn issue(&self, peer: &PeerId, now: Timestamp) -> String {
        let ends = (now + LIFETIME).as_second();
        let body = format!("{ends}.{}", Uuid::new_v4().simple());
        let seal = STANDARD.encode(self.seal(peer, &body).finalize().into_bytes());
        format!("{body}.{seal}")
    }

    /// Checks that the peer signed the [`Statement`].
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

    /// Returns the end of a challenge, if this registry issued it for this peer.
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

/// Hides the key.
impl std::fmt::Debug for Challenges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Challenges").finish_non_exhaustive()
    }
}

fn unproved(text: &'static str) -> Failure {
    Failure::new(Reason::Unauthorized, text)
}
