//! What viewers say, and whom it reaches.

use jackfield_model::{FileSource, Part};
use serde_json::json;

use crate::ws::harness::*;

#[tokio::test]
async fn a_message_goes_to_the_coordinator_or_to_whom_it_names() {
    let hub = TeamHub::start().await;
    let mut agents = hub.nested();
    let mut viewer = hub.viewer("web").await;
    for (target, agent) in [
        (None, 0),
        (Some("boss"), 0),
        (Some("backend"), 1),
        (Some("lead"), 1),
        (Some("backend/db"), 2),
        (Some("backend/db/core/dba"), 3),
        (Some("dba"), 3),
    ] {
        viewer.say("hello", target).await;
        let working = agents[agent].next_call().await;
        assert_eq!(working.call().message.joined_text(), "hello", "{target:?}");
        working.finish(done());
        viewer.until_idle().await;
    }
}

#[tokio::test]
async fn what_one_viewer_says_is_shown_to_the_others() {
    let hub = TeamHub::start().await;
    let mut agents = hub.nested();
    let (mut one, mut other) = (hub.viewer("web").await, hub.viewer("web").await);
    one.say("hello", Some("lead")).await;
    let working = agents[1].next_call().await;
    let shown = other.until("INTER_AGENT_MESSAGE").await;
    for (field, value) in [
        ("sender_agent_id", "local"),
        ("recipient_role_name", "lead"),
        ("content", "hello"),
        ("message_type", "user_message"),
        ("member_route_key", "backend/lead"),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    working.finish(done());
    // Who said it shows its own words by itself, and sees what the other one says.
    let is_said = |frame: &&serde_json::Value| frame["type"] == "INTER_AGENT_MESSAGE";
    let seen = one.until_idle().await;
    assert_eq!(seen.iter().find(is_said), None);
    other.until_idle().await;
    other.say("and you", Some("lead")).await;
    agents[1].next_call().await.finish(done());
    let (seen, own) = (one.until_idle().await, other.until_idle().await);
    assert_eq!(
        seen.iter().find(is_said).unwrap()["payload"]["content"],
        "and you"
    );
    assert_eq!(own.iter().find(is_said), None);
    // Who comes later sees both.
    let mut late = hub.view("/ws/agent-team/web").await;
    for _ in 0..2 {
        let seen = late.until_idle().await;
        assert_eq!(seen.iter().filter(is_said).count(), 1);
    }
    // Who views an agent alone shows by itself what its user says.
    let mut alone = hub.view("/ws/agent/a-boss").await;
    alone.say("hi", None).await;
    agents[0].next_call().await.finish(done());
    loop {
        let frame = alone.frame().await;
        assert_ne!(frame["type"], "INTER_AGENT_MESSAGE");
        if frame["type"] == "ASSISTANT_COMPLETE" {
            break;
        }
    }
}

#[tokio::test]
async fn a_message_to_nobody_is_refused_and_the_team_is_not_disturbed() {
    let hub = TeamHub::start().await;
    let mut agents = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("hello", Some("nobody")).await;
    assert_eq!(viewer.error().await, "TARGET_MEMBER_NOT_PLACED");
    viewer
        .send(json!({"type": "STOP_GENERATION", "payload": {"target_member_name": "nobody"}}))
        .await;
    assert_eq!(viewer.error().await, "TARGET_MEMBER_NOT_PLACED");
    agents[0].leave();
    let mut other = hub.viewer("web").await;
    viewer.say("hello", None).await;
    let refused = viewer.until("ERROR").await;
    assert_eq!(refused["code"], "OFFLINE");
    assert_eq!(
        refused["message"],
        "member boss of team web is not connected"
    );
    for agent in &agents[1..] {
        assert!(agent.has_nothing_to_do());
    }
    // Only who said it is told, and the team is as it was: the first that others see is what comes next.
    viewer.say("hello", Some("lead")).await;
    agents[1].next_call().await.finish(done());
    let seen = other.until_idle().await;
    assert_eq!(seen[0]["type"], "TEAM_STATUS");
    assert_eq!(seen[0]["payload"]["new_status"], "processing");
    assert_eq!(sequences(&seen)[0], 1);
}

#[tokio::test]
async fn whoever_names_a_message_hears_what_became_of_it() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let say = |id: &str, target: &str| {
        let payload = json!({"content": "go", "target": target, "message_id": id});
        json!({"type": "SEND_MESSAGE", "payload": payload})
    };
    viewer.send(say("m-1", "boss")).await;
    let working = boss.next_call().await;
    let accepted = viewer.until("MESSAGE_ACCEPTED").await;
    let task = working.call().task.expect("it is kept");
    assert_eq!(
        accepted,
        json!({"message_id": "m-1", "task_id": task.to_string()})
    );
    viewer.send(say("m-2", "nobody")).await;
    let refused = viewer.until("ERROR").await;
    assert_eq!(refused["code"], "TARGET_MEMBER_NOT_PLACED");
    assert_eq!(refused["message_id"], "m-2");
    for payload in [
        json!({"content": 5, "message_id": "m-3"}),
        json!({"content": " ", "message_id": "m-3"}),
        json!({"message_id": "m-3"}),
        json!({"content": "go", "image_urls": "x", "message_id": "m-3"}),
    ] {
        viewer
            .send(json!({"type": "SEND_MESSAGE", "payload": payload}))
            .await;
        let refused = viewer.until("ERROR").await;
        assert_eq!(refused["code"], "INVALID_MESSAGE", "{payload}");
        assert_eq!(refused["message_id"], "m-3", "{payload}");
    }
}

#[tokio::test]
async fn a_message_that_is_sent_twice_under_its_id_is_accepted_twice_and_made_once() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let say = |id: &str, content: &str| {
        let payload = json!({"content": content, "message_id": id});
        json!({"type": "SEND_MESSAGE", "payload": payload})
    };
    viewer.send(say("m-1", "go")).await;
    let accepted = viewer.until("MESSAGE_ACCEPTED").await;
    // From another socket of the same person, as after a cut.
    let mut back = hub.view("/ws/agent-team/web?replay=false").await;
    back.send(say("m-1", "go")).await;
    assert_eq!(back.until("MESSAGE_ACCEPTED").await, accepted);
    back.send(say("m-1", "stop")).await;
    let refused = back.until("ERROR").await;
    assert_eq!(
        (&refused["code"], &refused["message_id"]),
        (&json!("CONFLICT"), &json!("m-1"))
    );
    back.send(say("m-2", "go on")).await;
    assert_eq!(boss.next_call().await.call().message.joined_text(), "go");
    assert_eq!(boss.next_call().await.call().message.joined_text(), "go on");
}

#[tokio::test]
async fn messages_of_a_viewer_reach_the_member_in_order() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    for number in 0..10 {
        viewer.say(&number.to_string(), None).await;
    }
    for number in 0..10 {
        let working = boss.next_call().await;
        assert_eq!(working.call().message.joined_text(), number.to_string());
        working.finish(done());
    }
}

#[tokio::test]
async fn files_and_images_go_along() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    let payload = json!({
        "content": "Look", "contextFilePaths": ["/a.rs", "/b.rs"],
        "image_urls": ["https://x.test/p.png", "data:image/gif;base64,R0lG"],
    });
    viewer
        .send(json!({"type": "SEND_MESSAGE", "payload": payload}))
        .await;
    let working = boss.next_call().await;
    let [Part::Text(text), Part::File(linked), Part::File(held)] =
        &working.call().message.parts[..]
    else {
        panic!("{:?}", working.call().message)
    };
    assert_eq!(text, "Look\n\nContext files:\n- /a.rs\n- /b.rs");
    assert_eq!(
        linked.source,
        FileSource::Uri("https://x.test/p.png".to_owned())
    );
    assert_eq!(held.mime.as_deref(), Some("image/gif"));
}

#[tokio::test]
async fn a_stop_reaches_the_agents_and_only_those_that_are_meant() {
    let hub = TeamHub::start().await;
    let [mut boss, mut lead, _, mut dba] = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("one", None).await;
    let at_boss = boss.next_call().await;
    viewer.say("two", Some("dba")).await;
    let at_dba = dba.next_call().await;
    viewer.say("three", Some("lead")).await;
    let at_lead = lead.next_call().await;

    let payload = json!({"member_route_key": "backend/db"});
    viewer
        .send(json!({"type": "STOP_GENERATION", "payload": payload}))
        .await;
    assert_eq!(dba.next_cancel().await, at_dba.call().id);
    assert!(!at_lead.call().is_ended() && !at_boss.call().is_ended());

    viewer.send(json!({"type": "STOP_GENERATION"})).await;
    assert_eq!(boss.next_cancel().await, at_boss.call().id);
    assert_eq!(lead.next_cancel().await, at_lead.call().id);
    let frames = viewer.until_idle().await;
    let idle = |frame: &&serde_json::Value| {
        frame["type"] == "AGENT_STATUS" && frame["payload"]["new_status"] == "idle"
    };
    assert_eq!(frames.iter().filter(idle).count(), 3);
    // Each says that it was stopped, and did not finish.
    let stopped = |frame: &&serde_json::Value| {
        frame["type"] == "ERROR" && frame["payload"]["code"] == "cancelled"
    };
    assert_eq!(frames.iter().filter(stopped).count(), 3);
}

#[tokio::test]
async fn every_message_of_a_flood_is_answered() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    // In one write: how many are done before the next is read is the hub's affair.
    for number in 0..200 {
        let payload = json!({"content": number.to_string(), "target_member_name": "nobody"});
        let frame = json!({"type": "SEND_MESSAGE", "payload": payload});
        assert!(viewer.feed(&frame).await);
    }
    assert!(viewer.flush().await);
    let mut codes = Vec::new();
    for _ in 0..200 {
        codes.push(viewer.error().await);
    }
    let count = |code: &str| codes.iter().filter(|it| *it == code).count();
    assert!(count("TARGET_MEMBER_NOT_PLACED") >= 64, "{codes:?}");
    assert_eq!(count("TARGET_MEMBER_NOT_PLACED") + count("BUSY"), 200);
    viewer.say("still here", None).await;
    assert_eq!(
        boss.next_call().await.call().message.joined_text(),
        "still here"
    );
}

#[tokio::test]
async fn whoever_may_only_call_sees_and_stops_only_what_they_asked_for() {
    let hub = TeamHub::start_with(false, Default::default()).await;
    let (ann, ann_as) = hub.token("ann", &["agent:*"]).await;
    let (bob, _) = hub.token("bob", &["call:web"]).await;
    let mut boss = hub.attach_for(&ann_as, "a-boss");
    hub.team_for(&ann_as, "web", &["boss=a-boss"]);
    let mut owner = hub.view_as(&ann, "/ws/agent-team/web").await;
    let mut guest = hub.view_as(&bob, "/ws/agent-team/web").await;
    for viewer in [&mut owner, &mut guest] {
        viewer.until("AGENT_STATUS").await;
    }
    owner.say("of ann", None).await;
    let for_ann = boss.next_call().await;
    for_ann.push(jackfield_model::Event::text("secret"));
    guest.say("of bob", None).await;
    let for_bob = boss.next_call().await;
    for_bob.push(jackfield_model::Event::text("shared"));
    guest.send(json!({"type": "STOP_GENERATION"})).await;
    assert_eq!(boss.next_cancel().await, for_bob.call().id);
    assert!(!for_ann.call().is_ended());
    for_ann.push(jackfield_model::Event::text("more of it"));
    for_ann.finish(done());
    let all = format!("{:?}", owner.until_idle().await);
    assert!(all.contains("secret") && all.contains("shared"));

    // A second call, whose end the guest can wait for.
    guest.say("of bob again", None).await;
    boss.next_call().await.finish(done());
    let mut seen = Vec::new();
    while !seen.contains(&"ASSISTANT_COMPLETE".to_owned()) {
        let frame = guest.frame().await;
        let text = frame.to_string();
        assert!(
            !text.contains("secret") && !text.contains("more of it"),
            "{text}"
        );
        seen.push(frame["type"].as_str().unwrap().to_owned());
    }
    assert!(seen.contains(&"SEGMENT_CONTENT".to_owned()));
}
