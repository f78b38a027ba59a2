//! The WebSocket against a peer that writes raw bytes through an in-memory pipe, and against itself.

use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

mod closing;
mod rules;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A server's end and the raw stream of its peer.
fn pair(buffer: usize) -> (Ws<DuplexStream>, DuplexStream) {
    let (ours, theirs) = duplex(buffer);
    (Ws::server(ours, WsConfig::default()), theirs)
}

/// A masked frame as a client sends it; `first` is the opcode, with 0x80 when it is final.
fn raw_frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..126 => bytes.push(0x80 | short as u8),
        medium @ 126..65536 => {
            bytes.push(0x80 | 126);
            bytes.extend((medium as u16).to_be_bytes());
        }
        long => {
            bytes.push(0x80 | 127);
            bytes.extend((long as u64).to_be_bytes());
        }
    }
    let mask = [0x12, 0x34, 0x56, 0x78];
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(b, k)| b ^ k));
    bytes
}

fn whole(opcode: u8, payload: &[u8]) -> Vec<u8> {
    raw_frame(0x80 | opcode, payload)
}

/// Reads one unmasked frame as a client does.
async fn read_frame(stream: &mut DuplexStream) -> (u8, Vec<u8>) {
    let first = stream.read_u8().await.unwrap();
    let length = match stream.read_u8().await.unwrap() {
        126 => u64::from(stream.read_u16().await.unwrap()),
        127 => stream.read_u64().await.unwrap(),
        short => u64::from(short),
    };
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).await.unwrap();
    (first & 0x0f, payload)
}

fn text(text: &str) -> WsMessage {
    WsMessage::Text(text.into())
}

async fn next<S: AsyncRead + AsyncWrite + Unpin>(ws: &mut Ws<S>) -> WsMessage {
    ws.next().await.unwrap().unwrap()
}

async fn failure(ws: &mut Ws<DuplexStream>) -> WsError {
    ws.next().await.unwrap().unwrap_err()
}

#[tokio::test]
async fn a_message_is_read_and_its_codec_let_go() {
    let (mut ws, mut peer) = pair(4096);
    peer.write_all(&whole(TEXT, b"hello")).await.unwrap();
    assert_eq!(next(&mut ws).await, text("hello"));
    assert!(ws.codec.is_none(), "an idle connection owns no codec");
    assert_eq!(ws.whole.capacity_for_tests(), 0, "nor a buffer");
}

#[tokio::test]
async fn a_frame_that_comes_byte_by_byte_is_read() {
    let (mut ws, mut peer) = pair(1);
    let frames = [whole(TEXT, b"hello"), whole(BINARY, &[0xff; 300])].concat();
    let (written, ()) = tokio::join!(peer.write_all(&frames), async {
        assert_eq!(next(&mut ws).await, text("hello"));
        assert_eq!(
            next(&mut ws).await,
            WsMessage::Binary(vec![0xff; 300].into())
        );
    });
    written.unwrap();
    assert!(ws.codec.is_none());
}

#[tokio::test]
async fn a_batch_is_taken_without_waiting_and_answered_with_one_write() {
    let (mut ws, mut peer) = pair(64 * 1024);
    let frames: Vec<u8> = (0..100).flat_map(|_| whole(TEXT, b"{\"n\":1}")).collect();
    peer.write_all(&frames).await.unwrap();
    let mut frame = Some(Ok(next(&mut ws).await));
    let mut count = 0;
    while let Some(Ok(WsMessage::Text(text))) = frame {
        ws.queue_text(&text).unwrap();
        count += 1;
        frame = ws.try_next();
    }
    assert_eq!(count, 100);
    assert_eq!(ws.queued_bytes(), 100 * (2 + 7));
    assert!(ws.codec.is_none());
    assert!(matches!(ws.next_event(false).await, WsEvent::Flushed));
    assert_eq!(ws.queued_bytes(), 0);
    let mut answer = vec![0; 900];
    assert_eq!(peer.read(&mut answer).await.unwrap(), 900);
}

#[tokio::test]
async fn what_was_read_with_the_handshake_comes_first() {
    let (ours, mut peer) = duplex(4096);
    let first = whole(TEXT, b"one");
    let (read, unread) = first.split_at(3);
    let mut ws = Ws::server_with_leftover(ours, read.to_vec(), WsConfig::default());
    peer.write_all(unread).await.unwrap();
    peer.write_all(&whole(TEXT, b"two")).await.unwrap();
    assert_eq!(next(&mut ws).await, text("one"));
    assert_eq!(next(&mut ws).await, text("two"));
}

#[tokio::test]
async fn fragments_become_one_message_around_a_ping() {
    let (mut ws, mut peer) = pair(4096);
    // The é is cut in two.
    peer.write_all(&raw_frame(TEXT, b"caf\xc3")).await.unwrap();
    peer.write_all(&whole(PING, b"mid")).await.unwrap();
    peer.write_all(&raw_frame(0, b"\xa9 au ")).await.unwrap();
    peer.write_all(&raw_frame(0x80, b"lait")).await.unwrap();
    assert_eq!(next(&mut ws).await, WsMessage::Ping(b"mid"[..].into()));
    assert!(ws.codec.is_some(), "a message is half read");
    assert_eq!(next(&mut ws).await, text("café au lait"));
    assert!(ws.codec.is_none());
    ws.flush().await.unwrap();
    assert_eq!(read_frame(&mut peer).await, (PONG, b"mid".to_vec()));
}

#[tokio::test]
async fn a_ping_in_a_burst_does_not_bring_the_codec_to_stay() {
    let (mut ws, mut peer) = pair(4096);
    let (third, rest) = (whole(TEXT, b"three"), 4);
    let burst = [
        whole(TEXT, b"one"),
        whole(PING, b"mid"),
        whole(TEXT, b"two"),
        third[..rest].to_vec(),
    ];
    peer.write_all(&burst.concat()).await.unwrap();
    assert_eq!(next(&mut ws).await, text("one"));
    assert_eq!(next(&mut ws).await, WsMessage::Ping(b"mid"[..].into()));
    assert!(ws.codec.is_none());
    assert_eq!(next(&mut ws).await, text("two"));
    assert!(ws.try_next().is_none());
    assert!(ws.codec.is_none());
    peer.write_all(&third[rest..]).await.unwrap();
    assert_eq!(next(&mut ws).await, text("three"));
}

#[tokio::test]
async fn a_batch_of_frames_is_written_as_single_frames_are() {
    let mut batch = TextFrames::default();
    for text in ["one", "two"] {
        batch.push(text.len(), |out| out.push_str(text));
    }
    let (ours, theirs) = duplex(4096);
    let mut server = Ws::server(ours, WsConfig::default());
    let mut client = Ws::client(theirs, Vec::new(), WsConfig::default());
    server.queue_frames(&batch).unwrap();
    server.flush().await.unwrap();
    client.queue_frames(&batch).unwrap();
    client.flush().await.unwrap();
    for expected in ["one", "two"] {
        assert_eq!(next(&mut server).await, text(expected));
        assert_eq!(next(&mut client).await, text(expected));
    }
    server.queue_close(1000, "");
    assert!(matches!(server.queue_frames(&batch), Err(WsError::Closed)));
}

#[tokio::test]
async fn a_ping_is_answered_while_waiting_for_the_next_message() {
    let (mut ws, mut peer) = pair(4096);
    peer.write_all(&whole(PING, b"are you there"))
        .await
        .unwrap();
    assert!(matches!(next(&mut ws).await, WsMessage::Ping(_)));
    let waiting = ws.next();
    tokio::select! {
        biased;
        _ = waiting => panic!("nothing was sent"),
        answer = read_frame(&mut peer) => assert_eq!(answer, (PONG, b"are you there".to_vec())),
    }
}

#[tokio::test]
async fn a_peer_that_pings_without_reading_is_not_read_further() {
    let (mut ws, mut peer) = pair(1024);
    let flood: Vec<u8> = (0..2000).flat_map(|_| whole(PING, &[b'p'; 100])).collect();
    let mut taken = 0;
    tokio::select! {
        biased;
        _ = async { while let Some(Ok(_)) = ws.next().await { taken += 1 } } => {}
        result = peer.write_all(&flood) => panic!("all pings were taken: {result:?}"),
        () = async { for _ in 0..5000 { tokio::task::yield_now().await } } => {}
    }
    assert!(taken > 100);
    assert!(
        ws.queued_bytes() < MAX_REPLIES + 200,
        "{}",
        ws.queued_bytes()
    );
}

#[tokio::test]
async fn the_limit_is_64_kib_first_and_can_be_raised() {
    let (mut ws, mut peer) = pair(1 << 20);
    peer.write_all(&whole(TEXT, &[b'a'; 65536])).await.unwrap();
    assert!(matches!(next(&mut ws).await, WsMessage::Text(text) if text.len() == 65536));
    ws.set_max_message(100_000);
    peer.write_all(&whole(TEXT, &[b'a'; 100_000]))
        .await
        .unwrap();
    assert!(matches!(next(&mut ws).await, WsMessage::Text(text) if text.len() == 100_000));
    assert!(
        ws.codec.is_none(),
        "a large message does not leave its buffer behind"
    );
    peer.write_all(&whole(TEXT, &[b'a'; 100_001]))
        .await
        .unwrap();
    let error = failure(&mut ws).await;
    assert!(matches!(
        error,
        WsError::TooLarge {
            size: 100_001,
            limit: 100_000
        }
    ));
    assert_eq!(error.close_code(), Some(1009));
}

#[tokio::test]
async fn the_limit_can_change_in_the_middle_of_a_batch() {
    let (mut ws, mut peer) = pair(1 << 20);
    let both = [whole(TEXT, b"register"), whole(TEXT, &[b'a'; 70_000])].concat();
    peer.write_all(&both).await.unwrap();
    assert_eq!(next(&mut ws).await, text("register"));
    ws.set_max_message(8 << 20);
    assert!(matches!(next(&mut ws).await, WsMessage::Text(text) if text.len() == 70_000));
}

#[tokio::test]
async fn fragments_that_are_too_large_together_are_refused() {
    let (mut ws, mut peer) = pair(1 << 20);
    peer.write_all(&raw_frame(TEXT, &[b'a'; 40_000]))
        .await
        .unwrap();
    peer.write_all(&raw_frame(0x80, &[b'a'; 40_000]))
        .await
        .unwrap();
    let error = failure(&mut ws).await;
    assert_eq!(error.close_code(), Some(1009));
}

#[tokio::test]
async fn a_cancelled_turn_loses_nothing() {
    let (mut ws, mut peer) = pair(3);
    let sent = [whole(TEXT, &[b'a'; 50]), whole(TEXT, &[b'b'; 50])].concat();
    ws.queue_text(&"c".repeat(50)).unwrap();
    let (mut taken, mut flushed) = (Vec::new(), 0);
    let ours = async {
        while taken.len() < 2 || flushed == 0 {
            // Polled once and dropped, as when another arm of the select wins each time.
            match ws.next_event(true).now_or_never() {
                Some(WsEvent::Frame(frame)) => taken.push(frame),
                Some(WsEvent::Flushed) => flushed += 1,
                Some(other) => panic!("{other:?}"),
                None => tokio::task::yield_now().await,
            }
        }
    };
    let (mut reader, mut writer) = tokio::io::split(peer);
    let mut got = [0; 52];
    let (write, read, ()) =
        tokio::join!(writer.write_all(&sent), reader.read_exact(&mut got), ours);
    write.unwrap();
    read.unwrap();
    assert_eq!(taken, [text(&"a".repeat(50)), text(&"b".repeat(50))]);
    assert_eq!(flushed, 1);
    assert_eq!(&got[..3], [0x81, 50, b'c']);
    peer = reader.unsplit(writer);
    drop(peer);
}

#[tokio::test(start_paused = true)]
async fn what_a_slow_peer_does_not_take_leaves_later_while_it_is_still_read() {
    let (mut ws, mut peer) = pair(1024);
    ws.queue_text(&"x".repeat(4000)).unwrap();
    let queued = ws.queued_bytes();
    assert!(ws.next_event(false).now_or_never().is_none());
    assert_eq!(ws.queued_bytes(), queued - 1024);
    tokio::time::advance(Duration::from_secs(29)).await;
    assert!(ws.next_event(false).now_or_never().is_none());
    assert_eq!(ws.blocked_for(), Duration::from_secs(29));
    peer.write_all(&whole(TEXT, b"still talking"))
        .await
        .unwrap();
    assert_eq!(next(&mut ws).await, text("still talking"));
    ws.queue_text("more").unwrap();
    let read = async {
        assert_eq!(read_frame(&mut peer).await.1.len(), 4000);
        assert_eq!(read_frame(&mut peer).await.1, b"more");
    };
    let (turn, ()) = tokio::join!(ws.next_event(true), read);
    assert!(matches!(turn, WsEvent::Flushed));
    assert_eq!(ws.blocked_for(), Duration::ZERO);
    assert_eq!(ws.out.capacity_for_tests(), 0);
}

#[tokio::test]
async fn neither_a_busy_reader_nor_a_busy_writer_starves_the_other() {
    let (mut ws, mut peer) = pair(64 * 1024);
    let frames: Vec<u8> = (0..50).flat_map(|_| whole(TEXT, b"in")).collect();
    peer.write_all(&frames).await.unwrap();
    let mut turns = String::new();
    for _ in 0..20 {
        // A session that always has more to say.
        ws.queue_text("out").unwrap();
        match ws.next_event(true).await {
            WsEvent::Frame(_) => turns.push('r'),
            WsEvent::Flushed => turns.push('w'),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(turns, "rw".repeat(10));
}

#[tokio::test]
async fn a_turn_that_may_not_read_leaves_the_peer_alone() {
    let (mut ws, mut peer) = pair(4096);
    peer.write_all(&whole(TEXT, b"wait")).await.unwrap();
    assert!(ws.next_event(false).now_or_never().is_none());
    assert!(matches!(ws.next_event(true).await, WsEvent::Frame(_)));
}

#[tokio::test]
async fn a_client_and_a_server_of_ours_understand_each_other() {
    let (ours, theirs) = duplex(1 << 16);
    let config = WsConfig {
        max_message: 1 << 20,
        ..WsConfig::default()
    };
    let mut server = Ws::server(ours, config);
    let mut client = Ws::client(theirs, Vec::new(), config);
    for size in [0, 1, 2, 3, 4, 5, 125, 126, 65535, 65536, 300_000] {
        let body = "aé€😀".repeat(size / 10);
        let sides = tokio::join!(
            async {
                let text = format!("{{\"d\":\"{body}\"}}");
                client.queue_text(&text).unwrap();
                client.queue_binary(&vec![7; size]).unwrap();
                client.queue_ping(b"now").unwrap();
                client.flush().await.unwrap();
                next(&mut client).await
            },
            async {
                let frames = (next(&mut server).await, next(&mut server).await);
                next(&mut server).await;
                server.flush().await.unwrap();
                frames
            }
        );
        let (pong, (first, second)) = sides;
        assert_eq!(first, text(&format!("{{\"d\":\"{body}\"}}")));
        assert_eq!(second, WsMessage::Binary(vec![7; size].into()));
        assert_eq!(pong, WsMessage::Pong(b"now"[..].into()));
    }
    client.queue_close(1000, "done");
    tokio::join!(client.finish(Duration::from_secs(5)), async {
        assert!(matches!(
            next(&mut server).await,
            WsMessage::Close { code: 1000, .. }
        ));
        server.finish(Duration::from_secs(5)).await;
        drop(server);
    });
}
