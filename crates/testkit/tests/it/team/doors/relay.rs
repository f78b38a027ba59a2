//! The platform, by the bridge's relay.

use jackfield_testkit::{CallbackReceiver, TestHub, relay_to};
use serde_json::json;

use super::{ANSWER, begin, expect_cancel, expect_shown, work};
use crate::team::{duo, duo_of};

#[tokio::test]
async fn a_relay_to_a_team_is_streamed_and_cancelled() {
    let (hub, mut lead, mut dev, mut user) = duo().await;
    let platform = hub.platform();
    let mut events = platform.relay("duo", "r-1").await;
    work(&mut lead, &mut dev, "hi").await;
    let heard = events.rest().await;
    let chunks = heard.iter().filter_map(|it| it["delta"].as_str());
    assert_eq!(chunks.collect::<String>(), ANSWER);
    assert_eq!(heard.last().unwrap()["type"], "done", "{heard:?}");
    expect_shown(&mut user, 1).await;

    let mut events = platform.relay("duo", "r-2").await;
    let requests = begin(&mut lead, &mut dev, "hi").await;
    let ids = json!({"agent_id": "duo", "session_id": "s-1", "request_id": "r-2"});
    let (status, answer) = platform.post("/api/cancel", ids).await;
    assert_eq!(status, 200, "{answer}");
    expect_cancel(&mut lead, &mut dev, &requests).await;
    let end = events.rest().await.pop().unwrap();
    assert_eq!(end["code"], "session_not_found", "{end}");
    user.until_rest(2).await;
}

#[tokio::test]
async fn an_async_relay_to_a_team_is_answered_by_its_callback() {
    let mut receiver = CallbackReceiver::start_accepting().await;
    let hub = TestHub::start_with(|config| config.allow_private_outbound = true).await;
    let (mut lead, mut dev, mut user) = duo_of(&hub).await;
    let platform = hub.platform();
    let mut body = relay_to("duo", "r-1");
    body["mode"] = "async".into();
    body["callback_url"] = receiver.url("/back").into();
    let (status, accepted) = platform.post("/api/relay", body).await;
    assert_eq!(status, 202, "{accepted}");
    work(&mut lead, &mut dev, "hi").await;
    let post = receiver.next().await.body();
    assert_eq!(
        (&post["status"], &post["result"]),
        (&json!("completed"), &json!(ANSWER))
    );
    let (_, shown) = platform
        .get("/api/task-status?agent_id=duo&request_id=r-1")
        .await;
    assert_eq!(
        (&shown["status"], &shown["result"]),
        (&json!("completed"), &json!(ANSWER))
    );
    expect_shown(&mut user, 1).await;
}

#[tokio::test]
async fn a_team_is_online_as_long_as_its_coordinator_is() {
    let (hub, lead, mut dev, _user) = duo().await;
    let platform = hub.platform();
    let (status, shown) = platform.get("/api/agents/duo/status").await;
    assert_eq!((status, &shown["online"]), (200, &json!(true)), "{shown}");
    let mut watch = hub.watch("agent-lead");
    drop(lead);
    watch.until_offline().await;
    let (_, shown) = platform.get("/api/agents/duo/status").await;
    assert_eq!(shown["online"], false, "{shown}");
    let (_, refused) = platform.post("/api/relay", relay_to("duo", "r-1")).await;
    assert_eq!(refused["error"], "agent_offline", "{refused}");
    dev.line.expect_no_bridge_frame().await;
}

#[tokio::test]
async fn a_team_has_no_token_by_which_it_is_found() {
    let (hub, _lead, _dev, _user) = duo().await;
    // The SHA-256 of both members' token.
    let hash = "f8db6dd60191724edd1972e63fdd8ec693c7689a4f9b6376432b29616ec69ac6";
    let asked = json!({"token_hash": hash});
    let (_, found) = hub.platform().post("/api/agents-by-token", asked).await;
    let agents = found["agents"].as_array().unwrap().iter();
    let mut ids: Vec<_> = agents.map(|it| it["agent_id"].as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some("agent-dev"), Some("agent-lead")]);
}
