//! Pure functions about multiaddrs: the peer that an address leads to, its transport, and the order in which
//! addresses are tried. Nothing here dials.

use std::net::IpAddr;

use libp2p::{Multiaddr, PeerId, multiaddr::Protocol};

/// Parses a [`Multiaddr`].
pub fn parse(text: &str) -> Result<Multiaddr, libp2p::multiaddr::Error> {
    text.parse()
}

/// Longest accepted address in bytes: two host names and two peer ids.
const LONGEST: usize = 1024;
/// Example of an address by which a peer can be dialled.
const EXAMPLE: &str = "/ip4/192.0.2.7/tcp/7412/p2p/12D3KooW…";

/// Why a peer cannot be dialled by an address. Each text continues a sentence that names the wrong field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The address is too long.
    #[error("is longer than {LONGEST} characters")]
    TooLong,
    /// The address is a URL.
    #[error("is a URL; peers have multiaddrs, such as {EXAMPLE}")]
    Url,
    /// The address is not a multiaddr.
    #[error("is no multiaddr: {0}; write it like {EXAMPLE}")]
    NoMultiaddr(String),
    /// The address does not end in a peer id.
    #[error("must end in /p2p/ and the id of the peer, such as {EXAMPLE}")]
    NoPeer,
    /// The address has an unspecified host or port 0.
    #[error(
        "leads nowhere: give an address and a port at which the peer is reached, such as {EXAMPLE}"
    )]
    Nowhere,
    /// No transport of the node can dial the address.
    #[error(
        "goes by a way that is not dialled here; give one by tcp, by udp and quic-v1, or through a relay that is reached so"
    )]
    NotDialled,
}

/// Parses a [`Multiaddr`] by which a peer can be dialled: a host, TCP or QUIC, optionally a relay, and the peer id
/// at the end.
pub fn way_to_peer(text: &str) -> Result<(PeerId, Multiaddr), AddressError> {
    if text.len() > LONGEST {
        return Err(AddressError::TooLong);
    }
    if text.contains("://") {
        return Err(AddressError::Url);
    }
    let address = parse(text).map_err(|error| AddressError::NoMultiaddr(error.to_string()))?;
    let peer = peer_of(&address).ok_or(AddressError::NoPeer)?;
    let parts: Vec<_> = address.iter().collect();
    let named = match parts.as_slice() {
        [Protocol::Dnsaddr(_), named @ ..] => named,
        [host, Protocol::Tcp(port), named @ ..]
        | [host, Protocol::Udp(port), Protocol::QuicV1, named @ ..] => {
            let is_somewhere = match host {
                Protocol::Ip4(ip) => !ip.is_unspecified(),
                Protocol::Ip6(ip) => !ip.is_unspecified(),
                Protocol::Dns(_) | Protocol::Dns4(_) | Protocol::Dns6(_) => true,
                _ => return Err(AddressError::NotDialled),
            };
            if !is_somewhere || *port == 0 {
                return Err(AddressError::Nowhere);
            }
            named
        }
        _ => return Err(AddressError::NotDialled),
    };
    match named {
        [Protocol::P2p(_)] | [Protocol::P2p(_), Protocol::P2pCircuit, Protocol::P2p(_)] => {
            Ok((peer, address))
        }
        _ => Err(AddressError::NotDialled),
    }
}

/// Returns the [`PeerId`] that an address leads to: its last component.
pub fn peer_of(address: &Multiaddr) -> Option<PeerId> {
    match address.iter().last() {
        Some(Protocol::P2p(peer)) => Some(peer),
        _ => None,
    }
}

/// Returns whether an address leads through a relay.
pub fn is_relayed(address: &Multiaddr) -> bool {
    address
        .iter()
        .any(|part| matches!(part, Protocol::P2pCircuit))
}

/// Returns the IP address at which a connection ends. Behind a relay the peer's own address is unknown.
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

/// Returns the address with `/p2p/PEER` at its end, appended if missing.
pub(crate) fn with_peer(address: Multiaddr, peer: PeerId) -> Multiaddr {
    if peer_of(&address) == Some(peer) {
        address
    } else {
        address.with(Protocol::P2p(peer))
    }
}

/// Sorts addresses in the order of attempts: TCP before QUIC (the QUIC of some peers cuts long answers),
/// relays last.
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
    fn a_way_to_a_peer_is_a_host_a_transport_and_the_peer() {
        for way in [
            format!("/ip4/192.0.2.1/tcp/1/p2p/{PEER}"),
            format!("/ip6/2001:db8::1/udp/1/quic-v1/p2p/{PEER}"),
            format!("/dns4/a.example/tcp/1/p2p/{PEER}"),
            format!("/dnsaddr/a.example/p2p/{PEER}"),
            format!("/dns/a.example/udp/1/quic-v1/p2p/{RELAY}/p2p-circuit/p2p/{PEER}"),
        ] {
            let (peer, address) = way_to_peer(&way).unwrap();
            assert_eq!((peer.to_string(), address.to_string()), (PEER.into(), way));
        }
        for (way, why) in [
            (
                format!("/ip4/0.0.0.0/tcp/1/p2p/{PEER}"),
                AddressError::Nowhere,
            ),
            (format!("/ip6/::/tcp/1/p2p/{PEER}"), AddressError::Nowhere),
            (
                format!("/ip4/192.0.2.1/tcp/0/p2p/{PEER}"),
                AddressError::Nowhere,
            ),
            ("/ip4/192.0.2.1/tcp/1".into(), AddressError::NoPeer),
            (
                format!("/ip4/192.0.2.1/tcp/1/p2p/{RELAY}/p2p-circuit"),
                AddressError::NoPeer,
            ),
            (format!("/p2p/{PEER}"), AddressError::NotDialled),
            (
                format!("/p2p/{RELAY}/p2p-circuit/p2p/{PEER}"),
                AddressError::NotDialled,
            ),
            (
                format!("/ip4/192.0.2.1/tcp/1/ws/p2p/{PEER}"),
                AddressError::NotDialled,
            ),
            (
                format!("/ip4/192.0.2.1/udp/1/p2p/{PEER}"),
                AddressError::NotDialled,
            ),
            (format!("/unix/a/p2p/{PEER}"), AddressError::NotDialled),
            (format!("http://a.example/p2p/{PEER}"), AddressError::Url),
            (
                format!("/dns/{}/tcp/1/p2p/{PEER}", "a".repeat(1024)),
                AddressError::TooLong,
            ),
        ] {
            assert_eq!(way_to_peer(&way), Err(why), "{way}");
        }
        for way in ["", "hello", "/ip4/1/tcp/1", "/ip4/192.0.2.1/tcp/1/p2p/me"] {
            let refused = way_to_peer(way).unwrap_err();
            assert!(
                matches!(refused, AddressError::NoMultiaddr(_) | AddressError::NoPeer),
                "{way}: {refused}"
            );
        }
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
