//! The rules of the exchange, over in-memory streams with a paused clock.

use std::{
    collections::VecDeque,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    time::sleep,
};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt as _};

use super::*;
use crate::wire::code;

/// Creates our end and the peer's end of a stream.
fn pair(buffer: usize) -> (Compat<DuplexStream>, DuplexStream) {
    let (ours, theirs) = duplex(buffer);
    (ours.compat(), theirs)
}

async fn read_with_defaults(stream: &mut Compat<DuplexStream>) -> Result<Vec<u8>, StreamReadError> {
    read_json(stream, BodyLimits::default()).await
}

#[tokio::test(start_paused = true)]
async fn a_request_ends_with_its_json_although_the_peer_never_closes() {
    let (mut ours, mut theirs) = pair(64);
    theirs.write_all(br#"{"method":"#).await.unwrap();
    let read = tokio::join!(read_with_defaults(&mut ours), async {
        theirs.write_all(br#""POST","path":"/}"}"#).await.unwrap();
    });
    assert_eq!(read.0.unwrap(), br#"{"method":"POST","path":"/}"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_request_ends_when_the_peer_closes_its_side() {
    let (mut ours, mut theirs) = pair(64);
    theirs.write_all(b"42").await.unwrap();
    theirs.shutdown().await.unwrap();
    assert_eq!(read_with_defaults(&mut ours).await.unwrap(), b"42");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stops_in_the_middle_is_refused() {
    let (mut ours, mut theirs) = pair(64);
    theirs.write_all(br#"{"method":"#).await.unwrap();
    theirs.shutdown().await.unwrap();
    let error = read_with_defaults(&mut ours).await.unwrap_err();
    assert!(
        matches!(&error, StreamReadError::Refused(fault) if fault.code == code::INVALID),
        "{error:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_says_nothing_is_given_up_after_the_first_wait() {
    let (mut ours, _theirs) = pair(64);
    let begun = Instant::now();
    let error = read_with_defaults(&mut ours).await.unwrap_err();
    assert!(matches!(error, StreamReadError::TooSlow), "{error:?}");
    assert_eq!(begun.elapsed(), limits::FIRST_BYTE);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_drips_is_given_up_when_the_whole_wait_is_over() {
    let (mut ours, mut theirs) = pair(64);
    let begun = Instant::now();
    let drip = async {
        theirs.write_all(b"[").await.unwrap();
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            theirs.write_all(b"0,").await.unwrap();
        }
    };
    let error = tokio::select! {
        read = read_with_defaults(&mut ours) => read.unwrap_err(),
        () = drip => unreachable!("it never ends"),
    };
    assert!(matches!(error, StreamReadError::TooSlow), "{error:?}");
    assert_eq!(begun.elapsed(), limits::REQUEST);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_is_refused_at_the_cap() {
    let (mut ours, mut theirs) = pair(4096);
    let flood = async {
        theirs.write_all(b"[").await.unwrap();
        while theirs.write_all(&[b'0'; 4096]).await.is_ok() {}
    };
    let error = tokio::select! {
        read = read_with_defaults(&mut ours) => read.unwrap_err(),
        () = flood => unreachable!("the stream is open"),
    };
    assert!(
        matches!(&error, StreamReadError::Refused(fault) if fault.code == code::TOO_LARGE),
        "{error:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_nested_too_deep_is_refused_at_once() {
    let (mut ours, mut theirs) = pair(4096);
    theirs.write_all(&[b'['; 1000]).await.unwrap();
    let error = read_with_defaults(&mut ours).await.unwrap_err();
    assert!(matches!(error, StreamReadError::Refused(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_at_once_when_the_peer_has_closed_its_side() {
    let (mut ours, mut theirs) = pair(64);
    theirs.write_all(b"GET_CARD").await.unwrap();
    theirs.shutdown().await.unwrap();
    let begun = Instant::now();
    answer(&mut ours, b"{}").await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    let mut received = Vec::new();
    theirs.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"{}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_keeps_its_side_open_has_a_moment_before_our_end_and_a_while_after_it() {
    let (mut ours, mut theirs) = pair(64);
    let begun = Instant::now();
    let reading = async {
        let mut received = Vec::new();
        theirs.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, b"{}");
        begun.elapsed()
    };
    let (answered, ended) = tokio::join!(answer(&mut ours, b"{}"), reading);
    answered.unwrap();
    assert_eq!(ended, limits::BEFORE_FIN);
    assert_eq!(begun.elapsed(), limits::BEFORE_FIN + limits::LINGER);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_goes_on_sending_after_its_answer_is_read_only_so_far() {
    let (mut ours, mut theirs) = pair(1024);
    let mut sent = 0;
    let flood = async {
        loop {
            theirs.write_all(&[b' '; 1024]).await.unwrap();
            sent += 1024;
        }
    };
    tokio::select! {
        answered = answer(&mut ours, b"{}") => answered.unwrap(),
        () = flood => unreachable!("it never ends"),
    }
    assert!(sent <= limits::LINGER_BYTES + 2 * 1024, "{sent}");
    // Our end was not closed, so dropping the stream resets it.
    drop(ours);
    let mut received = Vec::new();
    theirs.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"{}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_still_sending_gets_our_end_once_it_is_silent() {
    let (mut ours, theirs) = pair(1024);
    let (mut reader, mut writer) = tokio::io::split(theirs);
    let begun = Instant::now();
    let drip = async {
        for _ in 0..10 {
            writer.write_all(b" ").await.unwrap();
            sleep(limits::BEFORE_FIN / 2).await;
        }
    };
    let reading = async {
        let mut answer = Vec::new();
        reader.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"{}");
        begun.elapsed()
    };
    let (answered, (), ended) = tokio::join!(answer(&mut ours, b"{}"), drip, reading);
    answered.unwrap();
    assert_eq!(ended, limits::BEFORE_FIN / 2 * 9 + limits::BEFORE_FIN);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_a_byte_now_and_then_is_given_up() {
    let (mut ours, mut theirs) = pair(1);
    let begun = Instant::now();
    let take = async {
        loop {
            sleep(limits::WRITE_STUCK / 2).await;
            theirs.read_u8().await.unwrap();
        }
    };
    let error = tokio::select! {
        answered = answer(&mut ours, &[b' '; 32 << 10]) => answered.unwrap_err(),
        () = take => unreachable!("it never ends"),
    };
    assert!(matches!(error, StreamWriteError::TooSlow), "{error:?}");
    assert_eq!(begun.elapsed(), limits::WRITE_STUCK + limits::SLOWEST * 2);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_its_answer_is_given_up() {
    let (mut ours, _theirs) = pair(64);
    let begun = Instant::now();
    let error = answer(&mut ours, &[b' '; 65]).await.unwrap_err();
    assert!(matches!(error, StreamWriteError::TooSlow), "{error:?}");
    assert_eq!(begun.elapsed(), limits::WRITE_STUCK);
}

const WAIT: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn asking_closes_our_side_and_reads_to_the_end() {
    let (mut ours, mut theirs) = pair(64);
    let peer = async {
        let mut request = Vec::new();
        // Returns only because our side is closed.
        theirs.read_to_end(&mut request).await.unwrap();
        assert_eq!(request.len(), 1000);
        theirs.write_all(&[b'x'; 1000]).await.unwrap();
        theirs.shutdown().await.unwrap();
    };
    let both = async { tokio::join!(ask(&mut ours, &[b'r'; 1000], 1000, WAIT), peer) };
    let (answer, ()) = timeout(2 * WAIT, both).await.expect("our side is open");
    assert_eq!(answer.unwrap(), [b'x'; 1000]);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_refuses_before_it_has_read_everything_is_heard() {
    let (mut ours, mut theirs) = pair(64);
    let peer = async {
        theirs
            .write_all(br#"{"error":"too large","code":413}"#)
            .await
            .unwrap();
        drop(theirs);
    };
    let (answer, ()) = tokio::join!(ask(&mut ours, &[b'r'; 1000], 1000, WAIT), peer);
    assert_eq!(answer.unwrap(), br#"{"error":"too large","code":413}"#);
}

#[tokio::test(start_paused = true)]
async fn an_answer_above_the_cap_is_not_kept() {
    let (mut ours, mut theirs) = pair(64);
    let peer = async { while theirs.write_all(&[b'x'; 64]).await.is_ok() {} };
    let error = tokio::select! {
        answer = ask(&mut ours, b"{}", 1000, WAIT) => answer.unwrap_err(),
        () = peer => unreachable!("the stream is open"),
    };
    assert!(matches!(error, AskError::TooLarge(1000)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_is_given_up() {
    for partial in ["", "half of a", r#"{"half":"#] {
        let (mut ours, mut theirs) = pair(64);
        theirs.write_all(partial.as_bytes()).await.unwrap();
        let error = ask(&mut ours, b"{}", 1000, WAIT).await.unwrap_err();
        assert!(matches!(error, AskError::TooSlow), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_counts_although_the_peer_leaves_the_stream_open() {
    let (mut ours, mut theirs) = pair(64);
    theirs.write_all(br#"{"done":true}"#).await.unwrap();
    let begun = Instant::now();
    let answer = ask(&mut ours, b"{}", 1000, WAIT).await.unwrap();
    assert_eq!(answer, br#"{"done":true}"#);
    assert_eq!(begun.elapsed(), limits::AFTER_JSON);
}

#[tokio::test(start_paused = true)]
async fn a_reset_after_a_whole_json_value_is_success_and_before_it_is_not() {
    let scripted = |text: &str| Scripted([Ok(text.as_bytes().to_vec())].into());
    let answer = ask(&mut scripted(r#"{"a":[1]}"#), b"{}", 1000, WAIT).await;
    assert_eq!(answer.unwrap(), br#"{"a":[1]}"#);
    for text in ["", "12", r#"{"a":[1]"#, "plain text"] {
        let error = ask(&mut scripted(text), b"{}", 1000, WAIT)
            .await
            .unwrap_err();
        assert!(matches!(error, AskError::Broken(_)), "{text}: {error:?}");
    }
}

/// A peer that sends these bytes and then resets the stream.
struct Scripted(VecDeque<io::Result<Vec<u8>>>);

impl AsyncRead for Scripted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let reset = || Err(io::ErrorKind::ConnectionReset.into());
        let next_read = self.0.pop_front().filter(|next_read| {
            // An empty read would mean the end.
            !matches!(next_read, Ok(bytes) if bytes.is_empty())
        });
        Poll::Ready(next_read.unwrap_or_else(reset).map(|bytes| {
            buf[..bytes.len()].copy_from_slice(&bytes);
            bytes.len()
        }))
    }
}

impl AsyncWrite for Scripted {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
