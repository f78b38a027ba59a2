//! Agora and the other doors: an Agora agent calls, and is called.

mod asks;
mod called;
mod calling;
mod ids;
mod limits;
mod refused;
mod stop;

use jackfield_core::call::{Replies, Reply};
use jackfield_model::{Chunk, ChunkKind, Done, End, Event};
use jackfield_testkit::{Raw, SOON, Scripted, TestHub, attach_agent};
use serde_json::{Value, json};

async fn caller_and_fake() -> (TestHub, Raw, Scripted) {
    let hub = TestHub::start().await;
    let fake = attach_agent(hub.hub(), "fake");
    let caller = hub.agora("caller").await;
    (hub, caller, fake)
}

fn ask(request_id: &str) -> Value {
    json!({"type": "send", "to": "fake", "payload": {"action": "query", "body": {"question": "why?"}, "request_id": request_id}})
}

fn done(result: &str) -> End {
    End::Done(Box::new(Done {
        result: Some(result.to_owned()),
        ..Done::default()
    }))
}

/// A piece of a tool's output, or of thinking.
fn piece(kind: ChunkKind, text: &str) -> Event {
    Event::Chunk(Chunk {
        kind,
        text: text.to_owned(),
        ..Chunk::default()
    })
}

/// Returns all events and the end of a call.
async fn read(mut replies: Replies) -> (Vec<Event>, End) {
    let mut events = Vec::new();
    let all = async {
        loop {
            match replies.next().await.expect("an end comes first") {
                Reply::Event(event) => events.push(event),
                Reply::End(end) => return end,
            }
        }
    };
    let end = tokio::time::timeout(SOON, all)
        .await
        .expect("the call did not end in time");
    (events, end)
}
