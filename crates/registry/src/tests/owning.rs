//! Ownership and lifetime of entries, and the precedence of names.

use tokio::time::advance;

use super::*;

#[tokio::test(start_paused = true)]
async fn an_entry_lasts_as_long_as_it_says_and_a_heartbeat_makes_it_last_again() {
    let (registry, peer) = (registry(), Peer::new());
    registry
        .register(&peer.registration("a", &[]), Claimant::Peer)
        .unwrap();
    advance(Duration::from_secs(599)).await;
    assert!(registry.has(&peer.id));
    registry.renew(&peer.id, None, Claimant::Peer).unwrap();
    advance(Duration::from_secs(599)).await;
    assert!(
        registry.has(&peer.id),
        "for as long as it was registered for"
    );
    registry
        .renew(&peer.id, Some(Duration::from_secs(5)), Claimant::Peer)
        .unwrap();
    advance(Duration::from_secs(5)).await;
    assert!(!registry.has(&peer.id));
    assert!(registry.find(&PeerQuery::default()).is_empty());
    let gone = registry.renew(&peer.id, None, Claimant::Peer).unwrap_err();
    assert_eq!(gone.reason, Reason::NotFound);
    assert_eq!(
        registry
            .remove(&peer.id, Claimant::Peer)
            .unwrap_err()
            .reason,
        Reason::NotFound
    );
}

#[tokio::test(start_paused = true)]
async fn who_took_leave_is_not_listed_again_by_the_hub_while_it_hangs_up() {
    let (registry, peer) = (registry(), Peer::new());
    let registration = peer.registration("a", &[]);
    registry.register(&registration, Claimant::Peer).unwrap();
    registry.remove(&peer.id, Claimant::Peer).unwrap();
    registry.note(&registration).unwrap();
    assert!(!registry.has(&peer.id), "it is on its way out");
    advance(LEAVING).await;
    registry.note(&registration).unwrap();
    assert!(registry.has(&peer.id), "it stayed after all");
    registry.remove(&peer.id, Claimant::Peer).unwrap();
    registry.register(&registration, Claimant::Peer).unwrap();
    registry.note(&registration).unwrap();
    assert!(registry.has(&peer.id), "it came back by itself");
}

#[tokio::test(start_paused = true)]
async fn what_only_a_connection_told_ends_with_it_and_what_was_asked_for_a_little_later() {
    let (registry, noted, asked) = (registry(), Peer::new(), Peer::new());
    registry.note(&noted.registration("noted", &[])).unwrap();
    registry.connection_ended(&noted.id);
    assert!(!registry.has(&noted.id));
    let registration = asked.registration("asked", &[]);
    registry.register(&registration, Claimant::Peer).unwrap();
    let short = Registration {
        ttl: 180,
        ..registration.clone()
    };
    registry.note(&short).unwrap();
    advance(Duration::from_secs(200)).await;
    assert!(registry.has(&asked.id), "it was registered for longer");
    registry.connection_ended(&asked.id);
    advance(Duration::from_secs(299)).await;
    assert!(registry.has(&asked.id), "it may live, and renew it");
    registry.renew(&asked.id, None, Claimant::Peer).unwrap();
    advance(Duration::from_secs(599)).await;
    assert!(registry.has(&asked.id), "it lives");
    registry.register(&registration, Claimant::Peer).unwrap();
    registry.connection_ended(&asked.id);
    advance(Duration::from_secs(300)).await;
    assert!(!registry.has(&asked.id), "it does not");
}

#[tokio::test(start_paused = true)]
async fn a_name_is_that_of_whoever_is_there() {
    let (registry, dead, alive) = (registry(), Peer::new(), Peer::new());
    for peer in [&dead, &alive] {
        let registration = peer.registration("multi", &["sum"]);
        registry.register(&registration, Claimant::Peer).unwrap();
    }
    registry.connection_ended(&dead.id);
    let found = |sought: &PeerQuery| -> Vec<_> {
        let found = registry.find(sought);
        found.into_iter().map(|it| it.peer).collect()
    };
    let named = PeerQuery {
        name: Some("multi".to_owned()),
        ..PeerQuery::default()
    };
    assert_eq!(found(&named), [alive.id]);
    let skilled = PeerQuery {
        skill: Some("sum".to_owned()),
        ..PeerQuery::default()
    };
    assert_eq!(found(&skilled), [alive.id, dead.id], "the dead come last");
    registry.connection_ended(&alive.id);
    assert_eq!(found(&named), [dead.id, alive.id], "nobody is there");
}

#[tokio::test]
async fn a_peer_that_is_refused_is_forgotten_and_cannot_come_again() {
    let (registry, peer) = (registry(), Peer::new());
    let registration = peer.registration("a", &[]);
    registry.register(&registration, Claimant::Peer).unwrap();
    registry.refuse(peer.id, true);
    assert!(!registry.has(&peer.id));
    let admin = Principal::admin(Owner::local());
    for claim in [Claimant::Peer, Claimant::Caller(&admin)] {
        let refused = registry.register(&registration, claim).unwrap_err();
        assert_eq!(refused.reason, Reason::Unauthorized);
    }
    registry.note(&registration).unwrap_err();
    registry.refuse(peer.id, false);
    registry.register(&registration, Claimant::Peer).unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_watches_is_told_of_those_that_come_go_and_expire() {
    let (registry, one, two) = (registry(), Peer::new(), Peer::new());
    let mut watch = registry.watch();
    let mut is_changed = || {
        let changed = watch.has_changed().unwrap();
        watch.mark_unchanged();
        changed
    };
    registry
        .register(&one.registration("one", &[]), Claimant::Peer)
        .unwrap();
    assert!(is_changed());
    registry
        .register(&two.registration("two", &[]), Claimant::Peer)
        .unwrap();
    assert!(is_changed());
    registry.remove(&one.id, Claimant::Peer).unwrap();
    assert!(is_changed());
    registry.expire();
    assert!(!is_changed(), "nothing was to expire");
    advance(Duration::from_secs(600)).await;
    registry.expire();
    assert!(is_changed());
    assert!(registry.0.peers.lock().by_id.is_empty());
}

#[tokio::test]
async fn nobody_changes_what_a_peer_or_another_owner_said() {
    let (registry, peer) = (registry(), Peer::new());
    let (ann, bob, root) = (principal_of("ann"), principal_of("bob"), Principal::local());
    registry
        .register(&peer.registration("anns", &[]), Claimant::Caller(&ann))
        .unwrap();
    let theft = peer.registration("bobs", &[]);
    for _ in 0..2 {
        let refused = registry
            .register(&theft, Claimant::Caller(&bob))
            .unwrap_err();
        assert_eq!(refused.reason, Reason::Unauthorized);
        assert!(
            registry
                .renew(&peer.id, None, Claimant::Caller(&bob))
                .is_err()
        );
        assert!(registry.remove(&peer.id, Claimant::Caller(&bob)).is_err());
        assert_ne!(registry.get(&peer.id).unwrap().name, "bobs");
        // The peer registers itself, and from then on controls its entry.
        registry
            .register(&peer.registration("own", &[]), Claimant::Peer)
            .unwrap();
    }
    assert!(
        registry
            .renew(&peer.id, None, Claimant::Caller(&ann))
            .is_err()
    );
    registry
        .register(&peer.registration("by-admin", &[]), Claimant::Caller(&root))
        .unwrap();
    assert!(
        registry
            .renew(&peer.id, None, Claimant::Caller(&ann))
            .is_err(),
        "it stays the peer's"
    );
    registry.remove(&peer.id, Claimant::Peer).unwrap();
    registry.register(&theft, Claimant::Caller(&bob)).unwrap();
    assert_eq!(
        registry.get(&peer.id).unwrap().name,
        "bobs",
        "what is free can be taken"
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_holder_of_a_name_keeps_it_while_it_is_there() {
    let (registry, first, second) = (registry(), Peer::new(), Peer::new());
    let named = PeerQuery {
        name: Some("shop".to_owned()),
        ..PeerQuery::default()
    };
    registry
        .register(&first.registration("shop", &[]), Claimant::Peer)
        .unwrap();
    advance(Duration::from_secs(100)).await;
    registry
        .register(&second.registration("shop", &[]), Claimant::Peer)
        .unwrap();
    for _ in 0..2 {
        let found = registry.find(&named);
        assert_eq!(found.len(), 2, "both are listed");
        assert_eq!(found[0].peer, first.id);
        // Renewing neither loses nor gains precedence.
        registry
            .register(&second.registration("shop", &[]), Claimant::Peer)
            .unwrap();
        registry
            .register(&first.registration("shop", &[]), Claimant::Peer)
            .unwrap();
    }
    // A peer that gives up a name comes last after taking it again.
    registry
        .register(&first.registration("other", &[]), Claimant::Peer)
        .unwrap();
    registry
        .register(&first.registration("shop", &[]), Claimant::Peer)
        .unwrap();
    assert_eq!(registry.find(&named)[0].peer, second.id);
    registry
        .register(&second.registration("shop", &["sell"]), Claimant::Peer)
        .unwrap();
    advance(Duration::from_secs(550)).await;
    registry.renew(&first.id, None, Claimant::Peer).unwrap();
    advance(Duration::from_secs(100)).await;
    let found = registry.find(&named);
    assert_eq!(
        (found.len(), found[0].peer),
        (1, first.id),
        "the other's time is up"
    );
}

#[tokio::test(start_paused = true)]
async fn an_owner_has_its_share_of_the_places_and_those_whose_time_is_up_make_room() {
    let registry = registry();
    let (ann, bob) = (principal_of("ann"), principal_of("bob"));
    let last = Peer::new();
    let fill = |claim: Claimant<'_>| {
        let taken = (0..=MAX_PEERS).take_while(|_| {
            let put = registry.register(&Peer::new().registration("many", &[]), claim);
            put.map_err(|full| assert_eq!(full.reason, Reason::Busy))
                .is_ok()
        });
        taken.count()
    };
    let registration = last.registration("last", &[]);
    registry
        .register(&registration, Claimant::PeerOf(&ann))
        .unwrap();
    // Any single owner gets half of the free places, signed or not, and leaves room for others.
    assert_eq!(fill(Claimant::Caller(&ann)), MAX_PEERS / 2 - 1);
    assert_eq!(fill(Claimant::PeerOf(&ann)), 0);
    assert_eq!(fill(Claimant::Caller(&bob)), MAX_PEERS / 4);
    assert_eq!(fill(Claimant::Peer), MAX_PEERS / 8);
    // An existing entry can still be renewed, and keeps its place.
    registry
        .register(&registration, Claimant::PeerOf(&ann))
        .unwrap();
    registry.remove(&last.id, Claimant::PeerOf(&ann)).unwrap();
    assert_eq!(registry.0.places.used(), MAX_PEERS / 8 * 7 - 1);
    advance(Duration::from_secs(600)).await;
    registry
        .register(&registration, Claimant::Caller(&ann))
        .unwrap();
    assert_eq!(registry.find(&PeerQuery::default()).len(), 1);
    registry.expire();
    assert_eq!(registry.0.places.used(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_changes_hands_counts_for_its_new_holder() {
    let (registry, peer, ann) = (registry(), Peer::new(), principal_of("ann"));
    let registration = peer.registration("a", &[]);
    let held = || {
        let places = &registry.0.places;
        let anns = Some(Owner::parse("ann").unwrap());
        (places.used_by(&anns), places.used_by(&None))
    };
    registry
        .register(&registration, Claimant::Caller(&ann))
        .unwrap();
    assert_eq!(held(), (1, 0));
    registry.note(&registration).unwrap();
    assert_eq!(held(), (0, 1));
    registry.refuse(peer.id, true);
    assert_eq!(held(), (0, 0));
}
