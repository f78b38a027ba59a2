//! How a WebSocket ends: by either side, by a mistake of the peer, or by its disappearance.

use super::*;

#[tokio::test]
async fn every_mistake_of_a_peer_has_its_close_code() {
    let mut unmasked = whole(TEXT, b"");
    unmasked.truncate(2);
    unmasked[1] = 0;
    let cases = [
        ("text that is not UTF-8", whole(TEXT, b"\xff\xfe"), 1007),
        (
            "close reason that is not UTF-8",
            whole(CLOSE, b"\x03\xe8\xff"),
            1007,
        ),
        ("reserved bit", raw_frame(0xc1, b"x"), 1002),
        ("unknown opcode", whole(3, b""), 1002),
        ("unmasked frame", unmasked, 1002),
        ("continuation of nothing", whole(0, b"x"), 1002),
        ("fragmented ping", raw_frame(PING, b"x"), 1002),
        ("long ping", whole(PING, &[0; 126]), 1002),
        ("close of one byte", whole(CLOSE, b"\x03"), 1002),
        (
            "message inside a message",
            [raw_frame(TEXT, b"a"), whole(TEXT, b"b")].concat(),
            1002,
        ),
        (
            "absurd length",
            vec![0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 2, 3, 4],
            1009,
        ),
    ];
    for (name, bytes, code) in cases {
        let (mut ws, mut peer) = pair(4096);
        peer.write_all(&bytes).await.unwrap();
        let error = failure(&mut ws).await;
        assert_eq!(error.close_code(), Some(code), "{name}: {error}");
        ws.queue_close(code, &error.to_string());
        ws.flush().await.unwrap();
        let (opcode, payload) = read_frame(&mut peer).await;
        assert_eq!(
            (opcode, &payload[..2]),
            (CLOSE, &code.to_be_bytes()[..]),
            "{name}"
        );
        assert!(
            matches!(ws.next_event(true).await, WsEvent::Closed),
            "{name}"
        );
        assert!(ws.try_next().is_none(), "{name}");
    }
}

#[tokio::test]
async fn the_close_of_the_peer_is_told_answered_and_then_the_end() {
    let (mut ws, mut peer) = pair(4096);
    peer.write_all(&whole(CLOSE, b"\x0f\xa1replaced"))
        .await
        .unwrap();
    let close = WsMessage::Close {
        code: 4001,
        reason: "replaced".into(),
    };
    assert_eq!(next(&mut ws).await, close);
    assert!(matches!(ws.queue_text("late"), Err(WsError::Closed)));
    assert!(matches!(ws.next_event(true).await, WsEvent::Closed));
    assert_eq!(
        read_frame(&mut peer).await,
        (CLOSE, b"\x0f\xa1replaced".to_vec())
    );
    assert!(ws.next().await.is_none());
}

#[tokio::test]
async fn our_close_waits_for_the_answer_of_the_peer() {
    let (mut ws, mut peer) = pair(4096);
    ws.queue_text("last words").unwrap();
    ws.queue_close(4002, "revoked");
    ws.queue_close(1000, "the first one counts");
    let peer = async {
        assert_eq!(read_frame(&mut peer).await, (TEXT, b"last words".to_vec()));
        assert_eq!(
            read_frame(&mut peer).await,
            (CLOSE, b"\x0f\xa2revoked".to_vec())
        );
        peer.write_all(&whole(TEXT, b"crossed on the way"))
            .await
            .unwrap();
        peer.write_all(&whole(CLOSE, b"\x0f\xa2")).await.unwrap();
        assert_eq!(peer.read(&mut [0; 1]).await.unwrap(), 0);
    };
    tokio::join!(ws.finish(Duration::from_secs(5)), peer);
    assert!(matches!(ws.next_event(false).await, WsEvent::Closed));
}

#[tokio::test(start_paused = true)]
async fn finishing_gives_up_on_a_peer_that_does_not_answer() {
    let (mut ws, _peer) = pair(4096);
    ws.queue_close(1001, "");
    let begun = Instant::now();
    ws.finish(Duration::from_secs(5)).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
}

#[tokio::test]
async fn finishing_after_a_failure_reads_off_what_is_still_sent() {
    let (mut ws, mut peer) = pair(1024);
    let flood = whole(BINARY, &[0; 200_000]);
    let peer = async move {
        peer.write_all(&flood).await.unwrap();
        let (opcode, payload) = read_frame(&mut peer).await;
        assert_eq!((opcode, &payload[..2]), (CLOSE, &1009u16.to_be_bytes()[..]));
    };
    let ours = async {
        let error = failure(&mut ws).await;
        ws.queue_close(error.close_code().unwrap(), "too large");
        ws.finish(Duration::from_secs(5)).await;
    };
    tokio::join!(ours, peer);
}

#[tokio::test]
async fn a_long_reason_is_cut_between_characters() {
    let (mut ws, mut peer) = pair(4096);
    ws.queue_close(1011, &"é".repeat(100));
    ws.flush().await.unwrap();
    let (_, payload) = read_frame(&mut peer).await;
    assert_eq!(std::str::from_utf8(&payload[2..]).unwrap(), "é".repeat(61));
}

#[tokio::test]
async fn a_peer_that_goes_without_closing_is_disconnected() {
    let (mut ws, mut peer) = pair(4096);
    ws.queue_text("never read").unwrap();
    peer.write_all(&whole(TEXT, b"bye")[..4]).await.unwrap();
    drop(peer);
    let error = loop {
        match ws.next_event(true).await {
            WsEvent::Failed(error) => break error,
            WsEvent::Flushed => {}
            other => panic!("{other:?}"),
        }
    };
    assert!(error.close_code().is_none(), "{error}");
    assert!(matches!(ws.next_event(true).await, WsEvent::Closed));
    assert!(matches!(ws.next_event(false).await, WsEvent::Closed));
    ws.queue_close(1000, "nobody is there");
    assert_eq!(ws.queued_bytes(), 0);
}
