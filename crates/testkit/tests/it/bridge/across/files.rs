//! Files between protocols: bytes become links of the hub for protocols that know only links, links stay links, and
//! `data:` URLs are bytes.

use jackfield_testkit::{Raw, TestHub, fetch, relay_to, with_files};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::both;
use crate::bridge::{AMY, answer_all, done, finished, with};

/// 100,000 bytes with all values, in base64 and raw.
fn picture() -> (String, Vec<u8>) {
    const TRIPLE: [u8; 3] = [0x00, 0xff, 0x7f];
    let count = 33_333;
    let bytes = TRIPLE.repeat(count).into_iter().chain([b'!']);
    ("AP9/".repeat(count) + "IQ==", bytes.collect())
}

/// The only attachment of a message.
fn attachment(message: &Value) -> &Value {
    let files = message["attachments"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{message}");
    &files[0]
}

async fn a2a(hub: &TestHub, agent: &str, parts: Value) -> Value {
    let message = json!({"messageId": "m-1", "role": "user", "agentId": agent, "parts": parts});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}});
    let (status, answer) = hub.web().post("/a2a/message/send", body).await;
    assert_eq!(status, 200, "{answer}");
    answer["result"]["task"]["history"][1]["parts"].clone()
}

#[tokio::test]
async fn bytes_of_any_caller_reach_a_plain_agent_as_a_link_byte_for_byte() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let (base64, bytes) = picture();
    let of_own = async {
        let file = json!({"file": {"name": "é 1.png", "mime": "image/png", "bytes": base64}});
        let body = json!({"parts": [{"text": "see"}, file], "stream": false});
        let (status, _) = hub
            .web()
            .post(&format!("/v1/agents/{AMY}/calls"), body)
            .await;
        assert_eq!(status, 200);
    };
    let of_a2a = async {
        let file = json!({"kind": "file", "file": {"name": "é 1.png", "mimeType": "image/png", "bytes": base64}});
        a2a(&hub, AMY, json!([{"kind": "text", "text": "see"}, file])).await;
    };
    let of_platform = async {
        let mut body = relay_to(AMY, "r-1");
        let url = format!("data:image/png;base64,{base64}");
        body["content"] = "see".into();
        body["attachments"] = json!([{"name": "é 1.png", "url": url, "type": ""}]);
        hub.platform().stream("/api/relay", body).await.rest().await;
    };
    let serving = async {
        for _ in 0..3 {
            let message = amy.frame().await;
            assert_eq!(message["content"], "see");
            let file = attachment(&message);
            assert_eq!(
                (&file["name"], &file["type"]),
                (&json!("é 1.png"), &json!("image/png"))
            );
            let url = file["url"].as_str().unwrap();
            let start = hub.url("/v1/files/");
            assert!(
                url.starts_with(&start) && url.contains("/%C3%A9%201.png?"),
                "{url}"
            );
            assert!(fetch(url).await == bytes);
            answer_all(&mut amy, message["request_id"].as_str().unwrap(), "seen").await;
        }
    };
    let calling = async {
        of_own.await;
        of_a2a.await;
        of_platform.await;
    };
    tokio::join!(calling, serving);
}

#[tokio::test]
async fn a_link_begins_with_the_public_url_and_the_guard_still_looks_at_the_host() {
    let hub = TestHub::start_with(|config| {
        config.public_url = Some("https://hub.example/base/".to_owned());
    })
    .await;
    let token = hub.token("ann", &["agent:*"]).await;
    let mut amy = hub.bridge_of(&token, AMY).await;
    let mut body = relay_to(AMY, "r-1");
    body["attachments"] = json!([{"name": "a.txt", "url": "data:,hi", "type": "text/plain"}]);
    let _events = hub.platform().stream("/api/relay", body).await;
    let message = amy.frame().await;
    let url = attachment(&message)["url"].as_str().unwrap();
    let path = url.strip_prefix("https://hub.example/base").unwrap();
    assert_eq!(fetch(&hub.url(path)).await, b"hi");
    for (host, status) in [("hub.example", 200), ("evil.example", 403)] {
        let request = Client::new().get(hub.url(path)).header("host", host);
        assert_eq!(request.send().await.unwrap().status(), status, "{host}");
    }
}

#[tokio::test]
async fn where_every_caller_needs_a_token_a_link_needs_none() {
    let hub = TestHub::start_with(|config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.public_url = Some("http://hub.example".to_owned());
    })
    .await;
    let token = hub.token("ann", &["agent:*", "call:*"]).await;
    let mut amy = hub.bridge_of(&token, AMY).await;
    let body = json!({"parts": [{"file": {"name": "a.txt", "bytes": "aGk="}}], "detach": true});
    let path = format!("/v1/agents/{AMY}/calls");
    assert_eq!(hub.web().post(&path, body.clone()).await.0, 401);
    assert_eq!(hub.web_of(&token).post(&path, body).await.0, 202);
    let message = amy.frame().await;
    let url = attachment(&message)["url"].as_str().unwrap();
    let path = url.strip_prefix("http://hub.example").unwrap();
    assert_eq!(fetch(&hub.url(path)).await, b"hi");
    let unsigned = path.split_once("&sig").unwrap().0;
    assert_eq!(hub.web().get(unsigned).await.0, 403);
}

#[tokio::test]
async fn a_hub_that_does_not_know_its_address_hands_bytes_on_inside_the_url() {
    let hub = TestHub::start_with(|config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.insecure = true;
    })
    .await;
    let mut amy = hub.bridge(AMY).await;
    let body = json!({"parts": [{"file": {"name": "a", "mime": "text/plain", "bytes": "aGk="}}]});
    let path = format!("/v1/agents/{AMY}/calls");
    let _events = hub.web().stream(&path, body).await;
    let message = amy.frame().await;
    assert_eq!(
        attachment(&message),
        &json!({"name": "a", "url": "data:text/plain;base64,aGk=", "type": "text/plain"})
    );
}

/// Files in the formats of bridge and Agora agents: links, and `data:` URLs.
fn named() -> Value {
    json!([
        {"name": "a.png", "url": "https://files.example/a", "type": "image/png"},
        {"name": "b.txt", "url": "data:text/plain;base64,aGk=", "type": ""},
        {"name": "c.txt", "url": "data:,h%69", "type": "text/x"},
    ])
}

/// Calls both agents and lets each answer with these files.
async fn answer_with_files(amy: &mut Raw, ada: &mut Raw, agent: &str) {
    if agent == AMY {
        let request = amy.expect_message("files, please").await;
        let end = with(done(&request), &json!({"attachments": named()}));
        amy.send(end).await;
    } else {
        let to = ada.frame().await["from"].clone();
        let payload = json!({"answer": "", "attachments": named()});
        ada.send(json!({"type": "reply", "to": to, "payload": payload}))
            .await;
    }
}

#[tokio::test]
async fn attachments_of_agents_are_file_parts_for_other_protocols() {
    let (hub, mut amy, mut ada) = both().await;
    for agent in [AMY, "ada"] {
        let calling = async {
            let body = json!({"text": "files, please", "stream": false});
            let path = format!("/v1/agents/{agent}/calls");
            hub.web().post(&path, body).await.1
        };
        let serving = answer_with_files(&mut amy, &mut ada, agent);
        let (answer, ()) = tokio::join!(calling, serving);
        assert_eq!(
            answer["attachments"],
            json!([
                {"name": "a.png", "mime": "image/png", "uri": "https://files.example/a"},
                {"name": "b.txt", "mime": "text/plain", "bytes": "aGk="},
                {"name": "c.txt", "mime": "text/x", "bytes": "aGk="},
            ]),
            "{agent}"
        );
        let calling = a2a(
            &hub,
            agent,
            json!([{"kind": "text", "text": "files, please"}]),
        );
        let serving = answer_with_files(&mut amy, &mut ada, agent);
        let (parts, ()) = tokio::join!(calling, serving);
        assert_eq!(
            parts,
            json!([
                {"kind": "file", "file": {"uri": "https://files.example/a", "mimeType": "image/png", "name": "a.png"}},
                {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain", "name": "b.txt"}},
                {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/x", "name": "c.txt"}},
            ]),
            "{agent}"
        );
    }
}

#[tokio::test]
async fn files_of_an_answer_are_links_for_the_platform_and_new_ones_after_a_restart() {
    let (hub, mut amy, mut ada) = both().await;
    let links = json!([
        {"name": "a.png", "url": "https://files.example/a", "type": "image/png"},
        {"name": "b.txt", "url": "fetched: hi", "type": "text/plain"},
        {"name": "c.txt", "url": "fetched: hi", "type": "text/x"},
    ]);
    for agent in [AMY, "ada"] {
        let mut body = with(relay_to(agent, "r-1"), &json!({"keep": true}));
        body["content"] = "files, please".into();
        let mut events = hub.platform().stream("/api/relay", body).await;
        answer_with_files(&mut amy, &mut ada, agent).await;
        let end = with_files(events.rest().await.pop().unwrap()).await;
        assert_eq!(end, with(finished(), &json!({"attachments": links})));
    }
    let status = format!("/api/task-status?agent_id={AMY}&request_id=r-1");
    let (_, before) = hub.platform().get(&status).await;
    assert_eq!(with_files(before.clone()).await["attachments"], links);

    let hub = hub.restart().await;
    // The key is the same, so an old link is known as expired, not as forged.
    let old = before["attachments"][1]["url"].as_str().unwrap();
    let path = &old[old.find("/v1/files/").unwrap()..];
    let answer = hub.web().ask(Method::GET, path).send().await.unwrap();
    assert_eq!(answer.status(), 410);
    let (_, after) = hub.platform().get(&status).await;
    assert_eq!(with_files(after).await["attachments"], links);
}

#[tokio::test]
async fn files_of_an_agora_caller_are_attachments_and_never_told_twice() {
    let (_hub, mut amy, mut ada) = both().await;
    let link = json!({"name": "a.png", "url": "https://files.example/a", "type": "image/png"});
    let bytes = json!({"name": "b.txt", "bytes": "aGk=", "type": "text/plain"});
    let data = json!({"url": "data:text/plain,hi"});
    let part =
        json!({"file": {"name": "a.png", "mime": "image/png", "uri": "https://files.example/a"}});
    let seen = json!([
        link,
        {"name": "b.txt", "url": "fetched: hi", "type": "text/plain"},
        {"name": "", "url": "fetched: hi", "type": "text/plain"},
    ]);
    for (payload, expected) in [
        (
            json!({"body": {"question": "what?"}, "attachments": [link, bytes, data]}),
            &seen,
        ),
        (
            json!({"body": {"question": "what?", "attachments": [link, bytes, data]}}),
            &seen,
        ),
        // The hub's own message format, passed on unchanged by an agent.
        (
            json!({"body": {"question": "what?", "parts": [part], "attachments": [link]}}),
            &json!([link]),
        ),
        (
            json!({"body": {"question": "what?"}, "attachments": []}),
            &json!([]),
        ),
    ] {
        let payload = with(payload, &json!({"request_id": "r-1"}));
        ada.send(json!({"type": "send", "to": AMY, "payload": payload}))
            .await;
        let message = with_files(amy.frame().await).await;
        assert_eq!(message["content"], "what?");
        assert_eq!(&message["attachments"], expected, "{payload}");
        amy.send(done("r-1")).await;
        ada.frame().await;
    }
    // An unknown shape isn't lost.
    let payload =
        json!({"body": {"question": "what?"}, "attachments": ["a.png"], "request_id": "r-1"});
    ada.send(json!({"type": "send", "to": AMY, "payload": payload}))
        .await;
    amy.expect_message("what?\n[\"a.png\"]").await;
}
