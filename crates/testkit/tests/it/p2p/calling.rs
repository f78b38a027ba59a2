//! Peers call the agents of a hub.

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::p2p::{
    hub,
    peer::{LANGUAGES, Peer, card},
    tcp,
};

const KIB: usize = 1 << 10;

/// A peer of each installed language.
async fn callers() -> Vec<Peer> {
    let mut callers = Vec::new();
    for language in LANGUAGES {
        callers.extend(Peer::start(language, card("caller", &["/echo"])).await);
    }
    callers
}

fn asked(agent: &str, input: &str) -> Value {
    json!({"method": "POST", "path": format!("/agents/{agent}/ask"), "input_data": input})
}

/// Begins a handoff, and returns the number of its command.
async fn begin(peer: &mut Peer, hub: &TestHub, request: Value) -> u64 {
    peer.begin(json!({"do": "handoff", "addr": tcp(hub), "request": request}))
        .await
}

/// The error response for a peer.
async fn error(peer: &mut Peer, hub: &TestHub, request: Value) -> (u64, String) {
    let body = peer.hand_off(&tcp(hub), request).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    let text = body["error"].as_str().unwrap().to_owned();
    assert_eq!(body.as_object().unwrap().len(), 2, "{body}");
    (body["code"].as_u64().unwrap(), text)
}

/// Answers the next question to an Agora agent.
async fn reply(agent: &mut Raw, question: &str, answer: &str) {
    let message = agent.frame().await;
    let asked = message["payload"]["body"]["question"].as_str().unwrap();
    assert!(asked == question, "{} bytes", asked.len());
    let reply = json!({"type": "reply", "to": message["from"], "payload": answer});
    agent.send(reply).await;
}

#[tokio::test]
async fn peers_read_the_hubs_card_to_its_end() {
    let hub = hub().await;
    let _agora = hub.agora("ada").await;
    let skills = json!([{"id": "translate", "name": "Translate"}]);
    let _bridge = hub.bridge_as("brid", json!({"skills": skills})).await;
    for mut peer in callers().await {
        for greeting in ["", "GET_CARD"] {
            let command = json!({"do": "card", "addr": tcp(&hub), "greeting": greeting});
            let answer = peer.ok(command).await;
            assert_eq!(answer["end"], "fin", "{:?}", peer.language);
            let card: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
            assert_eq!(card["name"], "Jackfield");
            let skills = card["skills"].as_array().unwrap();
            let paths: Vec<_> = skills
                .iter()
                .map(|it| (&it["method"], &it["path"]))
                .collect();
            let post = json!("POST");
            assert_eq!(
                paths,
                [
                    (&post, &json!("/agents/ada/ask")),
                    (&post, &json!("/agents/brid/ask"))
                ]
            );
        }
        // The same by a handoff, and the list of agents.
        let get = |path: &str| json!({"method": "GET", "path": path});
        let body = peer.hand_off(&tcp(&hub), get("/card")).await;
        assert!(body.contains("/agents/ada/ask"), "{body}");
        let body = peer.hand_off(&tcp(&hub), get("/agents")).await;
        let list: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(list["agents"][1]["id"], "brid", "{body}");
        assert_eq!(list["agents"][1]["online"], true, "{body}");
    }
}

#[tokio::test]
async fn peers_hand_off_to_an_agora_agent_in_any_size() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    for mut peer in callers().await {
        // The whole request stays below the limit of a megabyte.
        for (there, back) in [
            (3, 3),
            (64 * KIB, 64 * KIB),
            (1000 * KIB, 3),
            (3, 1024 * KIB),
        ] {
            let (question, answer) = ("q".repeat(there), "a".repeat(back));
            let number = begin(&mut peer, &hub, asked("ada", &question)).await;
            reply(&mut ada, &question, &answer).await;
            let response = peer.answer(number).await;
            let body = response["body"]
                .as_str()
                .unwrap_or_else(|| panic!("{response}"));
            let language = peer.language;
            assert!(
                body == answer,
                "{language:?}: {} of {back} bytes",
                body.len()
            );
        }
    }
}

#[tokio::test]
async fn peers_hand_off_to_a_bridge_agent() {
    let hub = hub().await;
    let mut brid = hub.bridge("brid").await;
    for mut peer in callers().await {
        for half_close in [false, true] {
            let number = peer
                .begin(
                    json!({"do": "handoff", "addr": tcp(&hub), "request": asked("brid", "why?"),
                              "half_close": half_close}),
                )
                .await;
            let request = brid.expect_message("why?").await;
            for delta in ["because", " it is"] {
                brid.send(json!({"type": "chunk", "request_id": request, "session_id": "s", "delta": delta}))
                    .await;
            }
            brid.send(json!({"type": "done", "request_id": request, "session_id": "s"}))
                .await;
            let response = peer.answer(number).await;
            assert_eq!(
                (&response["body"], &response["ok"]),
                (&json!("because it is"), &json!(true)),
                "{response}"
            );
        }
    }
}

#[tokio::test]
async fn a_streaming_peer_hears_each_chunk_as_it_comes() {
    let hub = hub().await;
    let mut brid = hub.bridge("brid").await;
    for mut peer in callers().await {
        let mut request = asked("brid", "count");
        request["stream"] = true.into();
        let command = json!({"do": "handoff", "addr": tcp(&hub), "request": request, "tell": true});
        let number = peer.begin(command).await;
        let request = brid.expect_message("count").await;
        for (seq, delta) in ["one ", "two ", "three"].into_iter().enumerate() {
            brid.send(
                json!({"type": "chunk", "request_id": request, "session_id": "s", "delta": delta}),
            )
            .await;
            // The agent continues only afterwards.
            let frame = json!({"type": "chunk", "seq": seq, "data": delta});
            loop {
                let read = peer.event("read").await;
                let lines = read["body"].as_str().unwrap().lines();
                let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
                if lines.into_iter().any(|line| line == frame) {
                    break;
                }
            }
        }
        brid.send(json!({"type": "done", "request_id": request, "session_id": "s"}))
            .await;
        let response = peer.answer(number).await;
        let body = response["body"].as_str().unwrap();
        let last: Value = serde_json::from_str(body.lines().last().unwrap()).unwrap();
        assert_eq!(last["type"], "result", "{body}");
    }
}

#[tokio::test]
async fn peers_are_told_what_is_wrong_by_a_code() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    for mut peer in callers().await {
        let at =
            |method: &str, path: &str| json!({"method": method, "path": path, "input_data": "x"});
        for (request, code) in [
            (asked("nobody", "x"), 404),
            (at("POST", "/agents/ada/undeclared"), 404),
            (at("POST", "/agents/ada/../../etc"), 400),
            (at("DELETE", "/agents/ada/ask"), 405),
            (at("POST", "/agents/{who}/ask"), 400),
            (json!({"path": "/agents/ada/ask"}), 400),
        ] {
            let (error_code, text) = error(&mut peer, &hub, request.clone()).await;
            assert_eq!(error_code, code, "{request}: {text}");
        }
        let number = begin(&mut peer, &hub, asked("ada", "fail")).await;
        let to = ada.frame().await["from"].clone();
        ada.send(json!({"type": "error", "to": to, "code": "quota", "message": "no more today"}))
            .await;
        let response = peer.answer(number).await;
        assert_eq!(response["body"], r#"{"error":"no more today","code":502}"#);
    }
}

#[tokio::test]
async fn a_peer_that_resets_its_stream_cancels_the_call() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    for mut peer in callers().await {
        let number = begin(&mut peer, &hub, asked("ada", "think")).await;
        let message = ada.frame().await;
        peer.ok(json!({"do": "cancel", "of": number})).await;
        let cancel = ada.frame().await;
        assert_eq!(
            (&cancel["type"], &cancel["from"]),
            (&json!("cancel"), &message["from"]),
            "{:?}",
            peer.language
        );
    }
}
