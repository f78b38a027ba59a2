//! When something happened is told alike to all readers of a task: in the stream, by a look, to whoever comes back, and
//! by the hub that goes on after a restart.

use std::sync::Arc;

use jackfield_core::store::memory::MemoryStore;
use jackfield_kit::testing::{Sse, SseReader};
use jackfield_model::{Ask, AskKind, Chunk, End, Event};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::official::harness::{A2aHub, ECHO, stream_of};

fn message(task: Option<&str>, text: &str) -> String {
    let mut message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]});
    if let Some(task) = task {
        message["taskId"] = json!(task);
    }
    json!({"message": message}).to_string()
}

/// Waits until the clock shows another millisecond: the times of the protocol have no more digits.
async fn tick() {
    let shown = || Timestamp::now().as_millisecond();
    let before = shown();
    while shown() <= before + 1 {
        tokio::task::yield_now().await;
    }
}

/// The status that an event tells, if it tells one.
fn status(event: &Sse) -> Option<&Value> {
    let data = &event.data;
    let told = data.get("statusUpdate").or_else(|| data.get("task"))?;
    told.get("status")
}

/// The next status of a stream, and the id of its event.
async fn next_status(stream: &mut SseReader) -> (Value, Option<String>) {
    loop {
        let event = stream.next().await.unwrap();
        if let Some(status) = status(&event) {
            return (status.clone(), event.id);
        }
    }
}

/// The statuses that are left in a stream.
async fn statuses(stream: &mut SseReader) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some(event) = stream.next().await {
        all.extend(status(&event).cloned());
    }
    all
}

/// The state and the time of a status.
fn since(status: &Value) -> (&str, &str) {
    let text = |name: &str| {
        status[name]
            .as_str()
            .unwrap_or_else(|| panic!("{name}: {status}"))
    };
    (text("state"), text("timestamp"))
}

#[tokio::test]
async fn updates_of_a_stream_carry_the_times_that_the_task_has() {
    let store = Arc::<MemoryStore>::default();
    let hub = A2aHub::start_on(store.clone()).await;
    let mut agent = hub.attach("echo");
    let send = format!("{ECHO}/message:stream");
    let mut stream = stream_of(hub.request(&send, message(None, "book"))).await;
    let first = stream.next().await.unwrap();
    let task = &first.data["task"];
    let id = task["id"].as_str().unwrap().to_owned();
    let path = format!("{ECHO}/tasks/{id}");
    let seen = async || hub.get(&path).await.1["status"].clone();
    assert_eq!(since(&task["status"]).0, "TASK_STATE_SUBMITTED");

    let serving = agent.next_call().await;
    let (working, _) = next_status(&mut stream).await;
    assert_eq!(since(&working).0, "TASK_STATE_WORKING");
    assert_eq!(since(&working), since(&seen().await));
    tick().await;
    serving.push(Event::text("Let me see. "));
    serving.push(Event::Chunk(Chunk::status("looking for a room")));
    let (busy, _) = next_status(&mut stream).await;
    assert!(since(&busy).1 > since(&working).1, "{busy}");
    tick().await;
    serving.ask(Ask {
        id: "q".into(),
        kind: AskKind::Input,
        text: "which?".into(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    });
    let (asked, _) = next_status(&mut stream).await;
    assert_eq!(since(&asked), since(&seen().await));
    assert!(since(&asked).1 > since(&busy).1, "{asked}");

    tick().await;
    let mut stream = stream_of(hub.request(&send, message(Some(&id), "the red one"))).await;
    let mut told = Vec::new();
    while told
        .last()
        .is_none_or(|last| since(last).0 != "TASK_STATE_WORKING")
    {
        told.push(next_status(&mut stream).await.0);
    }
    let again = told.pop().unwrap();
    assert_eq!(since(&again), since(&seen().await));
    tick().await;
    serving.push(Event::text("booked"));
    serving.finish(End::done());
    let rest = statuses(&mut stream).await;
    let done = rest.last().unwrap();
    assert_eq!(since(done), since(&seen().await));
    assert!(since(done).1 > since(&again).1, "{done}");

    // Whoever comes back hears the same, of this hub and of the next one.
    let all = [&working, &busy, &asked, &again, done];
    drop((agent, stream));
    let next = A2aHub::start_on(store).await;
    let _agent = next.attach("echo");
    for hub in [&hub, &next] {
        let from = first.id.as_ref().unwrap();
        let request = hub.request(&format!("{path}:subscribe"), "");
        let mut stream = stream_of(request.header("Last-Event-ID", from)).await;
        let heard = statuses(&mut stream).await;
        assert_eq!(since(&heard[0]), since(&task["status"]));
        assert_eq!(heard[1..].iter().collect::<Vec<_>>(), all);
        assert_eq!(since(&hub.get(&path).await.1["status"]), since(done));
    }
}
