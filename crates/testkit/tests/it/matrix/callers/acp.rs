//! An editor that shows forms and notices, over a WebSocket.

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::matrix::{
    caller::{Caller, QUESTION},
    event::{CallerEvent, File, text},
    protocol::Protocol,
    setup::Owner,
};

/// Id of the prompt.
const PROMPT: u64 = 2;

pub(crate) struct Acp {
    /// `None` if the hub refused the connection, with this status.
    raw: Result<Raw, u16>,
    session: String,
    /// Id of the form.
    form: Value,
}

impl Acp {
    async fn of(hub: &TestHub, target: &str, headers: &[(&'static str, &str)]) -> Self {
        let path = format!("/acp/{target}");
        let mut caller = Self {
            raw: Raw::connect_with(hub.addr(), &path, headers).await,
            session: String::new(),
            form: Value::Null,
        };
        if caller.raw.is_ok() {
            let can = json!({"elicitation": {"form": {}}, "session": {"notices": {}}});
            let hello = json!({"protocolVersion": 1, "clientCapabilities": can});
            caller.request(0, "initialize", hello).await;
            caller.raw().frame().await;
            let new = json!({"cwd": "/", "mcpServers": []});
            caller.request(1, "session/new", new).await;
            caller.session = text(&caller.raw().frame().await["result"]["sessionId"]);
        }
        caller
    }

    fn raw(&mut self) -> &mut Raw {
        self.raw.as_mut().expect("it is connected")
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw().send(request).await;
    }

    /// The event of an update, if it is one.
    async fn update(update: &Value) -> Option<CallerEvent> {
        let block = &update["content"];
        let words = text(&block["text"]);
        match update["sessionUpdate"].as_str().unwrap() {
            "agent_message_chunk" if block["type"] == "resource_link" => Some(CallerEvent::File(
                File::linked(&block["name"], &block["uri"]).await,
            )),
            "agent_message_chunk" => Some(CallerEvent::Text(words)),
            "agent_thought_chunk" => Some(CallerEvent::Thinking(words)),
            "notice" => Some(CallerEvent::Status(text(&update["title"]))),
            "tool_call" => Some(CallerEvent::ToolStart(text(&update["title"]))),
            "tool_call_update" => {
                let result = update["content"].as_array()?.first()?;
                Some(CallerEvent::ToolResult(text(&result["content"]["text"])))
            }
            other => panic!("{other}: {update}"),
        }
    }

    /// The event of the response to the prompt.
    fn end(response: &Value) -> CallerEvent {
        match response["result"]["stopReason"].as_str() {
            Some("end_turn") => CallerEvent::Done,
            Some("cancelled") => CallerEvent::Cancelled,
            Some(_) => panic!("{response}"),
            None => CallerEvent::Failed {
                code: text(&response["error"]["data"]["reason"]),
                words: text(&response["error"]["message"]),
            },
        }
    }
}

impl Caller for Acp {
    const PROTOCOL: Protocol = Protocol::Acp;

    async fn join(hub: &TestHub, target: &str, _: Protocol) -> Self {
        Self::of(hub, target, &[]).await
    }

    async fn join_without_access(hub: &TestHub, owner: &Owner, target: &str) -> Self {
        match owner {
            Owner::Local => Self::of(hub, target, &[]).await,
            Owner::Token(token) => {
                let bearer = format!("Bearer {token}");
                Self::of(hub, target, &[("authorization", &bearer)]).await
            }
        }
    }

    async fn call(&mut self) {
        let prompt = json!([{"type": "text", "text": QUESTION}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        self.request(PROMPT, "session/prompt", params).await;
    }

    async fn next_event(&mut self) -> CallerEvent {
        loop {
            let frame = self.raw().frame().await;
            match frame["method"].as_str() {
                Some("session/update") => {
                    if let Some(event) = Self::update(&frame["params"]["update"]).await {
                        return event;
                    }
                }
                Some("elicitation/create") => {
                    self.form = frame["id"].clone();
                    return CallerEvent::Asked(text(&frame["params"]["message"]));
                }
                Some(other) => panic!("{other}: {frame}"),
                None if frame["id"] == PROMPT => return Self::end(&frame),
                None => panic!("{frame}"),
            }
        }
    }

    async fn answer(&mut self, words: &str) {
        let result = json!({"action": "accept", "content": {"answer": words}});
        let answer = json!({"jsonrpc": "2.0", "id": self.form, "result": result});
        self.raw().send(answer).await;
    }

    async fn cancel(&mut self) {
        let params = json!({"sessionId": self.session});
        let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params});
        self.raw().send(cancel).await;
    }

    async fn leave(&mut self) {
        self.raw = Err(0);
    }

    async fn reconnect(&mut self) {
        unreachable!("a lost editor cancels its call");
    }

    async fn refused(&mut self) -> CallerEvent {
        let code = match self.raw.as_ref().err() {
            Some(404) => "not_found".to_owned(),
            other => panic!("{other:?}"),
        };
        CallerEvent::Failed {
            code,
            words: String::new(),
        }
    }
}
