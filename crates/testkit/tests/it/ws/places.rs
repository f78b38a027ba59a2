//! Connection limits: each owner has a share, from all addresses together, and leaves the rest to other owners.

use jackfield_testkit::{SOON, TestHub, bridge_register};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::is_refused_by_bridge;

/// The share of a single owner among nine places: twice as many as stay free.
const SHARE: usize = 6;
const REFUSED: &str =
    "ann has its share of this hub's connections; close some, or raise limits.connections";

async fn small() -> TestHub {
    TestHub::start_with(|config| config.limits.connections = 9).await
}

/// Sends a request on a connection, which stays open. Returns the start of the response.
async fn ask(stream: &mut TcpStream, hub: &TestHub, token: &str) -> String {
    let head = format!(
        "GET /v1/agents HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n",
        hub.addr()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let count = timeout(SOON, stream.read(&mut answer)).await;
    answer.truncate(count.expect("an answer in time").unwrap());
    String::from_utf8(answer).unwrap()
}

/// A new connection, and the response to its first request.
async fn asked(hub: &TestHub, token: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(hub.addr()).await.unwrap();
    let answer = ask(&mut stream, hub, token).await;
    (stream, answer)
}

#[tokio::test]
async fn connections_with_a_token_count_for_its_owner_and_not_for_their_address() {
    let hub = small().await;
    let ann = hub.token("ann", &["call:*"]).await;
    let bob = hub.token("bob", &["call:*"]).await;
    let mut held = Vec::new();
    for _ in 0..SHARE {
        let (stream, answer) = asked(&hub, &ann).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        held.push(stream);
    }
    // A second token of the same owner.
    let again = hub.token("ann", &["call:*"]).await;
    let (stream, answer) = asked(&hub, &again).await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let is_told = answer.contains("\"busy\"") && answer.contains(REFUSED);
    assert!(is_told && answer.contains("retry-after"), "{answer}");
    drop(stream);
    // An open connection keeps its place.
    let answer = ask(&mut held[0], &hub, &ann).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // The same address has places for other owners.
    let (bobs, answer) = asked(&hub, &bob).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Closing a connection frees its place.
    drop(bobs);
    held.pop();
    let came_in = async {
        while !asked(&hub, &ann).await.1.starts_with("HTTP/1.1 200") {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, came_in).await.expect("there is room again");
}

#[tokio::test]
async fn a_connection_that_several_owners_use_counts_for_its_address() {
    let hub = small().await;
    let ann = hub.token("ann", &["call:*"]).await;
    let bob = hub.token("bob", &["call:*"]).await;
    // Like a proxy that keeps connections open: no owner is refused because another owner holds many.
    let mut held = Vec::new();
    for _ in 0..SHARE - 1 {
        let (stream, answer) = asked(&hub, &ann).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        held.push(stream);
    }
    let (mut proxy, _) = asked(&hub, &bob).await;
    for token in [&ann, &bob, &ann] {
        let answer = ask(&mut proxy, &hub, token).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[tokio::test]
async fn an_owner_with_its_share_of_connections_is_told_busy_when_it_registers() {
    let hub = small().await;
    let ann = hub.token("ann", &["agent:*"]).await;
    let bob = hub.token("bob", &["agent:*"]).await;
    let register = |id: &str, token: &str| -> Value {
        json!({"type": "register", "id": id, "name": id, "token": token})
    };
    let mut agents = Vec::new();
    for number in 0..SHARE {
        let mut raw = hub.connect().await;
        let id = format!("a-{number}");
        raw.send(register(&id, &ann)).await;
        raw.expect(json!({"type": "registered", "id": id})).await;
        agents.push(raw);
    }
    let mut agora = hub.connect().await;
    agora.send(register("late", &ann)).await;
    let told = agora.frame().await;
    assert_eq!(
        (&told["type"], &told["code"]),
        (&json!("error"), &json!("busy"))
    );
    assert_eq!(told["message"], REFUSED, "{told}");
    // The same socket works for an owner with free places.
    agora.send(register("bobs", &bob)).await;
    agora
        .expect(json!({"type": "registered", "id": "bobs"}))
        .await;
    let mut bridge = hub.connect_bridge("late").await;
    let mut shown = bridge_register("late");
    shown["token"] = json!(ann);
    bridge.send(shown).await;
    is_refused_by_bridge(&mut bridge, REFUSED, "Not now").await;
}
