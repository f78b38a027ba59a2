//! Questions to the client's user within a session, for the versions of the protocol that begin with a handshake
//! (2025-06-18 and 2025-11-25): the door writes a request to the client into the response of the tool, and the client posts
//! the answer.
//!
//! The door remembers nothing of either. The name of the session says that the client can ask its user, and the id of the
//! door's request names the task and the question. So an answer finds its question after the tool's response, after a
//! restart of the hub, and in another process.

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, combinators::BoxBody};
use jackfield_core::{hub::Hub, store::TaskRecord};
use jackfield_kit::api::invalid;
use jackfield_model::{Ask, Failure};
use rmcp::model::{ClientCapabilities, InputResponses};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, Receiver, Sender};
use uuid::Uuid;

use crate::{
    limits::QUESTIONS,
    questions::{self, Question},
    serve::RequestCaller,
    tool_request::{find_task, takes_forms},
};

/// Start of the name of a session whose client can ask its user.
const ASKS_USER: &str = "ask-";

/// Fields of a handshake that the door reads itself.
#[derive(Debug, Deserialize)]
struct Greeting {
    params: GreetingParams,
}

#[derive(Debug, Deserialize)]
struct GreetingParams {
    capabilities: ClientCapabilities,
}

/// Names a new session after the handshake that begins it.
pub(crate) fn name(greeting: &[u8]) -> String {
    let greeting = serde_json::from_slice::<Greeting>(greeting);
    let asks = greeting.is_ok_and(|it| takes_forms(&it.params.capabilities));
    let prefix = if asks { ASKS_USER } else { "" };
    format!("{prefix}{}", Uuid::new_v4())
}

/// Returns whether the client of a session can ask its user. A client that invents such a name only gets questions.
pub(crate) fn asks_user(session: &str) -> bool {
    session.starts_with(ASKS_USER)
}

/// The user of a client that waits for a tool.
#[derive(Debug, Clone)]
pub(crate) struct SessionUser(Sender<Bytes>);

impl SessionUser {
    /// Returns the user, and the questions for the response of the tool.
    pub(crate) fn channel() -> (Self, Receiver<Bytes>) {
        let (questions, waiting) = mpsc::channel(QUESTIONS);
        (Self(questions), waiting)
    }

    /// Asks the user a question of a task. Returns whether the question is on its way.
    pub(crate) fn ask(&self, record: &TaskRecord, ask: &Ask) -> bool {
        let question = Question::Asked {
            call: record.call,
            ask: ask.clone(),
        };
        let params = question.params(record.agent.as_str());
        let Ok(Value::Object(mut params)) = serde_json::to_value(params) else {
            return false;
        };
        // Version 2025-06-18 has forms only, without a name for them. To later versions, no name means a form.
        params.remove("mode");
        // Ids are used once in a session, and the same question may be asked again.
        let id = format!("{} {} {}", Uuid::new_v4(), record.id, question.key());
        let message =
            json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
        self.0
            .try_send(format!("data: {message}\n\n").into())
            .is_ok()
    }
}

/// Adds questions to the events of a response.
pub(crate) fn with_questions(body: BoxBody<Bytes, Infallible>, questions: Receiver<Bytes>) -> Body {
    let events = body.into_data_stream();
    let merged = stream::unfold((events, questions), |(mut events, mut questions)| async {
        let next = tokio::select! {
            biased;
            Some(question) = questions.recv() => Some(Ok(question)),
            event = events.next() => event,
        };
        next.map(|next| (next, (events, questions)))
    });
    Body::from_stream(merged)
}

/// The client's response to a request of the door.
#[derive(Debug, Deserialize)]
struct Response {
    id: String,
    result: Option<Value>,
    #[serde(default)]
    error: Value,
}

/// The answer of a client's user.
#[derive(Debug)]
pub(crate) struct UserAnswer {
    task: String,
    key: String,
    /// `None` if the client could not ask; then the question is left to the model.
    result: Option<Value>,
}

impl UserAnswer {
    /// Reads a response to a question; `None` for every other message.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let response: Response = serde_json::from_slice(message).ok()?;
        if response.result.is_none() && response.error.is_null() {
            return None;
        }
        let mut parts = response.id.splitn(3, ' ').skip(1);
        Some(Self {
            task: parts.next()?.to_owned(),
            key: parts.next()?.to_owned(),
            result: response.result,
        })
    }

    /// Passes the answer on to the agent. An answer that comes too late is dropped: the first one counts.
    pub(crate) async fn pass_on(self, hub: &Hub, asker: &RequestCaller) -> Result<(), Failure> {
        let found = find_task(hub, &asker.principal, &self.task).await;
        let unknown = |_| invalid("field \"id\": no question to you has this id");
        let task = found.map_err(unknown)?;
        let Some(result) = self.result else {
            tracing::debug!(task = %task.id, "the client did not ask its user");
            return Ok(());
        };
        let responses = InputResponses::from([(self.key, result)]);
        questions::answer(hub, asker, task, &responses).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_response_to_a_question_is_an_answer() {
        let read = |message: Value| UserAnswer::read(message.to_string().as_bytes());
        let answer = read(json!({"id": "u t ask c q 1", "result": {"action": "decline"}})).unwrap();
        assert_eq!((&*answer.task, &*answer.key), ("t", "ask c q 1"));
        assert!(answer.result.is_some());
        let refused = read(json!({"id": "u t ask c q", "error": {"code": -32601}})).unwrap();
        assert!(refused.result.is_none());
        for other in [
            json!({"id": 1, "result": {}}),
            json!({"id": "u t", "result": {}}),
            json!({"id": "u t ask c q"}),
            json!([]),
        ] {
            assert!(read(other.clone()).is_none(), "{other}");
        }
    }

    #[test]
    fn the_name_of_a_session_says_whether_the_client_asks_its_user() {
        for (capabilities, asks) in [
            (json!({}), false),
            (json!({"elicitation": {}}), true),
            (json!({"elicitation": {"form": {}}}), true),
            (json!({"elicitation": {"url": {}}}), false),
        ] {
            let greeting = json!({"params": {"capabilities": capabilities}}).to_string();
            assert_eq!(asks_user(&name(greeting.as_bytes())), asks, "{greeting}");
        }
        assert!(!asks_user(&name(b"no JSON")));
    }
}
