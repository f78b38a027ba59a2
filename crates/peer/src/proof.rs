//! How a peer proves its identity to a registry that it has no libp2p connection with: the peer signs a challenge of the
//! registry, together with the [`Statement`] that it makes. The key of an Ed25519 peer is inside its id; other peers send
//! their key, and their id is the hash of the key. The sidecar signs, the registry checks.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use libp2p::{
    PeerId,
    identity::{Keypair, PublicKey, SigningError},
};

use crate::wire::registry::Proof;

/// Code of an identity multihash, which holds the key itself instead of a hash.
const IDENTITY: u64 = 0;

/// The statement that a peer signs for a registry.
#[derive(Debug, Clone, Copy)]
pub enum Statement<'a> {
    /// Registers a name and addresses.
    Register {
        /// Name; empty if the request has none.
        name: &'a str,
        /// Addresses in the order of the request.
        addresses: &'a [String],
    },
    /// Extends the registration.
    Renew,
    /// Removes the registration.
    Remove,
}

impl Statement<'_> {
    /// Returns the signed text: lines, none of which can contain a line break.
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

/// Signs a [`Statement`] with the peer's key.
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

/// Returns the public key inside a peer id, if the id holds one.
pub fn key_inside(peer: &PeerId) -> Option<PublicKey> {
    let hash = peer.as_ref();
    let is_key = hash.code() == IDENTITY;
    is_key.then(|| PublicKey::try_decode_protobuf(hash.digest()).ok())?
}
