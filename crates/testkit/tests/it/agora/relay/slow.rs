//! A reader that doesn't read: its senders are paced and then get an error, the reader gets an error on its return,
//! and no other agent is affected.

use std::cell::Cell;

use jackfield_core::{
    limits::Limits,
    units::{Size, Span},
};
use jackfield_testkit::{Raw, SOON, TestHub};
use serde_json::json;
use tokio::time::timeout;

/// More than the kernel's buffers and all pipes together hold.
const FLOOD: usize = 16 << 20;
const CHUNK: usize = 64 << 10;

async fn hub_with(change: impl FnOnce(&mut Limits)) -> TestHub {
    TestHub::start_with(|config| {
        let limits = &mut config.limits;
        limits.pipe_full = Size::kib(128);
        limits.pipe_low = Size::kib(64);
        limits.pipe_overrun = Size::kib(512);
        change(limits);
    })
    .await
}

async fn flood(sender: &mut Raw, to: &str) {
    sender
        .send(json!({"type": "send", "to": to, "stream": true, "stream_id": "flood"}))
        .await;
    let chunk = "x".repeat(CHUNK);
    let chunk = json!({"type": "send_chunk", "to": to, "stream_id": "flood", "chunk": chunk});
    let text = chunk.to_string();
    for _ in 0..FLOOD / CHUNK {
        sender.send_text(text.clone()).await;
    }
}

async fn exchange(one: &mut Raw, two: &mut Raw, number: usize) {
    one.send(json!({"type": "send", "to": "by-2", "payload": number}))
        .await;
    two.expect(json!({"type": "message", "from": "by-1", "payload": number}))
        .await;
    two.send(json!({"type": "reply", "to": "by-1", "payload": number}))
        .await;
    one.expect(json!({"type": "reply", "from": "by-2", "payload": number}))
        .await;
}

/// Floods a reader that doesn't read, while two other agents talk continuously.
async fn flood_beside_others(hub: &TestHub, sender: &mut Raw, to: &str) {
    let (mut one, mut two) = (hub.agora("by-1").await, hub.agora("by-2").await);
    let is_over = Cell::new(false);
    let talk = async {
        let mut count = 0;
        while !is_over.get() {
            exchange(&mut one, &mut two, count).await;
            count += 1;
        }
        count
    };
    let flood = async {
        flood(sender, to).await;
        is_over.set(true);
    };
    let (exchanges, ()) = tokio::join!(talk, flood);
    // Thousands on an idle machine, a few under load; none if the agents were blocked.
    assert!(exchanges > 5, "only {exchanges} got through meanwhile");
}

#[tokio::test]
async fn a_stuck_reader_is_closed_and_its_sender_told_while_others_keep_flowing() {
    let hub = hub_with(|limits| limits.write_stuck = Span::secs(2)).await;
    let mut stuck = hub.agora_narrow("stuck").await;
    let mut sender = hub.agora_narrow("sender").await;
    flood_beside_others(&hub, &mut sender, "stuck").await;
    sender
        .expect_error(
            json!({"code": "offline", "from": "stuck", "to": "stuck", "stream_id": "flood"}),
        )
        .await;
    let lost = sender
        .expect_error(json!({"code": "offline", "from": "stuck", "to": "stuck"}))
        .await;
    assert!(lost.contains("frames were not delivered"), "{lost}");
    stuck.gone().await;
}

/// Reads the pending frames of a returning reader, up to the error `slow_reader`.
async fn read_up(stuck: &mut Raw) {
    assert_eq!(stuck.frame().await["type"], "message");
    loop {
        let frame = stuck.frame().await;
        if frame["type"] == "error" {
            assert_eq!(frame["code"], "slow_reader");
            assert_eq!(frame["from"], "sender");
            assert_eq!(frame["stream_id"], "flood");
            return;
        }
        assert_eq!(frame["type"], "message_chunk");
    }
}

/// Checks that the next frame is the error about the slow receiver.
async fn told_slow_reader(sender: &mut Raw) {
    let error = sender.frame().await;
    assert_eq!(
        (&error["code"], &error["to"], &error["stream_id"]),
        (&json!("slow_reader"), &json!("stuck"), &json!("flood"))
    );
}

#[tokio::test]
async fn a_sender_with_other_business_is_paced_until_the_slow_reader_is_given_up() {
    // A short pacing time, so that unread bytes reach their limit soon.
    let hub = hub_with(|limits| {
        limits.paced_read = Size::kib(512);
        limits.paced_every = Span::millis(20);
    })
    .await;
    let mut stuck = hub.agora_narrow("stuck").await;
    let mut other = hub.agora("other").await;
    let mut sender = hub.agora_narrow("sender").await;
    sender
        .send(json!({"type": "send", "to": "other", "payload": "hello"}))
        .await;
    other.frame().await;
    flood(&mut sender, "stuck").await;
    told_slow_reader(&mut sender).await;
    // The sender's other streams continue.
    sender
        .send(json!({"type": "send", "to": "other", "payload": "still here"}))
        .await;
    other
        .expect(json!({"type": "message", "from": "sender", "payload": "still here"}))
        .await;
    read_up(&mut stuck).await;
}

#[tokio::test]
async fn a_reader_of_which_nothing_is_taken_for_too_long_is_given_up() {
    let hub = hub_with(|limits| limits.pipe_stalled = Span::secs(1)).await;
    let mut stuck = hub.agora_narrow("stuck").await;
    let mut sender = hub.agora_narrow("sender").await;
    flood_beside_others(&hub, &mut sender, "stuck").await;
    told_slow_reader(&mut sender).await;
    read_up(&mut stuck).await;
}

#[tokio::test]
async fn a_reader_that_comes_back_is_reached_again_and_spared_the_rest_of_the_broken_stream() {
    let hub = hub_with(|limits| limits.pipe_stalled = Span::secs(1)).await;
    let mut stuck = hub.agora_narrow("stuck").await;
    let mut sender = hub.agora_narrow("sender").await;
    flood(&mut sender, "stuck").await;
    told_slow_reader(&mut sender).await;
    sender
        .send(json!({"type": "send", "to": "stuck", "payload": "hello again"}))
        .await;
    // The rest of the flood was dropped without further errors: the sender knows.
    sender.expect_nothing().await;
    read_up(&mut stuck).await;
    stuck
        .expect(json!({"type": "message", "from": "sender", "payload": "hello again"}))
        .await;
    for frame in [
        json!({"type": "send_chunk", "to": "stuck", "stream_id": "flood", "chunk": "late"}),
        json!({"type": "send_end", "to": "stuck", "stream_id": "flood"}),
        // The id may be used again.
        json!({"type": "send", "to": "stuck", "stream": true, "stream_id": "flood"}),
        json!({"type": "send_chunk", "to": "stuck", "stream_id": "flood", "chunk": "anew"}),
    ] {
        sender.send(frame).await;
    }
    assert_eq!(stuck.frame().await["type"], "message");
    assert_eq!(stuck.frame().await["chunk"], "anew");
    sender.expect_nothing().await;
}

#[tokio::test]
async fn a_fast_sender_waits_for_a_slow_reader_and_nothing_is_lost() {
    let hub = hub_with(|_| {}).await;
    let mut slow = hub.agora_narrow("slow").await;
    let mut sender = hub.agora_narrow("sender").await;
    let read = async {
        // A slow reader that does read.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(slow.frame().await["type"], "message");
        for _ in 0..FLOOD / CHUNK {
            let frame = slow.frame().await;
            assert_eq!(frame["chunk"].as_str().unwrap().len(), CHUNK);
        }
        slow.expect_nothing().await;
    };
    tokio::join!(flood(&mut sender, "slow"), read);
    sender.expect_nothing().await;
}

#[tokio::test]
async fn two_agents_that_write_before_they_read_do_not_wait_for_each_other() {
    let hub = TestHub::start().await;
    let (mut one, mut two) = (hub.agora_narrow("one").await, hub.agora_narrow("two").await);
    let write = async |raw: &mut Raw, to: &str| {
        for mib in [2, 7] {
            raw.send(json!({"type": "send", "to": to, "payload": "x".repeat(mib << 20)}))
                .await;
        }
    };
    let both = async { tokio::join!(write(&mut one, "two"), write(&mut two, "one")) };
    tokio::time::timeout(SOON, both)
        .await
        .expect("they wait for each other");
    for raw in [&mut one, &mut two] {
        for _ in 0..2 {
            assert_eq!(raw.frame().await["type"], "message");
        }
    }
}

#[tokio::test]
async fn nothing_new_is_taken_while_what_is_unread_fills_the_hub() {
    let hub = hub_with(|limits| {
        limits.pipes_total = Size::mib(2);
        limits.pipe_overrun = Size(64 << 20);
        limits.pipe_stalled = Span::secs(600);
        limits.write_stuck = Span::secs(600);
    })
    .await;
    let stuck = hub.agora_narrow("stuck").await;
    let mut sender = hub.agora("sender").await;
    let (mut one, mut two) = (hub.agora("by-1").await, hub.agora("by-2").await);
    let large = json!({"type": "send", "to": "stuck", "payload": "x".repeat(1 << 20)}).to_string();
    let filling = async {
        for _ in 0..FLOOD >> 20 {
            sender.send_text(large.clone()).await;
        }
        std::future::pending().await
    };
    let hello = json!({"type": "send", "to": "by-2", "payload": 1});
    let refused = async {
        loop {
            one.send(hello.clone()).await;
            tokio::select! {
                error = one.frame() => break error,
                _ = two.frame() => {}
            }
        }
    };
    let refused = async {
        tokio::select! {
            refused = refused => refused,
            () = filling => unreachable!("it is never done"),
        }
    };
    let refused = timeout(SOON, refused).await.expect("it fills");
    assert_eq!(
        (&refused["type"], &refused["code"]),
        (&json!("error"), &json!("busy"))
    );
    // Without held frames, the memory is free again.
    drop((stuck, sender));
    let taken = async {
        loop {
            one.send(hello.clone()).await;
            tokio::select! {
                error = one.frame() => assert_eq!(error["code"], "busy"),
                message = two.frame() => break message,
            }
        }
    };
    let taken = timeout(SOON, taken).await.expect("there is room again");
    assert_eq!(taken["payload"], 1);
}
