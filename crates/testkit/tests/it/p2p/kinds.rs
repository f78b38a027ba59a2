//! Other kinds of peers: with keys that are not inside their ids, and by the other transport.

use jackfield_testkit::TestHub;
use serde_json::{Value, json};

use crate::p2p::{
    hub,
    peer::{LANGUAGES, Language, Peer, card},
    registry::{registration, signed},
    tcp,
};

#[tokio::test]
async fn a_peer_with_an_rsa_key_calls_is_called_and_registers() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    for language in LANGUAGES {
        let card = card("elder", &["/echo"]);
        let options = json!({"key": "rsa"});
        let Some(mut peer) = Peer::start_as(language, card, options).await else {
            continue;
        };
        assert!(peer.id.starts_with("Qm"), "{}", peer.id);
        // Before its first connection.
        let body = registration(&peer, "elder");
        let body = signed(&hub, &mut peer, body).await;
        let mut without_key = body.clone();
        without_key["public_key"].take();
        let (status, response) = hub.web().post("/register", without_key).await;
        assert_eq!(status, 401, "{response}");
        let (status, response) = hub.web().post("/register", body).await;
        assert_eq!(
            (status, &response["peer_id"]),
            (200, &json!(peer.id)),
            "{response}"
        );

        peer.join(&hub).await;
        expect_card(&mut peer, &tcp(&hub)).await;
        let answer_text = ask_ada(&mut peer, &tcp(&hub), &mut ada, "an answer").await;
        assert_eq!(answer_text, "an answer", "{language:?}");
        let calls = format!("/v1/agents/{}/calls", peer.agent());
        let body = json!({"text": "hello", "stream": false});
        let (status, response) = hub.web().post(&calls, body).await;
        assert_eq!(
            (status, &response["text"]),
            (200, &json!("hello")),
            "{response}"
        );
    }
}

/// Python only: the other program lacks this transport.
#[tokio::test]
async fn a_peer_by_quic_reads_the_card_and_hands_off() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    let quic = by_quic(&hub);
    let listen = json!({"listen": ["/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"]});
    let card = card("caller", &["/echo"]);
    let Some(mut peer) = Peer::start_as(Language::Python, card, listen).await else {
        return;
    };
    expect_card(&mut peer, &quic).await;
    let answer_text = ask_ada(&mut peer, &quic, &mut ada, "small").await;
    assert_eq!(answer_text, "small");
    // The peer's library sometimes loses the end of a large message, and nothing else. So the test retries.
    let large = "a".repeat(256 << 10);
    for tries_left in (0..5).rev() {
        let answer_text = ask_ada(&mut peer, &quic, &mut ada, &large).await;
        assert!(
            large.starts_with(&answer_text),
            "{} bytes",
            answer_text.len()
        );
        if answer_text == large {
            break;
        }
        assert!(tries_left > 0, "{} bytes, never all", answer_text.len());
    }
}

fn by_quic(hub: &TestHub) -> String {
    let addresses = hub.peer_addresses();
    let quic = addresses.into_iter().find(|it| it.contains("/quic-v1"));
    quic.unwrap()
}

async fn expect_card(peer: &mut Peer, address: &str) {
    let command = json!({"do": "card", "addr": address});
    let body = peer.ok(command).await["body"].take();
    let card: Value = serde_json::from_str(body.as_str().unwrap()).unwrap();
    assert_eq!(card["skills"][0]["path"], "/agents/ada/ask", "{card}");
}

/// Hands off to an agent with this answer; returns the peer's result.
async fn ask_ada(
    peer: &mut Peer,
    address: &str,
    ada: &mut jackfield_testkit::Raw,
    answer: &str,
) -> String {
    let request = json!({"method": "POST", "path": "/agents/ada/ask", "input_data": "?"});
    let command = json!({"do": "handoff", "addr": address, "request": request});
    let number = peer.begin(command).await;
    let message = ada.frame().await;
    ada.send(json!({"type": "reply", "to": message["from"], "payload": answer}))
        .await;
    let response = peer.answer(number).await;
    assert_eq!(response["ok"], true, "{response}");
    response["body"].as_str().unwrap().to_owned()
}
