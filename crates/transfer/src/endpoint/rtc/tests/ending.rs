//! How a channel ends, and what is left then.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::UdpSocket;

use super::memory::{attempt, pair, port, split, unchanged};
use super::path::Path;
use crate::endpoint::{Channel, ChannelError, ChannelFrame};

fn complete() -> ChannelFrame {
    ChannelFrame::Text(r#"{"type":"complete"}"#.to_owned())
}

#[tokio::test]
async fn what_was_finished_is_read_to_its_end() {
    let (mut receiver, mut sender) = pair().await;
    sender.send(complete()).await.unwrap();
    sender.finish().await.unwrap();
    assert!(matches!(
        sender.send(complete()).await,
        Err(ChannelError::Cut(_))
    ));
    assert_eq!(receiver.recv().await.unwrap(), Some(complete()));
    assert_eq!(receiver.recv().await.unwrap(), None);
    assert_eq!(receiver.recv().await.unwrap(), None);
    receiver.finish().await.unwrap();
    sender.finish().await.unwrap();
}

#[tokio::test]
async fn two_that_finish_at_once_wait_for_nothing() {
    let (mut receiver, mut sender) = pair().await;
    sender.send(complete()).await.unwrap();
    assert_eq!(receiver.recv().await.unwrap(), Some(complete()));
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let (sent, received) = tokio::join!(sender.finish(), receiver.finish());
    sent.unwrap();
    received.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_receiver_that_closes_as_soon_as_it_has_all_cuts_nothing() {
    let (mut receiver, mut sender) = pair().await;
    sender
        .send(ChannelFrame::Binary(vec![1; 65536].into()))
        .await
        .unwrap();
    sender.send(complete()).await.unwrap();
    let receiving = async {
        receiver.recv().await.unwrap();
        assert_eq!(receiver.recv().await.unwrap(), Some(complete()));
        drop(receiver);
    };
    let (sent, ()) = tokio::join!(sender.finish(), receiving);
    sent.unwrap();
}

#[tokio::test]
async fn one_that_is_dropped_in_the_middle_is_a_cut_for_the_other() {
    let (mut receiver, mut sender) = pair().await;
    for _ in 0..10 {
        sender
            .send(ChannelFrame::Binary(vec![1; 65536].into()))
            .await
            .unwrap();
    }
    receiver.recv().await.unwrap();
    drop(sender);
    let end = loop {
        match receiver.recv().await {
            Ok(Some(_)) => {}
            end => break end,
        }
    };
    assert!(matches!(end, Err(ChannelError::Cut(_))), "{end:?}");

    let (receiver, mut sender) = pair().await;
    drop(receiver);
    let cut = loop {
        if let Err(cut) = sender
            .send(ChannelFrame::Binary(vec![1; 65536].into()))
            .await
        {
            break cut;
        }
    };
    assert!(matches!(cut, ChannelError::Cut(_)), "{cut:?}");
    assert!(matches!(sender.finish().await, Err(ChannelError::Cut(_))));
}

#[tokio::test]
async fn one_that_is_not_heard_any_more_is_a_cut() {
    let (path, mut receiver, mut sender) = Path::between().await;
    sender.send(complete()).await.unwrap();
    assert_eq!(receiver.recv().await.unwrap(), Some(complete()));
    path.cut(true);
    sender.send(complete()).await.unwrap();
    tokio::time::pause();
    let ends = async { tokio::join!(sender.finish(), receiver.recv()) };
    let ends = tokio::time::timeout(Duration::from_secs(30), ends).await;
    let (sent, received) = ends.expect("they notice");
    assert!(matches!(sent, Err(ChannelError::Cut(_))), "{sent:?}");
    assert!(
        matches!(received, Err(ChannelError::Cut(_))),
        "{received:?}"
    );
    // It had nothing to lose.
    receiver.finish().await.unwrap();
}

#[tokio::test]
async fn a_channel_that_is_dropped_leaves_no_task_and_no_socket() {
    let ports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ports);
    let noting = Box::new(move |(kind, sdp): (_, String)| {
        let (candidates, _) = split(&sdp);
        seen.lock()
            .unwrap()
            .extend(candidates.iter().map(|line| port(line)));
        vec![(kind, sdp)]
    });
    let (caller, called) = attempt(noting, unchanged()).await;
    let caller = caller.unwrap();
    let ports = ports.lock().unwrap().clone();
    assert_eq!(ports.len(), 1);
    UdpSocket::bind(("127.0.0.1", ports[0])).await.unwrap_err();

    drop(caller);
    // The other end is told by the task's last act; its sockets close with it.
    let mut called = called.unwrap();
    called.recv().await.unwrap_err();

    UdpSocket::bind(("127.0.0.1", ports[0])).await.unwrap();
}
