//! Promises of the registry, below HTTP and over HTTP. This file has the helpers.

mod addresses;
mod finding;
mod http_api;
mod owning;
mod proving;

use jackfield_peer::keys::Keypair;

use super::*;

fn registry() -> Registry {
    Registry::new(RegistryRules::default())
}

/// A peer with its key, which creates registrations.
struct Peer {
    key: Keypair,
    id: PeerId,
}

impl Peer {
    fn new() -> Self {
        let key = Keypair::generate_ed25519();
        let id = key.public().to_peer_id();
        Self { key, id }
    }

    /// A publicly reachable address.
    fn address(&self) -> String {
        format!("/ip4/8.8.8.8/tcp/4001/p2p/{}", self.id)
    }

    fn registration(&self, name: &str, skills: &[&str]) -> Registration {
        Registration {
            peer_id: self.id.to_string(),
            agent_name: Some(name.to_owned()),
            addresses: vec![self.address()],
            capabilities: skills.iter().map(|skill| (*skill).to_owned()).collect(),
            ttl: 600,
            ..Registration::default()
        }
    }
}

fn principal_of(owner: &str) -> Principal {
    Principal::person(Owner::parse(owner).unwrap())
}

fn names(found: &[RegisteredPeer]) -> Vec<&str> {
    found.iter().map(|peer| peer.name.as_str()).collect()
}
