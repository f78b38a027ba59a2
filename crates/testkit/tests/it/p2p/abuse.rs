//! Peers with invalid or excessive requests: they get errors, and no other peer is affected.

use jackfield_testkit::{Raw, SOON, TestHub};
use libp2p::identity::Keypair;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::p2p::{
    hub,
    peer::{LANGUAGES, Language, Peer, card},
    raw::{HANDOFF, RawPeer, error},
    tcp,
};

/// Maximum number of open handoffs of a peer.
const OPEN: usize = 8;
/// Number of handoffs that a peer may begin at once.
const BURST: usize = 20;
/// More streams than a connection may have.
const TOO_MANY_STREAMS: usize = 300;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

fn asked(words: &str) -> Value {
    json!({"method": "POST", "path": "/agents/ada/ask", "input_data": words})
}

/// Answers every question with `yes`.
async fn serve(ada: &mut Raw) {
    while let Some(text) = ada.wait_text().await {
        let message: Value = serde_json::from_str(&text).unwrap();
        ada.send(json!({"type": "reply", "to": message["from"], "payload": "yes"}))
            .await;
    }
}

/// Checks that a peer is served normally, once its rate limit allows.
async fn expect_service(peer: &mut RawPeer, ada: &mut Raw) {
    let service = async {
        loop {
            let id = peer.ask(HANDOFF, &asked("still there?"));
            match peer.answer(id).await.as_str() {
                "yes" => return,
                refused => assert_eq!(error(refused).0, 429),
            }
        }
    };
    tokio::select! {
        () = service => {}
        () = serve(ada) => panic!("the agent's connection ended"),
    }
}

#[tokio::test]
async fn of_200_handoffs_at_once_every_one_is_answered_and_others_are_served_meanwhile() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    let mut peer = RawPeer::stranger(&hub).await;
    let words = |number: usize| format!("number {number}");
    let ids: Vec<_> = (0..200)
        .map(|number| peer.ask(HANDOFF, &asked(&words(number))))
        .collect();
    peer.flush().await;
    // The agent gets the allowed handoffs, and doesn't answer yet.
    let mut open = Vec::new();
    for _ in 0..OPEN {
        open.push(ada.frame().await);
    }
    expect_service(&mut RawPeer::stranger(&hub).await, &mut ada).await;
    for message in open {
        let question = &message["payload"]["body"]["question"];
        ada.send(json!({"type": "reply", "to": message["from"], "payload": question}))
            .await;
    }
    let mut done = 0;
    for (number, id) in ids.into_iter().enumerate() {
        let body = peer.answer(id).await;
        if body == words(number) {
            done += 1;
        } else {
            assert_eq!(error(&body).0, 429, "{body}");
        }
    }
    assert_eq!(done, OPEN);
    expect_service(&mut peer, &mut ada).await;
}

#[tokio::test]
async fn published_peers_that_hand_off_200_times_at_once_are_answered_each_time() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    for language in LANGUAGES {
        let Some(mut peer) = Peer::start(language, card("caller", &["/echo"])).await else {
            continue;
        };
        peer.ok(json!({"do": "connect", "addr": tcp(&hub)})).await;
        let all = async {
            let command = json!({"do": "handoff", "addr": tcp(&hub), "request": asked("now")});
            let mut numbers = Vec::new();
            for _ in 0..200 {
                numbers.push(peer.begin(command.clone()).await);
            }
            let mut done = 0;
            for number in numbers {
                let response = peer.answer(number).await;
                assert_eq!(response["end"], "fin", "{language:?}: {response}");
                match response["body"].as_str().unwrap() {
                    "yes" => done += 1,
                    body => assert_eq!(error(body).0, 429, "{body}"),
                }
            }
            done
        };
        let done = tokio::select! {
            done = all => done,
            () = serve(&mut ada) => panic!("the agent's connection ended"),
        };
        assert!(done >= OPEN, "{language:?}: {done}");
    }
}

#[tokio::test]
async fn a_peer_that_opens_too_many_streams_is_dismissed_and_may_come_again() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    let key = Keypair::generate_ed25519();
    let mut peer = RawPeer::connect(&hub, &key).await;
    for _ in 0..TOO_MANY_STREAMS {
        peer.open(HANDOFF, b"");
    }
    peer.dismissed().await;
    expect_service(&mut RawPeer::stranger(&hub).await, &mut ada).await;
    drop(peer);
    expect_service(&mut RawPeer::connect(&hub, &key).await, &mut ada).await;
}

#[tokio::test]
async fn a_peer_that_is_refused_while_it_still_sends_gets_its_answer() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    let mut peer = RawPeer::stranger(&hub).await;
    for _ in 0..OPEN {
        peer.ask(HANDOFF, &asked("wait"));
    }
    peer.flush().await;
    for _ in 0..OPEN {
        ada.frame().await;
    }
    let large = asked(&"x".repeat(1000 * KIB)).to_string();
    let id = peer.open(HANDOFF, b"");
    peer.say(id, large.as_bytes()).await;
    peer.finish(id);
    assert_eq!(peer.error(id).await.0, 429);
}

#[tokio::test]
async fn a_request_that_never_ends_is_refused_then_reset_and_no_end_of_it_is_taken() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    let mut peer = RawPeer::stranger(&hub).await;
    let id = peer.open(
        HANDOFF,
        br#"{"method": "POST", "path": "/agents/ada/ask", "input_data": ""#,
    );
    let taken = peer.flood(id, &[b'x'; 64 * KIB]).await;
    assert!((MIB..8 * MIB).contains(&taken), "{taken} bytes");
    assert_eq!(peer.error_and_reset(id).await.0, 413);
    // The connection is still usable.
    expect_service(&mut peer, &mut ada).await;
    ada.expect_nothing().await;
}

#[tokio::test]
async fn a_request_that_is_nested_too_deeply_is_refused_before_it_ends() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    let mut peer = RawPeer::stranger(&hub).await;
    // The request itself is one level.
    let begin = r#"{"method": "POST", "path": "/agents/ada/ask", "input_data": "#;
    let id = peer.open(HANDOFF, format!("{begin}{}", "[".repeat(64)).as_bytes());
    assert_eq!(peer.error(id).await.0, 400);
    ada.expect_nothing().await;
    let deepest = format!("{begin}{}{}}}", "[".repeat(63), "]".repeat(63));
    let id = peer.ask(HANDOFF, &deepest);
    peer.flush().await;
    let message = ada.frame().await;
    ada.send(json!({"type": "reply", "to": message["from"], "payload": "deep"}))
        .await;
    assert_eq!(peer.answer(id).await, "deep");
}

#[tokio::test]
async fn no_trick_with_a_path_reaches_anybody() {
    let paths = [
        // Path traversal.
        "..",
        "/..",
        "/../etc/passwd",
        "/agents/ada/../ada/ask",
        "/agents/ada/./ask",
        "/agents/ada/..",
        "/agents/ada/%2e%2e/ask",
        "/agents/ada/%2E%2E/ask",
        "/agents/ada/.%2e/ask",
        "/agents/ada/%2e/ask",
        "/agents/ada%2f..%2fada/ask",
        "/agents/ada/%252e%252e/ask",
        "/agents/ada/%252e%252e%252fask",
        "/agents/ada/%25252e%25252e/ask",
        "/agents/ada/%25%32%65%25%32%65/ask",
        "/agents/ada/..;/ask",
        "/agents/ada/%2e%2e%3b/ask",
        "/agents/ada/%c0%ae%c0%ae/ask",
        "/agents/ada/%u002e%u002e/ask",
        "/agents/ada/..%5cask",
        "/agents/ada\\..\\ask",
        "\\\\host\\ask",
        "/agents/ada/%255c..%255cask",
        // Another host.
        "//evil.example/ask",
        "///ask",
        "/agents//ada/ask",
        "http://evil.example/agents/ada/ask",
        "https://127.0.0.1:1/ask",
        "file:///etc/passwd",
        "/http://evil.example",
        "/%2Fevil.example/ask",
        "%2F%2Fevil.example",
        "javascript:ask",
        "user:word@evil.example/ask",
        "/@evil.example/ask",
        // More than a path.
        "/card?admin=1",
        "/agents/ada/ask#x",
        "?",
        "/agents/ada/ask\0",
        "/agents/ada/ask%00",
        "/agents/ada/ask\r\nHost: evil.example",
        "/agents/ada/ask\u{7f}",
        "/agents/ada/ask%",
        "/agents/ada/%ff",
        "",
        // Format strings.
        "/agents/{a.__class__.__mro__}/ask",
        "/agents/{a.__init__.__globals__}/ask",
        "/agents/{a[0]}/ask",
        "/agents/{a!r}/ask",
        "/agents/{a:>1000000000}/ask",
        "/agents/{0}/ask",
        "/agents/{}/ask",
        "/agents/{{a}}/ask",
        "/agents/{a",
        "/agents/a}",
        "/agents/{a{a}}/ask",
        "/agents/{ a }/ask",
        "/agents/{missing}/ask",
    ]
    .map(|path| json!({"path": path, "params": {"a": "ada"}}));
    // The same in a parameter, where only path traversal is wrong.
    let params = [
        "..",
        ".",
        "%2e%2e",
        "%252e%252e",
        "../../card",
        "a/../b",
        "..;x",
        "a\\..\\b",
        ".\n.",
        "\0",
    ]
    .map(|value| json!({"path": "/agents/ada/{skill}", "params": {"skill": value}}));
    let requests: Vec<_> = paths.into_iter().chain(params).collect();
    expect_refusals(&requests, 400).await;
}

#[tokio::test]
async fn what_nobody_declared_is_refused() {
    let at = |method: &str, path: &str| json!({"method": method, "path": path});
    let methods = [
        at("GET", "/agents/ada/ask"),
        at("PUT", "/agents/ada/ask"),
        at("PATCH", "/agents/ada/ask"),
        at("DELETE", "/agents/ada"),
        at("CONNECT", "/agents/ada/ask"),
        at("TRACE", "/agents/ada/ask"),
        at("HEAD", "/agents/ada/ask"),
        at("OPTIONS", "/agents/ada/ask"),
        at("FLY", "/agents/ada/ask"),
        at("POST", "/card"),
        at("POST", "/agents"),
    ];
    expect_refusals(&methods, 405).await;
    let paths = [
        "/agents/ada/sing",
        "/agents/ada/ask/more",
        "/agents/ADA/ask",
        "/agents/nobody/ask",
        "/v1/agents",
        "/v1/tokens",
        "/metrics",
        "/api/relay",
        "/agents/ada@hub/ask",
        "/agents/http%3A%2F%2Fevil.example/ask",
        "/do something",
        "/agents/ada/ask?admin=1",
        "/agents/ada/ask%0d%0aHost:%20evil.example",
        "/agents/ada/ask%250a",
        "/agents/ada/a%5cb",
    ];
    expect_refusals(&paths.map(|path| at("POST", path)), 404).await;
}

/// Checks that each request is refused with this code on its own stream, and no agent receives any.
async fn expect_refusals(requests: &[Value], code: u64) {
    // A peer's burst is limited, so each chunk gets its own hub.
    for requests in requests.chunks(BURST) {
        let hub = hub().await;
        let mut ada = hub.agora("ada").await;
        let mut peer = RawPeer::stranger(&hub).await;
        for request in requests {
            let mut request = request.clone();
            if request.get("method").is_none() {
                request["method"] = "POST".into();
            }
            request["input_data"] = "x".into();
            let id = peer.ask(HANDOFF, &request);
            let (response, words) = peer.error(id).await;
            assert_eq!(response, code, "{request}: {words}");
            assert!(!words.contains("127.0.0.1:"), "{words}");
        }
        ada.expect_nothing().await;
    }
}

#[tokio::test]
async fn a_peer_that_streams_faster_than_its_caller_reads_is_paced_and_nothing_is_lost() {
    let hub = hub().await;
    let card = card("river", &["/echo", "/flood"]);
    let Some(peer) = Peer::attach(Language::JavaScript, card, &hub).await else {
        return;
    };
    let calls = format!("/v1/agents/{}/calls", peer.agent());
    let flood = json!({"text": "go", "metadata": {"skill": "flood"}});
    let mut caller = ask_narrowly(&hub, &calls, &flood).await;
    // The peer writes until all buffers on the way are full.
    let waiting = async || hub.web().metric("jackfield_pipe_bytes").await / MIB as f64;
    let full = async { while waiting().await < 1.0 {} };
    tokio::time::timeout(SOON, full).await.unwrap();
    // Other handoffs work, on the same connection too.
    for number in 0..5 {
        let words = format!("number {number}");
        let body = json!({"text": words, "stream": false});
        let (status, response) = hub.web().post(&calls, body).await;
        assert_eq!(
            (status, &response["text"]),
            (200, &json!(words)),
            "{response}"
        );
    }
    let most = waiting().await;
    assert!(most < 4.0, "{most} MiB wait in the hub");
    let came = hub.web().metric("jackfield_event_bytes").await / MIB as f64;
    assert!(came < 32.0, "{came} MiB were taken from the peer");
    let mut response = Vec::new();
    caller.read_to_end(&mut response).await.unwrap();
    let end = String::from_utf8_lossy(&response[response.len() - KIB..]);
    assert!(end.contains(r#""type":"done""#), "{end}");
    assert!(response.len() > 64 * MIB, "{} bytes", response.len());
}

/// Posts over a connection with a small receive buffer.
async fn ask_narrowly(hub: &TestHub, path: &str, body: &Value) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 << 10).unwrap();
    let mut tcp = socket.connect(hub.addr()).await.unwrap();
    let (host, body) = (hub.addr(), body.to_string());
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    tcp.write_all((head + &body).as_bytes()).await.unwrap();
    tcp
}
