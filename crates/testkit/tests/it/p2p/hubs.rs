//! Two hubs that are connected as peers and allow each other: each has the other's agents.

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::p2p::{
    hub,
    peer::{LANGUAGES, Peer, card, short},
    tcp,
};

/// The id of a hub's agent at other hubs.
pub(crate) fn at(hub: &TestHub, agent: &str) -> String {
    let address = tcp(hub);
    format!("{agent}@{}", short(address.rsplit('/').next().unwrap()))
}

/// A hub that allows another hub, which it will dial: dialled peers don't count as local programs.
async fn hub_that_allows(other: &TestHub) -> TestHub {
    let address = tcp(other);
    let peer = address.rsplit('/').next().unwrap().to_owned();
    TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.allowed = [peer].into();
    })
    .await
}

/// Connects two hubs, of which the second allows the first. Afterwards each has an agent of the other.
async fn meet(first: &TestHub, of_first: &str, second: &TestHub, of_second: &str) {
    let mut at_first = first.watch(&at(second, of_second));
    let mut at_second = second.watch(&at(first, of_first));
    second.meet_peer(&tcp(first)).await;
    at_first.until_online().await;
    at_second.until_online().await;
}

/// Two connected hubs with a bridge agent each.
async fn pair() -> (TestHub, Raw, TestHub, Raw) {
    let first = hub().await;
    let second = hub_that_allows(&first).await;
    let (amy, bob) = (first.bridge("amy").await, second.bridge("bob").await);
    meet(&first, "amy", &second, "bob").await;
    (first, amy, second, bob)
}

/// The ids of the agents of a hub.
pub(crate) async fn ids(hub: &TestHub) -> Vec<String> {
    let (_, answer) = hub.web().get("/v1/agents").await;
    let agents = answer["agents"].as_array().unwrap().iter();
    let mut ids: Vec<_> = agents
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

async fn say(agent: &mut Raw, request: &str, delta: &str) {
    agent
        .send(json!({"type": "chunk", "request_id": request, "session_id": "s", "delta": delta}))
        .await;
}

async fn end(agent: &mut Raw, request: &str) {
    agent
        .send(json!({"type": "done", "request_id": request, "session_id": "s"}))
        .await;
}

#[tokio::test]
async fn a_hub_keeps_a_connection_with_the_peers_that_are_configured() {
    let first = hub().await;
    let mut amy = first.bridge("amy").await;
    let address = tcp(&first);
    let second = TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.peers = vec![address];
    })
    .await;
    let id = at(&first, "amy");
    // The agent may be online already.
    let mut watch = second.watch(&id);
    if !ids(&second).await.contains(&id) {
        watch.until_online().await;
    }
    let mut events = second
        .web()
        .stream(&format!("/v1/agents/{id}/calls"), json!({"text": "hi"}))
        .await;
    let request = amy.expect_message("hi").await;
    say(&mut amy, &request, "hello").await;
    end(&mut amy, &request).await;
    let events_seen = events.rest().await;
    let chunk = events_seen.iter().find(|it| it["type"] == "chunk").unwrap();
    assert_eq!(chunk["text"], "hello");
    assert_eq!(events_seen.last().unwrap()["type"], "done");
}

#[tokio::test]
async fn hubs_stream_from_each_others_agents_and_cancel_there() {
    let (first, mut amy, second, mut bob) = pair().await;
    for (hub, agent, id) in [
        (&first, &mut bob, at(&second, "bob")),
        (&second, &mut amy, at(&first, "amy")),
    ] {
        let calls = format!("/v1/agents/{id}/calls");
        let mut events = hub.web().stream(&calls, json!({"text": "count"})).await;
        events.next().await;
        let request = agent.expect_message("count").await;
        for delta in ["one", "two"] {
            say(agent, &request, delta).await;
            // The agent continues only afterwards.
            assert_eq!(events.next().await["text"], delta);
        }
        drop(events);
        let cancel = agent.frame().await;
        assert_eq!(
            (&cancel["type"], &cancel["request_id"]),
            (&json!("cancel"), &json!(request))
        );
    }
}

#[tokio::test]
async fn an_error_of_an_agent_behind_another_hub_is_told() {
    let (first, _amy, second, mut bob) = pair().await;
    let calls = format!("/v1/agents/{}/calls", at(&second, "bob"));
    let mut events = first.web().stream(&calls, json!({"text": "fail"})).await;
    let request = bob.expect_message("fail").await;
    bob.send(json!({"type": "error", "request_id": request, "session_id": "s", "code": "adapter_crash", "message": "it broke"}))
        .await;
    let events_seen = events.rest().await;
    let end = events_seen.last().unwrap();
    assert_eq!(end["type"], "failed", "{end}");
    assert!(
        end["message"].as_str().unwrap().contains("it broke"),
        "{end}"
    );
}

/// Calls an agent behind the other hub, with `answer` as the agent. Returns text and last event of the caller.
async fn text_and_end(
    hub: &TestHub,
    id: &str,
    agent: &mut Raw,
    answer: &[Value],
) -> (String, Vec<Value>, Value) {
    let calls = format!("/v1/agents/{id}/calls");
    let mut events = hub.web().stream(&calls, json!({"text": "work"})).await;
    let request = agent.expect_message("work").await;
    for frame in answer {
        let mut frame = frame.clone();
        frame["request_id"] = json!(request);
        frame["session_id"] = json!("s");
        agent.send(frame).await;
    }
    let mut events_seen = events.rest().await;
    let end = events_seen.pop().expect("it ends");
    assert_eq!(end["type"], "done", "{end}");
    let of_type = |name: &'static str| events_seen.iter().filter(move |it| it["type"] == name);
    let words = of_type("chunk").map(|it| it["text"].as_str().unwrap());
    let words = words.collect();
    (words, of_type("artifact").cloned().collect(), end)
}

#[tokio::test]
async fn words_and_files_of_an_agent_behind_another_hub_arrive_once_however_long_they_are() {
    let (first, _amy, second, mut bob) = pair().await;
    let id = at(&second, "bob");
    let files =
        json!([{"name": "a.txt", "url": "https://files.example/a.txt", "type": "text/plain"}]);
    for text in ["short".to_owned(), "100 KiB \"\n".repeat(10 << 10)] {
        let streamed = [
            json!({"type": "chunk", "delta": text}),
            json!({"type": "done", "attachments": files}),
        ];
        let (words, made, end) = text_and_end(&first, &id, &mut bob, &streamed).await;
        assert!(words == text, "{} of {} bytes", words.len(), text.len());
        assert!(made.is_empty(), "{made:?}");
        assert_eq!(end["attachments"][0]["uri"], files[0]["url"], "{end}");
        assert_eq!(end["attachments"][0]["name"], "a.txt", "{end}");

        let at_the_end = [json!({"type": "done", "result": text, "attachments": files})];
        let (words, made, end) = text_and_end(&first, &id, &mut bob, &at_the_end).await;
        let result = end["result"].as_str().unwrap_or_default();
        assert!(
            words.is_empty() && result == text,
            "{words:.99} {result:.99}"
        );
        assert!(made.is_empty(), "{made:?}");
        assert_eq!(end["attachments"][0]["uri"], files[0]["url"], "{end}");
    }
}

#[tokio::test]
async fn what_an_agent_behind_another_hub_made_arrives_after_its_words() {
    let first = hub().await;
    let second = hub_that_allows(&first).await;
    let _amy = first.bridge("amy").await;
    let mut bob = second
        .bridge_as("bob", json!({"extensions": ["artifacts"]}))
        .await;
    meet(&first, "amy", &second, "bob").await;
    let id = at(&second, "bob");
    let artifact = |parts: Value| json!({"type": "artifact", "artifact_id": "a", "parts": parts, "last": true});
    let (chunk, done) = (
        json!({"type": "chunk", "delta": "see"}),
        json!({"type": "done"}),
    );

    let parts = json!([{"data": {"n": 1}}, {"data": [2]}]);
    let answer = [chunk.clone(), artifact(parts.clone()), done.clone()];
    let (words, made, end) = text_and_end(&first, &id, &mut bob, &answer).await;
    assert_eq!(words, "see");
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!(made[0]["parts"], parts, "{end}");

    let answer = [chunk, artifact(json!([{"text": "and more"}])), done];
    let (words, made, _) = text_and_end(&first, &id, &mut bob, &answer).await;
    assert_eq!(words, "see\nand more");
    assert!(made.is_empty(), "{made:?}");
}

#[tokio::test]
async fn what_a_hub_got_from_peers_is_not_shown_to_peers() {
    let first = hub().await;
    let (second, third) = (hub_that_allows(&first).await, hub_that_allows(&first).await);
    let _cid = third.bridge("cid").await;
    let (_amy, _bob) = (first.bridge("amy").await, second.bridge("bob").await);
    meet(&first, "amy", &third, "cid").await;
    let mut attached_peers = Vec::new();
    for language in LANGUAGES {
        attached_peers.extend(Peer::attach(language, card("guest", &["/echo"]), &first).await);
    }
    meet(&first, "amy", &second, "bob").await;
    assert_eq!(ids(&second).await, [at(&first, "amy"), "bob".to_owned()]);
    for mut attached_peer in attached_peers {
        let get = json!({"method": "GET", "path": "/agents"});
        let list = attached_peer.hand_off(&tcp(&first), get).await;
        let list: Value = serde_json::from_str(&list).unwrap();
        let list = list["agents"].as_array().unwrap();
        let list: Vec<_> = list.iter().map(|it| &it["id"]).collect();
        assert_eq!(list, ["amy"]);
        let path = format!("/agents/{}/ask", at(&second, "bob"));
        let ask = json!({"method": "POST", "path": path, "input_data": "x"});
        let refused: Value =
            serde_json::from_str(&attached_peer.hand_off(&tcp(&first), ask).await).unwrap();
        assert_eq!(refused["code"], 404, "{refused}");
    }
}

#[tokio::test]
async fn a_loop_through_two_hubs_is_cut() {
    let (first, mut amy, second, mut bob) = pair().await;
    let _events = first.platform().relay("amy", "c-0").await;
    let mut parent = amy.expect_message("hi").await;
    // Each turn is a call on both hubs: 1 | 2, 3 | 4, 5 | 6, 7 | 8, then the limit.
    for (turn, word) in ["first", "second", "third", "fourth"]
        .into_iter()
        .enumerate()
    {
        let (from, to, target) = match turn % 2 {
            0 => (&mut amy, &mut bob, at(&second, "bob")),
            _ => (&mut bob, &mut amy, at(&first, "amy")),
        };
        from.send(
            json!({"type": "call_agent", "target_agent_id": target, "task_description": word,
                         "call_id": word, "parent_request_id": parent}),
        )
        .await;
        if word == "fourth" {
            let refused = from.frame().await;
            assert_eq!(
                (&refused["type"], &refused["call_id"]),
                (&json!("call_agent_error"), &json!(word)),
                "{refused}"
            );
            assert!(
                refused["message"].as_str().unwrap().contains("hop"),
                "{refused}"
            );
            to.expect_no_bridge_frame().await;
            return;
        }
        parent = to.expect_message(word).await;
    }
}

#[tokio::test]
async fn the_agents_of_a_hub_that_stops_are_gone() {
    let (first, mut amy, second, _bob) = pair().await;
    let id = at(&first, "amy");
    let mut watch = second.watch(&id);
    let mut events = second
        .web()
        .stream(&format!("/v1/agents/{id}/calls"), json!({"text": "hi"}))
        .await;
    amy.expect_message("hi").await;
    first.stop(std::time::Duration::ZERO).await;
    assert_eq!(events.rest().await.last().unwrap()["type"], "failed");
    watch.until_offline().await;
}
