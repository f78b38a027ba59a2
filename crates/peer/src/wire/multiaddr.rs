//! Addresses of peers as text: the peer id that they end in, and whether they lead to a public host.

use std::net::IpAddr;

pub use jackfield_wire::p2p::is_peer_id;

/// Longest address in bytes; a relayed one over a secure WebSocket has about 300.
pub const MAX_ADDRESS: usize = 1024;

/// Names of components with a value.
const WITH_VALUE: [&str; 18] = [
    "ip4",
    "ip6",
    "ip6zone",
    "ipcidr",
    "dns",
    "dns4",
    "dns6",
    "dnsaddr",
    "tcp",
    "udp",
    "p2p",
    "ipfs",
    "sni",
    "certhash",
    "http-path",
    "memory",
    "unix",
    "onion3",
];

/// Names of components without a value.
const WITHOUT_VALUE: [&str; 14] = [
    "quic",
    "quic-v1",
    "ws",
    "wss",
    "tls",
    "noise",
    "http",
    "https",
    "webtransport",
    "webrtc",
    "webrtc-direct",
    "p2p-circuit",
    "p2p-webrtc-direct",
    "utp",
];

/// Endings of names that public DNS does not know.
const LOCAL_NAMES: [&str; 8] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "lan",
    "home",
    "home.arpa",
];

/// One component of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part<'a> {
    name: &'a str,
    /// Value; empty if components of this name have none.
    value: &'a str,
}

/// Splits an address into its components; `None` if it is malformed or has an unknown component.
fn parts(address: &str) -> Option<Vec<Part<'_>>> {
    if address.len() > MAX_ADDRESS {
        return None;
    }
    let mut words = address.strip_prefix('/')?.split('/');
    let mut parts = Vec::new();
    while let Some(name) = words.next() {
        let value = if WITH_VALUE.contains(&name) {
            words.next().filter(|value| !value.is_empty())?
        } else if WITHOUT_VALUE.contains(&name) {
            ""
        } else {
            return None;
        };
        parts.push(Part { name, value });
    }
    Some(parts)
}

/// Returns whether any step of an address leads to a place that not everybody can reach: this machine, a
/// private network, an unspecified host, or a name of such a place. Unreadable addresses count as such.
///
/// `is_public` decides for an IP address. Names are not resolved: a dialler must check the addresses behind a
/// name.
pub fn is_wildcard_or_private(address: &str, is_public: impl Fn(IpAddr) -> bool) -> bool {
    let Some(parts) = parts(address) else {
        return true;
    };
    parts.iter().any(|part| match part.name {
        "ip4" => !part.value.parse().is_ok_and(|ip| is_public(IpAddr::V4(ip))),
        "ip6" => !part.value.parse().is_ok_and(|ip| is_public(IpAddr::V6(ip))),
        "dns" | "dns4" | "dns6" | "dnsaddr" => is_local_name(part.value),
        "ip6zone" | "ipcidr" | "memory" | "unix" => true,
        _ => false,
    })
}

/// Returns whether a name means something else in every network, or is an IP address in disguise.
fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let Some((_, last)) = name.rsplit_once('.') else {
        return true;
    };
    // Resolvers read `127.1` and `0x7f.0x1` as addresses; no top-level domain begins with a digit.
    let is_number = last.starts_with(|letter: char| letter.is_ascii_digit()) || last.is_empty();
    let is_local = LOCAL_NAMES.iter().any(|local| {
        let before = name.strip_suffix(local);
        before.is_some_and(|before| before.ends_with('.'))
    });
    is_number || is_local
}
