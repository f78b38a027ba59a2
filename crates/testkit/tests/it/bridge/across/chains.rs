//! Chains of calls: loops are refused, and the end of a call ends its child calls.

use jackfield_testkit::{Events, Raw, TestHub};
use serde_json::{Value, json};

use super::both;
use crate::bridge::{AMY, BOB, chunk, done, failed, finished, text_event};

fn call(target: &str, call_id: &str, parent: &str) -> Value {
    json!({"type": "call_agent", "target_agent_id": target, "task_description": call_id, "call_id": call_id, "parent_request_id": parent})
}

#[tokio::test]
async fn an_agent_may_occur_twice_in_a_chain_but_not_three_times() {
    let hub = TestHub::start().await;
    let (mut amy, mut bob) = (hub.bridge(AMY).await, hub.bridge(BOB).await);
    let mut events = hub.platform().relay(AMY, "c-0").await;
    amy.expect_message("hi").await;
    // amy, bob, amy, bob
    for (number, target) in [(1, BOB), (2, AMY), (3, BOB)] {
        let (from, to) = match target {
            BOB => (&mut amy, &mut bob),
            _ => (&mut bob, &mut amy),
        };
        let (id, parent) = (format!("c-{number}"), format!("c-{}", number - 1));
        from.send(call(target, &id, &parent)).await;
        assert_eq!(to.expect_message(&id).await, id);
    }
    for (target, call_id) in [(AMY, "c-4"), (BOB, "c-5")] {
        bob.send(call(target, call_id, "c-3")).await;
        let refused = bob.frame().await;
        assert_eq!(
            (&refused["type"], &refused["call_id"], &refused["code"]),
            (
                &json!("call_agent_error"),
                &json!(call_id),
                &json!("rate_limited")
            )
        );
    }
    // The chain itself continues, and ends from its last call.
    bob.send(done("c-3")).await;
    amy.expect(json!({"type": "call_agent_done", "call_id": "c-3"}))
        .await;
    amy.send(done("c-2")).await;
    bob.expect(json!({"type": "call_agent_done", "call_id": "c-2"}))
        .await;
    bob.send(done("c-1")).await;
    amy.expect(json!({"type": "call_agent_done", "call_id": "c-1"}))
        .await;
    amy.send(done("c-0")).await;
    assert_eq!(events.rest().await, [finished()]);
}

#[tokio::test]
async fn a_loop_across_doors_is_cut_as_well() {
    let (hub, mut amy, mut ada) = both().await;
    let _events = hub.platform().relay(AMY, "c-0").await;
    amy.expect_message("hi").await;
    let mut parent = "c-0".to_owned();
    for round in 1..=2 {
        let id = format!("c-{round}");
        amy.send(call("ada", &id, &parent)).await;
        let message = ada.frame().await;
        assert_eq!(message["payload"]["request_id"], id);
        let back = format!("back-{round}");
        ada.send(json!({"type": "send", "to": AMY, "payload": {"body": {"question": back}, "request_id": back, "parent_request_id": id}}))
            .await;
        if round == 2 {
            // amy, ada, amy, ada; a third amy is refused.
            let refused = ada.frame().await;
            assert_eq!(
                (&refused["type"], &refused["code"]),
                (&json!("error"), &json!("loop"))
            );
            return;
        }
        parent = amy.expect_message(&back).await;
    }
}

#[tokio::test]
async fn the_only_open_call_of_an_agent_is_the_parent_of_what_it_calls() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let _events = hub.platform().relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    // The agent calls itself without naming a parent call: two occurrences.
    amy.send(json!({"type": "call_agent", "target_agent_id": AMY, "task_description": "again", "call_id": "c-1"})).await;
    amy.expect_message("again").await;
    amy.send(call(AMY, "c-2", "c-1")).await;
    assert_eq!(amy.frame().await["code"], "rate_limited");
}

#[tokio::test]
async fn a_chain_has_at_most_eight_hops() {
    let hub = TestHub::start().await;
    let mut agents: Vec<Raw> = Vec::new();
    for number in 0..9 {
        agents.push(hub.bridge(&format!("agent-{number}")).await);
    }
    let _events: Events = hub.platform().relay("agent-0", "c-0").await;
    agents[0].expect_message("hi").await;
    for number in 1..9 {
        let (id, parent) = (format!("c-{number}"), format!("c-{}", number - 1));
        agents[number - 1]
            .send(call(&format!("agent-{number}"), &id, &parent))
            .await;
        if number == 8 {
            assert_eq!(agents[7].frame().await["code"], "rate_limited");
            agents[8].expect_no_bridge_frame().await;
            return;
        }
        agents[number].expect_message(&id).await;
    }
}

#[tokio::test]
async fn a_cancelled_parent_cancels_its_children_and_a_finished_one_does_not() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let (mut amy, mut bob) = (hub.bridge(AMY).await, hub.bridge(BOB).await);
    let mut events = platform.relay(AMY, "r-1").await;
    amy.expect_message("hi").await;
    amy.send(call(BOB, "c-1", "r-1")).await;
    bob.expect_message("c-1").await;
    let cancel = json!({"agent_id": AMY, "session_id": "s-1", "request_id": "r-1"});
    assert_eq!(platform.post("/api/cancel", cancel).await.0, 200);
    assert_eq!(
        events.rest().await,
        [failed("session_not_found", "Request cancelled")]
    );
    bob.expect(json!({"type": "cancel", "session_id": "a2a-c-1", "request_id": "c-1"}))
        .await;
    let mut told = [amy.frame().await, amy.frame().await];
    told.sort_by_key(|frame| frame["type"].to_string());
    assert_eq!(
        (&told[0]["type"], &told[0]["code"]),
        (&json!("call_agent_error"), &json!("session_not_found"))
    );
    assert_eq!(
        told[1],
        json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"})
    );

    let mut events = platform.relay(AMY, "r-2").await;
    amy.expect_message("hi").await;
    amy.send(call(BOB, "c-2", "r-2")).await;
    bob.expect_message("c-2").await;
    amy.send(chunk("r-2", "well")).await;
    amy.send(done("r-2")).await;
    assert_eq!(events.rest().await, [text_event("well"), finished()]);
    bob.expect_no_bridge_frame().await;
    bob.send(done("c-2")).await;
    amy.expect(json!({"type": "call_agent_done", "call_id": "c-2"}))
        .await;
}

/// The platform calls on behalf of an agent (`/api/a2a/call`), and names the parent call.
#[tokio::test]
async fn calls_by_way_of_the_platform_are_in_the_chain() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let (mut amy, mut bob) = (
        hub.bridge_with(AMY, &["meta"]).await,
        hub.bridge_with(BOB, &["meta"]).await,
    );
    let (mut streams, mut parent) = (Vec::new(), None);
    for number in 0..5 {
        let (caller, target) = if number % 2 == 0 {
            (BOB, AMY)
        } else {
            (AMY, BOB)
        };
        let body =
            json!({"caller_agent_id": caller, "target_agent_id": target, "task_description": "t"});
        let mut request = platform
            .ask(reqwest::Method::POST, "/api/a2a/call")
            .json(&body);
        if let Some(parent) = &parent {
            request = request.header("Jackfield-Call", parent);
        }
        if number == 3 {
            // bob, the first caller, then amy, bob, amy: bob would be the third.
            let (status, refused) = jackfield_testkit::answer(request).await;
            assert_eq!((status, &refused["error"]), (429, &json!("rate_limited")));
            return;
        }
        streams.push(Events::of(request).await);
        let called = if target == AMY { &mut amy } else { &mut bob };
        parent = called.frame().await["meta"]["parent"]
            .as_str()
            .map(str::to_owned);
    }
}
