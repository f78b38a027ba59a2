//! The relay between two Agora agents: order, ends, replacement, slow and dead peers.

mod leaving;
mod owners;
mod slow;

use std::sync::Arc;

use jackfield_core::{
    principal::Principal,
    tap::{Direction, Sight, TapFilter},
};
use jackfield_testkit::TestHub;
use serde_json::json;

const CHUNKS: usize = 100_000;
const STREAMS: usize = 7;

fn chunk(number: usize, peer: &str, kind: &str) -> String {
    let stream = number % STREAMS;
    // Short and long payloads, with escapes that must stay unchanged.
    let pad = "\\u00e9 ".repeat(number % 13);
    format!(r#"{{"type":"{kind}",{peer},"stream_id":"{stream}","chunk":"{number} {pad}"}}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_chunks_of_interleaved_streams_arrive_in_order_byte_for_byte() {
    let hub = TestHub::start().await;
    let (mut one, mut two) = (hub.agora("one").await, hub.agora("two").await);
    let send = async {
        for number in 0..CHUNKS {
            let text = chunk(number, r#""to":"two""#, "send_chunk");
            assert!(one.feed_text(text).await, "the connection is gone");
        }
        assert!(one.flush().await);
    };
    let receive = async {
        for number in 0..CHUNKS {
            let expected = chunk(number, r#""from":"one""#, "message_chunk");
            assert_eq!(two.text().await, expected);
        }
    };
    tokio::join!(send, receive);
    two.expect_nothing().await;
    one.expect_nothing().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_senders_to_one_receiver_each_keep_their_order() {
    const SENDERS: usize = 8;
    const EACH: usize = 2_000;
    let hub = TestHub::start().await;
    let mut two = hub.agora("two").await;
    let mut senders = tokio::task::JoinSet::new();
    for sender in 0..SENDERS {
        let mut raw = hub.agora(&sender.to_string()).await;
        senders.spawn(async move {
            for number in 0..EACH {
                raw.feed(&json!({"type": "send", "to": "two", "payload": number}))
                    .await;
            }
            raw.flush().await;
            raw
        });
    }
    let mut next = [0; SENDERS];
    for _ in 0..SENDERS * EACH {
        let frame = two.frame().await;
        let sender: usize = frame["from"].as_str().unwrap().parse().unwrap();
        assert_eq!(frame["payload"], next[sender]);
        next[sender] += 1;
    }
    assert_eq!(next, [EACH; SENDERS]);
    senders.join_all().await;
}

#[tokio::test]
async fn large_and_small_frames_keep_their_order() {
    let hub = TestHub::start().await;
    let (mut one, mut two) = (hub.agora("one").await, hub.agora("two").await);
    let sizes = [10, 3 << 20, 10, 70_000, 0, 5 << 20, 1];
    let send = async {
        for size in sizes {
            one.send(json!({"type": "send", "to": "two", "payload": "x".repeat(size)}))
                .await;
        }
    };
    let receive = async {
        for size in sizes {
            let frame = two.frame().await;
            assert_eq!(frame["payload"].as_str().unwrap().len(), size);
        }
    };
    tokio::join!(send, receive);
}

#[tokio::test]
async fn an_observer_sees_what_is_relayed_and_the_frames_themselves() {
    let hub = TestHub::start().await;
    let (mut one, mut two) = (hub.agora("one").await, hub.agora("two").await);
    let watch = |raw| {
        let filter = TapFilter {
            raw,
            ..TapFilter::default()
        };
        hub.hub().taps().watch(Principal::local(), filter)
    };
    let (mut words, mut frames) = (watch(false), watch(true));
    let mut frames_seen = Vec::new();
    let mut seen = Vec::new();
    for (frame, kind, text) in [
        (
            json!({"type": "send", "to": "two", "payload": {"body": {"question": "why?"}}}),
            "send",
            "why?",
        ),
        (
            json!({"type": "send_chunk", "to": "two", "stream_id": "s", "chunk": "so"}),
            "send_chunk",
            "so",
        ),
        (
            json!({"type": "reply", "to": "two", "payload": {"answer": "because"}}),
            "reply",
            "because",
        ),
        (
            json!({"type": "cancel", "to": "two", "stream_id": "s"}),
            "cancel",
            "",
        ),
    ] {
        one.send(frame.clone()).await;
        frames_seen.push(("one".to_owned(), "two".to_owned(), kind, text.to_owned()));
        seen.push((
            "one".to_owned(),
            Direction::In,
            Arc::from(frame.to_string()),
        ));
        seen.push((
            "two".to_owned(),
            Direction::Out,
            Arc::from(two.text().await),
        ));
    }
    for expected in frames_seen {
        let sight = words.next().await;
        let Sight::Relayed { to, kind, text } = sight.sight else {
            panic!("{sight:?}");
        };
        assert_eq!(
            (sight.agent.to_string(), to.to_string(), kind, text),
            expected
        );
    }
    while !seen.is_empty() {
        let sight = frames.next().await;
        if let Sight::Frame(direction, frame) = sight.sight {
            assert_eq!((sight.agent.to_string(), direction, frame), seen.remove(0));
        }
    }
}
