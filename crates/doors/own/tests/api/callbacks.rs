//! Callbacks that were not delivered: who sees them, and who may have them sent again.

use jackfield_core::{
    hub::Request,
    outbox::{Callback, OutboxRow, Settled},
    principal::Principal,
};
use jackfield_model::{AgentId, End, Message};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::harness::{OwnHub, Scripted, soon};

/// A task of the principal's that has ended, and the callback that says so.
async fn told(hub: &OwnHub, amy: &mut Scripted, principal: Principal) -> OutboxRow {
    let amys = AgentId::parse("amy").unwrap();
    let mut request = Request::new(principal, "bridge", amys, Message::text("hi"));
    request.callback = Some(Callback {
        url: "https://ann:secret@Example.com:444/done?key=secret".into(),
        kind: "bridge".into(),
        data: None,
        token: None,
    });
    let task = hub.hub.tasks().start(request).await.unwrap();
    amy.next_call().await.finish(End::done());
    soon(hub.hub.callbacks().wait()).await.unwrap();
    let rows = hub.hub.callbacks().due(10).await.unwrap();
    rows.into_iter().find(|row| row.task == task.id).unwrap()
}

async fn give_up(hub: &OwnHub, row: &OutboxRow) {
    let error = "it answered 410 Gone".to_owned();
    let dead = Settled::Dead { error };
    hub.hub.callbacks().settle(row.id, dead).await.unwrap();
}

#[tokio::test]
async fn the_local_operator_sees_what_the_platform_lost_and_sends_it_again() {
    let hub = OwnHub::start().await;
    let mut amy = hub.attach("amy");
    let row = told(&hub, &mut amy, Principal::platform()).await;
    let other = told(&hub, &mut amy, Principal::platform()).await;
    let (status, list) = hub.get("/v1/callbacks?dead=true").await;
    assert_eq!((status, list), (StatusCode::OK, json!({"callbacks": []})));
    let path = format!("/v1/calls/{}/resend", row.task);
    let (status, answer) = hub.json(Method::POST, &path, None).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::CONFLICT, &json!("conflict")),
        "it is tried already"
    );
    give_up(&hub, &row).await;
    let (_, list) = hub.get("/v1/callbacks?dead=true").await;
    let dead = &list["callbacks"][0];
    assert_eq!(list["callbacks"].as_array().unwrap().len(), 1);
    let expected = json!({
        "id": row.id.to_string(), "task": row.task.to_string(), "state": "dead",
        "to": "https://example.com:444", "attempts": 1, "last_error": "it answered 410 Gone",
        "created_at": row.created_at.to_string(), "next_at": dead["next_at"],
    });
    assert_eq!(*dead, expected);
    let (_, list) = hub.get("/v1/callbacks?limit=1").await;
    assert_eq!(list["callbacks"][0]["id"], other.id.to_string());
    assert_eq!(list["callbacks"][0]["state"], "pending");
    assert_eq!(list["callbacks"][0].get("last_error"), None);
    let (status, _) = hub.json(Method::POST, &path, None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (_, list) = hub.get("/v1/callbacks?dead=true").await;
    assert_eq!(list, json!({"callbacks": []}));
    let due = hub.hub.callbacks().due(10).await.unwrap();
    assert!(due.iter().any(|due| due.id == row.id && due.attempts == 0));
}

#[tokio::test]
async fn callbacks_of_others_are_neither_seen_nor_sent_again() {
    let hub = OwnHub::start_with(false, Default::default()).await;
    let mut amy = hub.attach("amy");
    let row = told(&hub, &mut amy, Principal::platform()).await;
    give_up(&hub, &row).await;
    let path = format!("/v1/calls/{}/resend", row.task);
    let ann = hub.token("ann", &["call:*"]).await;
    let token = Some(&*ann);
    let list = hub.json_as(token, Method::GET, "/v1/callbacks", None).await;
    assert_eq!(list, (StatusCode::OK, json!({"callbacks": []})));
    let (status, answer) = hub.json_as(token, Method::POST, &path, None).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::NOT_FOUND, &json!("not_found"))
    );
    let root = hub.token("root", &["admin"]).await;
    let resent = hub.json_as(Some(&root), Method::POST, &path, None).await;
    assert_eq!(resent.0, StatusCode::NO_CONTENT);
    let nobody = hub.json(Method::GET, "/v1/callbacks", None).await;
    assert_eq!(nobody.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn what_no_callback_can_be_asked_for_is_refused() {
    let hub = OwnHub::start().await;
    for path in [
        "/v1/callbacks?dead=yes",
        "/v1/callbacks?limit=0",
        "/v1/callbacks?limit=201",
        "/v1/callbacks?x=1",
    ] {
        let (status, answer) = hub.get(path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {answer}");
    }
    for id in ["x", "019a0000-0000-7000-8000-000000000000"] {
        let path = format!("/v1/calls/{id}/resend");
        let (status, _) = hub.json(Method::POST, &path, None).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
}
