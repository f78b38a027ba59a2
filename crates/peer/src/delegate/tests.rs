//! Outgoing handoffs over in-memory streams with a paused clock: the caller's events for peers of every kind. The test
//! acts as the peer in raw bytes.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    time::timeout,
};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt as _};

use super::*;
use crate::wire::Method;

/// Longer than any call.
const LONG: Duration = Duration::from_secs(24 * 3600);

type TestDelegation = Delegation<Compat<DuplexStream>>;

/// Starts a handoff, and returns our side with the peer's end of the stream.
fn start_handoff(is_framed: bool, input: &str, buffer: usize) -> (TestDelegation, DuplexStream) {
    let (ours, theirs) = duplex(buffer);
    let mut delegation = Delegation::on(ours.compat(), is_framed, limits::WORDS_SILENCE);
    let mut hand_off = HandOff::new(Method::Post, "/work");
    hand_off.input = Some(Data::Text(input.to_owned()));
    delegation.send(&hand_off);
    (delegation, theirs)
}

/// Like [`start_handoff`], over a stream that takes the whole request at once.
async fn start_sent(is_framed: bool) -> (TestDelegation, DuplexStream) {
    let (mut delegation, theirs) = start_handoff(is_framed, "x", 1 << 20);
    assert_eq!(delegation.next_event().await, Ok(HandoffEvent::Sent));
    (delegation, theirs)
}

/// Returns the next event. The clock is paused, so a missing event fails the test at once.
async fn next(ours: &mut TestDelegation) -> Result<HandoffEvent, Failure> {
    let next = timeout(LONG, ours.next_event()).await;
    next.expect("something is heard").map_err(Failure::from)
}

fn words(text: &str) -> HandoffEvent {
    HandoffEvent::Done(Some(Data::Text(text.to_owned())))
}

fn chunk(text: &str) -> HandoffEvent {
    HandoffEvent::Chunk(Data::Text(text.to_owned()))
}

/// Returns the text of an answer up to its end.
async fn joined_text(ours: &mut TestDelegation) -> String {
    let mut all = String::new();
    loop {
        match next(ours).await.unwrap() {
            HandoffEvent::Chunk(data) => all.push_str(data.as_str()),
            HandoffEvent::Done(None) => return all,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_of_the_seed_gets_the_request_and_its_end_and_one_body_is_the_answer() {
    let (mut ours, mut theirs) = start_sent(false).await;
    let mut request = Vec::new();
    theirs.read_to_end(&mut request).await.unwrap();
    let request: Value = serde_json::from_slice(&request).unwrap();
    assert_eq!(
        request,
        json!({"method": "POST", "path": "/work", "params": {}, "input_data": "x"})
    );
    theirs.write_all(b"do").await.unwrap();
    theirs.write_all(b"ne").await.unwrap();
    drop(theirs);
    assert_eq!(next(&mut ours).await, Ok(words("done")));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_leaves_its_side_open_has_answered_when_a_json_value_is_followed_by_silence() {
    for (answer, silence) in [
        (r#"{"answer":42}"#, limits::AFTER_JSON),
        (r#"{"a":["}"]}"#, limits::AFTER_JSON),
        ("[1]\n", limits::SILENCE),
        ("\"word\"", limits::SILENCE),
        ("42", limits::SILENCE),
    ] {
        let (mut ours, mut theirs) = start_sent(false).await;
        theirs.write_all(answer.as_bytes()).await.unwrap();
        let begun = Instant::now();
        assert_eq!(next(&mut ours).await, Ok(words(answer)));
        assert_eq!(begun.elapsed(), silence, "{answer}");
    }
    let (mut ours, mut theirs) = start_sent(false).await;
    theirs
        .write_all(br#"{"error":"none left","code":404}"#)
        .await
        .unwrap();
    assert_eq!(next(&mut ours).await.unwrap_err().reason, Reason::NotFound);
}

#[tokio::test(start_paused = true)]
async fn pieces_of_a_json_value_may_be_any_time_apart() {
    let (mut ours, mut theirs) = start_sent(false).await;
    let writing = async {
        for piece in ["{", "\"a\":", "[]", "}"] {
            tokio::time::sleep(limits::SILENCE * 10).await;
            theirs.write_all(piece.as_bytes()).await.unwrap();
        }
    };
    let (received, ()) = tokio::join!(joined_text(&mut ours), writing);
    assert_eq!(received, r#"{"a":[]}"#);
}

#[tokio::test(start_paused = true)]
async fn words_of_a_peer_that_leaves_its_side_open_come_at_once_and_silence_ends_them() {
    for begin in ["hello", "[note]", "{name}", "true", "12 "] {
        let (mut ours, mut theirs) = start_sent(false).await;
        theirs.write_all(begin.as_bytes()).await.unwrap();
        theirs.write_all(b" and").await.unwrap();
        let begun = Instant::now();
        assert_eq!(next(&mut ours).await, Ok(chunk(&format!("{begin} and"))));
        assert_eq!(begun.elapsed(), limits::AFTER_JSON, "{begin}");
        tokio::time::sleep(limits::WORDS_SILENCE / 2).await;
        theirs.write_all(b" on").await.unwrap();
        assert_eq!(next(&mut ours).await, Ok(chunk(" on")));
        let begun = Instant::now();
        assert_eq!(next(&mut ours).await, Ok(HandoffEvent::Done(None)));
        assert_eq!(begun.elapsed(), limits::WORDS_SILENCE, "{begin}");
        // The stream is still open.
        theirs.write_all(b"more").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn words_may_pause_as_long_as_the_operator_lets_them() {
    let (ours, mut theirs) = duplex(1 << 20);
    let silence = limits::WORDS_SILENCE * 6;
    let mut ours = Delegation::on(ours.compat(), false, silence);
    theirs.write_all(b"let me think").await.unwrap();
    assert_eq!(next(&mut ours).await, Ok(chunk("let me think")));
    let writing = async {
        tokio::time::sleep(limits::WORDS_SILENCE * 5).await;
        theirs.write_all(b": yes").await.unwrap();
    };
    let (received, ()) = tokio::join!(next(&mut ours), writing);
    assert_eq!(received, Ok(chunk(": yes")));
    let begun = Instant::now();
    assert_eq!(next(&mut ours).await, Ok(HandoffEvent::Done(None)));
    assert_eq!(begun.elapsed(), silence);
}

#[tokio::test(start_paused = true)]
async fn what_looks_like_json_and_is_none_is_not_lost_where_the_peer_goes_silent() {
    for input_text in ["{hello, he said", "[note", "no", "\"Yes"] {
        let (mut ours, mut theirs) = start_sent(false).await;
        theirs.write_all(input_text.as_bytes()).await.unwrap();
        assert_eq!(next(&mut ours).await, Ok(chunk(input_text)));
        drop(theirs);
        let end = next(&mut ours).await;
        match input_text {
            "\"Yes" => assert!(end.unwrap_err().text.contains("was cut")),
            _ => assert_eq!(end, Ok(HandoffEvent::Done(None)), "{input_text}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn json_that_is_cut_is_no_answer_and_words_cannot_be_told() {
    for cut in [r#"{"answer":"#, "[1,2", "\"wor"] {
        let (mut ours, mut theirs) = start_sent(false).await;
        theirs.write_all(cut.as_bytes()).await.unwrap();
        drop(theirs);
        let failure = next(&mut ours).await.unwrap_err();
        assert_eq!(failure.reason, Reason::Crashed, "{cut}");
        assert!(failure.text.contains("was cut"), "{failure}");
    }
    let (mut ours, mut theirs) = start_sent(false).await;
    theirs.write_all(b"the answer i").await.unwrap();
    drop(theirs);
    assert_eq!(next(&mut ours).await, Ok(words("the answer i")));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_without_a_word_is_no_answer() {
    for is_framed in [false, true] {
        let (mut ours, theirs) = start_sent(is_framed).await;
        drop(theirs);
        let failure = next(&mut ours).await.unwrap_err();
        assert_eq!(
            failure.to_string(),
            "crashed: the peer ended the stream before its answer was complete"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_looks_like_a_frame_is_a_body_where_no_frames_were_agreed_on() {
    let (mut ours, mut theirs) = start_sent(false).await;
    let body = "{\"type\":\"status\",\"text\":\"shipped\"}\n";
    theirs.write_all(body.as_bytes()).await.unwrap();
    drop(theirs);
    assert_eq!(next(&mut ours).await, Ok(words(body)));
}

#[tokio::test(start_paused = true)]
async fn frames_are_heard_as_they_come_whoever_stops_listening_meanwhile() {
    let (mut ours, mut theirs) = start_sent(true).await;
    let mut request = vec![0; 200];
    let read = theirs.read(&mut request).await.unwrap();
    assert!(request[..read].ends_with(b"}"), "all of it is there");
    let writing = async {
        for line in [
            r#"{"type":"accepted","task_id":"t"}"#,
            r#"{"type":"of a later version"}"#,
            r#"{"type":"status","kind":"thinking","text":"hm"}"#,
            r#"{"type":"chunk","seq":0,"data":"one "}"#,
            r#"{"type":"chunk","seq":1,"data":{"two":2}}"#,
            r#"{"type":"heartbeat"}"#,
            r#"{"type":"result"}"#,
        ] {
            tokio::time::sleep(Duration::from_secs(7)).await;
            let (begin, end) = line.split_at(9);
            theirs.write_all(begin.as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_secs(7)).await;
            theirs
                .write_all(format!("{end}\n").as_bytes())
                .await
                .unwrap();
        }
    };
    let listen = async {
        let mut received = Vec::new();
        while !matches!(received.last(), Some(HandoffEvent::Done(_))) {
            if let Ok(input_text) = timeout(Duration::from_secs(1), ours.next_event()).await {
                received.push(input_text.unwrap());
            }
        }
        received
    };
    let (received, ()) = tokio::join!(listen, writing);
    let two = serde_json::value::to_raw_value(&json!({"two": 2})).unwrap();
    assert_eq!(
        received,
        [
            HandoffEvent::Sign,
            HandoffEvent::Status("hm".to_owned()),
            HandoffEvent::Chunk(Data::Text("one ".to_owned())),
            HandoffEvent::Chunk(Data::Json(two)),
            HandoffEvent::Sign,
            HandoffEvent::Done(None),
        ]
    );
}

/// Returns the events for these lines, sent after the request.
async fn events_for(lines: &[Value]) -> Vec<HandoffEvent> {
    let (mut ours, mut theirs) = start_sent(true).await;
    for line in lines {
        let line = format!("{line}\n");
        theirs.write_all(line.as_bytes()).await.unwrap();
    }
    drop(theirs);
    let mut received = Vec::new();
    while !matches!(received.last(), Some(HandoffEvent::Done(_))) {
        received.push(next(&mut ours).await.unwrap());
    }
    received
}

#[tokio::test(start_paused = true)]
async fn a_result_after_chunks_is_told_as_far_as_they_did_not_say_it() {
    let chunks = [
        json!({"type": "chunk", "seq": 0, "data": "one "}),
        json!({"type": "chunk", "seq": 1, "data": "two"}),
    ];
    let text = |text: &str| Data::Text(text.to_owned());
    let files = json!({"text": "one two", "files": [{"url": "https://e.example/a"}]});
    let raw = serde_json::value::to_raw_value(&files).unwrap();
    for (data, rest) in [
        (json!("one two"), vec![HandoffEvent::Done(None)]),
        (
            json!("one two three"),
            vec![
                HandoffEvent::Chunk(text(" three")),
                HandoffEvent::Done(None),
            ],
        ),
        (
            json!("other words"),
            vec![HandoffEvent::Done(Some(text("other words")))],
        ),
        (files, vec![HandoffEvent::Done(Some(Data::Json(raw)))]),
    ] {
        let result = json!({"type": "result", "data": data});
        let received = events_for(&[&chunks[..], &[result]].concat()).await;
        assert_eq!(received[2..], rest, "{data}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_one_long_line_is_heard() {
    let (mut ours, mut theirs) = start_sent(true).await;
    let answer = "x".repeat(300 * 1024);
    let line = format!("{}\n", json!({"type": "result", "data": answer}));
    theirs.write_all(line.as_bytes()).await.unwrap();
    assert_eq!(next(&mut ours).await, Ok(words(&answer)));
}

#[tokio::test(start_paused = true)]
async fn an_error_is_the_failure_that_it_names_in_a_frame_and_before_the_first_one() {
    let error = json!({"error": "slower", "code": 429, "reason": "rate_limited"});
    let mut frame = error.clone();
    frame["type"] = json!("error");
    for input_text in [error.to_string(), format!("{frame}\n")] {
        let (mut ours, mut theirs) = start_sent(true).await;
        theirs.write_all(input_text.as_bytes()).await.unwrap();
        drop(theirs);
        let event = next(&mut ours).await;
        assert_eq!(
            event,
            Err(Failure::new(Reason::RateLimited, "the peer says: slower"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn frames_that_end_without_a_last_one_or_are_none_fail() {
    for (input_text, reason) in [
        ("{\"type\":\"accepted\"}\n", Reason::Crashed),
        ("{\"type\":\"accepted\"}\n{\"type\":\"resu", Reason::Crashed),
        ("{\"type\":\"accepted\"}\nhello\n", Reason::Crashed),
        ("hello", Reason::Crashed),
    ] {
        let (mut ours, mut theirs) = start_sent(true).await;
        theirs.write_all(input_text.as_bytes()).await.unwrap();
        drop(theirs);
        let failure = loop {
            match next(&mut ours).await {
                Ok(HandoffEvent::Sign) => {}
                other => break other.unwrap_err(),
            }
        };
        assert_eq!(failure.reason, reason, "{input_text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_refuses_a_large_request_before_it_has_all_of_it_is_heard() {
    for is_framed in [false, true] {
        let (mut ours, mut theirs) = start_handoff(is_framed, &"x".repeat(1 << 20), 1 << 10);
        theirs
            .write_all(br#"{"error":"too much","code":413}"#)
            .await
            .unwrap();
        theirs.shutdown().await.unwrap();
        assert_eq!(next(&mut ours).await.unwrap_err().reason, Reason::TooLarge);
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_given_up_and_a_slow_reader_is_not() {
    let (mut ours, _theirs) = start_handoff(true, &"x".repeat(1 << 20), 1 << 10);
    let begun = Instant::now();
    let failure = next(&mut ours).await.unwrap_err();
    assert_eq!(failure.reason, Reason::Offline);
    assert_eq!(begun.elapsed(), limits::WRITE_STUCK);

    let (mut ours, mut theirs) = start_handoff(true, &"x".repeat(10 << 10), 1 << 10);
    let read = async {
        let mut piece = vec![0; 1 << 10];
        loop {
            tokio::time::sleep(limits::WRITE_STUCK / 2).await;
            theirs.read_exact(&mut piece).await.unwrap();
        }
    };
    tokio::select! {
        received = next(&mut ours) => assert_eq!(received, Ok(HandoffEvent::Sent)),
        () = read => unreachable!("it never ends"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_too_large_fails() {
    let (mut ours, mut theirs) = start_sent(false).await;
    let flood = async {
        let piece = vec![b'x'; 1 << 20];
        while theirs.write_all(&piece).await.is_ok() {}
    };
    let reading = async {
        loop {
            if let Err(failure) = next(&mut ours).await {
                return failure;
            }
        }
    };
    let failure = tokio::select! {
        failure = reading => failure,
        () = flood => unreachable!("the stream is open"),
    };
    assert_eq!(failure.reason, Reason::TooLarge);
}
