//! The id of a peer as an agent of a hub: its name, and the end of its peer id. Pure. The hub assigns the id,
//! the registry checks the scope of a token against it, and the sidecar looks for it at its hub.

use jackfield_model::AgentId;
use libp2p::PeerId;

/// Characters at the end of a peer id that tell its agents from those of other peers: 12 characters of base
/// 58 are some 70 bits.
const SUFFIX: usize = 12;

/// Returns the [`AgentId`] of a peer by its name: the characters that fit into an id, and the end of the peer
/// id.
pub fn agent_id(name: &str, peer: PeerId) -> Option<AgentId> {
    let fits = |it: char| {
        if it.is_ascii_alphanumeric() || it == '_' {
            it.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let mut slug: String = name.chars().map(fits).take(64).collect();
    while slug.contains("--") {
        slug = slug.replace("--", "-");
    }
    let slug = slug.trim_matches(['-', '_']);
    let slug = if slug.is_empty() { "peer" } else { slug };
    with_suffix(slug, peer)
}

/// Returns `name@SUFFIX`, if that is a valid id.
pub fn with_suffix(name: &str, peer: PeerId) -> Option<AgentId> {
    AgentId::parse(&format!("{name}@{}", suffix(peer))).ok()
}

/// Returns the end of a peer id, where ids differ.
fn suffix(peer: PeerId) -> String {
    let text = peer.to_string();
    text[text.len().saturating_sub(SUFFIX)..].to_owned()
}
