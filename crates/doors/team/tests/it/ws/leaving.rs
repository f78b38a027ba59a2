//! How a viewer's connection ends.

use jackfield_core::principal::Principal;
use jackfield_model::{AgentId, ChunkKind, Event};
use serde_json::json;

use crate::ws::harness::*;

#[tokio::test]
async fn when_the_hub_stops_the_final_statuses_come_before_the_end() {
    let hub = TeamHub::start().await;
    let mut agents = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", Some("dba")).await;
    let working = agents[3].next_call().await;
    working.push(Event::text("half a"));
    viewer.until("SEGMENT_CONTENT").await;
    let ((), (frames, closed)) = tokio::join!(hub.stop(), viewer.until_closed());
    assert_eq!(closed, 1001);
    let is = |kind: &'static str, status: &'static str| {
        move |frame: &serde_json::Value| {
            frame["type"] == kind && frame["payload"]["new_status"] == status
        }
    };
    assert!(
        frames.iter().any(is("TEAM_STATUS", "shutting_down")),
        "{frames:?}"
    );
    let last = frames.iter().rfind(|frame| frame["type"] == "AGENT_STATUS");
    assert!(last.is_some_and(is("AGENT_STATUS", "error")), "{frames:?}");
    assert!(frames.iter().any(|frame| frame["type"] == "SEGMENT_END"));
    assert!(!frames.iter().any(is("TEAM_STATUS", "idle")));
    let numbers = sequences(&frames);
    assert!(
        numbers.windows(2).all(|two| two[1] == two[0] + 1),
        "{numbers:?}"
    );
    drop(working);
}

#[tokio::test]
async fn what_is_unread_when_the_hub_stops_is_drained() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", None).await;
    let working = boss.next_call().await;
    viewer.until("AGENT_STATUS").await;
    // All of it before the viewer's session has its turn again, and more than it takes at once.
    let word = "x".repeat(4 << 10);
    for _ in 0..50 {
        working.push(chunk(ChunkKind::Text, &word, None));
        working.push(chunk(ChunkKind::Thinking, &word, None));
    }
    working.finish(done());
    hub.tasks.stop_token().cancel();
    let (frames, closed) = viewer.until_closed().await;
    assert_eq!(closed, 1001);
    let words = frames
        .iter()
        .filter(|frame| frame["type"] == "SEGMENT_CONTENT");
    assert_eq!(words.count(), 100);
    let last = frames.last().unwrap();
    assert_eq!(last["payload"]["new_status"], "idle", "{last}");
}

#[tokio::test]
async fn a_team_that_is_removed_says_so() {
    let hub = TeamHub::start().await;
    let _boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let mut alone = hub.view("/ws/agent/a-boss").await;
    for _ in 0..2 {
        alone.frame().await;
    }
    let id = AgentId::parse("web").unwrap();
    hub.teams.remove(&Principal::local(), &id).unwrap();
    let (frames, closed) = viewer.until_closed().await;
    let payload = json!({"code": "TEAM_REMOVED", "message": "Team 'web' was removed"});
    assert_eq!(frames, [json!({"type": "ERROR", "payload": payload})]);
    assert_eq!(closed, 4004);

    let id = AgentId::parse("a-boss").unwrap();
    hub.hub.agents().forget(&Principal::local(), &id).unwrap();
    let (frames, closed) = alone.until_closed().await;
    assert_eq!(
        (&frames[0]["payload"]["code"], closed),
        (&json!("AGENT_REMOVED"), 4004)
    );
}

#[tokio::test]
async fn a_viewer_whose_token_is_revoked_is_closed_with_4002() {
    let hub = TeamHub::start_with(false, Default::default()).await;
    let (ann, ann_as) = hub.token("ann", &["agent:*"]).await;
    let _boss = hub.attach_for(&ann_as, "a-boss");
    hub.team_for(&ann_as, "web", &["boss=a-boss"]);
    let mut viewer = hub.view_as(&ann, "/ws/agent-team/web").await;
    viewer.until("CONNECTED").await;
    let token = ann_as.grant.token.unwrap();
    hub.hub.tokens().revoke(token).await.unwrap();
    assert_eq!(viewer.until_closed().await.1, 4002);
}
