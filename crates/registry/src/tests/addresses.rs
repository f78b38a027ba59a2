//! Accepted and dropped addresses.

use super::*;

fn kept(allow_private: bool, peer: &Peer, addresses: &[String]) -> Result<Vec<String>, Failure> {
    let registry = Registry::new(RegistryRules { allow_private });
    let registration = Registration {
        addresses: addresses.to_vec(),
        ..peer.registration("a", &[])
    };
    let registered = registry.register(&registration, Claimant::Peer)?;
    Ok(registered.entry().addresses)
}

#[test]
fn an_address_must_lead_to_the_peer_itself() {
    let (peer, other) = (Peer::new(), Peer::new());
    for bad in [
        "/ip4/8.8.8.8/tcp/4001".to_owned(),
        other.address(),
        format!("/ip4/8.8.8.8/tcp/4001/p2p/{}/p2p-circuit", peer.id),
        format!(
            "/ip4/8.8.8.8/tcp/4001/p2p/{}/p2p-circuit/p2p/{}",
            peer.id, other.id
        ),
        "http://evil.example".to_owned(),
        "/ip4/8.8.8.8/tcp/99999999/p2p/x".to_owned(),
        format!("/ip4/8.8.8.8/tcp/4001/p2p/{}\n", peer.id),
    ] {
        let refused = kept(true, &peer, &[peer.address(), bad.clone()]).unwrap_err();
        assert_eq!(refused.reason, Reason::Invalid, "{bad}");
        assert!(refused.text.contains("addresses[1]"), "{}", refused.text);
    }
}

#[test]
fn a_peer_that_listens_everywhere_is_where_it_speaks_from() {
    let (peer, relay) = (Peer::new(), Peer::new());
    let at = |place: &str| format!("{place}/p2p/{}", peer.id);
    let circuit = format!("/ip4/0.0.0.0/tcp/1/p2p/{}/p2p-circuit", relay.id);
    for (given, from, placed) in [
        ("/ip4/0.0.0.0/tcp/4001", "8.8.8.8", "/ip4/8.8.8.8/tcp/4001"),
        (
            "/ip4/0.0.0.0/tcp/4001",
            "::ffff:8.8.8.8",
            "/ip4/8.8.8.8/tcp/4001",
        ),
        (
            "/ip6/::/udp/4001/quic-v1",
            "2001:4860:4860::8888",
            "/ip6/2001:4860:4860::8888/udp/4001/quic-v1",
        ),
        // Another address family, a relay's address, or an explicit address: unchanged.
        (
            "/ip4/0.0.0.0/tcp/4001",
            "2001:4860:4860::8888",
            "/ip4/0.0.0.0/tcp/4001",
        ),
        ("/ip6/::/tcp/4001", "8.8.8.8", "/ip6/::/tcp/4001"),
        (&circuit, "8.8.8.8", &circuit),
        ("/ip4/8.8.4.4/tcp/4001", "8.8.8.8", "/ip4/8.8.4.4/tcp/4001"),
    ] {
        let mut addresses = [at(given), "no address".to_owned()];
        address::place(&mut addresses, from.parse().unwrap());
        assert_eq!(
            addresses,
            [at(placed), "no address".to_owned()],
            "{given} {from}"
        );
    }
    // The rules apply to the address after the replacement.
    let mut addresses = [at("/ip4/0.0.0.0/tcp/4001")];
    address::place(&mut addresses, "127.0.0.1".parse().unwrap());
    assert!(kept(false, &peer, &addresses).is_err());
    assert_eq!(
        kept(true, &peer, &addresses).unwrap(),
        [at("/ip4/127.0.0.1/tcp/4001")]
    );
}

#[test]
fn what_others_cannot_reach_is_dropped_and_nothing_left_is_refused() {
    let (peer, relay) = (Peer::new(), Peer::new());
    let at = |place: &str| format!("{place}/p2p/{}", peer.id);
    let good = [
        at("/ip4/8.8.8.8/tcp/4001"),
        at("/ip4/8.8.8.8/udp/4001/quic-v1"),
        at("/dns4/peer.example.com/tcp/443/tls/ws"),
        at(&format!("/ip4/8.8.4.4/tcp/1/p2p/{}/p2p-circuit", relay.id)),
    ];
    let never = [
        at("/ip4/0.0.0.0/tcp/4001"),
        at("/ip6/::/tcp/4001"),
        at("/unix/tmp%2Fsocket"),
        at("/memory/7"),
        at("/ip4/8.8.8.8"),
    ];
    let private = [
        at("/ip4/127.0.0.1/tcp/4001"),
        at("/ip4/10.1.2.3/tcp/4001"),
        at("/ip4/169.254.169.254/tcp/80"),
        at("/ip6/::1/tcp/4001"),
        at("/ip6/::ffff:127.0.0.1/tcp/4001"),
        at("/dns4/localhost/tcp/4001"),
        at(&format!(
            "/ip4/192.168.0.1/tcp/1/p2p/{}/p2p-circuit",
            relay.id
        )),
    ];
    let all = [&private[..], &never, &good, &good].concat();
    assert_eq!(kept(false, &peer, &all).unwrap(), good, "each once");
    assert_eq!(
        kept(true, &peer, &all).unwrap(),
        [&private[..], &good].concat()
    );
    for hopeless in [&private[..], &never, &[]] {
        let refused = kept(false, &peer, hopeless).unwrap_err();
        assert!(refused.text.contains("addresses"), "{}", refused.text);
    }
    assert!(kept(true, &peer, &never).is_err());
}
