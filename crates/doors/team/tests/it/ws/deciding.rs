//! Approvals: asked at any depth, decided by name, route key or token, by those who may.

use jackfield_core::{agent::Settings, principal::Principal, units::Size};
use jackfield_model::{Event, Message};
use jackfield_team::TeamLimits;
use serde_json::{Value, json};

use crate::ws::harness::*;

const PLACES: [(usize, &str, &str); 2] = [(0, "boss", "boss"), (2, "head", "backend/db/head")];

#[tokio::test]
async fn a_member_waits_until_a_viewer_decides() {
    for (depth, name, route) in PLACES {
        let hub = TeamHub::start().await;
        let mut agents = hub.nested();
        let mut viewer = hub.viewer("web").await;
        for (round, by) in ["name", "route", "token", "key", "id"]
            .into_iter()
            .enumerate()
        {
            let id = format!("call_{round}");
            viewer.say("go", Some(route)).await;
            let working = agents[depth].next_call().await;
            ask(&working, &id);
            let asked = viewer.until("TOOL_APPROVAL_REQUESTED").await;
            let run = &asked["team_stream_event_envelope"]["team_run_id"];
            assert_eq!(asked["arguments"], json!({"path": "/tmp/x"}));
            assert_eq!(asked["message"], "May I?");
            assert_eq!(
                asked["approval_token"],
                json!({
                    "teamRunId": run, "runVersion": 1, "invocationId": id,
                    "invocationVersion": 1, "targetMemberName": route,
                })
            );
            let mut payload = json!({"invocation_id": id, "reason": "as you like"});
            match by {
                "name" => payload["agent_name"] = json!(name),
                "route" => payload["target_member_name"] = json!(route),
                "key" => payload["member_route_key"] = json!(route),
                "token" => payload = json!({"approval_token": asked["approval_token"]}),
                _ => {}
            }
            let approve = round % 2 == 0;
            let kind = if approve { "APPROVE_TOOL" } else { "DENY_TOOL" };
            viewer.send(json!({"type": kind, "payload": payload})).await;
            assert_eq!(answer(&working).await.0, approve, "{by}");
            let kind = if approve {
                "TOOL_APPROVED"
            } else {
                "TOOL_DENIED"
            };
            let told = viewer.until(kind).await;
            assert_eq!(told["invocation_id"], id.as_str());
            if !approve {
                assert_eq!(told["reason"], told["error"]);
            }
            working.finish(done());
            viewer.until_idle().await;
        }
    }
}

#[tokio::test]
async fn a_decision_that_fits_nothing_is_refused_with_its_code() {
    let hub = TeamHub::start().await;
    let [mut boss, ..] = hub.nested();
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", None).await;
    let working = boss.next_call().await;
    ask(&working, "call_1");
    let mut token = viewer.until("TOOL_APPROVAL_REQUESTED").await["approval_token"].clone();
    let cases = [
        (
            json!({"invocation_id": "call_2"}),
            "APPROVAL_INVOCATION_NOT_PENDING",
        ),
        (
            json!({"invocation_id": "call_1", "agent_name": "dba"}),
            "APPROVAL_TARGET_MISMATCH",
        ),
        (
            json!({"invocation_id": "call_1", "agent_name": "nobody"}),
            "APPROVAL_TARGET_MISMATCH",
        ),
        (
            json!({"invocation_id": "call_2", "approval_token": token}),
            "INVALID_APPROVAL_TOKEN",
        ),
        (
            {
                token["teamRunId"] = json!("run_of_yesterday");
                json!({"invocation_id": "call_1", "approval_token": token})
            },
            "STALE_APPROVAL_TOKEN",
        ),
    ];
    for (payload, code) in cases {
        let frame = json!({"type": "APPROVE_TOOL", "payload": payload});
        viewer.send(frame).await;
        let refused = viewer.until("ERROR").await;
        assert_eq!(refused["code"], code, "{payload}");
        if payload["agent_name"] == "nobody" {
            let text = "team web has no member \"nobody\"; it has boss, backend/lead, backend/db/head, backend/db/core/dba";
            assert_eq!(refused["message"], text);
        }
    }
    let payload = json!({"invocation_id": "call_1"});
    viewer
        .send(json!({"type": "DENY_TOOL", "payload": payload}))
        .await;
    assert!(!answer(&working).await.0);
    viewer
        .send(json!({"type": "DENY_TOOL", "payload": payload}))
        .await;
    assert_eq!(viewer.error().await, "APPROVAL_INVOCATION_NOT_PENDING");
}

#[tokio::test]
async fn a_strangers_question_is_nobodys_to_decide() {
    let hub = TeamHub::start_with(false, Default::default()).await;
    let (ann, ann_as) = hub.token("ann", &["agent:*"]).await;
    let (bob, _) = hub.token("bob", &["call:web"]).await;
    let mut boss = hub.attach_for(&ann_as, "a-boss");
    hub.team_for(&ann_as, "web", &["boss=a-boss"]);
    let mut owner = hub.view_as(&ann, "/ws/agent-team/web").await;
    let mut guest = hub.view_as(&bob, "/ws/agent-team/web").await;
    let decide = |kind: &str| json!({"type": kind, "payload": {"invocation_id": "call_1"}});

    owner.say("of ann", None).await;
    let for_ann = boss.next_call().await;
    ask(&for_ann, "call_1");
    owner.until("TOOL_APPROVAL_REQUESTED").await;
    for kind in ["APPROVE_TOOL", "DENY_TOOL"] {
        guest.send(decide(kind)).await;
        assert_eq!(guest.error().await, "APPROVAL_INVOCATION_NOT_PENDING");
    }
    owner.send(decide("APPROVE_TOOL")).await;
    assert!(answer(&for_ann).await.0);
    for_ann.finish(done());

    // What came of their own call they may deny, but not approve: that is the agent's owner's.
    guest.say("of bob", None).await;
    let for_bob = boss.next_call().await;
    ask(&for_bob, "call_1");
    guest.until("TOOL_APPROVAL_REQUESTED").await;
    guest.send(decide("APPROVE_TOOL")).await;
    assert_eq!(guest.error().await, "UNAUTHORIZED");
    guest.send(decide("DENY_TOOL")).await;
    assert!(!answer(&for_bob).await.0);
    for_bob.finish(done());
    assert!(!Settings::default().approvals_to_caller);
}

#[tokio::test]
async fn a_viewer_that_comes_later_finds_the_open_question_once() {
    let hub = TeamHub::start().await;
    let mut agents = hub.nested();
    let mut first = hub.viewer("web").await;
    first.say("go", Some("head")).await;
    let working = agents[2].next_call().await;
    ask(&working, "call_1");
    let mut live = Vec::new();
    while live
        .last()
        .is_none_or(|frame: &Value| frame["type"] != "TOOL_APPROVAL_REQUESTED")
    {
        live.push(first.frame().await);
    }

    let count = |frames: &[Value]| {
        let asks = frames.iter();
        asks.filter(|frame| frame["type"] == "TOOL_APPROVAL_REQUESTED")
            .count()
    };
    // In the tail that is replayed; the last event of it is the status that follows.
    let mut replayed = hub.view("/ws/agent-team/web").await;
    let frames = until_awaiting(&mut replayed).await;
    assert_eq!(count(&frames), 1);

    // Without the tail: in the snapshot, after the segment that it belongs to, as the others saw it: a number means one
    // thing to all viewers.
    let mut fresh = hub.view("/ws/agent-team/web?replay=false").await;
    let mut frames = Vec::new();
    while count(&frames) == 0 {
        frames.push(fresh.frame().await);
    }
    let [.., start, end, again] = &frames[..] else {
        panic!("{frames:?}")
    };
    assert_eq!(
        (&start["type"], &end["type"]),
        (&json!("SEGMENT_START"), &json!("SEGMENT_END"))
    );
    for frame in [start, end, again] {
        assert!(live.contains(frame), "{frame} is not among {live:?}");
    }
    let numbers = sequences(&frames);
    assert_eq!(numbers.len(), 3, "nothing else has one");
    // Whoever has it is not told again.
    let mut back = hub
        .view(&format!("/ws/agent-team/web?after_sequence={}", numbers[2]))
        .await;
    assert_eq!(count(&until_awaiting(&mut back).await), 0);

    let token = &again["payload"]["approval_token"];
    let payload = json!({"approval_token": token});
    fresh
        .send(json!({"type": "APPROVE_TOOL", "payload": payload}))
        .await;
    assert!(answer(&working).await.0);
    for viewer in [&mut first, &mut replayed, &mut fresh] {
        let approved = viewer.until("TOOL_APPROVED").await;
        assert_eq!(approved["member_route_key"], "backend/db/head");
    }
}

#[tokio::test]
async fn an_open_question_that_the_tail_has_lost_is_in_the_snapshot() {
    let limits = TeamLimits {
        ring: Size::kib(8),
        tail: Size::kib(4),
        ..TeamLimits::default()
    };
    let hub = TeamHub::start_limited(limits).await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut first = hub.viewer("web").await;
    first.say("ask", None).await;
    let asking = boss.next_call().await;
    ask(&asking, "call_1");
    first.until("TOOL_APPROVAL_REQUESTED").await;
    drop(first);
    let local = Principal::local();
    let said = hub
        .teams
        .send_message(&local, "web", None, Message::text("talk"), None);
    said.await.unwrap();
    let talking = boss.next_call().await;
    for word in 0..50 {
        talking.push(Event::text(format!("{word} ")));
    }
    for path in ["/ws/agent-team/web", "/ws/agent-team/web?after_sequence=3"] {
        let mut viewer = hub.view(path).await;
        let asked = viewer.until("TOOL_APPROVAL_REQUESTED").await;
        assert_eq!(asked["team_stream_event_envelope"]["sequence"], 6);
        assert_eq!(asked["approval_token"]["targetMemberName"], "boss");
    }
}

/// All frames up to the numbered one that says that a member waits for leave.
async fn until_awaiting(viewer: &mut Viewer) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        let frame = viewer.frame().await;
        let payload = &frame["payload"];
        let is_last = payload["new_status"] == "awaiting_tool_approval"
            && !payload["team_stream_event_envelope"].is_null();
        frames.push(frame);
        if is_last {
            return frames;
        }
    }
}
