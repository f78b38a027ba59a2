//! Streamed handoffs: lines as they come, a sign of life, one last line.

use super::*;

fn request() -> Value {
    json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"})
}

#[tokio::test]
async fn a_streamed_answer_comes_line_by_line_and_ends_with_a_result() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let mut frames = framed(&host, &request()).await;
    let call = writer.next_call().await;
    let next = async |frames: &mut Frames| match frames.next().await {
        Some(FrameOutput::Lines(lines)) => lines,
        other => panic!("{other:?}"),
    };
    assert_eq!(next(&mut frames).await, "{\"type\":\"accepted\"}\n");
    call.push(Event::text("Drip, "));
    assert_eq!(
        next(&mut frames).await,
        "{\"type\":\"chunk\",\"seq\":0,\"data\":\"Drip, \"}\n"
    );
    call.push(Event::Chunk(Chunk::status("rhyming")));
    call.push(Event::text("drop."));
    call.finish(End::done());
    let rest = lines(frames).await;
    let expected = [
        json!({"type": "status", "kind": "status", "text": "rhyming"}),
        json!({"type": "chunk", "seq": 1, "data": "drop."}),
        // The chunks are the answer.
        json!({"type": "result"}),
    ];
    assert_eq!(rest, expected);
}

#[tokio::test]
async fn a_plain_protocol_gives_frames_to_who_asks_for_them() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let mut asked = request();
    asked["stream"] = json!(true);
    let answer = host
        .answer(
            PEER,
            Origin::Elsewhere,
            asked.to_string().as_bytes(),
            HandoffProtocol::Plain,
        )
        .await;
    let HandoffReply::Frames(frames) = answer else {
        panic!("{answer:?}");
    };
    let serve = async {
        let call = writer.next_call().await;
        call.finish(End::Failed(Failure::new(Reason::Crashed, "it died")));
    };
    let (lines, ()) = tokio::join!(lines(*frames), serve);
    let error = json!({"type": "error", "error": "it died", "code": 502, "reason": "crashed"});
    assert_eq!(lines, [json!({"type": "accepted"}), error]);
}

#[tokio::test]
async fn what_the_hub_knows_itself_and_refusals_come_in_frames_too() {
    let hub = hub().await;
    let host = host(&hub);
    let frames = framed(&host, &json!({"method": "GET", "path": "/agents"})).await;
    let result = json!({"type": "result", "data": {"agents": []}});
    assert_eq!(lines(frames).await, [json!({"type": "accepted"}), result]);
    let frames = framed(&host, &json!({"method": "TRACE", "path": "/agents"})).await;
    let lines = lines(frames).await;
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (&lines[0]["type"], &lines[0]["code"]),
        (&json!("error"), &json!(405))
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_agent_is_told_of_every_ten_seconds_and_not_given_up() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let mut frames = framed(&host, &request()).await;
    frames.next().await.unwrap();
    let call = writer.next_call().await;
    let before = tokio::time::Instant::now();
    for _ in 0..3 {
        let heartbeat = FrameOutput::Lines("{\"type\":\"heartbeat\"}\n".to_owned());
        assert_eq!(frames.next().await, Some(heartbeat));
    }
    assert_eq!(before.elapsed().as_secs(), 30);
    call.push(Event::text("late"));
    call.finish(End::done());
    assert_eq!(lines(frames).await.len(), 2);
}

#[tokio::test]
async fn dropping_the_frames_cancels_the_call() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let frames = framed(&host, &request()).await;
    let call = writer.next_call().await;
    drop(frames);
    assert_eq!(writer.next_cancel().await, call.call().id);
}
