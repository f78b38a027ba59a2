//! One agent alone.

use jackfield_core::{hub::Request, principal::Principal};
use jackfield_model::{AgentId, Event, Message};
use serde_json::{Value, json};

use crate::ws::harness::*;

async fn alone(hub: &TeamHub, path: &str, id: &str, status: &str) -> Viewer {
    let mut viewer = hub.view(path).await;
    let connected = viewer.frame().await;
    assert_eq!(connected["type"], "CONNECTED");
    assert_eq!(connected["payload"]["agent_id"], id);
    assert_eq!(
        viewer.frame().await,
        json!({"type": "AGENT_STATUS", "payload": {"new_status": status, "old_status": null}})
    );
    viewer
}

/// All frames up to the one that says that the agent is idle.
async fn until_idle(viewer: &mut Viewer) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        let frame = viewer.frame().await;
        let is_idle = frame["payload"]["new_status"] == "idle";
        frames.push(frame);
        if is_idle {
            return frames;
        }
    }
}

#[tokio::test]
async fn one_agent_is_viewed_without_any_word_of_a_team() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    let mut viewer = alone(&hub, "/ws/agent/a-boss", "a-boss", "idle").await;
    viewer.say("hello", None).await;
    let working = boss.next_call().await;
    working.push(Event::text("hi"));
    working.finish(done());
    let frames = until_idle(&mut viewer).await;
    let kinds: Vec<_> = frames
        .iter()
        .map(|frame| frame["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "AGENT_STATUS",
            "AGENT_STATUS",
            "SEGMENT_START",
            "SEGMENT_CONTENT",
            "SEGMENT_END",
            "ASSISTANT_COMPLETE",
            "AGENT_STATUS",
        ]
    );
    for frame in &frames {
        for field in [
            "agent_name",
            "member_route_key",
            "event_scope",
            "team_stream_event_envelope",
        ] {
            assert!(frame["payload"].get(field).is_none(), "{frame}");
        }
    }

    // Its client has no numbers to know by what it was shown before.
    let mut fresh = alone(&hub, "/ws/agent/a-boss", "a-boss", "idle").await;
    let mut replayed = alone(&hub, "/ws/agent/a-boss?replay=true", "a-boss", "idle").await;
    assert_eq!(until_idle(&mut replayed).await, frames);
    viewer.say("again", None).await;
    boss.next_call().await.finish(done());
    let next = until_idle(&mut viewer).await;
    assert_eq!(until_idle(&mut fresh).await, next);
}

#[tokio::test]
async fn its_viewer_sees_everybodys_calls_and_may_stop_and_decide_them() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    let mut viewer = alone(&hub, "/ws/agent/a-boss", "a-boss", "idle").await;
    let target = AgentId::parse("a-boss").unwrap();
    let request = Request::new(Principal::local(), "local", target, Message::text("go"));
    let asking = hub.hub.calls().open(request).unwrap();
    let working = boss.next_call().await;
    ask(&working, "call_1");
    let asked = viewer.until("TOOL_APPROVAL_REQUESTED").await;
    assert!(asked["approval_token"].is_null());
    let payload = json!({"invocation_id": "call_1"});
    viewer
        .send(json!({"type": "APPROVE_TOOL", "payload": payload}))
        .await;
    assert!(answer(&working).await.0);
    viewer.send(json!({"type": "STOP_GENERATION"})).await;
    assert_eq!(boss.next_cancel().await, working.call().id);
    drop(asking);
}

#[tokio::test]
async fn a_team_viewed_so_is_its_coordinator() {
    let hub = TeamHub::start().await;
    let [mut boss, ..] = hub.nested();
    let mut viewer = alone(&hub, "/ws/agent/web", "web", "idle").await;
    viewer.say("hello", None).await;
    let working = boss.next_call().await;
    assert_eq!(
        viewer.until("AGENT_STATUS").await["new_status"],
        "processing_user_input"
    );
    let mut later = alone(&hub, "/ws/agent/web", "web", "processing_user_input").await;
    working.finish(done());
    assert_eq!(later.until("ASSISTANT_COMPLETE").await["content"], "");
    boss.leave();
    alone(&hub, "/ws/agent/web", "web", "idle").await;
}
