//! Responses: whole, streamed, resumed, continued.

use jackfield_model::{ChunkKind, Done, DoneState, End, Event, Failure, Json, Reason};
use serde_json::{Value, json};

use crate::{
    asks::{answer_at, asked},
    harness::{OpenAiHub, answer_text, chunk, soon},
};

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

fn numbers(events: &[Value]) -> Vec<u64> {
    let numbers = events
        .iter()
        .map(|event| event["sequence_number"].as_u64().unwrap());
    numbers.collect()
}

/// The text of the first message in a response's output.
fn text_of(response: &Value) -> String {
    let output = response["output"].as_array().unwrap().iter();
    let texts = output.filter(|item| item["type"] == "message");
    let texts = texts.map(|item| item["content"][0]["text"].as_str().unwrap());
    texts.collect::<Vec<_>>().join("|")
}

#[tokio::test]
async fn a_response_comes_whole_and_is_kept() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let body =
        json!({"model": "amy", "input": "hi", "metadata": {"a": "b"}, "instructions": "Be short."});
    let answering = async {
        let call = amy.next_call().await;
        assert_eq!(
            call.call().message.joined_text(),
            "[system]\nBe short.\n\n[user]\nhi"
        );
        call.push(Event::text("It is "));
        call.finish(End::Done(Box::new(Done {
            result: Some("It is 42.".into()),
            usage: Some(Json::parse(r#"{"input_tokens": 3, "output_tokens": 4}"#).unwrap()),
            ..Done::default()
        })));
    };
    let ((status, response), ()) = tokio::join!(hub.post("/v1/responses", body), answering);
    assert_eq!(status, 200, "{response}");
    assert_eq!(
        (&response["object"], &response["status"]),
        (&json!("response"), &json!("completed"))
    );
    assert_eq!(text_of(&response), "It is 42.");
    assert_eq!(response["metadata"], json!({"a": "b"}));
    assert_eq!(response["usage"]["total_tokens"], 7);
    let id = response["id"].as_str().unwrap();
    assert_eq!(
        hub.response(id).await,
        response,
        "it is told again as it was"
    );
    let (_, items) = hub.get(&format!("/v1/responses/{id}/input_items")).await;
    let text = &items["data"][0]["content"][0];
    assert_eq!(text["type"], "input_text");
    assert!(text["text"].as_str().unwrap().ends_with("hi"));
}

#[tokio::test]
async fn a_stream_has_the_events_of_the_protocol_with_rising_numbers() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub
        .response_stream(json!({"model": "amy", "input": "hi"}))
        .await;
    let call = amy.next_call().await;
    let tool = Some(("Bash", "t-1"));
    call.push(chunk(ChunkKind::Thinking, "hm", None));
    call.push(chunk(ChunkKind::Status, "reading", None));
    call.push(chunk(ChunkKind::ToolStart, "", tool));
    call.push(chunk(ChunkKind::ToolInput, "ls", tool));
    call.push(chunk(ChunkKind::ToolResult, "a.txt", tool));
    answer_text(call, "done");
    let events = stream.rest().await;
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds(&events), expected);
    let numbers = numbers(&events);
    assert_eq!(numbers[..2], [0, 1]);
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let response = &events.last().unwrap()["response"];
    let output = response["output"].as_array().unwrap();
    assert_eq!(output[0]["summary"][0]["text"], "hm\nreading\n");
    let tool = json!({"type": "jackfield:tool_call", "id": output[1]["id"], "name": "Bash", "status": "completed",
        "arguments": "ls", "output": "a.txt"});
    assert_eq!(output[1], tool);
    assert_eq!(text_of(response), "done");
    let id = response["id"].as_str().unwrap();
    assert_eq!(&hub.response(id).await, response);
}

#[tokio::test]
async fn a_stream_is_resumed_after_any_event() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub
        .response_stream(json!({"model": "amy", "input": "hi"}))
        .await;
    let call = amy.next_call().await;
    let mut all = Vec::new();
    for piece in ["one ", "tw\u{f6} ", "three"] {
        call.push(Event::text(piece));
        loop {
            let event = stream.next().await.unwrap().data;
            let is_piece = event["delta"] == piece;
            all.push(event);
            if is_piece {
                break;
            }
        }
    }
    call.finish(End::done());
    all.extend(stream.rest().await);
    let id = all[0]["response"]["id"].as_str().unwrap().to_owned();
    let text = |events: &[Value]| -> String {
        events
            .iter()
            .filter_map(|event| event["delta"].as_str())
            .collect()
    };
    for (at, last) in all.iter().enumerate() {
        let after = last["sequence_number"].as_u64().unwrap();
        let resumed = hub.resumed(&id, after).await;
        assert_eq!(text(&resumed), text(&all[at + 1..]), "after {last}");
        assert!(numbers(&resumed).iter().all(|number| *number > after));
        if at + 1 < all.len() {
            assert_eq!(resumed.last(), all.last());
        } else {
            assert_eq!(resumed, [] as [Value; 0]);
        }
    }
    // An event that the log does not have any more, as after a hub that was killed: the end is told in any case.
    let far = hub.resumed(&id, 1_000_000).await;
    assert_eq!(kinds(&far), ["response.completed"]);
}

#[tokio::test]
async fn a_failed_response_is_an_error_at_once_and_a_status_later() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let failure = || End::Failed(Failure::new(Reason::Agent("quota".into()), "no more today"));
    let body = json!({"model": "amy", "input": "hi"});
    let failing = async { amy.next_call().await.finish(failure()) };
    let ((status, answer), _) = tokio::join!(hub.post("/v1/responses", body.clone()), failing);
    assert_eq!((status, &answer["error"]["code"]), (502, &json!("quota")));
    let mut stream = hub.response_stream(body).await;
    let call = amy.next_call().await;
    call.push(Event::text("half"));
    call.finish(failure());
    let events = stream.rest().await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.failed");
    assert_eq!(
        last["response"]["error"],
        json!({"code": "quota", "message": "no more today"})
    );
    assert_eq!(text_of(&last["response"]), "half");
    let id = last["response"]["id"].as_str().unwrap();
    assert_eq!(hub.response(id).await["status"], "failed");
}

#[tokio::test]
async fn a_response_is_continued_in_its_session() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let _bea = hub.attach("bea");
    let first = json!({"model": "amy", "input": "one"});
    let answering = async {
        let call = amy.next_call().await;
        let session = call.call().session.clone();
        answer_text(call, "1");
        session
    };
    let ((_, first), session) = tokio::join!(hub.post("/v1/responses", first), answering);
    let next = json!({"model": "amy", "input": "two", "previous_response_id": first["id"]});
    let answering = async {
        let call = amy.next_call().await;
        assert_eq!(call.call().session, session);
        assert_eq!(call.call().message.joined_text(), "two");
        answer_text(call, "2");
    };
    let ((_, second), ()) = tokio::join!(hub.post("/v1/responses", next), answering);
    assert_eq!(second["previous_response_id"], first["id"]);
    assert_eq!(text_of(&second), "2");
    let other = json!({"model": "bea", "input": "x", "previous_response_id": first["id"]});
    let (status, refused) = hub.post("/v1/responses", other).await;
    assert_eq!(
        (status, &refused["error"]["param"]),
        (400, &json!("previous_response_id"))
    );
}

#[tokio::test]
async fn the_next_response_answers_the_question_of_the_one_before() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let body = json!({"model": "amy", "input": "book it"});
    let asking = async {
        let call = amy.next_call().await;
        call.push(Event::text("A trip."));
        call.ask(asked("q-1", "Where to?"));
        call.ask(asked("q-2", "When?"));
        call
    };
    let ((_, first), call) = tokio::join!(hub.post("/v1/responses", body), asking);
    assert_eq!(first["status"], "completed", "{first}");
    assert_eq!(text_of(&first), "A trip.\n\nWhere to?");
    assert_eq!(first["jackfield"], json!({"waits_for": "answer"}));
    let answer = |text: &str, before: &Value| json!({"model": "amy", "input": text, "previous_response_id": before["id"]});
    let (_, second) = hub.post("/v1/responses", answer("Rome", &first)).await;
    assert_eq!(text_of(&second), "When?");
    assert_eq!(answer_at(&call).await, "Rome");
    let finishing = async {
        soon(async {
            while call.answers().len() < 2 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        answer_text(call, "Booked.");
    };
    let last = hub.post("/v1/responses", answer("May", &second));
    let ((_, third), ()) = tokio::join!(last, finishing);
    assert_eq!(text_of(&third), "Booked.");
    for (response, input) in [(&first, "book it"), (&second, "Rome"), (&third, "May")] {
        let id = response["id"].as_str().unwrap();
        assert_eq!(&hub.response(id).await, response);
        let (_, items) = hub.get(&format!("/v1/responses/{id}/input_items")).await;
        assert_eq!(items["data"][0]["content"][0]["text"], input);
    }
    assert!(amy.has_nothing_to_do());
}

#[tokio::test]
async fn a_turn_that_ends_with_a_question_is_continued_in_its_task() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let ended = |state, text: &str| {
        End::Done(Box::new(Done {
            state,
            result: Some(text.into()),
            ..Done::default()
        }))
    };
    let body = json!({"model": "amy", "input": "book it"});
    let asking = async {
        let call = amy.next_call().await;
        call.finish(ended(DoneState::InputRequired, "Where to?"));
    };
    let ((_, first), ()) = tokio::join!(hub.post("/v1/responses", body), asking);
    assert_eq!(
        (&first["status"], text_of(&first)),
        (&json!("completed"), "Where to?".into())
    );
    let body = json!({"model": "amy", "input": "Rome", "previous_response_id": first["id"]});
    let answering = async {
        let call = amy.next_call().await;
        assert_eq!(call.call().message.joined_text(), "Rome");
        call.finish(ended(DoneState::Completed, "Booked."));
    };
    let ((_, second), ()) = tokio::join!(hub.post("/v1/responses", body), answering);
    assert_eq!(text_of(&second), "Booked.");
    let (first, second) = (
        first["id"].as_str().unwrap(),
        second["id"].as_str().unwrap(),
    );
    assert!(
        second.starts_with(&format!("{first}_")),
        "one task: {second}"
    );
    assert_eq!(text_of(&hub.response(first).await), "Where to?");
    assert_eq!(text_of(&hub.response(second).await), "Booked.");
}

#[tokio::test]
async fn a_response_that_is_not_stored_is_a_live_call() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let body = json!({"model": "amy", "input": "hi", "store": false});
    let mut stream = hub.response_stream(body.clone()).await;
    let call = amy.next_call().await;
    assert!(call.call().task.is_none());
    answer_text(call, "done");
    let events = stream.rest().await;
    let response = &events.last().unwrap()["response"];
    assert_eq!(
        (text_of(response), &response["store"]),
        ("done".into(), &json!(false))
    );
    let id = response["id"].as_str().unwrap();
    assert_eq!(hub.get(&format!("/v1/responses/{id}")).await.0, 404);
    let stream = hub.response_stream(body).await;
    let call = amy.next_call().await;
    drop(stream);
    assert_eq!(amy.next_cancel().await, call.call().id);
}
