//! Messages on an open channel.

use std::time::Duration;

use bytes::Bytes;

use super::memory::{attempt, pair, unchanged};
use super::path::Path;
use crate::endpoint::rtc::queue::FULL;
use crate::endpoint::rtc::{RtcChannel, SignalKind};
use crate::endpoint::{Channel, ChannelError, ChannelFrame};

const PIECE: usize = 64 * 1024;

fn text(text: &str) -> ChannelFrame {
    ChannelFrame::Text(text.to_owned())
}

/// The piece of this number; no two are alike.
fn piece(number: u32) -> ChannelFrame {
    let mut bytes = vec![number.to_le_bytes()[0]; PIECE];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    ChannelFrame::Binary(bytes.into())
}

async fn send_pieces(channel: &mut RtcChannel, count: u32) {
    for number in 0..count {
        channel.send(piece(number)).await.unwrap();
    }
}

async fn expect_pieces(channel: &mut RtcChannel, count: u32) {
    for number in 0..count {
        let frame = channel.recv().await.unwrap();
        assert!(frame == Some(piece(number)), "piece {number} is another");
    }
}

#[tokio::test]
async fn texts_and_binaries_arrive_in_order_both_ways() {
    let (mut caller, mut called) = pair().await;
    let send_all = async |channel: &mut RtcChannel, name: &str| {
        channel
            .send(text(&format!(r#"{{"from":"{name}"}}"#)))
            .await
            .unwrap();
        send_pieces(channel, 6).await;
        channel
            .send(ChannelFrame::Binary(Bytes::new()))
            .await
            .unwrap();
        channel.send(text("ende \u{1F600}")).await.unwrap();
    };
    let expect_all = async |channel: &mut RtcChannel, name: &str| {
        let first = channel.recv().await.unwrap();
        assert_eq!(first, Some(text(&format!(r#"{{"from":"{name}"}}"#))));
        expect_pieces(channel, 6).await;
        assert_eq!(channel.recv().await.unwrap(), Some(text("ende \u{1F600}")));
    };
    send_all(&mut caller, "caller").await;
    send_all(&mut called, "called").await;
    tokio::join!(
        expect_all(&mut caller, "called"),
        expect_all(&mut called, "caller")
    );
}

#[tokio::test]
async fn a_slow_reader_slows_the_sender_and_costs_no_memory() {
    const COUNT: u32 = 800;
    let (mut receiver, mut sender) = pair().await;
    let sending = async {
        send_pieces(&mut sender, COUNT).await;
        sender.finish().await.unwrap();
        sender.most_queued()
    };
    let receiving = async {
        receiver.inbox_is_full().await;
        // Stopped time passes when nobody has anything to do any more: then the sender waits.
        tokio::time::pause();
        tokio::time::sleep(Duration::from_secs(5)).await;
        tokio::time::resume();
        expect_pieces(&mut receiver, COUNT).await;
        assert_eq!(receiver.recv().await.unwrap(), None);
        receiver.most_queued()
    };
    let (sender, receiver) = tokio::join!(sending, receiving);
    // The queue may be passed by the message that filled it, and by what one packet completed.
    let most = FULL + 2 * (PIECE + 64);
    assert!(sender <= most, "{sender}");
    assert!((FULL..=most).contains(&receiver), "{receiver}");
}

#[tokio::test]
async fn a_message_larger_than_the_other_side_takes_is_refused_before_it_goes() {
    let smaller = Box::new(|(kind, sdp): (SignalKind, String)| {
        vec![(
            kind,
            sdp.replace("a=max-message-size:262144", "a=max-message-size:1000"),
        )]
    });
    let (caller, called) = attempt(unchanged(), smaller).await;
    let (mut caller, mut called) = (caller.unwrap(), called.unwrap());
    assert_eq!(caller.max_message(), 1000);
    assert_eq!(called.max_message(), 256 * 1024);
    let refused = caller
        .send(ChannelFrame::Binary(vec![0; 1001].into()))
        .await;
    assert!(
        matches!(refused, Err(ChannelError::Signal(_))),
        "{refused:?}"
    );
    let fits = ChannelFrame::Binary(vec![7; 1000].into());
    caller.send(fits.clone()).await.unwrap();
    assert_eq!(called.recv().await.unwrap(), Some(fits));
}

#[tokio::test]
async fn a_path_that_is_cut_for_some_seconds_and_comes_back_goes_on_by_itself() {
    let (path, mut receiver, mut sender) = Path::between().await;
    send_pieces(&mut sender, 1).await;
    expect_pieces(&mut receiver, 1).await;
    path.cut(true);
    sender.send(text("lost at first")).await.unwrap();
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(5)).await;
    tokio::time::resume();
    path.cut(false);
    assert_eq!(receiver.recv().await.unwrap(), Some(text("lost at first")));
    sender.finish().await.unwrap();
    assert_eq!(receiver.recv().await.unwrap(), None);
}
