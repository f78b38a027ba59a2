//! The agent for conformance kits, prefix by prefix. The clock is paused, so its work takes no time.

use std::time::Duration;

use jackfield_core::call::Reply;
use jackfield_model::{DoneState, End, Message};
use jackfield_testkit::fake_request;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::in_process::{
    behaviour::{Kit, agent},
    hub::{next, with},
};

const AT_ONCE: Duration = Duration::ZERO;

/// Result of a message.
struct Outcome {
    made: Vec<Value>,
    state: DoneState,
    is_message: bool,
    took: Duration,
}

/// Sends messages with these ids to the agent.
async fn run_kit(kit: Kit, ids: impl IntoIterator<Item = String>) -> Vec<Outcome> {
    let (hub, _agent) = with(agent("tck", kit)).await;
    let mut outcomes = Vec::new();
    for id in ids {
        let mut request = fake_request("tck", "x");
        request.message = Message {
            id: Some(id),
            ..Message::text("hello")
        };
        let (begun, mut made) = (Instant::now(), Vec::new());
        let mut replies = hub.calls().open(request).unwrap().replies();
        let end = loop {
            match next(&mut replies).await {
                Reply::Event(event) => made.push(serde_json::to_value(event).unwrap()),
                Reply::End(end) => break end,
            }
        };
        let End::Done(done) = end else {
            panic!("{end:?}")
        };
        outcomes.push(Outcome {
            made,
            state: done.state,
            is_message: done.is_message,
            took: begun.elapsed(),
        });
    }
    outcomes
}

fn text_event(text: &str) -> Value {
    json!({"type": "chunk", "kind": "text", "text": text})
}

/// The event of an artifact in a single piece.
fn artifact_event(part: &Value) -> Value {
    json!({"type": "artifact", "id": "made", "parts": [part], "append": false, "last": true})
}

#[tokio::test(start_paused = true)]
async fn the_id_of_a_message_decides_what_the_agent_does() {
    let file = |source: &str, value: &str| {
        artifact_event(
            &json!({"file": {"name": "output.txt", "mime": "text/plain", source: value}}),
        )
    };
    let completed = DoneState::Completed;
    let delayed = vec![text_event("Done after delay")];
    let table = [
        (
            "tck-complete-task",
            vec![text_event("Hello from TCK")],
            completed,
            AT_ONCE,
        ),
        (
            "tck-delayed-complete",
            delayed.clone(),
            completed,
            Duration::from_secs(2),
        ),
        (
            "tck-artifact-text",
            vec![artifact_event(&json!({"text": "Generated text content"}))],
            completed,
            AT_ONCE,
        ),
        (
            "tck-artifact-file",
            vec![file("bytes", "dGNr")],
            completed,
            AT_ONCE,
        ),
        (
            "tck-artifact-file-url",
            vec![file("uri", "https://example.com/output.txt")],
            completed,
            AT_ONCE,
        ),
        (
            "tck-artifact-data",
            vec![artifact_event(
                &json!({"data": {"key": "value", "count": 42}}),
            )],
            completed,
            AT_ONCE,
        ),
        (
            "tck-message-response",
            vec![text_event("Direct message response")],
            completed,
            AT_ONCE,
        ),
        (
            "tck-input-required",
            vec![text_event("What next?")],
            DoneState::InputRequired,
            AT_ONCE,
        ),
        (
            "tck-auth-required",
            vec![text_event("Who are you?")],
            DoneState::InputRequired,
            AT_ONCE,
        ),
        (
            "tck-reject-task",
            vec![text_event("rejected")],
            DoneState::Rejected,
            AT_ONCE,
        ),
        (
            "tck-stream-001",
            vec![artifact_event(&json!({"text": "Stream hello from TCK"}))],
            completed,
            AT_ONCE,
        ),
        ("tck-stream-002", vec![], completed, AT_ONCE),
        (
            "tck-stream-003",
            vec![artifact_event(&json!({"text": "Stream task lifecycle"}))],
            completed,
            AT_ONCE,
        ),
        (
            "tck-stream-ordering-001",
            vec![artifact_event(&json!({"text": "Ordered output"}))],
            completed,
            AT_ONCE,
        ),
        (
            "tck-stream-artifact-text",
            vec![artifact_event(&json!({"text": "Streamed text content"}))],
            completed,
            AT_ONCE,
        ),
        (
            "tck-stream-artifact-file",
            vec![file("bytes", "dGNr")],
            completed,
            AT_ONCE,
        ),
        (
            "tck-stream-artifact-chunked",
            vec![
                json!({"type": "artifact", "id": "made", "parts": [{"text": "chunk-1 "}], "append": false, "last": false}),
                json!({"type": "artifact", "id": "made", "parts": [{"text": "chunk-2"}], "append": true, "last": true}),
            ],
            completed,
            AT_ONCE,
        ),
        (
            "test-resubscribe-message-id",
            delayed,
            completed,
            Duration::from_secs(4),
        ),
        (
            "tck-dm-test-001",
            vec![text_event("hello")],
            completed,
            AT_ONCE,
        ),
        ("", vec![text_event("hello")], completed, AT_ONCE),
    ];
    // The kit appends a session and the transport.
    let ids = table
        .iter()
        .map(|(prefix, ..)| format!("{prefix}-0a1b2c3d-jsonrpc"));
    let outcomes = run_kit(Kit::V1, ids).await;
    for ((prefix, made, state, time), outcome) in table.iter().zip(outcomes) {
        assert_eq!(&outcome.made, made, "{prefix}");
        assert_eq!(outcome.state, *state, "{prefix}");
        assert_eq!(outcome.is_message, *prefix == "tck-message-response");
        assert!(outcome.took >= *time, "{prefix} took {:?}", outcome.took);
    }
}

#[tokio::test(start_paused = true)]
async fn for_the_older_kit_it_works_a_while_and_then_asks() {
    let ids = [
        "test-message-1",
        "tck-complete-task",
        "test-resubscribe-message-id-1",
    ];
    let outcomes = run_kit(Kit::V03, ids.map(str::to_owned)).await;
    for (outcome, seconds) in outcomes.iter().zip([3, 3, 4]) {
        assert_eq!(outcome.made, [text_event("What next?")]);
        assert_eq!(outcome.state, DoneState::InputRequired);
        assert!(outcome.took >= Duration::from_secs(seconds));
    }
}
