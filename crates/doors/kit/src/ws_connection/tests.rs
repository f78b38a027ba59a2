//! What a line promises beside its peer's frames, which the doors' own tests cover: its clocks, and that no peer keeps the
//! hub from being heard.

use jackfield_core::store::memory::MemoryStore;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::socket::TcpConnection;

/// An empty text frame of a client, and a binary one.
const EMPTY_TEXT: [u8; 6] = [0x81, 0x80, 0, 0, 0, 0];
const EMPTY_BINARY: [u8; 6] = [0x82, 0x80, 0, 0, 0, 0];

/// More than the kernel takes off our hands, and than a peer may owe.
const MUCH: usize = 32 << 20;

/// A line and the socket of its peer.
async fn line() -> (WsConnection, TcpStream) {
    let store = Arc::new(MemoryStore::default());
    let hub = Hub::open(store, Limits::default()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).await;
    let (peer, (tcp, _)) = (peer.unwrap(), listener.accept().await.unwrap());
    // Under a paused clock the kernel would hold small frames back for longer than all timeouts.
    peer.set_nodelay(true).unwrap();
    let parts = WsConnectionParts {
        hub,
        door: "test",
        stop: CancellationToken::new(),
        peer: None,
        token: None,
        came: Ingress::Directly,
    };
    let ws = Ws::server(Io::Plain(TcpConnection::new(tcp)), WsConfig::default());
    (WsConnection::new(ws, parts), peer)
}

/// Frames without end, as fast as they are taken.
async fn talk(mut peer: TcpStream) {
    let frames = [EMPTY_TEXT, EMPTY_BINARY].concat().repeat(10_000);
    while peer.write_all(&frames).await.is_ok() {}
}

#[tokio::test]
async fn a_peer_that_never_stops_talking_cannot_outlive_its_token() {
    let (mut line, peer) = line().await;
    let token = CancellationToken::new();
    line.set_authenticated(token.clone());
    let listen = async {
        for _ in 0..10_000 {
            assert!(matches!(
                line.next().await,
                WsConnectionEvent::Text(_) | WsConnectionEvent::Binary
            ));
        }
        token.cancel();
        for heard in 0.. {
            match line.next().await {
                WsConnectionEvent::Text(_) | WsConnectionEvent::Binary => {
                    assert!(heard < READ_BATCH, "it is heard on and on")
                }
                WsConnectionEvent::Over(leave) => return leave,
                other => panic!("{other:?}"),
            }
        }
        unreachable!("there are not so many numbers")
    };
    let leave = tokio::select! {
        leave = listen => leave,
        () = talk(peer) => panic!("the line was dropped"),
    };
    assert_eq!(leave, WsConnectionEnd::Close(4002, "token revoked"));
}

#[tokio::test]
async fn a_peer_that_never_stops_talking_keeps_nobody_else_waiting() {
    let (mut line, peer) = line().await;
    let key = line.new_key();
    let ready_handle = line.ready_handle(key);
    let listen = async {
        assert!(matches!(line.next().await, WsConnectionEvent::Text(_)));
        ready_handle.notify();
        for heard in 0.. {
            match line.next().await {
                WsConnectionEvent::Text(_) | WsConnectionEvent::Binary => {
                    assert!(heard <= READ_BATCH, "nobody else is served")
                }
                WsConnectionEvent::Rang(keys) => return assert_eq!(keys, key),
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::select! {
        () = listen => {}
        () = talk(peer) => panic!("the line was dropped"),
    }
}

#[tokio::test]
async fn a_busy_line_hears_of_mail_at_once_and_serves_the_others_later() {
    let (mut line, _peer) = line().await;
    let key = line.new_key();
    line.ready_handle(key).notify();
    line.ready_handle(MAILBOX).notify();
    line.queue(&"x".repeat(2 * QUEUE_HIGH));
    assert!(matches!(
        line.next().await,
        WsConnectionEvent::Rang(MAILBOX)
    ));
    assert!(line.is_busy());
    for expected in [key, MAILBOX] {
        match line.next().await {
            WsConnectionEvent::Rang(keys) => assert_eq!(keys, expected),
            other => panic!("{other:?}"),
        }
        assert!(!line.is_busy());
    }
}

#[tokio::test]
async fn what_was_peeked_at_is_told_once_more() {
    let (mut line, mut peer) = line().await;
    peer.write_all(&EMPTY_TEXT).await.unwrap();
    assert!(matches!(line.peek().await, WsConnectionEvent::Text(text) if text.is_empty()));
    assert!(matches!(line.next().await, WsConnectionEvent::Text(text) if text.is_empty()));
    drop(peer);
    assert!(matches!(
        line.next().await,
        WsConnectionEvent::Over(WsConnectionEnd::Gone)
    ));
}

#[tokio::test(start_paused = true)]
async fn who_does_not_say_who_it_is_has_ten_seconds_and_may_be_given_more() {
    let (mut line, _peer) = line().await;
    let begun = Instant::now();
    tokio::time::advance(Duration::from_secs(6)).await;
    line.extend_registration();
    let WsConnectionEvent::Over(leave) = line.next().await else {
        panic!("not over")
    };
    assert_eq!(leave, WsConnectionEnd::Close(1008, "register timeout"));
    assert_eq!(begun.elapsed().as_secs(), 16);
}

#[tokio::test(start_paused = true)]
async fn who_only_asks_for_more_time_is_sent_away_after_a_minute() {
    let (mut line, _peer) = line().await;
    let begun = Instant::now();
    let leave = loop {
        match tokio::time::timeout(Duration::from_secs(5), line.next()).await {
            Ok(WsConnectionEvent::Over(leave)) => break leave,
            Ok(other) => panic!("{other:?}"),
            Err(_) => line.extend_registration(),
        }
    };
    assert_eq!(leave, WsConnectionEnd::Close(1008, "register timeout"));
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_known_peer_is_pinged_and_given_up_after_two_intervals_of_silence() {
    let (mut line, mut peer) = line().await;
    line.set_authenticated(CancellationToken::new());
    let begun = Instant::now();
    let signs = line.liveness().clone();
    let silent = async {
        // A connection that is dead shows within 20 s, long before it is given up.
        tokio::time::sleep(Duration::from_secs(17)).await;
        assert!(!signs.is_silent());
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(signs.is_silent());
    };
    let (step, ()) = tokio::join!(line.next(), silent);
    let WsConnectionEvent::Over(leave) = step else {
        panic!("not over")
    };
    assert_eq!(leave, WsConnectionEnd::Close(1011, "no sign of life"));
    assert_eq!(begun.elapsed().as_secs(), 50);
    let mut bytes = [0; 8];
    assert_eq!(peer.read(&mut bytes).await.unwrap(), 2);
    assert_eq!(bytes[..2], [0x89, 0], "one ping");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_answers_late_is_not_silent_any_more() {
    let (mut line, mut peer) = line().await;
    line.set_authenticated(CancellationToken::new());
    let signs = line.liveness().clone();
    let late = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(signs.is_silent());
        peer.write_all(&EMPTY_TEXT).await.unwrap();
    };
    let (step, ()) = tokio::join!(line.next(), late);
    assert!(matches!(step, WsConnectionEvent::Text(_)), "{step:?}");
    assert!(!signs.is_silent());
}

#[tokio::test(start_paused = true)]
async fn a_peer_is_not_read_while_it_does_not_read_our_answers() {
    let (mut line, mut peer) = line().await;
    line.set_authenticated(CancellationToken::new());
    peer.write_all(&EMPTY_TEXT).await.unwrap();
    assert!(matches!(line.next().await, WsConnectionEvent::Text(_)));
    line.queue(&"x".repeat(MUCH));
    peer.write_all(&EMPTY_TEXT).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_secs(20), line.next()).await;
    assert!(heard.is_err(), "{heard:?}");
    let mut answers = vec![0; MUCH];
    let (heard, _) = tokio::join!(line.next(), peer.read_exact(&mut answers));
    assert!(matches!(heard, WsConnectionEvent::Text(_)), "{heard:?}");
}

#[tokio::test]
async fn a_peer_is_read_while_it_does_not_read_what_others_send() {
    let (mut line, mut peer) = line().await;
    line.set_authenticated(CancellationToken::new());
    line.ready_handle(7).notify();
    assert!(matches!(line.next().await, WsConnectionEvent::Rang(7)));
    line.queue(&"x".repeat(MUCH));
    for _ in 0..3 {
        peer.write_all(&EMPTY_TEXT).await.unwrap();
        let heard = line.next().await;
        assert!(matches!(heard, WsConnectionEvent::Text(_)), "{heard:?}");
    }
}
