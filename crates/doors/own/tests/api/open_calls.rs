//! What waits at an agent: its owner sees who called and since when, not what they say, and may cancel it.

use jackfield_core::{agent::Share, limits::Limits, principal::Principal};
use jackfield_model::{AgentId, Owner};
use jiff::Timestamp;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::OwnHub;

#[tokio::test]
async fn an_owner_sees_and_cancels_what_waits_at_an_agent_of_hers() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    let owner = Principal::admin(Owner::parse("ann").unwrap());
    drop(hub.attach_for(&owner, "ann-1"));
    let id = AgentId::parse("ann-1").unwrap();
    let shared = hub
        .hub
        .agents()
        .change(&owner, &id, Some(Share::Everyone), None);
    shared.unwrap().1.await.unwrap();
    let (ann, bob) = (hub.token("ann", &[]).await, hub.token("bob", &[]).await);
    let ask = async |token: &str, method: Method, path: &str, body: Option<Value>| {
        hub.json_as(Some(token), method, path, body).await
    };
    let at = "/v1/agents/ann-1/calls";
    let call = json!({"text": "a secret of bob's", "wait_online": "1h", "detach": true});
    let (status, task) = ask(&bob, Method::POST, at, Some(call)).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let (status, list) = ask(&ann, Method::GET, at, None).await;
    assert_eq!(status, StatusCode::OK);
    let since: Timestamp = list["calls"][0]["since"].as_str().unwrap().parse().unwrap();
    assert!(Timestamp::now().duration_since(since).as_secs() < 60);
    let wanted = json!({"calls": [{
        "id": task["call"], "task": task["task"], "agent": "ann-1", "state": "waiting", "caller": "bob",
        "door": "own", "since": list["calls"][0]["since"],
    }]});
    assert_eq!(list, wanted, "nothing of what bob says");
    // Bob may call the agent, and is not its owner; carol may not even know of it.
    let (status, _) = ask(&bob, Method::GET, at, None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let hidden = hub.hub.agents().change(
        &owner,
        &id,
        Some(Share::With(vec![Owner::parse("bob").unwrap()])),
        None,
    );
    hidden.unwrap().1.await.unwrap();
    let carol = hub.token("carol", &[]).await;
    let (status, _) = ask(&carol, Method::GET, at, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let path = format!("/v1/calls/{}/cancel", task["task"].as_str().unwrap());
    let (status, _) = ask(&carol, Method::POST, &path, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = ask(&ann, Method::POST, &path, None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (_, list) = ask(&ann, Method::GET, at, None).await;
    assert_eq!(list, json!({"calls": []}));
    let show = path.strip_suffix("/cancel").unwrap();
    let (_, view) = ask(&bob, Method::GET, show, None).await;
    assert_eq!(view["state"], "cancelled", "its caller is told");
    let (status, _) = ask(&ann, Method::GET, show, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "the task is bob's");
}
