//! STUN client (RFC 8489): asks servers for the public addresses of our sockets, with a request without
//! attributes that is sent a few times. str0m's STUN parser expects signed messages of peers; servers do not
//! sign.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::Instant;
use uuid::Uuid;

use super::sockets::{PacketArrival, UdpSockets};

/// Most servers that are asked.
const MOST_SERVERS: usize = 4;
/// Transmissions of a request; the wait doubles each time.
const SENDS: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// Default port of a server.
const PORT: u16 = 3478;
/// Message and attribute types in use.
const REQUEST: [u8; 2] = [0x00, 0x01];
const SUCCESS: [u8; 2] = [0x01, 0x01];
const XOR_MAPPED_ADDRESS: [u8; 2] = [0x00, 0x20];
/// Magic cookie of every message.
const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// Length of the header: type, length, cookie, id.
const HEADER: usize = 20;

/// Pending requests.
#[derive(Debug, Default)]
pub(super) struct StunRequests {
    open: Vec<StunRequest>,
}

#[derive(Debug)]
struct StunRequest {
    server: SocketAddr,
    local: SocketAddr,
    id: [u8; 12],
    sends: u32,
    due: Instant,
}

impl StunRequests {
    /// Asks a server about each local address that can reach it.
    pub(super) fn ask(&mut self, server: SocketAddr, sockets: &UdpSockets) {
        let suits = |local: &SocketAddr| {
            local.is_ipv4() == server.is_ipv4()
                && local.ip().is_loopback() == server.ip().is_loopback()
        };
        self.open
            .extend(sockets.addresses().filter(suits).map(|local| StunRequest {
                server,
                local,
                id: new_id(),
                sends: 0,
                due: Instant::now(),
            }));
    }

    /// Returns when the next transmission is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.open.iter().map(|question| question.due).min()
    }

    /// Sends due requests, and drops those sent often enough.
    pub(super) fn send_due(&mut self, sockets: &UdpSockets) {
        let now = Instant::now();
        self.open
            .retain(|question| question.due > now || question.sends < SENDS);
        for question in self.open.iter_mut().filter(|question| question.due <= now) {
            let packet = request(question.id);
            sockets.try_send(question.local, question.server, &packet);
            question.due = now + FIRST_WAIT * 2_u32.pow(question.sends);
            question.sends += 1;
        }
    }

    /// Returns our address as seen by the server, if the packet answers a pending request.
    pub(super) fn answered(&mut self, arrival: PacketArrival, packet: &[u8]) -> Option<SocketAddr> {
        let id = packet.get(8..HEADER)?;
        let index = self.open.iter().position(|question| {
            question.id == id
                && question.server == arrival.source
                && question.local == arrival.local
        })?;
        self.open.swap_remove(index);
        mapped_address(packet)
    }
}

fn new_id() -> [u8; 12] {
    let mut id = [0; 12];
    id.copy_from_slice(&Uuid::new_v4().as_bytes()[..12]);
    id
}

fn request(id: [u8; 12]) -> Vec<u8> {
    [&REQUEST[..], &[0, 0], &COOKIE, &id].concat()
}

/// Parses the address in a success response.
fn mapped_address(packet: &[u8]) -> Option<SocketAddr> {
    if packet.len() < HEADER || !packet.starts_with(&SUCCESS) || packet[4..8] != COOKIE {
        return None;
    }
    // The address is XORed with cookie and id, so that no middlebox rewrites it.
    let mask = &packet[4..HEADER];
    let mut rest = &packet[HEADER..];
    while let [kind_1, kind_2, len_1, len_2, tail @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*len_1, *len_2]));
        let value = tail.get(..len)?;
        if [*kind_1, *kind_2] == XOR_MAPPED_ADDRESS {
            let (head, bytes) = value.split_at_checked(4)?;
            let port = [head[2] ^ mask[0], head[3] ^ mask[1]];
            let bytes = bytes.iter().zip(mask).map(|(byte, mask)| byte ^ mask);
            let bytes: Vec<_> = bytes.collect();
            let address = match head[1] {
                1 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
                2 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
                _ => return None,
            };
            return Some(SocketAddr::new(address, u16::from_be_bytes(port)));
        }
        rest = tail.get(len.next_multiple_of(4)..)?;
    }
    None
}

/// Returns host and port of each `stun:` URL.
pub(super) fn servers(urls: &[String]) -> Vec<(String, u16)> {
    urls.iter()
        .filter_map(|url| server(url))
        .take(MOST_SERVERS)
        .collect()
}

fn server(url: &str) -> Option<(String, u16)> {
    // STUN over TCP reveals nothing about UDP sockets.
    let (address, transport) = url
        .strip_prefix("stun:")?
        .split_once('?')
        .unwrap_or((&url["stun:".len()..], "transport=udp"));
    if transport != "transport=udp" || address.is_empty() {
        return None;
    }
    let (host, port) = match address.rsplit_once(':') {
        // A colon in brackets belongs to the address.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (address, PORT),
    };
    let host = host.trim_matches(['[', ']']);
    Some((host.to_owned(), port))
}

/// Resolves a server's name; empty if unknown.
pub(super) async fn resolve(host: String, port: u16) -> Vec<SocketAddr> {
    match lookup_host((host.as_str(), port)).await {
        // One address per family is enough.
        Ok(found) => {
            let found: Vec<_> = found.collect();
            let four = found.iter().find(|address| address.is_ipv4());
            let six = found.iter().find(|address| address.is_ipv6());
            four.into_iter().chain(six).copied().collect()
        }
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(attributes: &[u8]) -> Vec<u8> {
        [&[1, 1, 0, 0][..], &COOKIE, &[7; 12], attributes].concat()
    }

    #[test]
    fn the_address_is_read_whatever_comes_before_it() {
        let software = [0x80, 0x22, 0, 3, b'a', b'b', b'c', 0];
        let four = [
            0,
            0x20,
            0,
            8,
            0,
            1,
            0x21 ^ 0x13,
            0x12 ^ 0x88,
            0xe1,
            0x12,
            0xa6,
            0x4b,
        ];
        let found = mapped_address(&answer(&[&software[..], &four].concat()));
        assert_eq!(found, Some("192.0.2.9:5000".parse().unwrap()));

        // ::1, XORed with the cookie and an id of sevens.
        let six = [
            &[0, 0x20, 0, 20, 0, 2, 0x21, 0x12][..],
            &COOKIE,
            &[7; 11],
            &[6],
        ]
        .concat();
        let found = mapped_address(&answer(&six));
        assert_eq!(found, Some("[::1]:0".parse().unwrap()));
    }

    #[test]
    fn an_answer_that_is_cut_anywhere_is_nothing() {
        let whole = answer(&[0, 0x20, 0, 8, 0, 1, 1, 1, 1, 1, 1, 1]);
        assert!(mapped_address(&whole).is_some());
        for len in 0..whole.len() {
            assert_eq!(mapped_address(&whole[..len]), None, "{len}");
        }
        let short = answer(&[0, 0x20, 0, 2, 0, 1, 0, 0]);
        assert_eq!(mapped_address(&short), None);
    }

    #[test]
    fn only_stun_over_udp_is_asked() {
        let server = |url: &str| server(url).map(|(host, port)| format!("{host} {port}"));
        assert_eq!(server("stun:a.example").as_deref(), Some("a.example 3478"));
        assert_eq!(
            server("stun:a.example:19302").as_deref(),
            Some("a.example 19302")
        );
        assert_eq!(
            server("stun:[2001:db8::1]:9").as_deref(),
            Some("2001:db8::1 9")
        );
        assert_eq!(
            server("stun:[2001:db8::1]").as_deref(),
            Some("2001:db8::1 3478")
        );
        assert_eq!(
            server("stun:192.0.2.1?transport=udp").as_deref(),
            Some("192.0.2.1 3478")
        );
        for other in [
            "stun:",
            "stun:a:x",
            "stun:a?transport=tcp",
            "turn:a",
            "turns:a",
            "stuns:a",
            "a",
            "",
        ] {
            assert_eq!(server(other), None, "{other}");
        }
    }
}
