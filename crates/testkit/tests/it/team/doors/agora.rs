//! Agora agents call a team, also a team with an Agora agent as coordinator.

use jackfield_testkit::{Raw, TestHub, WebClient};
use serde_json::json;

use super::{ANSWER, begin, expect_cancel, expect_shown, work};
use crate::team::{duo, make_team, members::MemberAgent};

async fn ask(ada: &mut Raw, words: &str) {
    let payload = json!({"action": "query", "body": {"question": words}, "request_id": words});
    ada.send(json!({"type": "send", "to": "duo", "payload": payload}))
        .await;
}

/// The whole answer of the team.
async fn hear(ada: &mut Raw) -> String {
    let mut heard = String::new();
    loop {
        let frame = ada.frame().await;
        assert_eq!(frame["from"], "duo", "{frame}");
        match frame["type"].as_str().unwrap() {
            "reply" if frame["stream"] == true => {}
            "reply" => return frame["payload"]["body"]["answer"].as_str().unwrap().into(),
            "reply_chunk" => heard += frame["chunk"].as_str().unwrap(),
            "reply_end" => return heard,
            _ => panic!("{frame}"),
        }
    }
}

#[tokio::test]
async fn an_agent_of_agora_finds_and_calls_a_team() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    let mut ada = hub.agora("ada").await;
    ada.send(json!({"type": "list"})).await;
    let list = ada.frame().await;
    let agents = list["agents"].as_array().unwrap();
    assert!(agents.iter().any(|agent| agent["id"] == "duo"), "{list}");

    ask(&mut ada, "why?").await;
    work(&mut lead, &mut dev, "why?").await;
    assert_eq!(hear(&mut ada).await, ANSWER);
    expect_shown(&mut user, 1).await;

    ask(&mut ada, "once more").await;
    let requests = begin(&mut lead, &mut dev, "once more").await;
    ada.send(json!({"type": "cancel", "to": "duo", "request_id": "once more"}))
        .await;
    expect_cancel(&mut lead, &mut dev, &requests).await;
    user.until_rest(2).await;
}

/// Two Agora agents use a direct route; through a team they use a call.
#[tokio::test]
async fn an_agent_of_agora_calls_a_team_that_an_agent_of_agora_leads() {
    let hub = TestHub::start().await;
    let mut lead = hub.agora("agent-lead").await;
    let mut dev = MemberAgent::join(&hub, "agent-dev").await;
    let members =
        json!([{"name": "lead", "agent": "agent-lead"}, {"name": "dev", "agent": "agent-dev"}]);
    make_team(&hub, "duo", members).await;
    let mut user = WebClient::open(hub.addr(), "duo", &["lead", "dev"]).await;
    let mut ada = hub.agora("ada").await;
    ask(&mut ada, "why?").await;
    let message = lead.frame().await;
    assert_eq!(
        (&message["type"], &message["payload"]["body"]["question"]),
        (&json!("message"), &json!("why?"))
    );
    let parent = &message["payload"]["request_id"];
    let payload = json!({"body": {"question": "what is it?"}, "request_id": "x-1", "parent_request_id": parent});
    lead.send(json!({"type": "send", "to": "agent-dev", "payload": payload}))
        .await;
    let asked = dev.expect_message("what is it?").await;
    dev.send_text(&asked, "42").await;
    dev.ends(&asked).await;
    for kind in ["reply", "reply_chunk", "reply_end"] {
        assert_eq!(lead.frame().await["type"], kind);
    }
    let to = &message["from"];
    for frame in [
        json!({"type": "reply", "to": to, "stream": true, "stream_id": "s"}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "s", "chunk": "The answer "}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "s", "chunk": "is 42."}),
        json!({"type": "reply_end", "to": to, "stream_id": "s"}),
    ] {
        lead.send(frame).await;
    }
    assert_eq!(hear(&mut ada).await, ANSWER);
    expect_shown(&mut user, 1).await;
}
