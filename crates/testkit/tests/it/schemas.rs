//! The JSON Schemas that the hub serves. Every frame and event that the hub sends to the clients of these tests is
//! judged by them (`jackfield_kit::testing::judge_by`); here are the rest: the index, the documents, the frames of
//! clients, and wrong frames.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use jackfield_testkit::TestHub;
use jsonschema::Validator;
use serde_json::{Value, json};

/// The documents of a hub, by path.
async fn documents(hub: &TestHub) -> BTreeMap<String, Value> {
    let web = hub.web_of(&hub.token("root", &["admin"]).await);
    let (status, index) = web.get("/schemas").await;
    assert_eq!(status, 200, "{index}");
    let mut documents = BTreeMap::new();
    for group in index["groups"].as_array().unwrap() {
        let messages = group["messages"].as_array().unwrap().iter();
        let urls = messages.map(|it| &it["url"]).chain([&group["url"]]);
        for url in urls {
            let url = url.as_str().unwrap();
            let (status, document) = web.get(url).await;
            assert_eq!(status, 200, "{url}: {document}");
            assert!(
                documents.insert(url.to_owned(), document).is_none(),
                "{url} twice"
            );
        }
    }
    documents
}

fn validator(document: &Value) -> Validator {
    jsonschema::validator_for(document).unwrap()
}

#[tokio::test]
async fn every_document_is_a_json_schema_with_the_id_that_it_is_served_at() {
    let hub = TestHub::start_with(|config| {
        config.public_url = Some("https://hub.example".to_owned());
    })
    .await;
    let documents = documents(&hub).await;
    let protocols: BTreeSet<_> = documents
        .keys()
        .filter_map(|path| path.split('/').nth(2))
        .collect();
    assert_eq!(
        protocols,
        BTreeSet::from(["agora", "bridge", "openai", "own", "team"])
    );
    for (path, document) in &documents {
        assert_eq!(document["$id"], format!("https://hub.example{path}"));
        assert_eq!(
            document["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert!(jsonschema::meta::is_valid(document), "{path}: {document:#}");
        validator(document);
    }
    let web = hub.web_of(&hub.token("root", &["admin"]).await);
    let (status, missing) = web.get("/schemas/own/nothing.json").await;
    assert_eq!((status, &missing["error"]), (404, &json!("not_found")));
    assert_eq!(hub.web().get("/schemas").await.0, 401);
}

#[tokio::test]
async fn the_description_of_the_api_links_the_schemas_of_its_streams() {
    let hub = TestHub::start().await;
    let (_, api) = hub.web().get("/openapi.json").await;
    assert_eq!(api["externalDocs"]["url"], "/schemas");
    let mut linked = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let content = &operation["responses"]["200"]["content"];
            // The messages of MCP are its own.
            if content.get("text/event-stream").is_none() || path == "/mcp" {
                continue;
            }
            let url = operation["externalDocs"]["url"].as_str();
            let url = url.unwrap_or_else(|| panic!("{method} {path} links no schema"));
            assert_eq!(hub.web().get(url).await.0, 200, "{url}");
            linked.push(format!("{method} {path}"));
        }
    }
    assert!(linked.len() >= 6, "{linked:?}");
}

/// The examples of the specifications, as clients send them.
#[tokio::test]
async fn the_frames_of_clients_fit_their_schemas_and_wrong_ones_do_not() {
    let hub = TestHub::start().await;
    let documents = documents(&hub).await;
    for (protocol, group, good, wrong) in [
        (
            "agora",
            "from-agent",
            vec![
                json!({"type": "register", "id": "a", "name": "A", "capabilities": ["x"]}),
                json!({"type": "list", "capability": "x"}),
                json!({"type": "send", "to": "b", "payload": {"action": "query", "body": {"question": "?"}}}),
                json!({"type": "send", "to": "b", "stream": true, "stream_id": "s", "own field": 1}),
                json!({"type": "send_chunk", "to": "b", "stream_id": "s", "chunk": "x"}),
                json!({"type": "send_end", "to": "b", "stream_id": "s"}),
                json!({"type": "reply", "to": "call:1", "payload": "text"}),
                json!({"type": "reply_chunk", "to": "b", "stream_id": "s", "chunk": "", "kind": "thinking"}),
                json!({"type": "reply_end", "to": "b", "stream_id": "s", "payload": null}),
                json!({"type": "cancel", "to": "b", "request_id": "r"}),
                json!({"type": "error", "to": "b", "code": "crashed", "message": "no"}),
                json!({"type": "ping"}),
            ],
            vec![
                json!({"type": "register"}),
                json!({"type": "register", "id": 7}),
                json!({"type": "send"}),
                json!({"type": "send", "to": "b", "stream": "yes"}),
                json!({"type": "send_chunk", "to": "b", "stream_id": "s"}),
                json!({"type": "send_chunk", "to": "b", "stream_id": "s", "chunk": 7}),
                json!({"type": "error", "to": "b", "code": "x"}),
                json!({"type": "message", "to": "b"}),
                json!(["ping"]),
            ],
        ),
        (
            "bridge",
            "from-agent",
            vec![
                json!({"type": "register", "agent_id": "a", "token": "t", "bridge_version": "1", "agent_type": "claude", "capabilities": []}),
                json!({"type": "register", "agent_id": "a", "bridge_version": 2, "extensions": ["resume"], "resume": {"token": "t", "open": [{"request_id": "r", "sent": 3}]}}),
                json!({"type": "chunk", "session_id": "s", "request_id": "r", "delta": "x", "kind": "text"}),
                json!({"type": "done", "request_id": "r", "attachments": [{"name": "a", "url": "https://a", "type": "b"}], "file_transfer_offer": {"transfer_id": "t"}, "result": "x"}),
                json!({"type": "error", "request_id": "r", "code": "timeout", "message": "m"}),
                json!({"type": "heartbeat", "active_sessions": 1, "uptime_ms": 7}),
                json!({"type": "discover_agents", "capability": "x", "limit": 3}),
                json!({"type": "call_agent", "target_agent_id": "b", "task_description": "d", "with_files": true}),
                json!({"type": "rtc_signal", "transfer_id": "t", "target_agent_id": "b", "signal_type": "offer", "payload": "p", "own": 1}),
                json!({"type": "artifact", "request_id": "r", "artifact_id": "i", "parts": [], "append": false, "last": true}),
                json!({"type": "ask", "request_id": "r", "ask_id": "q", "kind": "approval", "text": "?"}),
            ],
            vec![
                json!({"type": "register", "agent_id": "a"}),
                json!({"type": "register", "agent_id": "a", "bridge_version": "x"}),
                json!({"type": "chunk", "request_id": "r"}),
                json!({"type": "chunk", "request_id": "r", "delta": 7}),
                json!({"type": "error", "request_id": "r", "code": "x"}),
                json!({"type": "call_agent", "target_agent_id": "b"}),
                json!({"type": "ask", "request_id": "r", "ask_id": "q", "kind": "other", "text": "?"}),
                json!({"type": "other"}),
            ],
        ),
        (
            "team",
            "command",
            vec![
                json!({"type": "SEND_MESSAGE", "payload": {"content": "x", "target_member_name": "a", "imageUrls": []}}),
                json!({"type": "STOP_GENERATION"}),
                json!({"type": "STOP_GENERATION", "payload": {"agent_name": "a"}}),
                json!({"type": "APPROVE_TOOL", "payload": {"invocation_id": "i", "reason": "r"}}),
                json!({"type": "DENY_TOOL", "payload": {"approval_token": {"teamRunId": "r"}}}),
            ],
            vec![
                json!({"type": "SEND_MESSAGE"}),
                json!({"type": "SEND_MESSAGE", "payload": {"content": 7}}),
                json!({"type": "APPROVE_TOOL"}),
                json!({"type": "OTHER", "payload": {}}),
            ],
        ),
        (
            "team",
            "publish",
            vec![
                json!({"event_source_type": "TEAM", "data": {"new_status": "IDLE"}}),
                json!([{"event_source_type": "AGENT", "data": {"agent_name": "a"}, "own": 1}]),
            ],
            vec![
                json!({"event_source_type": "OTHER", "data": {}}),
                json!({"event_source_type": "TEAM"}),
                json!(7),
            ],
        ),
    ] {
        let any = validator(&documents[&format!("/schemas/{protocol}/{group}.json")]);
        for frame in good {
            assert!(any.is_valid(&frame), "{protocol} {frame}");
            if let Some(name) = frame["type"].as_str() {
                let one = &documents[&format!("/schemas/{protocol}/{group}.{name}.json")];
                assert!(validator(one).is_valid(&frame), "{protocol} {name} {frame}");
            }
        }
        for frame in wrong {
            assert!(!any.is_valid(&frame), "{protocol} {frame}");
        }
    }
}

/// The judge behind the clients of all tests can fail.
#[tokio::test]
async fn a_frame_that_fits_no_schema_fails_a_test() {
    let hub = TestHub::start().await;
    let documents = documents(&hub).await;
    for (path, wrong) in [
        (
            "/schemas/agora/from-hub.json",
            json!({"type": "registered"}),
        ),
        (
            "/schemas/agora/from-hub.json",
            json!({"type": "message", "payload": 1}),
        ),
        (
            "/schemas/bridge/from-hub.json",
            json!({"type": "registered", "status": "maybe"}),
        ),
        ("/schemas/bridge/event.json", json!({"type": "chunk"})),
        (
            "/schemas/own/call-event.json",
            json!({"type": "chunk", "kind": "text"}),
        ),
        ("/schemas/own/watch-event.json", json!({"type": "offline"})),
        (
            "/schemas/team/message.json",
            json!({"type": "AGENT_STATUS", "payload": {"new_status": "idle"}}),
        ),
        ("/schemas/team/event.json", json!({"team_id": "t"})),
    ] {
        assert!(
            !validator(&documents[path]).is_valid(&wrong),
            "{path} {wrong}"
        );
    }
}
