//! Members of teams: bridge agents that the test controls frame by frame.

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

/// A bridge agent of version 2 with artifacts and questions.
pub(crate) struct MemberAgent {
    pub(crate) line: Raw,
}

impl MemberAgent {
    pub(crate) async fn join(hub: &TestHub, id: &str) -> Self {
        Self {
            line: hub.bridge_with(id, &["artifacts", "input"]).await,
        }
    }

    /// Receives a message with this text; returns its `request_id`.
    pub(crate) async fn expect_message(&mut self, words: &str) -> String {
        self.line.expect_message(words).await
    }

    pub(crate) async fn chunk(&mut self, request: &str, delta: &str, more: Value) {
        let mut chunk = json!({"type": "chunk", "request_id": request, "delta": delta});
        let more = more.as_object().unwrap().clone();
        chunk.as_object_mut().unwrap().extend(more);
        self.line.send(chunk).await;
    }

    pub(crate) async fn send_text(&mut self, request: &str, text: &str) {
        self.chunk(request, text, json!({})).await;
    }

    pub(crate) async fn thinks(&mut self, request: &str, text: &str) {
        self.chunk(request, text, json!({"kind": "thinking"})).await;
    }

    /// Calls a tool with this input.
    pub(crate) async fn uses(&mut self, request: &str, tool: &str, id: &str, input: &str) {
        for (kind, text) in [("tool_start", ""), ("tool_input", input)] {
            let more = json!({"kind": kind, "tool_name": tool, "tool_call_id": id});
            self.chunk(request, text, more).await;
        }
    }

    /// Sends a tool's result.
    pub(crate) async fn gets(&mut self, request: &str, id: &str, result: &str) {
        let more = json!({"kind": "tool_result", "tool_call_id": id});
        self.chunk(request, result, more).await;
    }

    /// Asks for approval of a tool.
    pub(crate) async fn asks(&mut self, request: &str, tool: &str, id: &str, arguments: Value) {
        let ask = json!({
            "type": "ask", "request_id": request, "ask_id": format!("ask-{id}"), "kind": "approval",
            "text": "may I?", "tool_name": tool, "tool_call_id": id, "arguments": arguments,
        });
        self.line.send(ask).await;
    }

    /// Checks that the next frame is the answer to its question.
    pub(crate) async fn is_told(&mut self, request: &str, id: &str, approved: bool, reason: &str) {
        let frame = self.line.frame().await;
        assert_eq!(
            (&frame["type"], &frame["request_id"], &frame["ask_id"]),
            (
                &json!("answer"),
                &json!(request),
                &json!(format!("ask-{id}"))
            ),
            "{frame}"
        );
        assert_eq!(
            (&frame["approved"], &frame["reason"]),
            (&json!(approved), &json!(reason)),
            "{frame}"
        );
    }

    /// Sends a text file.
    pub(crate) async fn makes(&mut self, request: &str, name: &str, text: &str) {
        let artifact = json!({
            "type": "artifact", "request_id": request, "artifact_id": format!("id-{name}"), "name": name,
            "parts": [{"text": text}], "append": false, "last": true,
        });
        self.line.send(artifact).await;
    }

    /// Calls an agent or a team during a request.
    pub(crate) async fn calls(&mut self, parent: &str, target: &str, id: &str, words: &str) {
        let call = json!({
            "type": "call_agent", "target_agent_id": target, "task_description": words, "call_id": id,
            "parent_request_id": parent,
        });
        self.line.send(call).await;
    }

    /// Returns the text of the reply to a call, up to its end.
    pub(crate) async fn reply_text(&mut self, id: &str) -> String {
        let mut text = String::new();
        loop {
            let frame = self.line.frame().await;
            assert_eq!(frame["call_id"], id, "{frame}");
            match frame["type"].as_str().unwrap() {
                "call_agent_chunk" if frame["kind"].as_str().unwrap_or("text") == "text" => {
                    text.push_str(frame["delta"].as_str().unwrap());
                }
                "call_agent_chunk" => {}
                "call_agent_done" => return text,
                _ => panic!("{frame}"),
            }
        }
    }

    pub(crate) async fn ends(&mut self, request: &str) {
        self.line
            .send(json!({"type": "done", "request_id": request}))
            .await;
    }

    pub(crate) async fn fails(&mut self, request: &str, code: &str, message: &str) {
        let error =
            json!({"type": "error", "request_id": request, "code": code, "message": message});
        self.line.send(error).await;
    }

    /// Checks that the next frame cancels a request.
    pub(crate) async fn is_cancelled(&mut self, request: &str) {
        let frame = self.line.frame().await;
        assert_eq!(
            (&frame["type"], &frame["request_id"]),
            (&json!("cancel"), &json!(request)),
            "{frame}"
        );
    }
}
