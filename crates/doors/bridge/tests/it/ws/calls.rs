//! Calls that an agent makes: what they carry, and how they live through a cut of the agent that made them.

use serde_json::{Value, json};

use crate::ws::harness::*;

fn call_agent(target: &str, call_id: &str) -> Value {
    json!({"type": "call_agent", "target_agent_id": target, "task_description": "do it", "call_id": call_id})
}

fn got(call_id: &str, got: u64) -> Value {
    json!([{"call_id": call_id, "got": got}])
}

/// A reply of which no two frames are merged.
fn reply() -> Vec<Value> {
    let chunk = |delta: &str, kind: &str| json!({"type": "chunk", "request_id": "c-1", "delta": delta, "kind": kind});
    vec![
        chunk("hm", "thinking"),
        chunk("one ", "text"),
        chunk("busy", "status"),
        chunk("two", "text"),
        json!({"type": "done", "request_id": "c-1", "file_transfer_offer": {"transfer_id": "t"}}),
    ]
}

/// What the caller reads of it.
fn read() -> Vec<Value> {
    let chunk = |delta: &str, kind: &str| json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": delta, "kind": kind});
    vec![
        chunk("hm", "thinking"),
        json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": "one "}),
        chunk("busy", "status"),
        json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": "two"}),
        json!({"type": "call_agent_done", "call_id": "c-1", "file_transfer_offer": {"transfer_id": "t"}}),
    ]
}

#[tokio::test]
async fn the_offer_of_a_transfer_reaches_the_caller() {
    let door = BridgeHub::open().await;
    let (mut one, mut two) = (door.agent("one").await, door.agent("two").await);
    one.send(call_agent("two", "c-1")).await;
    two.frame().await;
    two.send_all(reply()).await;
    for expected in read() {
        assert_eq!(one.frame().await, expected);
    }
}

#[tokio::test]
async fn cut_after_any_frame_of_a_reply_the_caller_reads_each_of_them_once() {
    let last = read().len();
    for seen in 0..=last {
        for written in seen..=last {
            let door = BridgeHub::open().await;
            let (mut one, token) = door.resumable("one").await;
            let mut two = door.agent("two").await;
            one.send(call_agent("two", "c-1")).await;
            two.frame().await;
            two.send_all(reply().into_iter().take(written)).await;
            for expected in read().into_iter().take(seen) {
                assert_eq!(one.word().await, expected);
            }
            // What the hub has written more than that is lost with the connection.
            two.sync().await;
            drop(one);
            if seen.is_multiple_of(2) {
                door.lost("one").await;
            }
            two.send_all(reply().into_iter().skip(written)).await;
            let calls = if seen == last {
                json!([])
            } else {
                got("c-1", seen as u64)
            };
            let resume = json!({"token": token, "open": [], "calls": calls});
            let (mut one, _) = door.come_back("one", resume).await;
            for expected in read().into_iter().skip(seen) {
                assert_eq!(one.word().await, expected, "saw {seen} of {written}");
            }
            assert_eq!(one.sync().await, [] as [Value; 0], "and no more");
        }
    }
}

#[tokio::test]
async fn what_is_repeated_comes_before_what_is_new_however_much_there_is_to_write() {
    let door = BridgeHub::open().await;
    let (one, token) = door.resumable("one").await;
    let mut one = one;
    let mut two = door.agent("two").await;
    one.send(call_agent("two", "c-1")).await;
    two.frame().await;
    two.send_all(reply().into_iter().take(3)).await;
    two.sync().await;
    let large = "x".repeat(100_000);
    let _unseen: Vec<_> = (0..4)
        .map(|n| door.call("one", &format!("r-{n}"), &large))
        .collect();
    drop(one);
    door.lost("one").await;
    two.send_all(reply().into_iter().skip(3)).await;
    two.sync().await;
    let resume = json!({"token": token, "open": [], "calls": got("c-1", 0)});
    let (mut one, _) = door.come_back("one", resume).await;
    let (mut replies, mut messages) = (Vec::new(), 0);
    while replies.len() < read().len() || messages < 4 {
        let frame = one.word().await;
        if frame["type"] == "message" {
            messages += 1;
        } else {
            replies.push(frame);
        }
    }
    assert_eq!(replies, read());
}

#[tokio::test]
async fn to_an_agent_that_does_not_count_nothing_is_repeated() {
    let door = BridgeHub::open().await;
    let (mut one, token) = door.resumable("one").await;
    let mut two = door.agent("two").await;
    one.send(call_agent("two", "c-1")).await;
    two.frame().await;
    two.send_all(reply().into_iter().take(2)).await;
    for expected in read().into_iter().take(2) {
        assert_eq!(one.word().await, expected);
    }
    drop(one);
    door.lost("one").await;
    two.send_all(reply().into_iter().skip(2)).await;
    let (mut one, _) = door.resume("one", &token, json!([])).await;
    for expected in read().into_iter().skip(2) {
        assert_eq!(one.word().await, expected);
    }
    assert_eq!(one.sync().await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_connection_that_looks_alive_hands_its_calls_on() {
    let door = BridgeHub::open().await;
    let (mut old, token) = door.resumable("one").await;
    let mut two = door.agent("two").await;
    old.send(call_agent("two", "c-1")).await;
    two.frame().await;
    two.send_all(reply().into_iter().take(1)).await;
    assert_eq!(old.word().await, read()[0]);
    let resume = json!({"token": token, "open": [], "calls": got("c-1", 1)});
    let (mut one, _) = door.come_back("one", resume).await;
    assert_eq!(old.closed().await.0, 4001);
    two.send_all(reply().into_iter().skip(1)).await;
    for expected in read().into_iter().skip(1) {
        assert_eq!(one.word().await, expected);
    }
}

#[tokio::test]
async fn a_call_that_the_hub_never_got_fails_and_one_that_the_agent_forgot_is_cancelled() {
    let door = BridgeHub::open().await;
    let (mut one, token) = door.resumable("one").await;
    let mut two = door.agent("two").await;
    one.send(call_agent("two", "c-1")).await;
    two.frame().await;
    drop(one);
    let calls = json!([{"call_id": "c-2", "got": 0}]);
    let resume = json!({"token": token, "open": [], "calls": calls});
    let (mut one, _) = door.come_back("one", resume).await;
    let error = one.word().await;
    assert_eq!(
        (&error["type"], &error["call_id"], &error["code"]),
        (
            &json!("call_agent_error"),
            &json!("c-2"),
            &json!("session_not_found")
        )
    );
    let cancel = two.frame().await;
    assert_eq!(
        (&cancel["type"], &cancel["request_id"]),
        (&json!("cancel"), &json!("c-1"))
    );
    // The ids are free again.
    one.send(call_agent("two", "c-1")).await;
    assert_eq!(two.frame().await["request_id"], "c-1");
}

#[tokio::test]
async fn a_count_that_cannot_be_ends_the_call() {
    for count in [1, u64::MAX] {
        let door = BridgeHub::open().await;
        let (mut one, token) = door.resumable("one").await;
        let mut two = door.agent("two").await;
        one.send(call_agent("two", "c-1")).await;
        two.frame().await;
        drop(one);
        let resume = json!({"token": token, "open": [], "calls": got("c-1", count)});
        let (mut one, _) = door.come_back("one", resume).await;
        assert_eq!(one.word().await["type"], "call_agent_error");
        assert_eq!(two.frame().await["type"], "cancel");
    }
}

#[tokio::test]
async fn a_reply_of_which_too_much_is_lost_fails_instead_of_having_a_hole() {
    let door = BridgeHub::open().await;
    let (mut one, token) = door.resumable("one").await;
    let mut two = door.agent("two").await;
    one.send(call_agent("two", "c-1")).await;
    two.frame().await;
    // More than the hub keeps of what it wrote.
    for n in 0..40 {
        let kind = if n % 2 == 0 { "thinking" } else { "text" };
        two.send(json!({"type": "chunk", "request_id": "c-1", "delta": "x".repeat(20_000), "kind": kind})).await;
        assert_eq!(one.word().await["type"], "call_agent_chunk");
    }
    drop(one);
    let resume = json!({"token": token, "open": [], "calls": got("c-1", 3)});
    let (mut one, _) = door.come_back("one", resume).await;
    assert_eq!(one.word().await["type"], "call_agent_error");
    assert_eq!(two.frame().await["type"], "cancel");
    assert_eq!(one.sync().await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_refusal_that_was_lost_is_said_again() {
    let door = BridgeHub::open().await;
    let (mut one, token) = door.resumable("one").await;
    one.send(call_agent("nobody", "c-1")).await;
    one.is_written_to().await;
    drop(one);
    let resume = json!({"token": token, "open": [], "calls": got("c-1", 0)});
    let (mut one, _) = door.come_back("one", resume).await;
    let error = one.word().await;
    assert_eq!(
        (&error["type"], &error["call_id"], &error["code"]),
        (
            &json!("call_agent_error"),
            &json!("c-1"),
            &json!("agent_offline")
        )
    );
}

#[tokio::test]
async fn a_program_that_comes_anew_cancels_what_the_one_before_called() {
    let door = BridgeHub::open().await;
    for is_cut in [true, false] {
        let (mut one, _) = door.resumable("one").await;
        let mut two = door.agent("two").await;
        one.send(call_agent("two", "c-1")).await;
        two.frame().await;
        let old = (!is_cut).then_some(one);
        if is_cut {
            door.lost("one").await;
        }
        let (_new, _) = door.resumable("one").await;
        let cancel = two.frame().await;
        assert_eq!(
            (&cancel["type"], &cancel["request_id"]),
            (&json!("cancel"), &json!("c-1"))
        );
        drop(old);
    }
}
