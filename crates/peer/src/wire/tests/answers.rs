//! Telling errors from bodies.

use super::*;
use crate::wire::frame::FrameWriter;

#[test]
fn an_error_is_written_as_the_original_writes_it() {
    let error = PeerErrorBody::new("HTTP error: 404", 404);
    assert_eq!(error.to_json(), r#"{"error":"HTTP error: 404","code":404}"#);
    assert_eq!(
        read_answer(error.to_json().as_bytes()),
        PeerAnswer::Error(error)
    );
}

#[test]
fn an_error_may_name_the_task_that_goes_on() {
    let error = PeerErrorBody {
        task_id: Some("t-1".into()),
        ..PeerErrorBody::new("took too long", 504)
    };
    let json = r#"{"error":"took too long","code":504,"task_id":"t-1"}"#;
    assert_eq!(error.to_json(), json);
    assert_eq!(read_answer(json.as_bytes()), PeerAnswer::Error(error));
}

#[test]
fn a_reason_is_read_anywhere_and_written_in_frames_only() {
    let error = PeerErrorBody {
        reason: Some("rate_limited".into()),
        ..PeerErrorBody::new("slower", 429)
    };
    assert_eq!(error.to_json(), r#"{"error":"slower","code":429}"#);
    let mut line = String::new();
    FrameWriter::default().error(&error, &mut line);
    let frame = r#"{"type":"error","error":"slower","code":429,"reason":"rate_limited"}"#;
    assert_eq!(line.trim_end(), frame);
    let json = r#"{"error":"slower","code":429,"reason":"rate_limited"}"#;
    assert_eq!(read_answer(json.as_bytes()), PeerAnswer::Error(error));
    for odd in ["7", "null", "\"\"", "[]", "{\"of\":\"another\"}"] {
        let json = format!(r#"{{"error":"x","code":500,"reason":{odd}}}"#);
        assert_eq!(
            read_answer(json.as_bytes()),
            PeerAnswer::Error(PeerErrorBody::new("x", 500)),
            "{odd}"
        );
    }
}

#[test]
fn bodies_that_only_look_like_errors_are_bodies() {
    let large = format!(r#"{{"error":"{}","code":500}}"#, "x".repeat(MAX_CARD));
    for body in [
        "",
        "plain text",
        "7",
        "[]",
        r#"["error","code"]"#,
        r#"{"result":1}"#,
        r#"{"error":null,"code":0}"#,
        r#"{"error":"only a text"}"#,
        r#"{"error":"x","code":"500"}"#,
        r#"{"error":{"message":"x"},"code":-32000}"#,
        r#"{"error":"x","error":"y","code":500}"#,
        r#"{"error":"x","code":500"#,
        &large,
    ] {
        assert_eq!(
            read_answer(body.as_bytes()),
            PeerAnswer::Body(body.as_bytes())
        );
    }
    assert_eq!(read_answer(b"\xff\x00"), PeerAnswer::Body(b"\xff\x00"));
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let error = PeerErrorBody::new("é".repeat(MAX_ERROR), 500);
    assert_eq!(error.text.len(), MAX_ERROR);
    let odd = PeerErrorBody::new(format!("x{}", "é".repeat(MAX_ERROR)), 500);
    assert_eq!(odd.text.len(), MAX_ERROR - 1);
}

#[test]
fn a_refusal_becomes_an_answer() {
    let fault = HandOff::read(b"{}", &BodyLimits::default()).unwrap_err();
    assert_eq!(
        value(&fault.to_body().to_json()),
        value(r#"{"error":"field \"method\" is required","code":400}"#)
    );
}
