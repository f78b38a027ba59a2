//! `/v1/peers`: kept and blocked peers of a hub, by raw requests to whole hubs.

use jackfield_testkit::{TestHub, answer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::p2p::{
    hub,
    hubs::{at, ids},
    tcp,
};

/// The hub's peer id.
fn peer_id(hub: &TestHub) -> String {
    let address = tcp(hub);
    address.rsplit('/').next().unwrap().to_owned()
}

/// The id of a peer that doesn't exist, at a port without a listener.
const NOBODY: &str =
    "/ip4/127.0.0.1/tcp/1/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";

async fn delete(hub: &TestHub, path: &str) -> (u16, Value) {
    answer(hub.web().ask(Method::DELETE, path)).await
}

/// Makes a hub keep a connection to a peer, whose agents become agents of the hub.
pub(crate) async fn keep(hub: &TestHub, address: &str) {
    let body = json!({ "address": address });
    let (status, added) = hub.web().post("/v1/peers", body).await;
    assert_eq!(status, 201, "{added}");
}

/// Waits until a hub has this agent, now or later.
pub(crate) async fn until_there(hub: &TestHub, id: &str) {
    let mut watch = hub.watch(id);
    let (_, agent) = hub.web().get(&format!("/v1/agents/{id}")).await;
    if agent["state"] != "online" {
        watch.until_online().await;
    }
}

#[tokio::test]
async fn a_peer_that_is_kept_brings_its_agents_and_is_kept_after_a_restart() {
    let (far, near) = (hub().await, hub().await);
    let _amy = far.bridge("amy").await;
    let (peer, amy) = (peer_id(&far), at(&far, "amy"));
    let body = json!({"address": tcp(&far)});
    let (status, added) = near.web().post("/v1/peers", body.clone()).await;
    assert_eq!(status, 201, "{added}");
    let expected_body = json!({
        "id": peer, "name": "Jackfield", "state": "online", "relayed": false, "agents": [amy],
        "kept": true, "configured": false, "allowed": false, "blocked": false
    });
    for (key, value) in expected_body.as_object().unwrap() {
        assert_eq!(&added[key], value, "{key}: {added}");
    }
    assert_eq!(
        (&added["addresses"][0], &added["address"]),
        (&json!(tcp(&far)), &json!(tcp(&far)))
    );
    assert!(
        added["program"].as_str().unwrap().starts_with("jackfield/"),
        "{added}"
    );
    // Adding a peer twice keeps it once.
    let (status, _) = near.web().post("/v1/peers", body).await;
    assert_eq!(status, 200);
    let (_, all) = near.web().get("/v1/peers").await;
    assert_eq!(all["peers"].as_array().unwrap().len(), 1, "{all}");

    let near = near.restart().await;
    until_there(&near, &amy).await;
    let path = format!("/v1/peers/{peer}");
    let (_, shown) = near.web().get(&path).await;
    assert_eq!(
        (&shown["kept"], &shown["state"]),
        (&json!(true), &json!("online"))
    );

    let mut watch = near.watch(&amy);
    assert_eq!(delete(&near, &path).await, (204, Value::Null));
    watch.until_offline().await;
    let (status, refused) = delete(&near, &path).await;
    assert_eq!((status, &refused["error"]), (404, &json!("not_found")));
    let near = near.restart().await;
    let (_, all) = near.web().get("/v1/peers").await;
    assert_eq!(all, json!({"peers": []}));
}

#[tokio::test]
async fn an_address_that_leads_nowhere_is_refused_although_the_peer_is_connected() {
    let (near, far) = (hub().await, hub().await);
    let (status, _) = near
        .web()
        .post("/v1/peers", json!({"address": tcp(&far)}))
        .await;
    assert_eq!(status, 201);
    let peer = tcp(&far);
    let peer = peer.rsplit('/').next().unwrap();
    let wrong = format!("/ip4/127.0.0.1/tcp/1/p2p/{peer}");
    let (status, refused) = near
        .web()
        .post("/v1/peers", json!({"address": wrong}))
        .await;
    assert_eq!((status, &refused["error"]), (502, &json!("offline")));
    let text = refused["message"].as_str().unwrap();
    assert!(
        text.contains("nobody listens there; nothing was added"),
        "{text}"
    );
    let (_, shown) = near.web().get(&format!("/v1/peers/{peer}")).await;
    assert_eq!(
        (&shown["state"], &shown["addresses"][0]),
        (&json!("online"), &json!(tcp(&far)))
    );
}

#[tokio::test]
async fn a_peer_that_cannot_be_reached_is_kept_only_if_that_is_meant() {
    let hub = hub().await;
    let (status, refused) = hub
        .web()
        .post("/v1/peers", json!({"address": NOBODY}))
        .await;
    assert_eq!((status, &refused["error"]), (502, &json!("offline")));
    let text = refused["message"].as_str().unwrap();
    assert!(text.contains("nothing was added"), "{text}");
    assert_eq!(hub.web().get("/v1/peers").await.1, json!({"peers": []}));
    let body = json!({"address": NOBODY, "keep": true});
    let (status, added) = hub.web().post("/v1/peers", body).await;
    assert_eq!(
        (status, &added["state"]),
        (201, &json!("offline")),
        "{added}"
    );
    assert_eq!(added["addresses"], json!([NOBODY]));
    assert!(added["error"]["message"].is_string(), "{added}");
    let hub = hub.restart().await;
    let (_, all) = hub.web().get("/v1/peers").await;
    assert_eq!(all["peers"][0]["addresses"], json!([NOBODY]), "{all}");
}

#[tokio::test]
async fn what_is_no_way_to_another_peer_is_refused_with_a_remedy() {
    let hub = hub().await;
    let (own, other) = (tcp(&hub), NOBODY.rsplit('/').next().unwrap());
    let through = format!("{own}/p2p-circuit/p2p/{other}");
    let long = format!("/dns4/{}/tcp/1/p2p/{other}", "a".repeat(10 << 10));
    for (address, expected_word) in [
        ("hello", "multiaddr"),
        ("", "/p2p/"),
        ("/ip4/192.0.2.1", "/p2p/"),
        ("/ip4/192.0.2.1/tcp/1", "/p2p/"),
        ("/ip4/192.0.2.1/tcp/1/p2p/me", "/p2p/"),
        (&own, "this hub itself"),
        (&through, "this hub itself"),
        (&format!("/ip4/0.0.0.0/tcp/1/p2p/{other}"), "nowhere"),
        (&format!("/ip6/::/udp/1/quic-v1/p2p/{other}"), "nowhere"),
        (&format!("/ip4/192.0.2.1/tcp/0/p2p/{other}"), "nowhere"),
        (
            &format!("/ip4/192.0.2.1/tcp/1/ws/p2p/{other}"),
            "not dialled",
        ),
        (&format!("/p2p/{other}"), "not dialled"),
        ("http://agents.example/card", "URL"),
        (&long, "longer than"),
    ] {
        let body = json!({"address": address, "keep": true});
        let (status, refused) = hub.web().post("/v1/peers", body).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("invalid")),
            "{address}"
        );
        let text = refused["message"].as_str().unwrap();
        assert!(
            text.contains("\"address\"") && text.contains(expected_word),
            "{address}: {text}"
        );
    }
    for body in [
        json!({}),
        json!({"address": 1}),
        json!({"address": NOBODY, "kept": true}),
        json!([NOBODY]),
    ] {
        let (status, refused) = hub.web().post("/v1/peers", body).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("invalid")),
            "{refused}"
        );
    }
    let large = json!({"address": "a".repeat(100 << 10)});
    assert_eq!(hub.web().post("/v1/peers", large).await.0, 413);
    for path in ["/v1/peers/me", "/v1/peers/me/block", "/v1/peers/me/unblock"] {
        let (status, refused) = hub.web().post(path, json!({})).await;
        let expected = if path.ends_with("me") { 405 } else { 400 };
        assert_eq!(status, expected, "{path}: {refused}");
    }
    let path = format!("/v1/peers/{}/block", peer_id(&hub));
    assert_eq!(hub.web().post(&path, json!({})).await.0, 400, "itself");
    assert_eq!(hub.web().get("/v1/peers").await.1, json!({"peers": []}));
}

#[tokio::test]
async fn only_admins_see_and_change_the_peers_of_a_hub() {
    let hub = hub().await;
    let ann = hub.web_of(&hub.token("ann", &["call:*", "agent:*"]).await);
    let peer = format!("/v1/peers/{}", NOBODY.rsplit('/').next().unwrap());
    for (method, path) in [
        (Method::GET, "/v1/peers".to_owned()),
        (Method::POST, "/v1/peers".to_owned()),
        (Method::GET, peer.clone()),
        (Method::DELETE, peer.clone()),
        (Method::POST, format!("{peer}/block")),
        (Method::POST, format!("{peer}/unblock")),
    ] {
        let body = json!({"address": NOBODY, "keep": true});
        let (status, refused) = answer(ann.ask(method.clone(), &path).json(&body)).await;
        assert_eq!(
            (status, &refused["error"]),
            (401, &json!("unauthorized")),
            "{method} {path}"
        );
    }
    assert_eq!(hub.web().get("/v1/peers").await.1, json!({"peers": []}));
}

#[tokio::test]
async fn a_peer_that_is_kept_is_called_and_does_not_call() {
    let far = hub().await;
    let mut amy = far.bridge("amy").await;
    // The hub is publicly reachable, so only allowed peers may hand off: none.
    let near = TestHub::start_with(|config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.p2p.enabled = true;
        config.p2p.listen = vec!["/ip4/127.0.0.1/tcp/0".to_owned()];
    })
    .await;
    let admin = near.web_of(&near.token("local", &["admin"]).await);
    let amy_here = at(&far, "amy");
    // The peer is connected before the request, and has no agents yet.
    near.meet_peer(&tcp(&far)).await;
    let (_, before) = admin.get(&format!("/v1/peers/{}", peer_id(&far))).await;
    assert_eq!(
        (&before["kept"], &before["agents"]),
        (&json!(false), &json!([]))
    );
    let (status, added) = admin.post("/v1/peers", json!({"address": tcp(&far)})).await;
    assert_eq!(status, 201, "{added}");
    assert_eq!(
        (&added["agents"], &added["allowed"]),
        (&json!([amy_here]), &json!(false))
    );
    let calls = format!("/v1/agents/{amy_here}/calls");
    let mut events = admin.stream(&calls, json!({"text": "hi"})).await;
    let request = amy.expect_message("hi").await;
    amy.send(json!({"type": "done", "request_id": request, "session_id": "s"}))
        .await;
    assert_eq!(events.rest().await.last().unwrap()["type"], "done");
    // In the other direction, the peer has no permission.
    let (status, seen) = far
        .web()
        .post("/v1/peers", json!({"address": tcp(&near)}))
        .await;
    assert_eq!((status, &seen["agents"]), (201, &json!([])), "{seen}");
    let why = seen["error"]["message"].as_str().unwrap();
    assert!(why.contains("allowed peers only"), "{why}");
}

#[tokio::test]
async fn on_one_machine_too_a_peer_that_is_kept_does_not_call() {
    let (far, near) = (hub().await, hub().await);
    let (_amy, _bob) = (far.bridge("amy").await, near.bridge("bob").await);
    let body = json!({"address": tcp(&far)});
    let (status, added) = near.web().post("/v1/peers", body).await;
    assert_eq!(
        (status, &added["agents"], &added["allowed"]),
        (201, &json!([at(&far, "amy")]), &json!(false)),
        "{added}"
    );
    // The other hub sees an incoming local connection, which it allows. In return it isn't allowed.
    let body = json!({"address": tcp(&near)});
    let (status, seen) = far.web().post("/v1/peers", body).await;
    assert_eq!(
        (status, &seen["agents"], &seen["allowed"]),
        (201, &json!([]), &json!(true)),
        "{seen}"
    );
    let why = seen["error"]["message"].as_str().unwrap();
    assert!(why.contains("allowed peers only"), "{why}");
    assert_eq!(ids(&far).await, ["amy"]);
}

#[tokio::test]
async fn a_peer_that_is_blocked_is_refused_until_it_is_unblocked() {
    let (far, near) = (hub().await, hub().await);
    let _amy = far.bridge("amy").await;
    let (amy, address) = (at(&far, "amy"), json!({"address": tcp(&far)}));
    let peer = format!("/v1/peers/{}", peer_id(&far));
    near.web().post("/v1/peers", address.clone()).await;
    until_there(&near, &amy).await;
    let mut watch = near.watch(&amy);
    let (status, blocked) = near.web().post(&format!("{peer}/block"), json!({})).await;
    assert_eq!((status, &blocked["blocked"]), (200, &json!(true)));
    watch.until_offline().await;
    let (status, refused) = near.web().post("/v1/peers", address).await;
    assert_eq!(
        (status, &refused["error"]),
        (409, &json!("conflict")),
        "{refused}"
    );
    let near = near.restart().await;
    let (_, shown) = near.web().get(&peer).await;
    assert_eq!(
        (&shown["blocked"], &shown["kept"], &shown["state"]),
        (&json!(true), &json!(true), &json!("offline"))
    );
    let mut watch = near.watch(&amy);
    let (status, let_in) = near.web().post(&format!("{peer}/unblock"), json!({})).await;
    assert_eq!((status, &let_in["blocked"]), (200, &json!(false)));
    // The peer is still kept.
    watch.until_online().await;
}

#[tokio::test]
async fn a_peer_of_the_configuration_is_removed_there() {
    let far = hub().await;
    let address = tcp(&far);
    let near = TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.peers = vec![address];
    })
    .await;
    let path = format!("/v1/peers/{}", peer_id(&far));
    let (_, shown) = near.web().get(&path).await;
    assert_eq!(
        (&shown["kept"], &shown["configured"]),
        (&json!(true), &json!(true))
    );
    let (status, refused) = delete(&near, &path).await;
    assert_eq!((status, &refused["error"]), (409, &json!("conflict")));
    assert!(ids(&near).await.is_empty());
}
