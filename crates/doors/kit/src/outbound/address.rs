//! Classification of public addresses. A pure function, so that tests cover the whole table.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether any host on the Internet could reach the address. Excludes this machine, private networks,
/// reserved ranges, and IPv6 addresses that embed a non-public IPv4 address.
pub fn is_public(addr: IpAddr) -> bool {
    match addr {
        IpAddr::V4(addr) => is_public_v4(addr),
        IpAddr::V6(addr) => is_public_v6(addr),
    }
}

fn is_public_v4(addr: Ipv4Addr) -> bool {
    let [a, b, c, _] = addr.octets();
    let is_special = match (a, b, c) {
        // This network, private, loopback, shared by carriers, link-local.
        (0 | 10 | 127, ..) | (100, 64..=127, _) | (169, 254, _) => true,
        (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments, documentation, the old 6to4 relays, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18..=19, _) | (198, 51, 100) | (203, 0, 113) => {
            true
        }
        // Multicast, reserved, broadcast.
        (224..=255, ..) => true,
        _ => false,
    };
    !is_special
}

fn is_public_v6(addr: Ipv6Addr) -> bool {
    if let Some(inside) = embedded_v4(addr) {
        return is_public_v4(inside);
    }
    let [a, b, ..] = addr.segments();
    // Only 2000::/3 is assigned; the rest is loopback, unspecified, unique local, link-local, multicast or
    // reserved.
    let is_global = a & 0xe000 == 0x2000;
    let is_special = match (a, b) {
        // Protocol assignments with Teredo, ORCHID and benchmarks; documentation, twice.
        (0x2001, 0x0000..=0x01ff) | (0x2001, 0x0db8) | (0x3fff, 0x0000..=0x0fff) => true,
        _ => false,
    };
    is_global && !is_special
}

/// Returns the IPv4 address embedded in an IPv6 address: mapped, compatible, NAT64 (also local) or 6to4.
fn embedded_v4(addr: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = addr.segments();
    let low = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match segments {
        // `::` and `::1` match too: they hold no IPv4 address, but are not public either way.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, end] => Some(low(high, end)),
        [0, 0, 0, 0, 0xffff, 0, high, end] => Some(low(high, end)),
        [0x64, 0xff9b, 0 | 1, _, _, _, high, end] => Some(low(high, end)),
        [0x2002, high, end, ..] => Some(low(high, end)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_out_in_the_open_are_public() {
        for (addr, expected) in [
            ("1.1.1.1", true),
            ("8.8.8.8", true),
            ("100.63.255.255", true),
            ("100.128.0.1", true),
            ("172.15.255.255", true),
            ("172.32.0.1", true),
            ("192.0.1.1", true),
            ("198.17.255.255", true),
            ("198.20.0.1", true),
            ("223.255.255.255", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.0.1", false),
            ("198.18.0.1", false),
            ("198.19.255.255", false),
            ("198.51.100.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("239.255.255.255", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:4700:4700::1111", true),
            ("2a00:1450:4001::1", true),
            ("2001:4860:4860::8888", true),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::ffff:0:127.0.0.1", false),
            ("::127.0.0.1", false),
            ("64:ff9b::127.0.0.1", false),
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b:1::10.0.0.1", false),
            ("2002:7f00:1::", false),
            ("2002:808:808::", true),
            ("2001::1", false),
            ("2001:2::1", false),
            ("2001:10::1", false),
            ("2001:db8::1", false),
            ("3fff::1", false),
            ("100::1", false),
            ("fc00::1", false),
            ("fdff:ffff::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
            ("4000::1", false),
        ] {
            let parsed: IpAddr = addr.parse().unwrap();
            assert_eq!(is_public(parsed), expected, "{addr}");
        }
    }
}
