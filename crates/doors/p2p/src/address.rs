//! Pure functions about multiaddrs: whose they are, by which way they lead, and how the node shows its own.

use std::net::IpAddr;

use libp2p::{Multiaddr, PeerId, multiaddr::Protocol};

/// Reads an address.
pub fn parse(text: &str) -> Result<Multiaddr, libp2p::multiaddr::Error> {
    text.parse()
}

/// The peer that an address leads to: its last component.
pub fn peer_of(address: &Multiaddr) -> Option<PeerId> {
    match address.iter().last() {
        Some(Protocol::P2p(peer)) => Some(peer),
        _ => None,
    }
}

/// Whether an address leads through a relay.
pub fn is_relayed(address: &Multiaddr) -> bool {
    address
        .iter()
        .any(|part| matches!(part, Protocol::P2pCircuit))
}

/// The IP address at which a connection ends: the peer's own, and unknown behind a relay.
pub fn ip_of(address: &Multiaddr) -> Option<IpAddr> {
    if is_relayed(address) {
        return None;
    }
    address.iter().find_map(|part| match part {
        Protocol::Ip4(ip) => Some(ip.into()),
        Protocol::Ip6(ip) => Some(ip.into()),
        _ => None,
    })
}

/// The address with `/p2p/PEER` at its end, whether it had it or not.
pub(crate) fn with_peer(address: Multiaddr, peer: PeerId) -> Multiaddr {
    if peer_of(&address) == Some(peer) {
        address
    } else {
        address.with(Protocol::P2p(peer))
    }
}

/// Sorts addresses as they are to be tried: TCP before QUIC (some peers' QUIC cuts long answers), relays last.
pub(crate) fn sort(addresses: &mut Vec<Multiaddr>) {
    addresses.sort_by_cached_key(|address| {
        let is_quic = address.iter().any(|part| matches!(part, Protocol::QuicV1));
        (is_relayed(address), is_quic, address.to_string())
    });
    addresses.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELAY: &str = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";
    const PEER: &str = "12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X";

    fn address(text: &str) -> Multiaddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_belongs_to_its_last_peer_only() {
        let peer: PeerId = PEER.parse().unwrap();
        let direct = address(&format!("/ip4/192.0.2.1/tcp/1/p2p/{PEER}"));
        let relayed = address(&format!(
            "/ip4/192.0.2.1/tcp/1/p2p/{RELAY}/p2p-circuit/p2p/{PEER}"
        ));
        assert_eq!(peer_of(&direct), Some(peer));
        assert_eq!(peer_of(&relayed), Some(peer));
        assert_eq!(peer_of(&address("/ip4/192.0.2.1/tcp/1")), None);
        assert!(!is_relayed(&direct) && is_relayed(&relayed));
    }

    #[test]
    fn the_address_of_a_relay_is_not_taken_for_the_one_of_the_peer_behind_it() {
        assert_eq!(
            ip_of(&address("/ip6/::1/udp/1/quic-v1")),
            Some("::1".parse().unwrap())
        );
        let relayed = format!("/ip4/192.0.2.1/tcp/1/p2p/{RELAY}/p2p-circuit");
        assert_eq!(ip_of(&address(&relayed)), None);
    }

    #[test]
    fn addresses_are_shown_tcp_first_then_quic_then_relayed_each_once() {
        let relayed = format!("/ip4/127.0.0.1/tcp/1/p2p/{RELAY}/p2p-circuit");
        let mut all: Vec<_> = [
            &relayed,
            "/ip4/127.0.0.1/udp/2/quic-v1",
            "/ip4/127.0.0.1/tcp/2",
            "/ip4/127.0.0.1/tcp/2",
        ]
        .map(address)
        .into();
        sort(&mut all);
        let shown: Vec<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "/ip4/127.0.0.1/tcp/2",
                "/ip4/127.0.0.1/udp/2/quic-v1",
                &relayed
            ]
        );
    }

    #[test]
    fn the_own_name_is_added_once() {
        let peer: PeerId = PEER.parse().unwrap();
        let bare = address("/ip4/127.0.0.1/tcp/2");
        let named = with_peer(bare, peer);
        assert_eq!(
            named.to_string(),
            format!("/ip4/127.0.0.1/tcp/2/p2p/{PEER}")
        );
        assert_eq!(with_peer(named.clone(), peer), named);
    }
}
