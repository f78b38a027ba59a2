//! The AI Registry over HTTP, exactly as documented: the statements are built by hand here, and signed by the published
//! peers.

use std::net::Ipv4Addr;

use jackfield_testkit::{TestHub, answer};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::p2p::{
    hub,
    peer::{LANGUAGES, Peer, card},
    tcp,
};

/// A registration with a public address that is never dialled here.
pub(crate) fn registration(peer: &Peer, name: &str) -> Value {
    let address = format!("/ip4/8.8.8.8/tcp/4001/p2p/{}", peer.id);
    json!({"agent_name": name, "peer_id": peer.id, "addrs": [address]})
}

/// A registration signed by `signer`, usually the registered peer.
pub(crate) async fn signed(hub: &TestHub, signer: &mut Peer, mut body: Value) -> Value {
    let (name, address) = (&body["agent_name"], &body["addrs"][0]);
    let further = [name, address].map(|it| it.as_str().unwrap());
    let peer = body["peer_id"].as_str().unwrap();
    let proof = prove(hub, signer, peer, "register", &further).await;
    body.as_object_mut().unwrap().extend(proof);
    body
}

/// The fields that prove a peer's request.
async fn prove(
    hub: &TestHub,
    signer: &mut Peer,
    peer: &str,
    verb: &str,
    further: &[&str],
) -> serde_json::Map<String, Value> {
    let (status, response) = hub.web().get(&format!("/register/{peer}")).await;
    assert_eq!(
        (status, &response["peer_id"]),
        (200, &json!(peer)),
        "{response}"
    );
    let challenge = response["challenge"].as_str().unwrap();
    let mut lines = vec!["jackfield-registry", verb, peer, challenge];
    lines.extend(further);
    let command = json!({"do": "sign", "text": lines.join("\n")});
    let mut proof = signer.ok(command).await;
    let proof = proof.as_object_mut().unwrap();
    proof.retain(|name, _| name == "signature" || name == "public_key");
    proof.insert("challenge".to_owned(), challenge.into());
    std::mem::take(proof)
}

#[tokio::test]
async fn the_originals_default_address_is_registered_as_that_of_whoever_asks() {
    let hub = hub().await;
    let peer = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";
    let address = format!("/ip4/0.0.0.0/tcp/4001/p2p/{peer}");
    let body = json!({"agent_name": "travel", "peer_id": peer, "addrs": [address]});
    // Headers about the sender's address don't count.
    let request = hub.web().ask(Method::POST, "/register");
    let token = hub.token("ann", &["admin"]).await;
    let request = request.header("x-forwarded-for", "8.8.8.8");
    let request = request.bearer_auth(token).json(&body);
    let (status, response) = answer(request).await;
    assert_eq!(status, 200, "{response}");
    let (_, found) = hub.web().get("/peers?agent_name=travel").await;
    let placed = format!("/ip4/127.0.0.1/tcp/4001/p2p/{peer}");
    assert_eq!(found["addresses"], json!([placed]), "{found}");
}

#[tokio::test]
async fn published_clients_register_find_renew_and_leave_in_every_shape() {
    let hub = hub().await;
    let web = hub.web();
    let peer = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";
    // A listening address that the registry must not dial.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = format!("/ip4/127.0.0.1/tcp/{port}/p2p/{peer}");
    let (status, response) = web.post("/register", json!({"agent_name": "travel"})).await;
    assert_eq!(status, 400, "{response}");
    let body =
        json!({"agent_name": "travel", "peer_id": peer, "addrs": [address], "skills": ["book"]});
    let (status, response) = web.post("/register", body).await;
    assert_eq!(
        (status, &response["status"]),
        (200, &json!("registered")),
        "{response}"
    );
    assert_eq!(response["peer_id"], peer);
    assert!(response["expires_at"].is_string(), "{response}");

    // The whole list, which includes the hub itself.
    let (_, all) = web.get("/peers").await;
    let ids: Vec<_> = all["peers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["peer_id"])
        .collect();
    assert!(tcp(&hub).ends_with(ids[0].as_str().unwrap()), "{all}");
    assert_eq!(ids[1], peer);
    // A single peer by name, in both spellings of the query.
    for path in ["/peers?agent_name=travel", "/peers?travel"] {
        let (status, one) = web.get(path).await;
        assert_eq!((status, &one["peer_id"]), (200, &json!(peer)), "{one}");
        for name in ["addresses", "addrs", "multiaddresses"] {
            assert_eq!(one[name], json!([address]), "{one}");
        }
        assert_eq!(one["capabilities"], json!(["book"]), "{one}");
        assert_eq!(one["peers"].as_array().unwrap().len(), 1, "{one}");
    }
    assert_eq!(web.get("/peers?agent_name=nobody").await.0, 404);
    // A bare list, by skill or by words.
    for query in ["agent_name=travel", "skill=book", "q=travel"] {
        let (_, list) = web.get(&format!("/peers?{query}&format=list")).await;
        assert_eq!(list[0]["peer_id"], peer, "{query}: {list}");
        assert_eq!(list.as_array().unwrap().len(), 1, "{query}: {list}");
    }
    let (_, found) = web
        .post("/agents/find", json!({"goal": "book a trip"}))
        .await;
    assert_eq!(
        (
            &found[0]["name"],
            &found[0]["peer_id"],
            &found[0]["endpoint"]
        ),
        (&json!("travel"), &json!(peer), &json!(address)),
        "{found}"
    );
    let (_, found) = web.get("/agents?skill=book").await;
    assert_eq!(found[0]["peer_id"], peer, "{found}");
    let (status, found) = web
        .post("/tools/find", json!({"goal": "nothing like it"}))
        .await;
    assert_eq!((status, found), (200, json!([])));

    let (status, response) = web
        .post("/heartbeat", json!({"peer_id": peer, "ttl": 60}))
        .await;
    assert_eq!(
        (status, &response["peer_id"]),
        (200, &json!(peer)),
        "{response}"
    );
    let path = format!("/register/{peer}");
    let (status, _) = answer(web.ask(Method::DELETE, &path)).await;
    assert_eq!(status, 204);
    assert_eq!(web.get("/peers?travel").await.0, 404);
    let accepted = tokio::select! {
        biased;
        accepted = listener.accept() => Some(accepted),
        () = std::future::ready(()) => None,
    };
    assert!(
        accepted.is_none(),
        "nothing is dialled because it was registered"
    );
}

/// A public hub where these peers may hand off.
async fn open_hub(allowed: &[Peer], relay: bool) -> TestHub {
    let allowed = allowed.iter().map(|peer| peer.id.clone()).collect();
    TestHub::start_with(|config| {
        config.listen = "0.0.0.0:0".parse().unwrap();
        config.p2p.enabled = true;
        config.p2p.allowed = allowed;
        config.p2p.relay = relay;
    })
    .await
}

#[tokio::test]
async fn nobody_says_anything_of_a_peer_that_speaks_for_itself() {
    let mut peers = Vec::new();
    for language in LANGUAGES {
        peers.extend(Peer::start(language, card("guest", &["/echo"])).await);
    }
    let hub = open_hub(&peers, false).await;
    let [allowed_peer, attacker] = &mut peers[..] else {
        return;
    };
    let (web, token) = (hub.web(), hub.token("ann", &["agent:*"]).await);
    let own = {
        let body = registration(allowed_peer, "guest");
        signed(&hub, allowed_peer, body).await
    };
    assert_eq!(web.post("/register", own.clone()).await.0, 200);
    let again = web.post("/register", own).await;
    assert_eq!(again.0, 401, "a signature is good once: {}", again.1);

    // Other peers can't replace the entry: not unsigned, not by token, not by their own signature.
    let body = registration(allowed_peer, "stolen");
    let with_its_key = signed(&hub, attacker, body.clone()).await;
    let mut without = signed(&hub, attacker, body.clone()).await;
    without.as_object_mut().unwrap().remove("public_key");
    for (web, body) in [
        (&web, &body),
        (&hub.web_of(&token), &body),
        (&web, &with_its_key),
        (&web, &without),
    ] {
        let (status, response) = web.post("/register", body.clone()).await;
        assert_eq!(status, 401, "{response}");
        assert!(response["challenge"].is_string(), "{response}");
    }
    let path = format!("/register/{}", allowed_peer.id);
    let removal = json!({"peer_id": allowed_peer.id});
    assert_eq!(web.post("/heartbeat", removal).await.0, 401);
    assert_eq!(answer(web.ask(Method::DELETE, &path)).await.0, 401);
    // Addresses must belong to the peer.
    let mut foreign = registration(attacker, "x");
    foreign["addrs"] = registration(allowed_peer, "x")["addrs"].take();
    let foreign = signed(&hub, attacker, foreign).await;
    assert_eq!(web.post("/register", foreign).await.0, 400);
    let (_, one) = hub.web_of(&token).get("/peers?agent_name=guest").await;
    assert_eq!(one["peer_id"], allowed_peer.id, "{one}");

    for (verb, status) in [("renew", 200), ("remove", 204)] {
        let id = allowed_peer.id.clone();
        let mut removal = prove(&hub, allowed_peer, &id, verb, &[]).await;
        removal.insert("peer_id".to_owned(), allowed_peer.id.clone().into());
        let request = match verb {
            "renew" => web.ask(Method::POST, "/heartbeat"),
            _ => web.ask(Method::DELETE, &path),
        };
        let response = answer(request.json(&removal)).await;
        assert_eq!(response.0, status, "{verb}: {}", response.1);
    }
}

#[tokio::test]
async fn a_relay_has_a_place_for_a_peer_once_it_is_registered() {
    let hub = open_hub(&[], true).await;
    let token = hub.token("local", &["agent:*"]).await;
    let relay = tcp(&hub).replace("0.0.0.0", "127.0.0.1");
    for language in LANGUAGES {
        let Some(mut peer) = Peer::start(language, card("guest", &["/echo"])).await else {
            continue;
        };
        // The peer is connected but not allowed, so it gets no reservation.
        let reserve = json!({"do": "reserve", "relay": relay, "within": 5});
        let number = peer.begin(reserve.clone()).await;
        let response = peer.answer(number).await;
        assert_eq!(response["ok"], false, "{language:?}: {response}");
        // A signature without a token isn't enough for a peer that the operator didn't allow.
        let body = registration(&peer, "guest");
        let body = signed(&hub, &mut peer, body).await;
        assert_eq!(hub.web().post("/register", body).await.0, 401);
        let body = registration(&peer, "guest");
        let body = signed(&hub, &mut peer, body).await;
        let (status, response) = hub.web_of(&token).post("/register", body).await;
        assert_eq!(status, 200, "{response}");
        peer.ok(reserve).await;
    }
}
