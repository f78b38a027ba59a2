//! Credentials of servers, and tickets: the parties of a transfer get them, and nobody sees them on the way.

use jackfield_bridge::IceServer;
use jackfield_core::tap::{Sight, TapFilter};
use jackfield_kit::testing::CapturedLog;

use super::*;

fn turn(credential: &str) -> Value {
    json!([{"urls": ["turn:t.example.com"], "username": "u", "credential": credential}])
}

#[tokio::test]
async fn credentials_and_tickets_reach_the_two_parties_and_neither_watchers_nor_logs() {
    let (log, _capturing) = CapturedLog::start("");
    let server = IceServer {
        urls: vec!["turn:t.example.com".into()],
        username: Some("u".into()),
        credential: Some("hubs-own-secret".into()),
    };
    let rules = FileRules {
        ice_servers: vec![server],
        ..FileRules::default()
    };
    let mut place = Place::open_with(rules).await;
    let filter = TapFilter {
        raw: true,
        ..TapFilter::default()
    };
    let mut watching = place.door.hub.taps().watch(Principal::local(), filter);
    let (ann, platform) = (place.ann.principal(), Principal::platform());
    place.offers(&ann, &offer("t1", 5)).await;
    place.offers(&platform, &offer("p1", 5)).await;
    // The caller's and the agent's, of a transfer over /v1; neither a stranger's nor a refusal's.
    let (_, heard) = place.ann.says("t1", &json!({"signal_type": "poll"})).await;
    assert_eq!(heard["ice_servers"], turn("hubs-own-secret"));
    place
        .ann
        .says("t1", &json!({"signal_type": "offer", "payload": "v=0"}))
        .await;
    assert_eq!(place.signal().await["ice_servers"], turn("hubs-own-secret"));
    let (status, refused) = place.bob.says("t1", &json!({"signal_type": "poll"})).await;
    assert!(status == 403 && refused.get("ice_servers").is_none());
    // The platform's own.
    let url = format!("http://{}/api/rtc-signal/amy", place.door.addr);
    let body = json!({"transfer_id": "p1", "signal_type": "offer", "ice_servers": turn("platforms-secret")});
    let posted = |body: String| {
        let request = reqwest::Client::new()
            .post(&url)
            .header("X-Platform-Secret", SECRET);
        request.body(body).send()
    };
    let answer = posted(body.to_string())
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert_eq!(answer, r#"{"ok":true,"signals":[]}"#);
    assert_eq!(
        place.signal().await["ice_servers"],
        turn("platforms-secret")
    );
    // What cannot be read is not repeated.
    let mut wrong = body.clone();
    wrong["transfer_id"] = json!([5]);
    let cut = body.to_string();
    for wrong in [wrong.to_string(), cut[..cut.len() - 1].to_owned()] {
        let answer = posted(wrong).await.unwrap();
        assert_eq!(answer.status().as_u16(), 400);
        assert!(!answer.text().await.unwrap().contains("platforms-secret"));
    }
    // An agent repeats what it was told.
    let mut echo = json!({
        "type": "rtc_signal", "transfer_id": "p1", "target_agent_id": "http-caller",
        "signal_type": "answer", "payload": "v=1",
    });
    echo["ice_servers"] = turn("platforms-secret");
    place.amy.send(echo).await;
    // A ticket.
    let mut fetching = place.ann.fetching("t1");
    let url = place.meeting().await;
    let ticket = url.rsplit('/').next().unwrap().to_owned();
    let sent = reqwest::Client::new().put(&url).body("hello").send().await;
    assert_eq!(sent.unwrap().status().as_u16(), 204);
    let fetched = fetching.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(fetched.bytes().await.unwrap(), "hello");
    // The last thing that watchers see.
    place
        .amy
        .send(json!({"type": "heartbeat", "active_sessions": 0}))
        .await;
    let mut seen = String::new();
    loop {
        let Sight::Frame(_, frame) = soon(watching.next()).await.sight else {
            continue;
        };
        seen += &frame;
        if frame.contains("heartbeat") {
            break;
        }
    }
    assert!(
        seen.matches("\"ice_servers\":\"hidden\"").count() >= 3,
        "{seen}"
    );
    assert!(seen.contains("\"signal_type\":\"relay\""), "{seen}");
    let logged = log.text();
    assert!(logged.contains("message="), "something was logged");
    for secret in ["hubs-own-secret", "platforms-secret", &ticket] {
        assert!(!seen.contains(secret), "a watcher sees {secret}");
        assert!(!logged.contains(secret), "the log has {secret}");
    }
}
