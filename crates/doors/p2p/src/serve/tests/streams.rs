//! The same on streams: what half-closes, what is reset, what never ends.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use jackfield_peer::{
    futures::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    serve::hand_off,
};
use tokio::{io::DuplexStream, sync::oneshot};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt as _};

use super::*;

fn pair() -> (Compat<DuplexStream>, Compat<DuplexStream>) {
    let (peer, ours) = tokio::io::duplex(1 << 20);
    (peer.compat(), ours.compat())
}

fn request() -> String {
    json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"}).to_string()
}

async fn answer_of(peer: &mut Compat<DuplexStream>) -> String {
    let mut answer = String::new();
    peer.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A stream that the test can reset.
struct Resettable {
    stream: Compat<DuplexStream>,
    reset: oneshot::Receiver<()>,
}

impl AsyncRead for Resettable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if Pin::new(&mut self.reset).poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Resettable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_closes_its_side_and_one_that_does_not_get_the_same_answer() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    for closes in [true, false] {
        let (mut peer, mut ours) = pair();
        let ask = async {
            peer.write_all(request().as_bytes()).await.unwrap();
            if closes {
                peer.close().await.unwrap();
            }
            answer_of(&mut peer).await
        };
        let serve = async {
            let call = writer.next_call().await;
            call.push(Event::text("hello"));
            call.finish(End::done());
        };
        let ours = hand_off(
            &mut ours,
            &host,
            PEER,
            Origin::Elsewhere,
            HandoffProtocol::Plain,
        );
        let (answer, (), served) = tokio::join!(ask, serve, ours);
        served.unwrap();
        assert_eq!(answer, "hello");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_reset_cancels_the_call_at_once() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    for way in [HandoffProtocol::Plain, HandoffProtocol::Framed] {
        let (mut peer, stream) = pair();
        let (reset, is_reset) = oneshot::channel();
        let mut ours = Resettable {
            stream,
            reset: is_reset,
        };
        let before = tokio::time::Instant::now();
        let ask = async {
            peer.write_all(request().as_bytes()).await.unwrap();
            let call = writer.next_call().await;
            reset.send(()).unwrap();
            assert_eq!(writer.next_cancel().await, call.call().id);
        };
        let (served, ()) = tokio::join!(
            hand_off(&mut ours, &host, PEER, Origin::Elsewhere, way),
            ask
        );
        served.unwrap();
        assert!(
            before.elapsed().is_zero(),
            "at once, not when a clock runs out"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_is_noticed_though_the_peer_closed_its_side_before() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    for way in [HandoffProtocol::Plain, HandoffProtocol::Framed] {
        let (mut peer, mut ours) = pair();
        let before = tokio::time::Instant::now();
        let ask = async {
            peer.write_all(request().as_bytes()).await.unwrap();
            peer.close().await.unwrap();
            let call = writer.next_call().await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert!(!call.call().is_ended(), "who closes its side waits");
            drop(peer);
            assert_eq!(writer.next_cancel().await, call.call().id);
        };
        let (served, ()) = tokio::join!(
            hand_off(&mut ours, &host, PEER, Origin::Elsewhere, way),
            ask
        );
        served.unwrap();
        assert!(
            before.elapsed() <= Duration::from_secs(6),
            "within a second"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn frames_go_out_one_by_one_and_the_stream_ends_after_the_last() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let (mut peer, mut ours) = pair();
    let ask = async {
        peer.write_all(request().as_bytes()).await.unwrap();
        peer.close().await.unwrap();
        let call = writer.next_call().await;
        let mut line = vec![0; 1024];
        let read = peer.read(&mut line).await.unwrap();
        assert_eq!(&line[..read], b"{\"type\":\"accepted\"}\n");
        call.push(Event::text("a"));
        let read = peer.read(&mut line).await.unwrap();
        assert_eq!(
            &line[..read],
            b"{\"type\":\"chunk\",\"seq\":0,\"data\":\"a\"}\n"
        );
        call.finish(End::done());
        assert_eq!(answer_of(&mut peer).await, "{\"type\":\"result\"}\n");
    };
    let (served, ()) = tokio::join!(
        hand_off(
            &mut ours,
            &host,
            PEER,
            Origin::Elsewhere,
            HandoffProtocol::Framed
        ),
        ask
    );
    served.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_too_large_too_deep_or_never_comes_is_told_so() {
    let hub = hub().await;
    let writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let large = json!({"method": "POST", "path": "/x", "input_data": "x".repeat((1 << 20) + 1)})
        .to_string();
    let deep = format!("{{\"input_data\": {}", "[".repeat(100));
    for (sent, code) in [
        (large.as_str(), 413),
        (&deep, 400),
        ("", 504),
        ("{\"method\": ", 504),
    ] {
        let (mut peer, mut ours) = pair();
        let ask = async {
            // Whoever sends too much may not get rid of all of it.
            peer.write_all(&sent.as_bytes()[..sent.len().min(1 << 20)])
                .await
                .unwrap();
            peer.write_all(&sent.as_bytes()[sent.len().min(1 << 20)..])
                .await
                .ok();
            let answer: Value = serde_json::from_str(&answer_of(&mut peer).await).unwrap();
            assert_eq!(answer["code"], code);
        };
        let (served, ()) = tokio::join!(
            hand_off(
                &mut ours,
                &host,
                PEER,
                Origin::Elsewhere,
                HandoffProtocol::Plain
            ),
            ask
        );
        served.unwrap();
    }
    assert!(writer.has_nothing_to_do());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_read_is_refused_in_the_shape_of_its_protocol() {
    let hub = hub().await;
    let host = host(&hub);
    let text = "the body is not valid JSON: expected value at line 2 column 1";
    for (way, wanted) in [
        (
            HandoffProtocol::Plain,
            format!(r#"{{"error":"{text}","code":400}}"#),
        ),
        (
            HandoffProtocol::Framed,
            format!("{{\"type\":\"error\",\"error\":\"{text}\",\"code\":400}}\n"),
        ),
    ] {
        let (mut peer, mut ours) = pair();
        let ask = async {
            peer.write_all(b"\nhello").await.unwrap();
            answer_of(&mut peer).await
        };
        let serve = async {
            hand_off(&mut ours, &host, PEER, Origin::Elsewhere, way)
                .await
                .unwrap();
            drop(ours);
        };
        let (answer, ()) = tokio::join!(ask, serve);
        assert_eq!(answer, wanted);
    }
}
