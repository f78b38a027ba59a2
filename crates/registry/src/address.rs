//! Which addresses of a peer are kept: those that end in the peer's own id, use a supported transport, and
//! lead to a host that others can reach. A peer that listens on all interfaces (`0.0.0.0`, the original's
//! default) gets the address that its request came from.

use std::net::IpAddr;

use jackfield_kit::outbound::is_public;
use jackfield_model::Failure;
use jackfield_peer::{
    Multiaddr, PeerId, address::is_relayed, multiaddr::Protocol,
    wire::multiaddr::is_wildcard_or_private,
};

use super::invalid;

/// Returns the addresses to keep. A malformed address, or one of another peer, is an error; an unusable one
/// is dropped, because peers list every interface. At least one must remain.
pub(super) fn kept(
    given: &[String],
    peer: &PeerId,
    allow_private: bool,
) -> Result<Vec<Multiaddr>, Failure> {
    let mut kept = Vec::new();
    for (index, text) in given.iter().enumerate() {
        let wrong = |problem: &str| invalid(format!("field \"addresses[{index}]\" {problem}"));
        let address: Multiaddr = text.parse().map_err(|_| wrong("is no multiaddr"))?;
        if address.iter().last() != Some(Protocol::P2p(*peer)) {
            return Err(wrong("must end in /p2p/ and the same peer id"));
        }
        if is_dialled(&address)
            && leads_somewhere(&address, allow_private)
            && !kept.contains(&address)
        {
            kept.push(address);
        }
    }
    if kept.is_empty() {
        let text = "field \"addresses\" has none that others can reach: give one that is not of this machine or a \
                    private network, over tcp, quic or a relay";
        return Err(invalid(text));
    }
    Ok(kept)
}

/// Applies [`placed`] to the addresses of a request that came `from` a host.
pub(super) fn place(addresses: &mut [String], from: IpAddr) {
    for text in addresses {
        if let Ok(address) = text.parse() {
            let placed = placed(&address, from);
            if placed != address {
                *text = placed.to_string();
            }
        }
    }
}

/// Replaces an unspecified host by the host that the peer's request came from. Behind a relay that would be
/// the relay's host, so relayed addresses stay.
pub fn placed(address: &Multiaddr, from: IpAddr) -> Multiaddr {
    let host = match (address.iter().next(), from.to_canonical()) {
        (Some(Protocol::Ip4(ip)), IpAddr::V4(from)) if ip.is_unspecified() => from.into(),
        (Some(Protocol::Ip6(ip)), IpAddr::V6(from)) if ip.is_unspecified() => from.into(),
        _ => return address.clone(),
    };
    let placed = address.replace(0, |_| Some(host));
    let placed = placed.filter(|_| !is_relayed(address));
    placed.unwrap_or_else(|| address.clone())
}

/// Returns whether an address uses only supported components: hosts, ports, relays.
fn is_dialled(address: &Multiaddr) -> bool {
    let mut has_transport = false;
    for protocol in address {
        match protocol {
            Protocol::Tcp(_) | Protocol::QuicV1 | Protocol::P2pCircuit => has_transport = true,
            Protocol::Ip4(_)
            | Protocol::Ip6(_)
            | Protocol::Dns(_)
            | Protocol::Dns4(_)
            | Protocol::Dns6(_)
            | Protocol::Udp(_)
            | Protocol::Tls
            | Protocol::Ws(_)
            | Protocol::Wss(_)
            | Protocol::P2p(_) => {}
            _ => return false,
        }
    }
    has_transport
}

/// Returns whether an address leads to a host, and to a public one unless `allow_private`.
fn leads_somewhere(address: &Multiaddr, allow_private: bool) -> bool {
    if allow_private {
        let is_wildcard = |protocol| match protocol {
            Protocol::Ip4(ip) => IpAddr::V4(ip).is_unspecified(),
            Protocol::Ip6(ip) => IpAddr::V6(ip).is_unspecified(),
            _ => false,
        };
        return !address.iter().any(is_wildcard);
    }
    !is_wildcard_or_private(&address.to_string(), is_public)
}
