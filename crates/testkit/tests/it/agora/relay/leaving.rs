//! Agents that disconnect, are replaced, die or are stopped: their partners are told, and no other
//! agent is affected.

use std::time::{Duration, Instant};

use jackfield_core::units::Span;
use jackfield_testkit::{FaultProxy, Raw, SOON, TestHub};
use serde_json::json;

use crate::agora::{until_offline, watch};

#[tokio::test]
async fn what_was_under_way_arrives_before_the_word_that_its_sender_left() {
    let hub = TestHub::start().await;
    let (mut one, mut two) = (hub.agora("one").await, hub.agora("two").await);
    one.send(json!({"type": "send", "to": "two", "stream": true, "stream_id": "a"}))
        .await;
    one.send(json!({"type": "reply", "to": "two", "stream": true, "stream_id": "b"}))
        .await;
    one.send(json!({"type": "send", "to": "two", "stream": true, "stream_id": "ended"}))
        .await;
    one.send(json!({"type": "send_end", "to": "two", "stream_id": "ended"}))
        .await;
    for number in 0..1000 {
        one.feed(&json!({"type": "send_chunk", "to": "two", "stream_id": "a", "chunk": number.to_string()}))
            .await;
    }
    one.flush().await;
    one.close().await;
    for _ in 0..4 {
        two.frame().await;
    }
    for number in 0..1000 {
        assert_eq!(two.frame().await["chunk"], number.to_string());
    }
    let mut broken = Vec::new();
    for _ in 0..2 {
        let error = two.frame().await;
        assert_eq!(
            (&error["type"], &error["code"], &error["from"]),
            (&json!("error"), &json!("offline"), &json!("one"))
        );
        broken.push(error["stream_id"].as_str().unwrap().to_owned());
    }
    broken.sort();
    assert_eq!(broken, ["a", "b"]);
    two.expect_nothing().await;
}

#[tokio::test]
async fn a_sender_hears_that_the_receiver_of_its_stream_left() {
    let hub = TestHub::start().await;
    let (mut one, two) = (hub.agora("one").await, hub.agora("two").await);
    one.send(json!({"type": "send", "to": "two", "stream": true, "stream_id": "a"}))
        .await;
    one.expect_nothing().await;
    two.close().await;
    one.expect_error(json!({"code": "offline", "from": "two", "to": "two", "stream_id": "a"}))
        .await;
    // Each further frame is answered with an error.
    one.send(json!({"type": "send_chunk", "to": "two", "stream_id": "a", "chunk": "x"}))
        .await;
    one.expect_error(json!({"code": "offline", "to": "two", "stream_id": "a", "frame_type": "send_chunk", "field": "to"}))
        .await;
    // A new stream works as soon as the partner is back.
    let mut two = hub.agora("two").await;
    one.send(json!({"type": "send", "to": "two", "payload": "again"}))
        .await;
    two.expect(json!({"type": "message", "from": "one", "payload": "again"}))
        .await;
}

#[tokio::test]
async fn a_cut_line_is_as_good_as_a_goodbye() {
    let hub = TestHub::start().await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let mut one = Raw::connect(proxy.addr(), "/ws").await;
    one.register("one").await;
    let mut two = hub.agora("two").await;
    one.send(json!({"type": "send", "to": "two", "stream": true, "stream_id": "a"}))
        .await;
    two.frame().await;
    two.send(json!({"type": "reply", "to": "one", "stream": true, "stream_id": "b"}))
        .await;
    one.frame().await;
    proxy.cut();
    let mut errors = Vec::new();
    for _ in 0..2 {
        let error = two.frame().await;
        assert_eq!(
            (&error["code"], &error["from"]),
            (&json!("offline"), &json!("one"))
        );
        errors.push((error["stream_id"].clone(), error["to"].clone()));
    }
    errors.sort_by_key(|(stream_id, _)| stream_id.to_string());
    // The error about its own stream has `to`, like every undelivered frame.
    assert_eq!(
        errors,
        [(json!("a"), json!(null)), (json!("b"), json!("one"))]
    );
}

#[tokio::test]
async fn the_newest_connection_wins_and_the_old_one_is_told_4001() {
    let hub = TestHub::start().await;
    let mut two = hub.agora("two").await;
    let mut old = hub.agora("one").await;
    two.send(json!({"type": "send", "to": "one", "stream": true, "stream_id": "in"}))
        .await;
    old.frame().await;
    old.send(json!({"type": "send", "to": "two", "stream": true, "stream_id": "out"}))
        .await;
    two.frame().await;
    let mut new = hub.agora("one").await;
    assert_eq!(old.closed().await.0, 4001);
    let mut errors = [two.frame().await, two.frame().await].map(|error| {
        assert_eq!(
            (&error["code"], &error["from"]),
            (&json!("offline"), &json!("one"))
        );
        error["stream_id"].as_str().unwrap().to_owned()
    });
    errors.sort();
    assert_eq!(errors, ["in", "out"]);
    // The late close of the old connection is harmless.
    old.gone().await;
    drop(old);
    two.send(json!({"type": "send", "to": "one", "payload": "to the new one"}))
        .await;
    new.expect(json!({"type": "message", "from": "two", "payload": "to the new one"}))
        .await;
    new.send(json!({"type": "reply", "to": "two", "payload": "from the new one"}))
        .await;
    two.expect(json!({"type": "reply", "from": "one", "payload": "from the new one"}))
        .await;
    two.expect_nothing().await;
}

#[tokio::test]
async fn an_id_that_is_replaced_too_often_is_held() {
    let hub = TestHub::start().await;
    let mut current = hub.agora("one").await;
    for _ in 0..3 {
        let newer = hub.agora("one").await;
        assert_eq!(current.closed().await.0, 4001);
        current = newer;
    }
    let mut another = hub.connect().await;
    another.send(json!({"type": "register", "id": "one"})).await;
    another
        .expect_error(json!({"code": "rate_limited", "frame_type": "register", "field": "id"}))
        .await;
    current.expect_nothing().await;
}

#[tokio::test]
async fn a_stopping_hub_says_1001() {
    let hub = TestHub::start().await;
    let (mut one, mut looker) = (hub.agora("one").await, hub.connect().await);
    looker.send(json!({"type": "list"})).await;
    looker.frame().await;
    let errors = async |raw: &mut Raw| {
        let (code, _) = raw.closed().await;
        // Reading on completes the handshake.
        raw.gone().await;
        code
    };
    let ((), one, looker) = tokio::join!(
        hub.stop(Duration::ZERO),
        errors(&mut one),
        errors(&mut looker)
    );
    assert_eq!((one, looker), (1001, 1001));
}

#[tokio::test]
async fn pings_keep_an_idle_connection_alive() {
    let hub = TestHub::start_with(|config| config.limits.ping = Span::millis(400)).await;
    let mut one = hub.agora("one").await;
    for _ in 0..4 {
        one.pinged().await;
    }
    one.expect_nothing().await;
}

#[tokio::test]
async fn a_dead_connection_is_dropped() {
    let hub = TestHub::start_with(|config| config.limits.ping = Span::millis(200)).await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let mut watching = watch(&hub, "dead");
    let mut dead = Raw::connect(proxy.addr(), "/ws").await;
    dead.register("dead").await;
    proxy.stall();
    until_offline(&mut watching).await;
}

#[tokio::test]
async fn a_dead_connection_is_dropped_while_others_write_to_it() {
    let hub = TestHub::start_with(|config| config.limits.ping = Span::millis(1500)).await;
    let proxy = FaultProxy::start(hub.addr()).await;
    let mut dead = Raw::connect(proxy.addr(), "/ws").await;
    dead.register("dead").await;
    let mut one = hub.agora("one").await;
    one.send(json!({"type": "send", "to": "dead", "stream": true, "stream_id": "a"}))
        .await;
    dead.frame().await;
    proxy.stall();
    let begun = Instant::now();
    loop {
        // A trickle of frames: each wakes the session, none is a sign of life of the peer.
        one.send(json!({"type": "send_chunk", "to": "dead", "stream_id": "a", "chunk": ""}))
            .await;
        one.send(json!({"type": "ping"})).await;
        let frame = one.frame().await;
        if frame["type"] == "error" {
            assert_eq!(
                (&frame["code"], &frame["stream_id"]),
                (&json!("offline"), &json!("a"))
            );
            break;
        }
        assert!(
            begun.elapsed() < SOON,
            "writing to the dead keeps them alive"
        );
    }
}

#[tokio::test]
async fn a_connection_talks_to_many_that_come_and_go() {
    let hub = TestHub::start().await;
    let mut one = hub.agora("one").await;
    for number in 0..200 {
        let id = format!("guest-{number}");
        let mut passing_agent = hub.agora(&id).await;
        one.send(json!({"type": "send", "to": id, "stream": true, "stream_id": "a"}))
            .await;
        passing_agent.frame().await;
        passing_agent.close().await;
        one.expect_error(json!({"code": "offline", "from": id, "to": id, "stream_id": "a"}))
            .await;
    }
    one.expect_nothing().await;
}
