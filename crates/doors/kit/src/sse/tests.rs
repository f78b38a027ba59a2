//! The exact bytes of SSE frames, and when a body sends them.

use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;

use super::*;

fn bytes_of(frame: &SseFrame) -> String {
    let mut out = BytesMut::new();
    frame.write_to(&mut out);
    String::from_utf8(out.to_vec()).unwrap()
}

async fn next_bytes<S: Stream<Item = SseFrame>>(body: &mut SseBody<S>) -> Option<Bytes> {
    let frame = body.frame().await?.unwrap();
    Some(frame.into_data().unwrap())
}

#[test]
fn frames_have_exactly_their_lines() {
    let cases = [
        (SseFrame::data("{\"a\":1}"), "data: {\"a\":1}\n\n"),
        (SseFrame::data(""), "data: \n\n"),
        (
            SseFrame::data("a\nb\r\nc\rd"),
            "data: a\ndata: b\ndata: c\ndata: d\n\n",
        ),
        (SseFrame::data("end\n"), "data: end\ndata: \n\n"),
        (
            SseFrame::data("x").with_event("chunk").with_id("3-17"),
            "event: chunk\nid: 3-17\ndata: x\n\n",
        ),
        (
            SseFrame::data("x").with_id("1\n2\r\0"),
            "id: 12\ndata: x\n\n",
        ),
        (SseFrame::comment("hello"), ": hello\n\n"),
    ];
    for (frame, expected) in cases {
        assert_eq!(bytes_of(&frame), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn all_that_is_ready_leaves_in_one_write() {
    let (sender, mut body) = channel(10);
    for n in 0..3 {
        sender.send(SseFrame::data(n.to_string())).await.unwrap();
    }
    let batch = next_bytes(&mut body).await.unwrap();
    assert_eq!(batch, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
    assert!(body.frame().now_or_never().is_none());
    sender.send(SseFrame::data("last")).await.unwrap();
    drop(sender);
    assert_eq!(next_bytes(&mut body).await.unwrap(), "data: last\n\n");
    assert!(next_bytes(&mut body).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_batch_ends_near_64_kib() {
    let frames = stream::iter((0..10).map(|_| SseFrame::data("x".repeat(20_000))));
    let mut body = SseBody::new(frames);
    let batch = next_bytes(&mut body).await.unwrap();
    assert_eq!(batch.len(), 4 * 20_008);
    let mut rest = 0;
    while let Some(batch) = next_bytes(&mut body).await {
        rest += batch.len();
    }
    assert_eq!(rest, 6 * 20_008);
}

#[tokio::test(start_paused = true)]
async fn a_comment_is_sent_after_each_silence_of_15_seconds() {
    let (sender, mut body) = channel(10);
    let begun = Instant::now();
    assert_eq!(next_bytes(&mut body).await.unwrap(), ": keepalive\n\n");
    assert_eq!(begun.elapsed(), Duration::from_secs(15));
    tokio::time::advance(Duration::from_secs(10)).await;
    sender.send(SseFrame::data("x")).await.unwrap();
    assert_eq!(next_bytes(&mut body).await.unwrap(), "data: x\n\n");
    let begun = Instant::now();
    assert_eq!(next_bytes(&mut body).await.unwrap(), ": keepalive\n\n");
    assert_eq!(begun.elapsed(), Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn the_silence_can_be_set() {
    let (_sender, body) = channel(1);
    let mut body = body.with_keepalive(Duration::from_secs(2));
    let begun = Instant::now();
    next_bytes(&mut body).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn the_response_has_the_headers_of_an_event_stream() {
    let response = SseBody::new(stream::iter([SseFrame::data("x")])).into_response();
    let headers = response.headers();
    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(headers["cache-control"], "no-cache");
    assert_eq!(headers["x-accel-buffering"], "no");
    let body: Vec<_> =
        futures_util::StreamExt::collect(response.into_body().into_data_stream()).await;
    assert_eq!(body.len(), 1);
    assert_eq!(body[0].as_ref().unwrap(), "data: x\n\n");
}

#[tokio::test(start_paused = true)]
async fn an_encoded_frame_is_not_copied_unless_others_are_ready_with_it() {
    let encoded = SseFrame::data("x").with_id("1").encode();
    assert_eq!(encoded, "id: 1\ndata: x\n\n");
    let (sender, mut body) = channel(10);
    let frame = SseFrame::encoded(encoded.clone());
    sender.send(frame.clone()).await.unwrap();
    let alone = next_bytes(&mut body).await.unwrap();
    assert_eq!(
        (alone.as_ptr(), alone.len()),
        (encoded.as_ptr(), encoded.len())
    );
    sender.send(frame).await.unwrap();
    sender.send(SseFrame::data("y")).await.unwrap();
    let both = next_bytes(&mut body).await.unwrap();
    assert_eq!(both, "id: 1\ndata: x\n\ndata: y\n\n");
}
