//! A bridge agent that isn't a member.

use serde_json::json;

use super::{ANSWER, expect_shown, work};
use crate::team::{duo, members::MemberAgent};

#[tokio::test]
async fn an_agent_of_the_bridge_finds_and_calls_a_team() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    let mut boss = MemberAgent::join(&hub, "boss").await;
    boss.line.send(json!({"type": "discover_agents"})).await;
    let found = boss.line.frame().await;
    let agents = found["agents"].as_array().unwrap();
    let team = agents.iter().find(|agent| agent["id"] == "duo").unwrap();
    assert_eq!(team["is_online"], true, "{team}");
    let call = json!({"type": "call_agent", "target_agent_id": "duo", "task_description": "why?", "call_id": "c-9"});
    boss.line.send(call).await;
    work(&mut lead, &mut dev, "why?").await;
    assert_eq!(boss.reply_text("c-9").await, ANSWER);
    expect_shown(&mut user, 1).await;
    let shown = user.screen.shown().to_string();
    assert!(!shown.contains("boss"), "it is no member: {shown}");
}
