//! The root of the tree: the platform, which reads the relay's stream live, with another author's HTTP client.

use jackfield_testkit::Events;
use reqwest::Method;
use serde_json::{Value, json};

use crate::chains::hub::Hub;

/// The id of the agent that the root calls.
const AGENT: &str = "laptop";
const SESSION: &str = "s-1";
const REQUEST: &str = "r-1";

/// A reading caller.
pub(crate) struct Root {
    events: Events,
    /// The id of the last event, for durable streams.
    last: Option<String>,
}

impl Root {
    /// Calls with a live stream; losing the stream cancels the call.
    pub(crate) async fn live(hub: &Hub, words: &str) -> Self {
        Self::ask(hub, words, json!({})).await
    }

    /// Calls with a durable stream.
    pub(crate) async fn durable(hub: &Hub, words: &str) -> Self {
        Self::ask(hub, words, json!({"keep": true})).await
    }

    async fn ask(hub: &Hub, words: &str, mut body: Value) -> Self {
        body["agent_id"] = AGENT.into();
        body["session_id"] = SESSION.into();
        body["request_id"] = REQUEST.into();
        body["content"] = words.into();
        let request = hub.ask(Method::POST, "/api/relay").json(&body);
        Self {
            events: Events::of(request).await,
            last: None,
        }
    }

    /// Resumes the stream at a restarted hub, which sends the stored answer from its start.
    pub(crate) async fn resume(self, hub: &Hub) -> Self {
        let path = format!("/api/relay/events?agent_id={AGENT}&request_id={REQUEST}");
        let mut request = hub.ask(Method::GET, &path);
        if let Some(last) = self.last {
            request = request.header("last-event-id", last);
        }
        let mut root = Self {
            events: Events::of(request).await,
            last: None,
        };
        let first = root.next().await;
        assert_eq!(first["type"], "gap", "{first}");
        root
    }

    /// Cancels the request at the hub, and reads the cancellation from the stream.
    pub(crate) async fn cancel(&mut self, hub: &Hub) {
        let body = json!({"agent_id": AGENT, "session_id": SESSION, "request_id": REQUEST});
        let (status, answer) = hub.post("/api/cancel", &body).await;
        assert_eq!(status, 200, "{answer}");
        let end = self.next().await;
        assert_eq!(
            (&end["type"], &end["code"]),
            (&json!("error"), &json!("session_not_found")),
            "{end}"
        );
    }

    /// Returns the next event, except keep-alives and status.
    async fn next(&mut self) -> Value {
        loop {
            let event = self.events.maybe_next().await;
            let event = event.expect("the stream says how it ends");
            self.last = event.id.or(self.last.take());
            let data = event.data;
            if data["type"] != "keepalive" && data["kind"] != "status" {
                return data;
            }
        }
    }

    /// Checks that the next piece of the answer is exactly this text.
    pub(crate) async fn expect_piece(&mut self, piece: &str) {
        let chunk = self.next().await;
        assert_eq!(
            (&chunk["type"], &chunk["delta"]),
            (&json!("chunk"), &json!(piece)),
            "{chunk}"
        );
    }

    /// Returns the rest of the answer, and its end.
    pub(crate) async fn rest(&mut self) -> (String, Value) {
        let mut text = String::new();
        loop {
            let next = self.next().await;
            match next["delta"].as_str() {
                Some(piece) => text += piece,
                None => return (text, next),
            }
        }
    }

    /// Checks that the answer ends successfully after this text.
    pub(crate) async fn expect_rest(&mut self, words: &str) {
        let (text, end) = self.rest().await;
        assert_eq!((&*text, end), (words, json!({"type": "done"})));
    }
}
