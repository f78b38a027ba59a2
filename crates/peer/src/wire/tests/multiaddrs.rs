//! Peer id and destination of an address.

use std::net::IpAddr;

use super::multiaddr::{is_peer_id, is_wildcard_or_private};

const PEER: &str = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";
const RSA_PEER: &str = "QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC";

#[test]
fn peer_ids_are_letters_and_digits() {
    for id in [PEER, RSA_PEER, "bafzaajaiaejcay"] {
        assert!(is_peer_id(id));
    }
    for id in ["", "a b", "../x", "a/b", "é", &"x".repeat(129)] {
        assert!(!is_peer_id(id));
    }
}

/// Simplified check for these tests; the real check is in `kit`.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !(ip.is_private() || ip.is_loopback() || ip.is_unspecified()),
        IpAddr::V6(ip) => !(ip.is_loopback() || ip.is_unspecified() || ip.is_unique_local()),
    }
}

#[test]
fn addresses_that_lead_somewhere_private_are_known() {
    for address in [
        "/ip4/0.0.0.0/tcp/4001",
        "/ip4/127.0.0.1/tcp/4001",
        "/ip4/10.0.0.1/tcp/4001",
        "/ip6/::/tcp/4001",
        "/ip6/::1/udp/1/quic-v1",
        "/ip6/fd00::1/tcp/1",
        "/ip6zone/eth0/ip6/2a00::1/tcp/1",
        "/ip4/not-an-ip/tcp/1",
        "/ip4/::1/tcp/1",
        "/ip4/010.0.0.1/tcp/1",
        "/dns4/localhost/tcp/1",
        "/dns/LOCALHOST./tcp/1",
        "/dns/a.localhost/tcp/1",
        "/dns6/printer.local/tcp/1",
        "/dns/db.internal/tcp/1",
        "/dnsaddr/box.home.arpa",
        "/dns/intranet/tcp/1",
        "/dns/127.0.0.1/tcp/1",
        "/dns/127.1/tcp/1",
        "/dns/2130706433/tcp/1",
        "/dns/0x7f.0x1/tcp/1",
        "/dns/a../tcp/1",
        "/unix/tmp",
        "/memory/7",
        "/ip4/10.0.0.1/tcp/1/p2p/Qm1/p2p-circuit/p2p/Qm2",
        "/ip4/8.8.8.8/tcp/1/p2p/Qm1/p2p-circuit/ip4/127.0.0.1/tcp/2/p2p/Qm2",
        "",
        "8.8.8.8",
        "/ip4/8.8.8.8/strange/1",
        "/ip4/8.8.8.8/tcp",
    ] {
        assert!(is_wildcard_or_private(address, is_public), "{address}");
    }
    for address in [
        "/ip4/8.8.8.8/tcp/4001",
        "/ip6/2a00:1450::1/udp/1/quic-v1/p2p/Qm1",
        "/dns4/hub.example.org/tcp/443/wss",
        "/dns/local.example.org./tcp/1",
        "/dns/mylocal.example/tcp/1",
        "/ip4/8.8.8.8/tcp/1/p2p/Qm1/p2p-circuit/p2p/Qm2",
        "/p2p/Qm1/p2p-circuit/p2p/Qm2",
    ] {
        assert!(!is_wildcard_or_private(address, is_public), "{address}");
    }
}
