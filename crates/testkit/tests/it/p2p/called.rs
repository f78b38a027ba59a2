//! Peers as agents of a hub, called from every other door.

use jackfield_testkit::{Events, TestHub, answer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::p2p::{
    hub,
    peer::{LANGUAGES, Language, Peer, card},
    tcp,
};

/// A hub with a peer of each installed language as its agents.
async fn attached_peers(paths: &[&str]) -> (TestHub, Vec<Peer>) {
    let hub = hub().await;
    let mut attached_peers = Vec::new();
    for language in LANGUAGES {
        attached_peers.extend(Peer::attach(language, card("guest", paths), &hub).await);
    }
    (hub, attached_peers)
}

/// The hub's description of an agent.
async fn shown(hub: &TestHub, id: &str) -> Option<Value> {
    let (status, answer) = hub.web().get("/v1/agents").await;
    assert_eq!(status, 200, "{answer}");
    let agents = answer["agents"].as_array().unwrap().clone();
    agents.into_iter().find(|agent| agent["id"] == id)
}

fn calls(id: &str) -> String {
    format!("/v1/agents/{id}/calls")
}

/// Calls by the own API without streaming.
async fn ask(hub: &TestHub, id: &str, body: Value) -> (u16, Value) {
    let mut body = body;
    body["stream"] = false.into();
    hub.web().post(&calls(id), body).await
}

/// All text of a stream of the own API or the relay, and its last event.
async fn text_and_end(mut events: Events) -> (String, Value) {
    let events = events.rest().await;
    let text = |it: &Value| {
        it["text"]
            .as_str()
            .or(it["delta"].as_str())
            .map(str::to_owned)
    };
    let chunks = events.iter().filter(|it| it["type"] == "chunk");
    (
        chunks.filter_map(text).collect(),
        events.last().unwrap().clone(),
    )
}

#[tokio::test]
async fn a_peer_that_connects_is_an_agent_with_its_skills_until_it_leaves() {
    let (hub, attached_peers) = attached_peers(&["/echo", "/{goal}"]).await;
    for mut attached_peer in attached_peers {
        let id = attached_peer.agent();
        let agent = shown(&hub, &id).await.unwrap();
        assert_eq!(
            (&agent["door"], &agent["state"], &agent["name"]),
            (&json!("p2p"), &json!("online"), &json!("guest")),
            "{agent}"
        );
        let skills = agent["skills"].as_array().unwrap();
        let skills: Vec<_> = skills.iter().map(|it| (&it["id"], &it["name"])).collect();
        assert_eq!(
            skills,
            [
                (&json!("echo"), &json!("The echo")),
                (&json!("goal"), &json!("The goal"))
            ]
        );
        // The registry lists the peer, with its listen address.
        let (_, found) = hub.web().get("/peers").await;
        let found = found["peers"].as_array().unwrap().iter();
        let mut found = found.filter(|it| it["peer_id"] == attached_peer.id);
        let found = found.next().unwrap();
        let addresses = found["addresses"].as_array().unwrap();
        assert!(addresses.contains(&json!(attached_peer.addr)), "{found}");
        assert_eq!(found["capabilities"], json!(["echo", "goal"]));

        let mut watch = hub.watch(&id);
        let hub_id = tcp(&hub).rsplit('/').next().unwrap().to_owned();
        attached_peer
            .ok(json!({"do": "disconnect", "peer": hub_id}))
            .await;
        watch.until_offline().await;
        let (status, answer) = ask(&hub, &id, json!({"text": "still there?"})).await;
        assert_eq!(
            (status, &answer["error"]),
            (502, &json!("offline")),
            "{answer}"
        );

        // The peer may reconnect, and may disconnect abruptly.
        attached_peer
            .ok(json!({"do": "connect", "addr": tcp(&hub)}))
            .await;
        watch.until_online().await;
        attached_peer.kill().await;
        watch.until_offline().await;
    }
}

#[tokio::test]
async fn a_peer_is_called_from_every_door() {
    let (hub, attached_peers) = attached_peers(&["/echo"]).await;
    for mut attached_peer in attached_peers {
        call_from_every_door(&hub, &mut attached_peer).await;
    }
}

/// Calls a peer, whose first skill echoes, from each door of a hub.
pub(crate) async fn call_from_every_door(hub: &TestHub, attached_peer: &mut Peer) {
    let id = attached_peer.agent();
    let a2a = |base: String, words: &str| {
        let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": words}]});
        let request = hub.web().ask(Method::POST, &base);
        request.header("a2a-version", "1.0").json(&json!({
            "jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {"message": message},
        }))
    };
    // A2A, and a team with the peer as a member.
    let team = format!("team-{:?}", attached_peer.language).to_lowercase();
    let members = json!([{"name": "guest", "agent": id}]);
    let body = json!({"id": team, "coordinator": "guest", "members": members});
    let (status, made) = hub.web().post("/v1/teams", body).await;
    assert_eq!(status, 201, "{made}");
    for (base, words) in [
        (format!("/a2a/agents/{id}"), "by A2A"),
        (format!("/a2a/teams/{team}"), "by a team"),
    ] {
        let (status, response) = answer(a2a(base, words)).await;
        let task = &response["result"]["task"];
        assert_eq!(status, 200, "{response}");
        assert_eq!(
            task["status"]["state"], "TASK_STATE_COMPLETED",
            "{response}"
        );
        assert_eq!(
            task["artifacts"][0]["parts"][0]["text"], words,
            "{response}"
        );
        expect_handoff(attached_peer, words).await;
    }
    // The bridge's relay.
    let body =
        json!({"agent_id": id, "session_id": "s-1", "request_id": id, "content": "by relay"});
    let (text, end) = text_and_end(hub.platform().stream("/api/relay", body).await).await;
    assert_eq!(
        (&end["type"], text.as_str()),
        (&json!("done"), "by relay"),
        "{end}"
    );
    expect_handoff(attached_peer, "by relay").await;
    // A bridge agent.
    let mut amy = hub.bridge("amy").await;
    amy.send(json!({"type": "call_agent", "target_agent_id": id, "task_description": "by amy", "call_id": "c-1"}))
        .await;
    amy.expect(json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": "by amy"}))
        .await;
    amy.expect(json!({"type": "call_agent_done", "call_id": "c-1"}))
        .await;
    expect_handoff(attached_peer, "by amy").await;
    // Agora.
    let mut ada = hub.agora("ada").await;
    let payload = json!({"action": "query", "body": {"question": "by Agora"}, "request_id": id});
    ada.send(json!({"type": "send", "to": id, "payload": payload}))
        .await;
    let reply = ada.frame().await;
    assert_eq!(
        (
            &reply["type"],
            &reply["from"],
            &reply["payload"]["body"]["answer"]
        ),
        (&json!("reply"), &json!(id), &json!("by Agora")),
        "{reply}"
    );
    expect_handoff(attached_peer, "by Agora").await;
    // The hub's own API.
    let (status, own) = ask(hub, &id, json!({"text": "by its own"})).await;
    assert_eq!((status, &own["text"]), (200, &json!("by its own")), "{own}");
    expect_handoff(attached_peer, "by its own").await;
}

/// Checks that the peer's next handoff has this text for its first skill.
async fn expect_handoff(attached_peer: &mut Peer, words: &str) {
    let handoff = attached_peer.event("handoff").await;
    let body: Value = serde_json::from_str(handoff["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&body["method"], &body["path"], &body["input_data"]),
        (&json!("POST"), &json!("/echo"), &json!(words)),
        "{body}"
    );
}

#[tokio::test]
async fn large_requests_and_answers_pass() {
    let (hub, attached_peers) = attached_peers(&["/echo", "/large"]).await;
    for attached_peer in attached_peers {
        expect_large(&hub, &attached_peer).await;
    }
}

/// Sends a megabyte to a peer and back; the whole request stays below the limit of a megabyte.
pub(crate) async fn expect_large(hub: &TestHub, attached_peer: &Peer) {
    for (skill, bytes) in [("echo", 60 << 10), ("echo", 1000 << 10), ("large", 1 << 20)] {
        let body = json!({"text": "x".repeat(bytes), "metadata": {"skill": skill}});
        let (status, mut answer) = ask(hub, &attached_peer.agent(), body).await;
        let answer_text = answer["text"].take();
        let answer_text = answer_text.as_str().map(str::len);
        let language = attached_peer.language;
        assert_eq!(
            (answer_text, status),
            (Some(bytes), 200),
            "{language:?} {skill} {answer}"
        );
    }
}

#[tokio::test]
async fn a_skill_is_chosen_and_its_path_filled_by_what_the_caller_says() {
    let (hub, attached_peers) = attached_peers(&["/echo", "/{goal}"]).await;
    for attached_peer in attached_peers {
        let id = attached_peer.agent();
        for (body, wanted) in [
            (
                json!({"text": "rain?", "metadata": {"skill": "goal"}}),
                json!({"goal": "rain?", "input": "rain?"}),
            ),
            (
                json!({"text": "rain?", "metadata": {"skill": "goal", "params": {"goal": "snow"}}}),
                json!({"goal": "snow", "input": "rain?"}),
            ),
            (
                json!({"text": "plan a trip\nto C:\\Rome", "metadata": {"skill": "goal"}}),
                json!({"goal": "plan a trip\nto C:\\Rome", "input": "plan a trip\nto C:\\Rome"}),
            ),
        ] {
            let (status, answer) = ask(&hub, &id, body).await;
            let answer_text = answer["text"]
                .as_str()
                .unwrap_or_else(|| panic!("{answer}"));
            let answer_text: Value = serde_json::from_str(answer_text).unwrap();
            assert_eq!((status, answer_text), (200, wanted));
        }
        let unknown = json!({"text": "?", "metadata": {"skill": "sing"}});
        let (status, answer) = ask(&hub, &id, unknown).await;
        assert_eq!(
            (status, &answer["error"]),
            (400, &json!("unsupported")),
            "{answer}"
        );
        assert!(
            answer["message"].as_str().unwrap().contains("echo, goal"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn an_error_of_the_peer_fails_the_call() {
    let (hub, attached_peers) = attached_peers(&["/error", "/mute", "/reset", "/nowhere"]).await;
    for attached_peer in attached_peers {
        for (skill, reason) in [
            ("error", "peer_error"),
            ("reset", "crashed"),
            ("nowhere", "not_found"),
        ] {
            let body = json!({"text": "x", "metadata": {"skill": skill}});
            let (_, answer) = ask(&hub, &attached_peer.agent(), body).await;
            assert_eq!(
                answer["error"], reason,
                "{:?} {skill}: {answer}",
                attached_peer.language
            );
        }
        let body = json!({"text": "x", "metadata": {"skill": "mute"}});
        let (_, answer) = ask(&hub, &attached_peer.agent(), body).await;
        match attached_peer.language {
            // A stream that ends without any byte is no answer.
            Language::Python => assert_eq!(answer["error"], "crashed", "{answer}"),
            // Its frame says that the answer is empty.
            Language::JavaScript => assert_eq!(answer["text"], "", "{answer}"),
        }
        let events = hub
            .web()
            .stream(&calls(&attached_peer.agent()), json!({"text": "x"}))
            .await;
        let (text, end) = text_and_end(events).await;
        assert_eq!(
            (text.as_str(), &end["type"]),
            ("", &json!("failed")),
            "{end}"
        );
        assert!(
            end["message"].as_str().unwrap().contains("it failed"),
            "{end}"
        );
    }
}

#[tokio::test]
async fn a_peer_that_streams_is_heard_chunk_by_chunk() {
    let hub = hub().await;
    let card = card("counter", &["/count"]);
    let Some(mut attached_peer) = Peer::attach(Language::JavaScript, card, &hub).await else {
        return;
    };
    let body = json!({"agent_id": attached_peer.agent(), "session_id": "s", "request_id": "r", "content": "count"});
    let mut events = hub.platform().stream("/api/relay", body).await;
    for chunk in ["1 ", "2 ", "3 "] {
        let mut event = events.next().await;
        while event["type"] == "keepalive" {
            event = events.next().await;
        }
        assert_eq!(
            (&event["type"], &event["delta"]),
            (&json!("chunk"), &json!(chunk))
        );
        // The peer continues only afterwards.
        if chunk != "3 " {
            attached_peer.release().await;
        }
    }
    assert_eq!(events.next().await["type"], "done");
    let handoff = attached_peer.event("handoff").await;
    assert_eq!(handoff["protocol"], "/ai-agent/handoff/1.1.0");
}

#[tokio::test]
async fn a_cancel_resets_the_stream_at_the_peer() {
    let (hub, attached_peers) = attached_peers(&["/slow"]).await;
    for mut attached_peer in attached_peers {
        let mut events = hub
            .web()
            .stream(&calls(&attached_peer.agent()), json!({"text": "x"}))
            .await;
        let call = events.next().await["id"].as_str().unwrap().to_owned();
        attached_peer.event("handoff").await;
        let (status, answer) = hub
            .web()
            .post(&format!("/v1/calls/{call}/cancel"), json!({}))
            .await;
        assert!((200..300).contains(&status), "{status}: {answer}");
        assert_eq!(events.next().await["type"], "cancelled");
        if attached_peer.language == Language::JavaScript {
            attached_peer.event("lost").await;
        }
        // A disconnecting caller has the same effect.
        let mut events = hub
            .web()
            .stream(&calls(&attached_peer.agent()), json!({"text": "y"}))
            .await;
        events.next().await;
        attached_peer.event("handoff").await;
        drop(events);
        if attached_peer.language == Language::JavaScript {
            attached_peer.event("lost").await;
        }
    }
}

#[tokio::test]
async fn a_peer_that_goes_while_it_works_fails_the_call() {
    let (hub, attached_peers) = attached_peers(&["/slow"]).await;
    for mut attached_peer in attached_peers {
        let mut events = hub
            .web()
            .stream(&calls(&attached_peer.agent()), json!({"text": "x"}))
            .await;
        events.next().await;
        attached_peer.event("handoff").await;
        attached_peer.kill().await;
        let (_, end) = text_and_end(events).await;
        assert_eq!(
            (&end["type"], &end["error"]),
            (&json!("failed"), &json!("offline")),
            "{end}"
        );
    }
}

#[tokio::test]
async fn a_peer_that_pings_and_is_not_to_be_pinged_stays_with_its_calls() {
    let hub = hub().await;
    let options = json!({"pings": false, "monitor": 200});
    let shown = card("guest", &["/slow"]);
    let Some(mut attached_peer) = Peer::start_as(Language::JavaScript, shown, options).await else {
        return;
    };
    attached_peer.join(&hub).await;
    let path = calls(&attached_peer.agent());
    let web = hub.web();
    let call = web.post(&path, json!({"text": "hello", "stream": false}));
    let peer = tcp(&hub);
    let peer = peer.rsplit('/').next().unwrap();
    let work = async {
        attached_peer.event("handoff").await;
        attached_peer
            .ok(json!({"do": "pinged", "peer": peer, "times": 4}))
            .await;
        attached_peer.release().await;
    };
    let ((status, answer), ()) = tokio::join!(call, work);
    assert_eq!(
        (status, &answer["text"]),
        (200, &json!("hello")),
        "{answer}"
    );
}

#[tokio::test]
async fn data_reaches_peers_that_answer_in_frames_as_it_is() {
    let hub = hub().await;
    let shown = card("guest", &["/echo"]);
    let Some(mut attached_peer) = Peer::attach(Language::JavaScript, shown, &hub).await else {
        return;
    };
    let body = json!({"parts": [{"data": {"a": 1}}]});
    let (status, answer) = ask(&hub, &attached_peer.agent(), body).await;
    assert_eq!(status, 200, "{answer}");
    let came = attached_peer.event("handoff").await;
    let request: Value = serde_json::from_str(came["body"].as_str().unwrap()).unwrap();
    assert_eq!(request["input_data"], json!({"a": 1}));
}
