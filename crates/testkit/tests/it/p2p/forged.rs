//! Cards with false claims: the connection proves a peer's identity, not the card.

use jackfield_testkit::TestHub;
use serde_json::{Value, json};

use crate::p2p::{
    hub,
    peer::{LANGUAGES, Peer, card, short},
    tcp,
};

/// The ids of the online agents.
async fn online(hub: &TestHub) -> Vec<String> {
    let (_, answer) = hub.web().get("/v1/agents").await;
    let agents = answer["agents"].as_array().unwrap().iter();
    let agents = agents.filter(|it| it["state"] == "online");
    agents
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Reconnects with another card, so that the hub reads the card, and waits for this agent.
async fn come_as(peer: &mut Peer, hub: &TestHub, card: Value, id: &str) {
    leave(peer, hub).await;
    peer.ok(json!({"do": "show", "card": card})).await;
    let mut watch = hub.watch(id);
    peer.ok(json!({"do": "connect", "addr": tcp(hub)})).await;
    watch.until_online().await;
}

async fn leave(peer: &mut Peer, hub: &TestHub) {
    let address = tcp(hub);
    let hub_id = address.rsplit('/').next().unwrap();
    peer.ok(json!({"do": "disconnect", "peer": hub_id})).await;
}

#[tokio::test]
async fn a_card_in_another_agents_name_takes_nothing_from_it() {
    let hub = hub().await;
    let mut ada = hub.agora("ada").await;
    let mut peers = Vec::new();
    for language in LANGUAGES {
        peers.extend(Peer::attach(language, card("ada", &["/echo"]), &hub).await);
    }
    let [honest, attacker] = &mut peers[..] else {
        return;
    };
    // Two peers with the same name, and an agent with that name: three agents.
    let (first, second) = (honest.agent(), attacker.agent());
    let mut there = online(&hub).await;
    there.sort();
    let mut wanted = vec!["ada".to_owned(), first.clone(), second.clone()];
    wanted.sort();
    assert_eq!(there, wanted);

    // The peer uses the other peer's full agent id as name, and claims its peer id.
    let mut forged = card(&first, &["/echo", "/agents/ada/ask"]);
    for (name, value) in [("id", "ada"), ("peer_id", &honest.id), ("agent_id", &first)] {
        forged[name] = value.into();
    }
    forged["skills"][0]["id"] = "ada".into();
    let name = first.to_lowercase().replace('@', "-");
    let id = format!("{name}@{}", short(&attacker.id));
    come_as(attacker, &hub, forged, &id).await;
    let there = online(&hub).await;
    assert!(
        there.contains(&first) && !there.contains(&second),
        "{there:?}"
    );
    let calls = |id: &str| format!("/v1/agents/{id}/calls");
    let body = json!({"text": "who?", "stream": false});
    let (status, response) = hub.web().post(&calls(&first), body.clone()).await;
    assert_eq!(
        (status, &response["text"]),
        (200, &json!("who?")),
        "{response}"
    );
    honest.event("handoff").await;
    let (_, entry) = hub.web().get(&format!("/peers?agent_name={first}")).await;
    assert_eq!(entry["peer_id"], attacker.id, "{entry}");
    let (_, entry) = hub.web().get("/peers?agent_name=ada").await;
    assert_eq!(entry["peer_id"], honest.id, "{entry}");
    // The agent gets only its own callers, and peers see only the agent.
    let ask = json!({"method": "POST", "path": "/agents/ada/ask", "input_data": "you?"});
    let command = json!({"do": "handoff", "addr": tcp(&hub), "request": ask});
    let number = attacker.begin(command).await;
    let message = ada.frame().await;
    ada.send(json!({"type": "reply", "to": message["from"], "payload": "me"}))
        .await;
    assert_eq!(attacker.answer(number).await["body"], "me");
    let list = json!({"method": "GET", "path": "/agents"});
    let list: Value = serde_json::from_str(&attacker.hand_off(&tcp(&hub), list).await).unwrap();
    assert_eq!(list["agents"].as_array().unwrap().len(), 1, "{list}");
}

#[tokio::test]
async fn a_card_that_is_no_good_makes_no_agent_and_a_good_one_later_does() {
    let hub = hub().await;
    for language in LANGUAGES {
        let Some(mut peer) = Peer::attach(language, card("first", &["/echo"]), &hub).await else {
            continue;
        };
        let huge = |name: &str, value: Value| {
            let mut card = card("large", &["/echo"]);
            card[name] = value;
            card
        };
        for bad in [
            huge("description", "x".repeat(70 << 10).into()),
            huge("skills", json!([{"path": "/echo"}, "echo"])),
            huge("skills", json!([])),
            huge("skills", json!("echo")),
            json!({"error": "no card today", "code": 500}),
            json!("large"),
        ] {
            let mut watch = hub.watch(&peer.agent());
            leave(&mut peer, &hub).await;
            if online(&hub).await.contains(&peer.agent()) {
                watch.until_offline().await;
            }
            peer.ok(json!({"do": "show", "card": bad})).await;
            while peer.has_event("shown") {
                peer.event("shown").await;
            }
            peer.ok(json!({"do": "connect", "addr": tcp(&hub)})).await;
            peer.event("shown").await;
            // The peer may still call.
            let card = json!({"method": "GET", "path": "/card"});
            let response = peer.hand_off(&tcp(&hub), card).await;
            assert!(response.contains("skills"), "{response}");
            let there = online(&hub).await;
            assert!(
                there.iter().all(|it| !it.ends_with(short(&peer.id))),
                "{there:?}"
            );
        }
        let id = format!("second@{}", short(&peer.id));
        come_as(&mut peer, &hub, card("second", &["/echo"]), &id).await;
        let there = online(&hub).await;
        assert!(
            there.contains(&id) && !there.contains(&peer.agent()),
            "{there:?}"
        );
    }
}
