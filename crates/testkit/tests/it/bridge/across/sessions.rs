//! Session ids: unchanged for the platform and the operator, hashed for all other callers, so that two callers never
//! share an agent's memory by accident.

use jackfield_testkit::{Raw, TestHub, Web};
use serde_json::{Value, json};

use crate::bridge::AMY;

fn is_hash(session: &Value) -> bool {
    let text = session.as_str().unwrap();
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the session id that the agent sees for a caller's session `s-1`.
async fn seen(agent: &mut Raw, caller: &Web, target: &str) -> Value {
    let body = json!({"text": "hi", "session": "s-1"});
    let events = caller
        .stream(&format!("/v1/agents/{target}/calls"), body)
        .await;
    let message = agent.frame().await;
    let in_payload = &message["payload"]["session_id"];
    let session = match in_payload {
        Value::Null => message["session_id"].clone(),
        session => session.clone(),
    };
    drop(events);
    assert_eq!(agent.frame().await["type"], "cancel");
    session
}

#[tokio::test]
async fn sessions_are_unchanged_for_the_platform_and_hashed_for_strangers() {
    let hub = TestHub::start().await;
    let (mut amy, mut ada) = (hub.bridge(AMY).await, hub.agora("ada").await);
    let events = hub.platform().relay(AMY, "r-1").await;
    assert_eq!(amy.frame().await["session_id"], "s-1");
    let other = hub.platform().relay("ada", "r-1").await;
    assert_eq!(ada.frame().await["payload"]["session_id"], "s-1");
    drop((events, other));
    amy.frame().await;
    ada.frame().await;
    let ann = hub.web_of(&hub.token("ann", &["call:*"]).await);
    let ann_again = hub.web_of(&hub.token("ann", &["call:*"]).await);
    let bob = hub.web_of(&hub.token("bob", &["call:*"]).await);
    assert_eq!(seen(&mut amy, &hub.web(), AMY).await, "s-1");
    assert_eq!(seen(&mut ada, &hub.web(), "ada").await, "s-1");
    let hers = seen(&mut amy, &ann, AMY).await;
    assert!(is_hash(&hers), "{hers}");
    assert_eq!(
        seen(&mut amy, &ann_again, AMY).await,
        hers,
        "the same caller goes on"
    );
    assert_eq!(seen(&mut ada, &ann, "ada").await, hers);
    let his = seen(&mut amy, &bob, AMY).await;
    assert!(is_hash(&his) && his != hers);
}

#[tokio::test]
async fn the_sessions_of_strange_agents_are_hashed_too() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let token = hub.token("ann", &["agent:*", "call:*"]).await;
    let mut hers = hub.bridge_of(&token, "hers").await;
    let mut ours = hub.bridge("ours").await;
    let call = json!({"type": "call_agent", "target_agent_id": AMY, "task_description": "hi", "call_id": "c-1", "session_id": "s-1"});
    ours.send(call.clone()).await;
    assert_eq!(amy.frame().await["session_id"], "s-1");
    hers.send(call).await;
    let message = amy.frame().await;
    assert!(is_hash(&message["session_id"]), "{message}");
    assert_ne!(message["request_id"], "c-1", "that id is open already");
    // Each answer reaches its own caller.
    for (request, text) in [
        (message["request_id"].as_str().unwrap(), "hers"),
        ("c-1", "ours"),
    ] {
        amy.send(crate::bridge::chunk(request, text)).await;
        amy.send(crate::bridge::done(request)).await;
    }
    for (caller, text) in [(&mut hers, "hers"), (&mut ours, "ours")] {
        caller
            .expect(json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": text}))
            .await;
        caller
            .expect(json!({"type": "call_agent_done", "call_id": "c-1"}))
            .await;
    }
}

/// `with_files` is forwarded, as specified; the original hub drops it.
#[tokio::test]
async fn an_agent_that_is_called_with_files_knows_it() {
    let hub = TestHub::start().await;
    let (mut amy, mut ours) = (hub.bridge(AMY).await, hub.bridge("ours").await);
    ours.send(json!({"type": "call_agent", "target_agent_id": AMY, "task_description": "hi", "call_id": "c-1", "with_files": true}))
        .await;
    amy.expect(json!({"type": "message", "session_id": "a2a-c-1", "request_id": "c-1", "content": "hi", "attachments": [], "with_files": true, "client_id": "agent.ours"}))
        .await;
    let offer = json!({"transfer_id": "t", "zip_size": 1, "zip_sha256": "00", "file_count": 1});
    amy.send(json!({"type": "done", "request_id": "c-1", "file_transfer_offer": offer}))
        .await;
    ours.expect(json!({"type": "call_agent_done", "call_id": "c-1", "file_transfer_offer": offer}))
        .await;
}
