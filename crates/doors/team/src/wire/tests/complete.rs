//! What is filled into a published envelope, and that nothing else changes.

use super::*;

const FILL: EnvelopeDefaults<'static> = EnvelopeDefaults {
    team_id: "team_1",
    event_id: 0x6f0e_1234_0000_4000_8000_0000_0000_002a,
    at: AT,
    agent_id: Some("member_0a"),
};

fn completed(text: &str) -> String {
    complete(&read_one(text), &FILL)
}

#[test]
fn what_is_missing_is_put_first() {
    assert_eq!(
        completed(r#"{ "event_source_type":"TEAM", "data":{"new_status":"IDLE"} }"#),
        concat!(
            r#"{"event_id":"6f0e1234-0000-4000-8000-00000000002a","timestamp":"2026-03-01T10:00:00.000Z","team_id":"team_1","#,
            r#" "event_source_type":"TEAM", "data":{"new_status":"IDLE"} }"#
        )
    );
}

#[test]
fn what_is_null_or_empty_is_filled_where_it_stands() {
    assert_eq!(
        completed(
            r#"{"team_id" : "","timestamp":null,"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"agent_id":null,"event_type":"error_event","data":{"code":"c","message":"m"}}},"event_id":null}"#
        ),
        r#"{"team_id" : "team_1","timestamp":"2026-03-01T10:00:00.000Z","event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"agent_id":"member_0a","event_type":"error_event","data":{"code":"c","message":"m"}}},"event_id":"6f0e1234-0000-4000-8000-00000000002a"}"#
    );
}

#[test]
fn what_was_given_stays_byte_for_byte() {
    let text = "{\"event_id\": \"e\\u0031\",\"timestamp\":\"2026-01-06T12:00:00+02:00\" , \"team_id\":\"t\",\n\"event_source_type\":\"AGENT\",\"data\":{\"agent_name\":\"a\",\"agent_event\":{\"agent_id\":\"given\",\"event_type\":\"error_event\",\"data\":{\"code\":\"c\",\"message\":\"m\",\"n\":1.00}}}}";
    assert_eq!(completed(text), text);
}

#[test]
fn the_innermost_agent_is_named_at_any_depth() {
    let inner = r#"{"event_source_type":"AGENT","data":{"agent_name":"a","agent_event":{"event_type":"error_event","data":{"code":"c","message":"m"}}}}"#;
    let text = wrapped(inner, 3);
    let completed = completed(&text);
    let read = read_one(&completed);
    assert!(
        matches!(&read.said, PublishedSource::Agent { agent_id, .. } if agent_id.as_deref() == Some("member_0a"))
    );
    assert_eq!(
        read.event_id.as_deref(),
        Some("6f0e1234-0000-4000-8000-00000000002a")
    );
    // The envelopes in between are the runtime's own.
    assert_eq!(read.team_ids[0].as_deref(), Some("t1"));
    assert_eq!(read.team_ids[3], None);
    assert_eq!(completed.matches("event_id").count(), 1);

    let unnamed = EnvelopeDefaults {
        agent_id: None,
        ..FILL
    };
    assert!(!complete(&read_one(&text), &unnamed).contains("agent_id"));
}
