//! Whatever a peer sends, the short way and the codec together do what tungstenite alone does: the same messages,
//! the same error, the same answers.

use std::io::{self, Cursor, Read, Write};

use proptest::prelude::*;
use tungstenite::protocol::WebSocket;

use super::*;

/// A stream for tungstenite: the bytes of the peer, and what is written to the peer.
struct Recorded {
    sent: Cursor<Vec<u8>>,
    answers: Vec<u8>,
}

impl Read for Recorded {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Read::read(&mut self.sent, buf)
    }
}

impl Write for Recorded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut self.answers, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What came of a stream: the messages, the close code of the error at the end, and the answers.
type Outcome = (Vec<WsMessage>, Option<String>, Vec<u8>);

fn by_tungstenite(role: Role, sent: Vec<u8>) -> Outcome {
    let stream = Recorded {
        sent: Cursor::new(sent),
        answers: Vec::new(),
    };
    let max = WsConfig::default().max_message;
    let config = WebSocketConfig::default()
        .max_message_size(Some(max))
        .max_frame_size(Some(max));
    let mut socket = WebSocket::from_raw_socket(stream, role, Some(config));
    let mut messages = Vec::new();
    let error = loop {
        messages.push(match socket.read() {
            Ok(Message::Text(text)) => WsMessage::Text(text),
            Ok(Message::Binary(bytes)) => WsMessage::Binary(bytes),
            Ok(Message::Ping(payload)) => WsMessage::Ping(payload),
            Ok(Message::Pong(payload)) => WsMessage::Pong(payload),
            Ok(Message::Close(frame)) => WsMessage::Close {
                code: frame.as_ref().map_or(1005, |frame| frame.code.into()),
                reason: frame.map(|frame| frame.reason).unwrap_or_default(),
            },
            Ok(Message::Frame(_)) => unreachable!("a reader returns no raw frames"),
            Err(CodecError::ConnectionClosed) => break None,
            Err(error) => break Some(WsError::from_codec(error).to_string()),
        });
    };
    (messages, error, socket.get_ref().answers.clone())
}

async fn by_ours(role: Role, sent: &[u8], step: usize) -> Outcome {
    let (ours, theirs) = duplex(step);
    let mut ws = Ws::new(ours, role, Vec::new(), WsConfig::default());
    let (mut reader, mut writer) = tokio::io::split(theirs);
    let sending = async move {
        // A peer that made a mistake is no longer read.
        writer.write_all(sent).await.ok();
        writer.shutdown().await.ok();
    };
    let reading = async move {
        let mut messages = Vec::new();
        let error = loop {
            match ws.next().await {
                Some(Ok(message)) => messages.push(message),
                Some(Err(error)) => break Some(error.to_string()),
                None => break None,
            }
        };
        ws.flush().await.ok();
        (messages, error)
    };
    let mut answers = Vec::new();
    let ((), (messages, error), _) =
        tokio::join!(sending, reading, reader.read_to_end(&mut answers));
    (messages, error, answers)
}

/// A frame, more often right than wrong.
fn frame(masked: bool) -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        8 => Just(0x80 | TEXT),
        2 => Just(0x80 | BINARY),
        1 => prop::sample::select(vec![TEXT, BINARY, 0, 0, 0x80, 0x80]),
        2 => prop::sample::select(vec![0x80 | PING, 0x80 | PONG]),
        1 => any::<u8>(),
    ];
    let payload = prop_oneof![
        6 => "[ -~é€😀]{0,200}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => (65_400usize..65_700).prop_map(|length| vec![b'x'; length]),
    ];
    let is_right = prop::bool::weighted(0.98);
    (first, payload, any::<[u8; 4]>(), is_right).prop_map(move |(first, payload, mask, right)| {
        let mut bytes = frames::Header::new(0, payload.len());
        if masked == right {
            bytes.set_masked();
        }
        let mut bytes = bytes.as_bytes().to_vec();
        bytes[0] = first;
        let body = bytes.len() + if masked == right { 4 } else { 0 };
        if masked == right {
            bytes.extend(mask);
        }
        bytes.extend(payload);
        if masked == right {
            queue::apply_mask(&mut bytes[body..], mask);
        }
        bytes
    })
}

fn same(role: Role, sent: &[u8], step: usize) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let ours = runtime.block_on(by_ours(role, sent, step));
    let expected = by_tungstenite(role, sent.to_vec());
    prop_assert_eq!(&ours.0, &expected.0);
    prop_assert_eq!(&ours.1, &expected.1);
    // The masks of a client are random. After a mistake or a cut, pongs may have been lost on the way.
    if role == Role::Server && ours.1.is_none() {
        prop_assert_eq!(&ours.2, &expected.2);
    }
    Ok(())
}

fn step() -> impl Strategy<Value = usize> {
    prop_oneof![1usize..40, 1000usize..3000, Just(1 << 20)]
}

proptest! {
    #[test]
    fn a_server_does_what_tungstenite_does(
        frames in proptest::collection::vec(frame(true), 0..12),
        is_cut in prop::bool::weighted(0.2),
        step in step(),
    ) {
        let mut sent = frames.concat();
        sent.extend(whole(CLOSE, b"\x03\xe8"));
        if is_cut {
            sent.truncate(sent.len() / 2);
        }
        same(Role::Server, &sent, step)?;
    }

    #[test]
    fn a_client_does_what_tungstenite_does(
        frames in proptest::collection::vec(frame(false), 0..8),
        step in step(),
    ) {
        let mut sent = frames.concat();
        sent.extend([0x88, 2, 3, 0xe8]);
        same(Role::Client, &sent, step)?;
    }

    #[test]
    fn no_bytes_are_read_differently(sent in proptest::collection::vec(any::<u8>(), 0..64), step in step()) {
        same(Role::Server, &sent, step)?;
        same(Role::Client, &sent, step)?;
    }
}
