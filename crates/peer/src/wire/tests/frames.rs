//! Streams of frames: writing, reading, and their ends.

use proptest::prelude::*;

use super::*;
use crate::wire::frame::{Frame, FrameReader, FrameStreamEnd, FrameWriter};

/// Size limit of a line or a body in these tests.
const MAX: usize = 1 << 20;

/// Reads a whole stream in pieces of the given size.
fn read(bytes: &[u8], size: usize) -> Result<(Vec<Frame>, FrameStreamEnd), PeerInputError> {
    let mut reader = FrameReader::new(MAX);
    let mut frames = Vec::new();
    for piece in bytes.chunks(size) {
        frames.extend(reader.feed(piece)?);
    }
    let (last, verdict) = reader.finish();
    frames.extend(last);
    Ok((frames, verdict))
}

/// The answer of a list of frames: the result's content, or the joined chunks.
fn answer(frames: &[Frame]) -> String {
    let Some(Frame::Result { data }) = frames.last() else {
        panic!("no result");
    };
    if let Some(data) = data {
        return data.as_str().to_owned();
    }
    let chunks = frames.iter().filter_map(|frame| match frame {
        Frame::Chunk { data, .. } => Some(data.as_str()),
        _ => None,
    });
    chunks.collect()
}

const STREAM: &str = concat!(
    r#"{"type":"accepted","task_id":"t-1"}"#,
    "\n",
    r#"{"type":"status","kind":"thinking","text":"hm"}"#,
    "\n",
    r#"{"type":"chunk","seq":0,"data":"Hel\n"}"#,
    "\n",
    r#"{"type":"heartbeat"}"#,
    "\n",
    r#"{"type":"chunk","seq":1,"data":"lo"}"#,
    "\n",
    r#"{"type":"result","data":{"a":1}}"#,
    "\n",
);

#[test]
fn every_frame_is_written_as_it_is_read() {
    let mut out = String::new();
    let mut writer = FrameWriter::default();
    writer.accepted(Some("t-1"), &mut out);
    writer.status("thinking", "hm", &mut out);
    writer.chunk("Hel\n", &mut out);
    writer.chunk("", &mut out);
    writer.heartbeat(&mut out);
    writer.chunk("lo", &mut out);
    let result = Data::Json(raw("{ \"a\":\n1 }"));
    writer.result(Some(&result), &mut out);
    assert_eq!(out, STREAM);

    for size in [1, 7, usize::MAX] {
        let (frames, verdict) = read(STREAM.as_bytes(), size).unwrap();
        assert_eq!(verdict, FrameStreamEnd::Complete);
        assert_eq!(
            frames,
            [
                Frame::Accepted {
                    task_id: Some("t-1".into())
                },
                Frame::Status {
                    kind: "thinking".into(),
                    text: "hm".into()
                },
                Frame::Chunk {
                    seq: 0,
                    data: Data::Text("Hel\n".into())
                },
                Frame::Heartbeat,
                Frame::Chunk {
                    seq: 1,
                    data: Data::Text("lo".into())
                },
                Frame::Result {
                    data: Some(Data::Json(raw(r#"{"a":1}"#))),
                },
            ]
        );
    }
}

#[test]
fn an_error_ends_a_stream_too() {
    let mut out = String::new();
    let error = PeerErrorBody::new("gone\n", 502);
    FrameWriter::default().error(&error, &mut out);
    assert_eq!(
        out,
        "{\"type\":\"error\",\"error\":\"gone\\n\",\"code\":502}\n"
    );
    let (frames, verdict) = read(out.as_bytes(), 3).unwrap();
    assert_eq!(frames, [Frame::Error(error)]);
    assert_eq!(verdict, FrameStreamEnd::Complete);
}

#[test]
fn a_result_without_data_means_the_chunks() {
    let mut out = String::new();
    let mut writer = FrameWriter::default();
    writer.chunk("a", &mut out);
    writer.chunk("b", &mut out);
    writer.result(None, &mut out);
    assert!(out.ends_with("{\"type\":\"result\"}\n"));
    let (frames, _) = read(out.as_bytes(), usize::MAX).unwrap();
    assert_eq!(answer(&frames), "ab");
}

#[test]
fn words_too_long_for_a_line_come_in_chunks_if_nothing_was_said_before() {
    for data in [
        Data::Text("é\n".repeat(100_000)),
        Data::Text("\u{1}".repeat(100_000)),
    ] {
        let mut out = String::new();
        FrameWriter::default().result(Some(&data), &mut out);
        assert!(out.lines().all(|line| line.len() < MAX_LINE));
        assert!(out.ends_with("{\"type\":\"result\"}\n"));
        let (frames, verdict) = read(out.as_bytes(), 10_000).unwrap();
        assert_eq!(verdict, FrameStreamEnd::Complete);
        assert_eq!(answer(&frames), data.as_str());
    }
}

#[test]
fn a_long_result_that_is_no_chunk_is_told_from_the_chunks() {
    let json = format!("{{\"a\":\"{}\"}}", "\\n\u{1F600}".repeat(30_000));
    let (words, json) = (Data::Text("é\n".repeat(100_000)), Data::Json(raw(&json)));
    for (before, data) in [("said before", &words), ("said before", &json), ("", &json)] {
        let mut out = String::new();
        let mut writer = FrameWriter::default();
        writer.chunk(before, &mut out);
        writer.result(Some(data), &mut out);
        let (frames, verdict) = read(out.as_bytes(), 10_000).unwrap();
        assert_eq!(verdict, FrameStreamEnd::Complete);
        assert_eq!(
            frames.last(),
            Some(&Frame::Result {
                data: Some(data.clone())
            })
        );
        let is_chunk = |frame: &&Frame| matches!(frame, Frame::Chunk { .. });
        let chunks = frames.iter().filter(is_chunk).count();
        assert_eq!(chunks, usize::from(!before.is_empty()));
    }
}

#[test]
fn a_stream_without_a_last_frame_was_cut() {
    let lines: Vec<_> = STREAM.lines().collect();
    for kept in 1..lines.len() {
        let text = lines[..kept].join("\n");
        let (frames, verdict) = read(text.as_bytes(), 5).unwrap();
        assert_eq!(frames.len(), kept);
        assert_eq!(verdict, FrameStreamEnd::Cut);
    }
    // Cut inside the last frame.
    let (frames, verdict) = read(&STREAM.as_bytes()[..STREAM.len() - 3], 5).unwrap();
    assert_eq!((frames.len(), verdict), (5, FrameStreamEnd::Cut));
    // The line break after the last frame is optional.
    let (frames, verdict) = read(STREAM.trim_end().as_bytes(), 5).unwrap();
    assert_eq!((frames.len(), verdict), (6, FrameStreamEnd::Complete));
}

#[test]
fn a_plain_body_is_known_by_its_first_line() {
    let long = "x".repeat(3 * MAX_LINE);
    for body in [
        "",
        "hello",
        "hello\n{\"type\":\"result\"}\n",
        "{}",
        "{\n\"type\":\"result\"\n}",
        r#"{"type":"FeatureCollection","features":[]}"#,
        r#"{"type":"chunk"}"#,
        r#"{"type":"chunk","seq":-1,"data":""}"#,
        r#"{"type":"error","message":"x"}"#,
        r#"{"error":"x","code":400}"#,
        "[1]\n",
        &long,
    ] {
        for size in [1, usize::MAX] {
            let (frames, verdict) = read(body.as_bytes(), size).unwrap();
            assert!(frames.is_empty(), "{body}");
            assert_eq!(verdict, FrameStreamEnd::Plain(body.into()));
        }
    }
}

#[test]
fn a_frame_that_lacks_a_member_names_it_be_it_the_first_or_not() {
    for (line, sentence) in [
        (r#"{"type":"status"}"#, r#"field "text" is required"#),
        (
            r#"{"type":"chunk","data":"x"}"#,
            r#"field "seq" is required"#,
        ),
        (r#"{"type":"chunk","seq":0}"#, r#"field "data" is required"#),
        (
            r#"{"type":"error"}"#,
            r#"field "error" must be a string with a number `code` beside it"#,
        ),
    ] {
        for before in ["", "{\"type\":\"accepted\"}\n"] {
            let text = format!("{before}{line}\n");
            let fault = FrameReader::new(MAX_LINE).feed(text.as_bytes());
            assert_eq!(fault.unwrap_err().to_string(), sentence, "{text}");
        }
    }
}

#[test]
fn a_plain_body_may_not_be_larger_than_allowed() {
    for max in [10, 2 * MAX_LINE] {
        let mut reader = FrameReader::new(max);
        assert_eq!(reader.feed(&vec![b'x'; max]), Ok(vec![]));
        let fault = reader.feed(b"x").unwrap_err();
        assert_eq!(fault.code, 413);
    }
}

#[test]
fn lines_that_no_version_writes_are_refused() {
    let heartbeat = "{\"type\":\"heartbeat\"}\n";
    for line in ["hello", "{}", "[]", "{\"type\":\"chunk\",\"seq\":1}"] {
        let fault = read(format!("{heartbeat}{line}\n").as_bytes(), 4).unwrap_err();
        assert_eq!(fault.code, 400, "{line}");
    }
    let long = format!("{heartbeat}{{\"type\":\"{}", "x".repeat(MAX));
    for size in [1000, usize::MAX] {
        assert_eq!(read(long.as_bytes(), size).unwrap_err().code, 413);
        let whole = format!("{long}\"}}\n");
        assert_eq!(read(whole.as_bytes(), size).unwrap_err().code, 413);
    }
}

#[test]
fn a_line_that_is_longer_than_ours_is_read() {
    let data = "x".repeat(3 * MAX_LINE);
    for before in ["", "{\"type\":\"heartbeat\"}\n"] {
        let text = format!("{before}{{\"type\":\"result\",\"data\":\"{data}\"}}\n");
        for size in [1000, usize::MAX] {
            let (frames, verdict) = read(text.as_bytes(), size).unwrap();
            assert_eq!(answer(&frames), data);
            assert_eq!(verdict, FrameStreamEnd::Complete);
        }
    }
}

#[test]
fn frames_of_later_versions_and_empty_lines_are_passed_over() {
    let text = "{\"type\":\"heartbeat\"}\n\n{\"type\":\"progress\",\"seq\":\"x\"}\r\n{\"type\":\"result\",\"data\":\"x\",\"cost\":1}\nrubbish\n";
    for size in [1, usize::MAX] {
        let (frames, verdict) = read(text.as_bytes(), size).unwrap();
        assert_eq!(frames.len(), 2);
        assert_eq!(verdict, FrameStreamEnd::Complete);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_answer_arrives_whatever_its_text(texts in prop::collection::vec(any::<String>(), 0..6), times in 1usize..3000, size in 1usize..70_000) {
        let mut out = String::new();
        let mut writer = FrameWriter::default();
        let mut said = String::new();
        for text in &texts {
            let text = text.repeat(times);
            writer.chunk(&text, &mut out);
            writer.status(&text, &text, &mut out);
            said.push_str(&text);
        }
        writer.result(None, &mut out);
        prop_assert!(out.lines().all(|line| line.len() < MAX_LINE));
        let (frames, verdict) = read(out.as_bytes(), size).unwrap();
        prop_assert_eq!(verdict, FrameStreamEnd::Complete);
        prop_assert_eq!(answer(&frames), said);
    }
}
