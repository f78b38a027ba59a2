//! Calls by a handler over the agent's own connection.

use jackfield_sdk::{Agent, Event};
use serde_json::{Value, json};

use crate::bridge::script::{ScriptedHub, Wire};

/// An agent that calls `b` and repeats the reply.
fn calling() -> Agent {
    Agent::new("a").on_message(|message, reply| async move {
        let mut call = reply.call_agent("b", &message.text).session("talk").await?;
        while let Some(event) = call.next().await? {
            match event {
                Event::Chunk(chunk) => {
                    reply
                        .text(format!("{}:{} ", chunk.kind.name(), chunk.text))
                        .await?
                }
                Event::Done(done) => reply.text(json!(done).to_string()).await?,
                other => panic!("{other:?}"),
            }
        }
        Ok(())
    })
}

/// The id of the call in a frame.
fn call_id(frame: &Value) -> Value {
    assert_eq!(frame["type"], "call_agent", "{frame}");
    frame["call_id"].clone()
}

async fn expect_text(wire: &mut Wire, text: &str) {
    let frame = wire.frame().await;
    assert_eq!(frame["delta"], text, "{frame}");
}

#[tokio::test]
async fn a_call_names_its_parent_and_streams_back() {
    let script = ScriptedHub::start(calling()).await;
    let mut wire = script.first().await;
    wire.message("r", "translate").await;
    let mut call = wire.frame().await;
    let id = call_id(&call);
    assert!(id.as_str().unwrap().len() >= 32, "not to be guessed");
    call["call_id"].take();
    assert_eq!(
        call,
        json!({
            "type": "call_agent", "target_agent_id": "b", "task_description": "translate",
            "call_id": null, "parent_request_id": "r", "session_id": "talk",
        })
    );
    wire.send(json!({"type": "call_agent_chunk", "call_id": id, "delta": "j\u{e0}"}))
        .await;
    expect_text(&mut wire, "text:j\u{e0} ").await;
    wire.send(
        json!({"type": "call_agent_chunk", "call_id": id, "delta": "hm", "kind": "thinking"}),
    )
    .await;
    expect_text(&mut wire, "thinking:hm ").await;
    let link = json!({"name": "a", "url": "https://x/a", "type": "text/plain"});
    wire.send(json!({"type": "call_agent_done", "call_id": id, "attachments": [link]}))
        .await;
    let file = json!({"name": "a", "mime": "text/plain", "uri": "https://x/a"});
    expect_text(
        &mut wire,
        &json!({"state": "completed", "attachments": [file]}).to_string(),
    )
    .await;
    assert_eq!(wire.frame().await["type"], "done");
}

#[tokio::test]
async fn a_call_that_fails_is_an_error_with_its_code() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        let error = reply.call_agent("b", "x").await?.text().await.unwrap_err();
        Ok(reply.text(format!("{:?} {error}", error.code())).await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    let id = call_id(&wire.frame().await);
    wire.send(json!({"type": "call_agent_error", "call_id": id, "code": "agent_offline", "message": "gone"}))
        .await;
    expect_text(&mut wire, "Some(\"agent_offline\") gone").await;
}

#[tokio::test]
async fn a_look_who_is_there_gets_its_own_answer() {
    let agent = Agent::new("a").on_message(|message, reply| async move {
        let skill = Some(message.text.as_str()).filter(|skill| *skill != "all");
        let peers = reply.discover(skill).await?;
        Ok(reply.text(format!("{peers:?}")).await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r1", "all").await;
    wire.expect(json!({"type": "discover_agents", "limit": 200}))
        .await;
    wire.message("r2", "sing").await;
    wire.expect(json!({"type": "discover_agents", "capability": "sing", "limit": 200}))
        .await;
    let bob = json!({"id": "b", "name": "Bob", "agent_type": "x", "capabilities": ["sing"], "is_online": true});
    for agents in [json!([]), json!([bob])] {
        wire.send(json!({"type": "discover_agents_result", "agents": agents}))
            .await;
    }
    let mut texts = Vec::new();
    while texts.len() < 2 {
        let frame = wire.frame().await;
        if frame["type"] == "chunk" {
            texts.push((frame["request_id"].clone(), frame["delta"].clone()));
        }
    }
    texts.sort_by_key(|(id, _)| id.to_string());
    let bob = r#"[PeerInfo { id: "b", name: "Bob", agent_type: "x", skills: ["sing"], description: None, is_online: true }]"#;
    assert_eq!(
        texts,
        [(json!("r1"), json!("[]")), (json!("r2"), json!(bob))]
    );
}

#[tokio::test]
async fn calls_and_looks_go_on_after_a_cut() {
    let agent = Agent::new("a").on_message(|message, reply| async move {
        if message.text == "look" {
            let count = reply.discover(None).await?.len();
            return Ok(reply.text(format!("{count} there")).await?);
        }
        let text = reply.call_agent("b", "x").await?.text().await?;
        Ok(reply.text(text).await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "call").await;
    let id = call_id(&wire.frame().await);
    for delta in ["one ", "two "] {
        wire.send(json!({"type": "call_agent_chunk", "call_id": id, "delta": delta}))
            .await;
    }
    wire.message("look", "look").await;
    wire.expect(json!({"type": "discover_agents", "limit": 200}))
        .await;
    drop(wire);
    let open = json!([{"request_id": "look", "have": 0}, {"request_id": "r", "have": 0}]);
    let resume = json!({"token": "t-2", "grace_ms": 30000, "open": open});
    let (mut wire, register) = script.attach(resume).await;
    let calls = json!([{"call_id": id, "got": 2}]);
    assert_eq!(register["resume"]["calls"], calls);
    wire.expect(json!({"type": "discover_agents", "limit": 200}))
        .await;
    wire.send(json!({"type": "discover_agents_result", "agents": []}))
        .await;
    expect_text(&mut wire, "0 there").await;
    assert_eq!(wire.frame().await["type"], "done");
    wire.send(json!({"type": "call_agent_chunk", "call_id": id, "delta": "three"}))
        .await;
    wire.send(json!({"type": "call_agent_done", "call_id": id}))
        .await;
    expect_text(&mut wire, "one two three").await;
}

#[tokio::test]
async fn a_call_that_nobody_reads_any_more_is_not_asked_for_after_a_cut() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        drop(reply.call_agent("b", "x").await?);
        reply.text("never mind").await?;
        std::future::pending().await
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    call_id(&wire.frame().await);
    expect_text(&mut wire, "never mind").await;
    drop(wire);
    let (_wire, register) = script.greet().await;
    assert_eq!(register["resume"]["calls"], json!([]));
}
