//! Callers of the hub's own API.

use serde_json::json;

use super::{ANSWER, begin, expect_cancel, expect_shown, work};
use crate::team::duo;

const CALLS: &str = "/v1/agents/duo/calls";

#[tokio::test]
async fn a_team_is_listed_and_called_streamed_and_at_once() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    let web = hub.web();
    let (_, list) = web.get("/v1/agents").await;
    let agents = list["agents"].as_array().unwrap();
    let team = agents.iter().find(|agent| agent["id"] == "duo").unwrap();
    assert_eq!(team["door"], "team", "{team}");

    let mut events = web.stream(CALLS, json!({"text": "streamed"})).await;
    work(&mut lead, &mut dev, "streamed").await;
    let heard = events.rest().await;
    let chunks = heard.iter().filter_map(|it| it["text"].as_str());
    assert_eq!(chunks.collect::<String>(), ANSWER, "{heard:?}");
    assert_eq!(heard.last().unwrap()["type"], "done");
    expect_shown(&mut user, 1).await;

    let whole = web.post(CALLS, json!({"text": "at once", "stream": false}));
    let ((status, answer), ()) = tokio::join!(whole, work(&mut lead, &mut dev, "at once"));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.to_string().contains(ANSWER), "{answer}");
    expect_shown(&mut user, 2).await;
}

#[tokio::test]
async fn a_kept_call_of_a_team_is_the_teams_task_and_is_cancelled() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    let web = hub.web();
    let kept = json!({"text": "why?", "keep": true});
    let mut events = web.stream(CALLS, kept).await;
    let call = events.next().await;
    let id = call["id"].as_str().unwrap();
    let requests = begin(&mut lead, &mut dev, "why?").await;
    let (_, shown) = web.get(&format!("/v1/calls/{id}")).await;
    assert_eq!(shown["agent"], "duo", "{shown}");
    let (status, answer) = web.post(&format!("/v1/calls/{id}/cancel"), json!({})).await;
    assert!((200..300).contains(&status), "{status}: {answer}");
    expect_cancel(&mut lead, &mut dev, &requests).await;
    assert_eq!(events.rest().await.pop().unwrap()["type"], "cancelled");
    user.until_rest(1).await;
}

#[tokio::test]
async fn a_caller_that_leaves_stops_the_team() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    let events = hub.web().stream(CALLS, json!({"text": "why?"})).await;
    let requests = begin(&mut lead, &mut dev, "why?").await;
    drop(events);
    expect_cancel(&mut lead, &mut dev, &requests).await;
    user.until_rest(1).await;
    assert_eq!(user.screen.status("dev"), "idle");
}

/// A question goes to the caller; the team's viewers see it.
#[tokio::test]
async fn a_coordinator_asks_the_caller_of_the_team() {
    let (hub, mut lead, _dev, mut user) = duo().await;
    let web = hub.web();
    let mut events = web.stream(CALLS, json!({"text": "the weather?"})).await;
    let call = events.next().await;
    let request = lead.expect_message("the weather?").await;
    let ask = json!({"type": "ask", "request_id": request, "ask_id": "q-1", "kind": "input", "text": "which city?"});
    lead.line.send(ask).await;
    let asked = events.next().await;
    assert_eq!(
        (&asked["type"], &asked["id"]),
        (&json!("ask"), &json!("q-1"))
    );
    user.until("it asks", |screen| !screen.approvals().is_empty())
        .await;
    let path = format!("/v1/calls/{}/answer", call["id"].as_str().unwrap());
    let rome = json!({"ask_id": "q-1", "content": "Rome"});
    assert_eq!(web.post(&path, rome).await.0, 204);
    let answer = lead.line.frame().await;
    assert_eq!(
        (&answer["type"], &answer["content"]),
        (&json!("answer"), &json!("Rome"))
    );
    lead.send_text(&request, "Sunny.").await;
    lead.ends(&request).await;
    user.until_rest(1).await;
    let segments = &user.screen.shown()["members"]["lead"]["messages"][0]["segments"];
    assert_eq!(
        segments,
        &json!([
            {"from": "local", "note": "the weather?"},
            {"tool": "ask_user", "id": "q-1", "state": "success", "arguments": {"question": "which city?"}},
            {"text": "Sunny."},
        ])
    );
}
