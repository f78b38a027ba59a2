//! How a peer proves its identity to a registry that it has no libp2p connection with: the peer signs a challenge of the
//! registry, together with the [`Statement`] that it makes. The key of an Ed25519 peer is inside its id; other peers send
//! their key, and their id is the hash of the key. The sidecar signs, the registry checks.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use libp2p::{
    PeerId,
    identity::{Keypair, PublicKey, SigningError},
};

use crate::wire::registry::Proof;

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

/// The key that a peer id holds, if it holds one.
pub fn key_inside(peer: &PeerId) -> Option<PublicKey> {
    let hash = peer.as_ref();
    let is_key = hash.code() == IDENTITY;
    is_key.then(|| PublicKey::try_decode_protobuf(hash.digest()).ok())?
}
