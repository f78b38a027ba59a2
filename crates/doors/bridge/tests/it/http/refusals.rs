//! The table of status codes (wire notes 1.11), and the order in which a request is judged (1.4).

use jackfield_bridge::{PlatformSettings, SharedSecret};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http::harness::{BridgeHub, SECRET, chunk, platform, relay_body, taken_apart};

/// The body of a relay with some fields changed; `null` takes one away.
fn relay(changes: &Value) -> Value {
    let mut body = relay_body("amy", "r1");
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(body.as_object_mut().unwrap().remove(name)),
            value => body[name] = value.clone(),
        }
    }
    body
}

async fn check(hub: &BridgeHub, method: Method, path: &str, body: &Value, expected: (u16, &str)) {
    let text = match body {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        body => Some(body.to_string()),
    };
    let (status, answer) = hub.checked(method.clone(), path, text).await;
    let found = (
        status.as_u16(),
        answer["error"].as_str().unwrap_or_default(),
    );
    assert_eq!(found, expected, "{method} {path} {body}: {answer}");
    let fields = answer.as_object().unwrap();
    assert_eq!(fields.len(), 2, "only error and message: {answer}");
    assert!(!fields["message"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_a_relay_is_named() {
    let hub = BridgeHub::start().await;
    let _amy = hub.attach("amy");
    for (changes, text) in [
        (
            json!({"mode": "asinc"}),
            "field \"mode\" must be \"stream\" or \"async\"",
        ),
        (
            json!({"agent_id": "zorro"}),
            "Agent is not connected: zorro",
        ),
    ] {
        let (_, answer) = hub.post("/api/relay", relay(&changes)).await;
        assert_eq!(answer["message"], text);
    }
}

#[tokio::test]
async fn a_relay_is_judged_in_the_order_of_the_original_hub() {
    let hub = BridgeHub::start().await;
    let _amy = hub.attach("amy");
    let mut gone = hub.attach("gone");
    gone.leave();
    let large = "x".repeat(5 << 20);
    let (invalid, offline) = ((400, "invalid_message"), (404, "agent_offline"));
    for (body, expected) in [
        (json!("{no json"), invalid),
        (json!("[]"), invalid),
        (json!({}), invalid),
        (relay(&json!({"agent_id": null})), invalid),
        (relay(&json!({"agent_id": ""})), invalid),
        (relay(&json!({"agent_id": 5})), invalid),
        (
            relay(&json!({"agent_id": "../etc"})),
            (400, "invalid_agent_id"),
        ),
        (
            relay(&json!({"agent_id": "a b"})),
            (400, "invalid_agent_id"),
        ),
        // The size comes before the agent's absence, and that before missing fields.
        (
            relay(&json!({"agent_id": "gone", "content": large})),
            (413, "payload_too_large"),
        ),
        (
            relay(&json!({"agent_id": "gone", "content": null})),
            offline,
        ),
        (
            relay(&json!({"agent_id": "gone", "client_id": "../x"})),
            offline,
        ),
        (relay(&json!({"agent_id": "gone"})), offline),
        (relay(&json!({"agent_id": "nobody"})), offline),
        (
            relay(&json!({"agent_id": "nobody", "wait_online": "1h"})),
            offline,
        ),
        (relay(&json!({"session_id": null})), invalid),
        (relay(&json!({"session_id": ""})), invalid),
        (relay(&json!({"request_id": null})), invalid),
        (relay(&json!({"content": null})), invalid),
        (relay(&json!({"content": ""})), invalid),
        (relay(&json!({"content": ["x"]})), invalid),
        (relay(&json!({"request_id": "a\u{0}b"})), invalid),
        (relay(&json!({"session_id": "x".repeat(257)})), invalid),
        (relay(&json!({"client_id": "../../etc"})), invalid),
        (relay(&json!({"client_id": ".hidden"})), invalid),
        (relay(&json!({"client_id": "a/b"})), invalid),
        (relay(&json!({"attachments": "x"})), invalid),
        (relay(&json!({"attachments": [{"name": "x"}]})), invalid),
        (relay(&json!({"with_files": "yes"})), invalid),
        (relay(&json!({"keep": 1})), invalid),
        (relay(&json!({"wait_online": "soon"})), invalid),
        (
            relay(&json!({"mode": "async", "callback_url": "https://example.com/"})),
            invalid,
        ),
    ] {
        check(&hub, Method::POST, "/api/relay", &body, expected).await;
    }
}

#[tokio::test]
async fn a_refusal_names_the_field() {
    let hub = BridgeHub::start().await;
    let _amy = hub.attach("amy");
    for (changes, name) in [
        (json!({"agent_id": null}), "agent_id"),
        (json!({"content": null}), "content"),
        (json!({"session_id": 7}), "session_id"),
        (
            json!({"attachments": [{"url": "https://e/", "type": 1}]}),
            "attachments[0].type",
        ),
        (json!({"client_id": "a b"}), "client_id"),
    ] {
        let (_, answer) = hub.post("/api/relay", relay(&changes)).await;
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(name), "{name}: {message}");
    }
    let (_, answer) = hub
        .post("/api/relay", relay(&json!({"content": null})))
        .await;
    let message = answer["message"].as_str().unwrap();
    assert!(message.starts_with("Missing required fields"), "{message}");
}

#[tokio::test]
async fn the_other_routes_have_the_codes_of_the_table() {
    let hub = BridgeHub::start().await;
    let _amy = hub.attach("amy");
    let (get, post) = (Method::GET, Method::POST);
    let large = json!({"agent_id": "amy", "x": "x".repeat(5 << 20)});
    let (invalid, bad_id) = ((400, "invalid_message"), (400, "invalid_agent_id"));
    let (bad_query, too_large) = ((400, "invalid_request"), (413, "payload_too_large"));
    let (offline, not_found) = ((404, "agent_offline"), (404, "not_found"));
    for (method, path, body, expected) in [
        (&get, "/api/agents/a%20b/status", Value::Null, bad_id),
        (&get, "/api/agents/%ff/status", Value::Null, bad_id),
        (&post, "/api/disconnect", json!("{"), invalid),
        (&post, "/api/disconnect", json!({}), invalid),
        (&post, "/api/disconnect", json!({"agent_id": "a b"}), bad_id),
        (&post, "/api/disconnect", large.clone(), too_large),
        (&post, "/api/agents-by-token", json!({}), invalid),
        (&post, "/api/cancel", json!({}), invalid),
        (&post, "/api/cancel", json!({"agent_id": "a b"}), bad_id),
        (&post, "/api/cancel", json!({"agent_id": "nobody"}), offline),
        (
            &post,
            "/api/cancel",
            json!({"agent_id": "nobody", "session_id": "s"}),
            offline,
        ),
        (&post, "/api/cancel", json!({"agent_id": "amy"}), invalid),
        (&post, "/api/cancel", large.clone(), too_large),
        (&get, "/api/task-status", Value::Null, bad_query),
        (
            &get,
            "/api/task-status?agent_id=amy",
            Value::Null,
            bad_query,
        ),
        (
            &get,
            "/api/task-status?request_id=r",
            Value::Null,
            bad_query,
        ),
        (
            &get,
            "/api/task-status?agent_id=a%20b&request_id=r",
            Value::Null,
            bad_id,
        ),
        (
            &get,
            "/api/task-status?agent_id=amy&request_id=r",
            Value::Null,
            not_found,
        ),
        (
            &get,
            "/api/relay/events?agent_id=amy&request_id=r",
            Value::Null,
            not_found,
        ),
        (&get, "/api/relay/events", Value::Null, bad_query),
        (&post, "/api/a2a/call", json!({}), invalid),
        (
            &post,
            "/api/a2a/call",
            json!({"caller_agent_id": "amy", "target_agent_id": "b"}),
            invalid,
        ),
        (&post, "/api/a2a/call", large, too_large),
        (&post, "/api/rtc-signal/a%20b", json!({}), bad_id),
        (
            &post,
            "/api/rtc-signal/amy",
            json!({"signal_type": "poll"}),
            invalid,
        ),
        (
            &post,
            "/api/rtc-signal/amy",
            json!({"transfer_id": "t"}),
            invalid,
        ),
        (
            &post,
            "/api/rtc-signal/nobody",
            json!({"transfer_id": "t", "signal_type": "offer"}),
            offline,
        ),
        // One that is there, but not by a connection that could carry signals.
        (
            &post,
            "/api/rtc-signal/amy",
            json!({"transfer_id": "t", "signal_type": "offer"}),
            offline,
        ),
        (
            &post,
            "/api/rtc-signal/amy",
            json!({"transfer_id": "t", "signal_type": "offer", "client_id": "../x"}),
            invalid,
        ),
    ] {
        check(&hub, method.clone(), path, &body, expected).await;
    }
    let path = "/api/relay/events?agent_id=amy&request_id=r";
    let request = hub.platform(get, path).header("Last-Event-ID", "x");
    let (status, answer) = taken_apart(request.send().await.unwrap()).await;
    assert_eq!(
        (status.as_u16(), &answer["error"]),
        (400, &json!("invalid_request"))
    );
}

#[tokio::test]
async fn a_busy_agent_is_429_and_an_open_id_409() {
    let limits = jackfield_core::limits::Limits {
        pending_per_agent: 1,
        ..Default::default()
    };
    let hub = BridgeHub::start_with(Default::default(), limits, platform()).await;
    let mut amy = hub.attach("amy");
    let _first = hub.relay("amy", "r1").await;
    let _call = amy.next_call().await;
    let busy = relay_body("amy", "r2");
    check(&hub, Method::POST, "/api/relay", &busy, (429, "agent_busy")).await;
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut first = hub.relay("amy", "r1").await;
    let call = amy.next_call().await;
    let twice = relay_body("amy", "r1");
    check(
        &hub,
        Method::POST,
        "/api/relay",
        &twice,
        (409, "invalid_message"),
    )
    .await;
    // The first one is untouched: in the original hub it hung for ever.
    call.finish(crate::http::harness::done("x"));
    let told = [chunk("x"), json!({"type": "done"})];
    assert_eq!(first.rest().await, told);
    let mut again = hub.relay("amy", "r1").await;
    amy.next_call()
        .await
        .finish(crate::http::harness::done("x"));
    assert_eq!(again.rest().await, told);
}

#[tokio::test]
async fn without_the_secret_everything_below_api_is_401() {
    let hub = BridgeHub::start().await;
    for (method, path) in [
        (Method::POST, "/api/relay"),
        (Method::GET, "/api/relay"),
        (Method::GET, "/api/agents/amy/status"),
        (Method::POST, "/api/rtc-signal/amy"),
        (Method::GET, "/api/nothing/here"),
        (Method::DELETE, "/api/cancel"),
        (Method::GET, "/api"),
        (Method::GET, "/api/"),
    ] {
        for shown in [
            None,
            Some(""),
            Some("hunter"),
            Some("hunter22"),
            Some("Hunter2"),
        ] {
            let mut request = hub.ask(method.clone(), path);
            if let Some(shown) = shown {
                request = request.header("X-Platform-Secret", shown);
            }
            let (status, answer) = taken_apart(request.send().await.unwrap()).await;
            assert_eq!(
                status,
                StatusCode::UNAUTHORIZED,
                "{method} {path} {shown:?}"
            );
            assert_eq!(answer["error"], "auth_failed");
        }
    }
    let bearer = hub.ask(Method::POST, "/api/relay").bearer_auth(SECRET);
    assert_eq!(
        bearer.send().await.unwrap().status(),
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_secret_is_replaced_without_a_moment_in_which_none_counts() {
    let secret = |text| SharedSecret::new(text).unwrap();
    let hub = BridgeHub::start_with(
        Default::default(),
        Default::default(),
        PlatformSettings::default(),
    )
    .await;
    let status = async |shown: &str| {
        let request = hub.ask(Method::GET, "/api/agents/amy/status");
        let response = request.header("X-Platform-Secret", shown).send().await;
        response.unwrap().status().as_u16()
    };
    assert_eq!(
        (status("").await, status("old").await),
        (401, 401),
        "none: nobody is let in"
    );
    for (secrets, old, new) in [
        (vec![secret("old")], 200, 401),
        (vec![secret("new"), secret("old")], 200, 200),
        (vec![secret("new")], 401, 200),
        (vec![], 401, 401),
    ] {
        hub.bridge.set_secrets(secrets);
        assert_eq!((status("old").await, status("new").await), (old, new));
    }
}
