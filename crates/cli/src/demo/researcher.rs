//! The researcher: a plain client of the Agora protocol. Thinks, uses its archive tool, and quotes the result
//! word by word. Knows only the hub's address.

use std::{collections::HashMap, net::SocketAddr, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::sleep,
};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{self, Message, protocol::frame::coding::CloseCode},
};

use super::{facts, pace};

/// Id of the researcher.
pub(super) const ID: &str = "researcher";

/// Capacity of the queue of frames; senders wait when the queue is full.
const WAITING: usize = 16;
/// Pause before a reconnect.
const PAUSE: Duration = Duration::from_secs(1);
/// Close codes after which a client must not reconnect: replaced, removed.
const FINAL: [u16; 2] = [4001, 4002];

/// Whether to reconnect.
#[derive(Debug, PartialEq, Eq)]
enum AfterClose {
    ForNow,
    ForGood,
}

/// Connects again and again, until removed from the hub.
pub(super) async fn run(hub: SocketAddr) {
    loop {
        match run_connection(hub).await {
            Ok(AfterClose::ForGood) => return,
            Ok(AfterClose::ForNow) => {}
            Err(error) => tracing::debug!(%error, "the researcher lost its connection"),
        }
        sleep(PAUSE).await;
    }
}

/// Runs one connection until its end.
async fn run_connection(hub: SocketAddr) -> Result<AfterClose, tungstenite::Error> {
    let (mut socket, _) = connect_async(format!("ws://{hub}/ws")).await?;
    let register = json!({
        "type": "register", "id": ID, "name": "Researcher",
        "description": "Scripted. Quotes facts about telephone switchboards.", "capabilities": ["research"],
    });
    socket.send(text(&register)).await?;
    let (say, mut said) = mpsc::channel::<Value>(WAITING);
    let mut answers = OpenAnswers::default();
    loop {
        tokio::select! {
            Some(frame) = said.recv() => socket.send(text(&frame)).await?,
            heard = socket.next() => match heard.transpose()? {
                Some(Message::Text(frame)) => {
                    // A hub never sends invalid JSON.
                    let frame = serde_json::from_str(&frame).unwrap_or_default();
                    answers.handle(&frame, &say);
                }
                Some(Message::Close(Some(close))) => {
                    let code: u16 = match close.code { CloseCode::Library(code) => code, code => code.into() };
                    let is_final = FINAL.contains(&code);
                    return Ok(if is_final { AfterClose::ForGood } else { AfterClose::ForNow });
                }
                Some(_) => {}
                None => return Ok(AfterClose::ForNow),
            },
        }
    }
}

fn text(frame: &Value) -> Message {
    Message::text(frame.to_string())
}

/// Answers in progress, by stream id.
#[derive(Debug, Default)]
struct OpenAnswers {
    given: JoinSet<()>,
    open: HashMap<String, AbortHandle>,
}

impl OpenAnswers {
    fn handle(&mut self, frame: &Value, say: &mpsc::Sender<Value>) {
        self.open.retain(|_, answer| !answer.is_finished());
        while self.given.try_join_next().is_some() {}
        match frame["type"].as_str() {
            Some("message") => {
                let name = name_of(frame);
                let answer = answer(frame.clone(), name.clone(), say.clone());
                self.open.insert(name, self.given.spawn(answer));
            }
            Some("cancel") => {
                if let Some(answer) = self.open.remove(&name_of(frame)) {
                    answer.abort();
                }
            }
            _ => {}
        }
    }
}

/// Returns the stream id of an answer, or the request id.
fn name_of(frame: &Value) -> String {
    let names = [
        &frame["stream_id"],
        &frame["request_id"],
        &frame["payload"]["request_id"],
    ];
    let name = names.into_iter().find_map(Value::as_str);
    name.unwrap_or("answer").to_owned()
}

/// Returns the question in a message.
fn question(frame: &Value) -> &str {
    let payload = &frame["payload"];
    let places = [&payload["body"]["question"], &payload["text"], payload];
    let question = places.into_iter().find_map(Value::as_str);
    question.unwrap_or_default()
}

/// Answers a message with its [`script`]. Returns early if the connection is gone.
async fn answer(message: Value, stream: String, say: mpsc::Sender<Value>) {
    for (frame, pause) in script(&message, &stream) {
        if say.send(frame).await.is_err() {
            return;
        }
        sleep(pause).await;
    }
}

/// Returns all frames of an answer, each with the pause after it.
fn script(message: &Value, stream: &str) -> Vec<(Value, Duration)> {
    let question = question(message);
    let fact = facts::about_or_any(question);
    let frame = |kind: &str, rest: Value| {
        let mut frame = json!({"type": kind, "to": message["from"], "stream_id": stream});
        if let (Some(frame), Value::Object(rest)) = (frame.as_object_mut(), rest) {
            frame.extend(rest);
        }
        frame
    };
    let request = &message["payload"]["request_id"];
    let mut script = vec![(
        frame(
            "reply",
            json!({"stream": true, "payload": {"request_id": request}}),
        ),
        Duration::ZERO,
    )];
    let thought = "Somebody wants to know about switchboards. The archive should have it.";
    for word in pace::words(thought) {
        script.push((
            frame("reply_chunk", json!({"kind": "thinking", "chunk": word})),
            pace::WORD / 2,
        ));
    }
    for (kind, said) in [
        ("tool_start", String::new()),
        ("tool_input", json!({"query": question}).to_string()),
        ("tool_result", fact.headline.to_owned()),
    ] {
        let chunk =
            json!({"kind": kind, "chunk": said, "tool_name": "archive", "tool_call_id": "look-up"});
        script.push((frame("reply_chunk", chunk), 4 * pace::WORD));
    }
    for word in pace::words(&format!("{}: {}", fact.headline, fact.story)) {
        script.push((frame("reply_chunk", json!({"chunk": word})), pace::WORD));
    }
    script.push((
        frame("reply_end", json!({"payload": {"request_id": request}})),
        Duration::ZERO,
    ));
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_stream_of_one_request_with_thinking_a_tool_and_text() {
        let message = json!({"type": "message", "from": "call:1", "payload": {"request_id": "r1", "body": {"question": "who?"}}});
        let script = script(&message, &name_of(&message));
        assert!(
            script
                .iter()
                .all(|(frame, _)| frame["to"] == "call:1" && frame["stream_id"] == "r1")
        );
        let types = |at: usize| script[at].0["type"].clone();
        assert_eq!(
            (types(0), types(script.len() - 1)),
            (json!("reply"), json!("reply_end"))
        );
        let texts = script
            .iter()
            .filter(|(frame, _)| frame["type"] == "reply_chunk" && frame["kind"].is_null());
        let words: Vec<_> = texts.filter_map(|(it, _)| it["chunk"].as_str()).collect();
        assert_eq!(words[..3], ["Boston, ", "1878: ", "Emma "]);
        let kinds = ["thinking", "tool_start", "tool_input", "tool_result"];
        for kind in kinds {
            assert!(
                script.iter().any(|(frame, _)| frame["kind"] == kind),
                "{kind}"
            );
        }
    }

    #[test]
    fn a_question_may_be_anywhere_and_anything() {
        assert_eq!(question(&json!({"payload": "who?"})), "who?");
        assert_eq!(question(&json!({"payload": {"text": "who?"}})), "who?");
        assert_eq!(question(&json!({"payload": {"body": 3}})), "");
    }
}
