//! How calls end besides being done: failures, questions, refusals of the agent, cancels, callers that leave.

use std::time::Duration;

use jackfield_core::{agent::Settings, limits::Limits, principal::Principal, units::Size};
use jackfield_model::{
    AgentId, Answer, Ask, AskKind, Done, DoneState, End, Event, Failure, Reason,
};
use reqwest::StatusCode;
use serde_json::json;

use crate::seed::harness::{
    A2aHub, CURL, PARTS, SEND, STREAM, Stream, answered, changed, done, failed, read_until, soon,
};

fn question() -> Ask {
    Ask {
        id: "q".into(),
        kind: AskKind::Input,
        text: "which one?".into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}

const ASKED: &str = "the agent asked a question, which this interface cannot answer: which one?; \
                     send a new message with the same contextId that tells it";

#[tokio::test]
async fn failures_are_errors_with_the_codes_of_the_design() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    for (reason, status, code) in [
        (Reason::Agent("quota".into()), 502, -32603),
        (Reason::Crashed, 502, -32603),
        (Reason::Timeout, 504, -32603),
        (Reason::Busy, 429, -32000),
        (Reason::NotFound, 404, -32000),
        (Reason::Offline, 502, -32000),
        (Reason::Internal, 500, -32603),
    ] {
        let failure = Failure::new(reason.clone(), "the agent's own words");
        let answering = async {
            let serving = agent.next_call().await;
            serving.push(Event::text("half"));
            serving.finish(End::Failed(failure))
        };
        let ((got, body), _) = tokio::join!(hub.post(SEND, CURL), answering);
        assert_eq!(got.as_u16(), status, "{reason:?}");
        let wanted = failed("req-1", code, "the agent's own words", reason.name());
        assert_eq!(body, wanted);
    }
}

#[tokio::test]
async fn an_agent_that_goes_away_is_an_error() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let leaving = async {
        let serving = agent.next_call().await;
        agent.leave();
        drop(serving);
    };
    let ((status, body), ()) = tokio::join!(hub.post(SEND, CURL), leaving);
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    let message = "the agent disconnected before it said anything";
    assert_eq!(body, failed("req-1", -32000, message, "offline"));
}

#[tokio::test]
async fn too_many_calls_are_told() {
    let limits = Limits {
        pending_per_agent: 1,
        ..Limits::default()
    };
    let hub = A2aHub::start_with(true, limits).await;
    let mut agent = hub.attach("my-agent");
    let (_stream, _serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    for path in [SEND, STREAM] {
        let (status, body) = hub.post(path, CURL).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(body["error"]["code"], -32000);
        assert_eq!(body["error"]["data"]["reason"], "busy");
    }
}

#[tokio::test]
async fn a_question_fails_the_task_with_its_words_and_is_cancelled_at_the_agent() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let asking = async {
        let serving = agent.next_call().await;
        serving.push(Event::text("Two of them."));
        serving.ask(question());
        assert_eq!(agent.next_cancel().await, serving.call().id);
    };
    let ((status, body), ()) = tokio::join!(hub.post(SEND, CURL), asking);
    assert_eq!(status, StatusCode::OK);
    let task = &body["result"]["task"];
    assert_eq!(task["status"], "failed");
    assert_eq!(
        task["error"],
        json!({"code": "execution_error", "message": ASKED, "details": {"reason": "input_required"}})
    );
    assert_eq!(
        task["history"][1]["parts"],
        json!([{"kind": "text", "text": "Two of them."}, {"kind": "text", "text": "which one?"}])
    );
}

#[tokio::test]
async fn a_question_ends_a_stream_with_an_error_and_is_cancelled_at_the_agent() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let (mut stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    serving.ask(question());
    let data = stream.expect("error").await;
    assert_eq!(data["status"], "failed");
    assert_eq!(data["error"]["message"], ASKED);
    stream.ends().await;
    assert_eq!(agent.next_cancel().await, serving.call().id);
}

#[tokio::test]
async fn an_approval_is_waited_for_since_the_owner_can_give_it() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    let (owner, id) = (Principal::local(), AgentId::parse("my-agent").unwrap());
    let changing = hub.hub.agents().change(&owner, &id, None, Some(settings));
    changing.unwrap().1.await.unwrap();
    let (mut stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    serving.ask(Ask {
        kind: AskKind::Approval,
        text: "may I?".into(),
        ..question()
    });
    let update = stream.expect("task_update").await;
    assert_eq!(update["kind"], "status");
    assert_eq!(update["delta"], "may I?");
    let yes = Answer {
        approved: Some(true),
        ..Answer::default()
    };
    hub.hub
        .calls()
        .answer(&owner, serving.call().id, "q", yes)
        .unwrap();
    serving.finish(done("I did"));
    let data = stream.expect("task_completed").await;
    assert_eq!(data["message"]["parts"][0]["text"], "I did");
}

#[tokio::test]
async fn a_hub_that_stops_tells_who_waits_and_who_comes() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let (mut stream, _serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    let stopping = async {
        let serving = agent.next_call().await;
        hub.hub.stop(Duration::ZERO).await;
        drop(serving);
    };
    let ((status, body), ()) = tokio::join!(hub.post(SEND, CURL), stopping);
    let message = "the hub was stopped before the call was over; call again";
    let wanted = failed("req-1", -32000, message, "stopping");
    assert_eq!((status, body), (StatusCode::BAD_GATEWAY, wanted));
    let data = stream.expect("error").await;
    assert_eq!(data["error"]["details"]["reason"], "stopping");
    let told = hub.post(SEND, CURL).await;
    let message = "the hub is stopping; try again in a moment";
    let wanted = failed("req-1", -32000, message, "stopping");
    assert_eq!(told, (StatusCode::BAD_GATEWAY, wanted));
}

#[tokio::test]
async fn an_agent_that_ends_with_a_question_has_answered_and_one_that_refuses_has_failed() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let ended = |state, result: &str| {
        End::Done(Box::new(Done {
            state,
            result: Some(result.into()),
            ..Done::default()
        }))
    };
    let end = ended(DoneState::InputRequired, "which one?");
    let answering = async { agent.next_call().await.finish(end) };
    let ((_, body), _) = tokio::join!(hub.post(SEND, CURL), answering);
    let task = &body["result"]["task"];
    assert_eq!(task["status"], "completed");
    assert_eq!(task["history"][1]["parts"][0]["text"], "which one?");
    let end = ended(DoneState::Rejected, "not today");
    let answering = async { agent.next_call().await.finish(end) };
    let ((status, body), _) = tokio::join!(hub.post(SEND, CURL), answering);
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    let message = "the agent refused the request: not today";
    assert_eq!(body, failed("req-1", -32603, message, "rejected"));
}

#[tokio::test]
async fn a_call_that_somebody_cancels_is_a_cancelled_task() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let cancelling = async {
        let serving = agent.next_call().await;
        let call = serving.call().id;
        hub.hub.calls().cancel(&Principal::local(), call).unwrap();
        assert_eq!(agent.next_cancel().await, call);
    };
    let ((status, body), ()) = tokio::join!(hub.post(SEND, CURL), cancelling);
    assert_eq!(status, StatusCode::OK);
    let task = &body["result"]["task"];
    assert_eq!(task["status"], "cancelled");
    assert_eq!(task["history"].as_array().unwrap().len(), 1);
    assert_eq!(task["error"]["details"]["reason"], "cancelled");
    let (mut stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    hub.hub
        .calls()
        .cancel(&Principal::local(), serving.call().id)
        .unwrap();
    let data = stream.expect("error").await;
    assert_eq!(data["status"], "cancelled");
    stream.ends().await;
}

#[tokio::test]
async fn a_caller_that_leaves_cancels_its_call_at_the_agent() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let (stream, serving) = tokio::join!(hub.stream(CURL), agent.next_call());
    drop(stream);
    assert_eq!(agent.next_cancel().await, serving.call().id);
    let length = CURL.len();
    let head = format!(
        "POST {SEND} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{CURL}"
    );
    let socket = hub.raw(&head).await;
    let serving = agent.next_call().await;
    drop(socket);
    assert_eq!(agent.next_cancel().await, serving.call().id);
    // Nobody else's.
    let mut socket = hub.raw(&head).await;
    answered(&mut agent, "still here").await;
    read_until(&mut socket, "still here").await;
}

#[tokio::test]
async fn an_answer_beyond_the_limit_fails_and_is_cancelled_at_the_agent() {
    let limits = Limits {
        message: Size::kib(1),
        ..Limits::default()
    };
    let hub = A2aHub::start_with(true, limits).await;
    let mut agent = hub.attach("my-agent");
    let body = changed(PARTS, r#"[{"kind": "text", "text": "x"}]"#);
    let answering = async {
        let serving = agent.next_call().await;
        serving.push(Event::text("x".repeat(1025)));
        assert_eq!(agent.next_cancel().await, serving.call().id);
    };
    let ((status, told), ()) =
        soon(async { tokio::join!(hub.post(SEND, body.as_str()), answering) }).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let message = "the answer has more than 1024 bytes";
    assert_eq!(told, failed("req-1", -32602, message, "too_large"));
    let (mut stream, serving): (Stream, _) = tokio::join!(hub.stream(body), agent.next_call());
    serving.push(Event::text("x".repeat(1025)));
    let data = stream.expect("error").await;
    assert_eq!(data["error"]["code"], "conversion_error");
    assert_eq!(agent.next_cancel().await, serving.call().id);
}
