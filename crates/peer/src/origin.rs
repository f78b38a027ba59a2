//! The origin of a connection, as far as trust goes. Pure. [`Allowed`](crate::allowed::Allowed) decides by
//! it.

use libp2p::core::ConnectedPoint;

use crate::address::{ip_of, is_relayed};

/// Origin of a connection, the least trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Any other place; also every peer that was dialled from here, since it did not connect by itself.
    Elsewhere,
    /// A program of this machine that connected by itself and directly.
    ThisMachine,
}

impl Origin {
    /// Returns the [`Origin`] of a connection with these ends.
    pub(crate) fn of(ends: &ConnectedPoint) -> Self {
        match ends {
            // The relay may be on this machine, and the peer behind it anywhere.
            _ if ends.is_relayed() || is_relayed(ends.get_remote_address()) => Self::Elsewhere,
            ConnectedPoint::Listener { send_back_addr, .. }
                if ip_of(send_back_addr).is_some_and(|ip| ip.to_canonical().is_loopback()) =>
            {
                Self::ThisMachine
            }
            ConnectedPoint::Listener { .. } | ConnectedPoint::Dialer { .. } => Self::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use libp2p::{
        Multiaddr,
        core::{Endpoint, transport::PortUse},
    };

    use super::*;
    use crate::allowed::Allowed;

    const FRIEND: &str = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";
    const STRANGER: &str = "12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X";

    fn address(text: &str) -> Multiaddr {
        text.parse().unwrap()
    }

    fn came(local: &str, remote: &str) -> ConnectedPoint {
        ConnectedPoint::Listener {
            local_addr: address(local),
            send_back_addr: address(remote),
        }
    }

    fn dialled(remote: &str, role_override: Endpoint) -> ConnectedPoint {
        ConnectedPoint::Dialer {
            address: address(remote),
            role_override,
            port_use: PortUse::Reuse,
        }
    }

    #[test]
    fn a_stranger_may_hand_off_only_if_it_came_by_itself_from_this_machine_and_nobody_was_listed() {
        const HERE: &str = "/ip4/127.0.0.1/tcp/7412";
        let relay = format!("{HERE}/p2p/{FRIEND}/p2p-circuit");
        let relayed = format!("{relay}/p2p/{STRANGER}");
        let bare = format!("/p2p/{STRANGER}");
        let ends = [
            (came(HERE, "/ip4/127.0.0.1/tcp/50000"), true),
            (came(HERE, "/ip4/127.9.9.9/tcp/50000"), true),
            (came("/ip6/::1/tcp/1", "/ip6/::1/tcp/50000"), true),
            (came("/ip6/::/tcp/1", "/ip6/::ffff:127.0.0.1/tcp/2"), true),
            (
                came(
                    "/ip4/127.0.0.1/udp/1/quic-v1",
                    "/ip4/127.0.0.1/udp/2/quic-v1",
                ),
                true,
            ),
            // From a network, even if it came to an address of this machine only.
            (came(HERE, "/ip4/192.0.2.1/tcp/50000"), false),
            (came("/ip4/10.0.0.1/tcp/1", "/ip4/10.0.0.2/tcp/2"), false),
            (came("/ip6/::/tcp/1", "/ip6/2001:db8::1/tcp/2"), false),
            (came("/ip6/::/tcp/1", "/ip6/::ffff:192.0.2.1/tcp/2"), false),
            (came("/ip4/0.0.0.0/tcp/1", "/ip4/0.0.0.0/tcp/2"), false),
            (came("/ip4/0.0.0.0/tcp/1", "/dns4/localhost/tcp/2"), false),
            // Through a relay, be it on this machine.
            (came(&relay, &relayed), false),
            (came(&relay, &bare), false),
            (came(&relay, "/ip4/127.0.0.1/tcp/50000"), false),
            (came(HERE, &relayed), false),
            // Dialled from here.
            (dialled(HERE, Endpoint::Dialer), false),
            (dialled(HERE, Endpoint::Listener), false),
            (dialled("/ip6/::1/tcp/1", Endpoint::Dialer), false),
            (dialled("/ip4/192.0.2.1/tcp/1", Endpoint::Dialer), false),
            (dialled(&relayed, Endpoint::Dialer), false),
        ];
        let listed = Allowed::only(&[FRIEND.to_owned()]).unwrap();
        for (ends, is_here) in ends {
            let origin = Origin::of(&ends);
            let asked =
                |allowed: &Allowed| [FRIEND, STRANGER].map(|peer| allowed.includes(peer, origin));
            assert_eq!(asked(&Allowed::ThisMachine), [is_here; 2], "{ends:?}");
            assert_eq!(asked(&listed), [true, false], "{ends:?}");
            assert_eq!(asked(&Allowed::nobody()), [false; 2], "{ends:?}");
            assert_eq!(asked(&Allowed::Everyone), [true; 2], "{ends:?}");
        }
    }
}
