//! A hub as the relay for peers with a reservation.

use jackfield_testkit::TestHub;
use serde_json::json;

use crate::p2p::{
    called::{call_from_every_door, expect_large},
    contacts::keep,
    hub,
    peer::{LANGUAGES, Language, Peer, card},
    tcp,
};

async fn relay() -> TestHub {
    TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.relay = true;
    })
    .await
}

/// Makes a reservation at the relay, and returns the address through it.
async fn reserve(relayed_peer: &mut Peer, relay: &TestHub) -> String {
    let answer = relayed_peer
        .ok(json!({"do": "reserve", "relay": tcp(relay)}))
        .await;
    answer["addr"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_peer_with_a_place_is_called_from_every_door_of_another_hub() {
    let relay = relay().await;
    for language in LANGUAGES {
        let card = card("guest", &["/echo", "/large"]);
        let Some(mut relayed_peer) = Peer::attach(language, card, &relay).await else {
            continue;
        };
        let address = reserve(&mut relayed_peer, &relay).await;
        assert!(address.contains("/p2p-circuit"), "{address}");
        let other = hub().await;
        let id = relayed_peer.agent();
        let mut watch = other.watch(&id);
        keep(&other, &address).await;
        watch.until_online().await;
        call_from_every_door(&other, &mut relayed_peer).await;
        expect_large(&other, &relayed_peer).await;
        // The peer sees the real caller, not the relay.
        let handoff = relayed_peer.event("handoff").await;
        assert!(tcp(&other).ends_with(handoff["peer"].as_str().unwrap()));
        let mut watch = other.watch(&id);
        relayed_peer.kill().await;
        watch.until_offline().await;
    }
}

#[tokio::test]
async fn a_peer_that_listens_at_the_relay_from_its_start_has_its_place() {
    let relay = relay().await;
    let at = format!("{}/p2p-circuit", tcp(&relay));
    let card = card("guest", &["/echo"]);
    let listen = json!({ "listen": [at] });
    let Some(mut relayed_peer) = Peer::start_as(Language::JavaScript, card, listen).await else {
        return;
    };
    assert!(relayed_peer.addr.starts_with(&at), "{}", relayed_peer.addr);
    let other = hub().await;
    let mut watch = other.watch(&relayed_peer.agent());
    keep(&other, &relayed_peer.addr).await;
    watch.until_online().await;
    call_from_every_door(&other, &mut relayed_peer).await;
}

#[tokio::test]
async fn peers_of_two_languages_call_each_other_through_the_hub() {
    let relay = relay().await;
    let mut peers = Vec::new();
    for language in LANGUAGES {
        peers.extend(Peer::attach(language, card("guest", &["/echo"]), &relay).await);
    }
    let [one, two] = &mut peers[..] else { return };
    let (to_one, to_two) = (reserve(one, &relay).await, reserve(two, &relay).await);
    let echo = |text: &str| json!({"method": "POST", "path": "/echo", "input_data": text});
    let large = "x".repeat(1 << 20);
    for words in ["hello", &large] {
        for (from, to) in [(&mut *one, &to_two), (&mut *two, &to_one)] {
            let answer_text = from.hand_off(to, echo(words)).await;
            assert!(
                answer_text == words,
                "{:?}: {} bytes",
                from.language,
                answer_text.len()
            );
        }
    }
    let card = two
        .ok(json!({"do": "card", "addr": to_one, "reading": "once"}))
        .await;
    assert!(card["body"].as_str().unwrap().contains("guest"), "{card}");
}

#[tokio::test]
async fn a_hub_that_is_no_relay_gives_no_places() {
    let hub = hub().await;
    for language in LANGUAGES {
        let Some(mut relayed_peer) = Peer::attach(language, card("guest", &["/echo"]), &hub).await
        else {
            continue;
        };
        let number = relayed_peer
            .begin(json!({"do": "reserve", "relay": tcp(&hub), "within": 5}))
            .await;
        assert_eq!(relayed_peer.answer(number).await["ok"], false);
    }
}
