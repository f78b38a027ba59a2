//! A user who talks to a member of a team on the team's socket. The member is the called agent, or the called team.

use std::collections::{HashMap, VecDeque};

use crate::matrix::protocol::Protocol;
use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::matrix::{
    caller::{Caller, QUESTION},
    event::{CallerEvent, File, text},
    setup::Owner,
};

const SOCKET: &str = "/ws/agent-team/callers";

/// Placeholders for questions, and for status lines outside of tools.
const NO_TOOLS: [&str; 2] = ["ask_user", "status"];

pub(crate) struct Team {
    hub: std::net::SocketAddr,
    line: Option<Raw>,
    /// The required coordinator of the team; not called here.
    _front: Raw,
    target: String,
    /// Begun segments, by id.
    segments: HashMap<String, Value>,
    has_spoken: bool,
    is_busy: bool,
    pending: VecDeque<CallerEvent>,
}

impl Team {
    async fn of(hub: &TestHub, owner: &Owner, others: Vec<Value>, target: &str) -> Self {
        let front = match owner {
            Owner::Local => hub.bridge("front").await,
            Owner::Token(token) => hub.bridge_of(token, "front").await,
        };
        let mut members = vec![json!({"name": "front", "agent": "front"})];
        members.extend(others);
        let body = json!({"id": "callers", "coordinator": "front", "members": members});
        let (status, answer) = owner.web(hub).post("/v1/teams", body).await;
        assert_eq!(status, 201, "{answer}");
        let line = match owner {
            Owner::Local => Raw::connect_narrow(hub.addr(), SOCKET).await,
            Owner::Token(token) => {
                let proof = format!("Bearer {token}");
                let headers = [("authorization", proof.as_str())];
                let line = Raw::connect_with(hub.addr(), SOCKET, &headers).await;
                line.expect("it is theirs")
            }
        };
        Self {
            hub: hub.addr(),
            line: Some(line),
            _front: front,
            target: target.to_owned(),
            segments: HashMap::new(),
            has_spoken: false,
            is_busy: false,
            pending: VecDeque::new(),
        }
    }

    async fn send(&mut self, kind: &str, mut payload: Value) {
        payload["target_member_name"] = self.target.clone().into();
        let frame = json!({"type": kind, "payload": payload});
        self.line.as_mut().unwrap().send(frame).await;
    }

    async fn take(&mut self, frame: &Value) -> Option<CallerEvent> {
        let payload = &frame["payload"];
        let kind = frame["type"].as_str().unwrap();
        let is_refusal = kind == "ERROR" && payload["member_route_key"].is_null();
        if !is_refusal && !text(&payload["member_route_key"]).starts_with("it") {
            return None;
        }
        match kind {
            "SEGMENT_START" => {
                self.segments
                    .insert(text(&payload["id"]), payload["segment_type"].clone());
                let tool = payload["metadata"]["tool_name"].as_str();
                let tool = tool.filter(|tool| !NO_TOOLS.contains(tool))?;
                Some(CallerEvent::ToolStart(tool.to_owned()))
            }
            "SEGMENT_CONTENT" => {
                let delta = text(&payload["delta"]);
                match self.segments[payload["id"].as_str().unwrap()].as_str() {
                    Some("text") => {
                        self.has_spoken = true;
                        Some(CallerEvent::Text(delta))
                    }
                    Some("reasoning") => Some(CallerEvent::Thinking(delta)),
                    _ => None,
                }
            }
            "TOOL_EXECUTION_SUCCEEDED" => {
                let is_tool = !NO_TOOLS.contains(&payload["tool_name"].as_str()?);
                is_tool.then(|| CallerEvent::ToolResult(text(&payload["result"])))
            }
            "TOOL_LOG" => Some(CallerEvent::Status(text(&payload["log_entry"]))),
            "TOOL_APPROVAL_REQUESTED" => {
                assert_eq!(payload["tool_name"], "ask_user", "{frame}");
                Some(CallerEvent::Asked(text(&payload["arguments"]["question"])))
            }
            "ARTIFACT_PERSISTED" => {
                let file = File::linked(&payload["path"], &payload["url"]).await;
                Some(CallerEvent::File(file))
            }
            "ASSISTANT_COMPLETE" => {
                let content = text(&payload["content"]);
                if !self.has_spoken && !content.is_empty() {
                    self.pending.push_back(CallerEvent::Text(content));
                }
                self.pending.push_back(CallerEvent::Done);
                self.pending.pop_front()
            }
            "ERROR" if payload["code"] == "cancelled" => {
                self.is_busy = false;
                Some(CallerEvent::Cancelled)
            }
            "ERROR" => Some(CallerEvent::Failed {
                code: text(&payload["code"]),
                words: text(&payload["message"]),
            }),
            "AGENT_STATUS" => {
                let is_idle = payload["new_status"] == "idle";
                let was_busy = std::mem::replace(&mut self.is_busy, !is_idle);
                (was_busy && is_idle).then_some(CallerEvent::Cancelled)
            }
            _ => None,
        }
    }
}

impl Caller for Team {
    const PROTOCOL: Protocol = Protocol::Team;

    async fn join(hub: &TestHub, target: &str, callee: Protocol) -> Self {
        let member = match callee {
            Protocol::Team => json!({"name": "it", "team": target}),
            _ => json!({"name": "it", "agent": target}),
        };
        Self::of(hub, &Owner::Local, vec![member], "it").await
    }

    async fn join_without_access(hub: &TestHub, owner: &Owner, target: &str) -> Self {
        Self::of(hub, owner, vec![], target).await
    }

    async fn call(&mut self) {
        self.send("SEND_MESSAGE", json!({"content": QUESTION}))
            .await;
    }

    async fn next_event(&mut self) -> CallerEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            let frame = self.line.as_mut().unwrap().frame().await;
            if let Some(event) = self.take(&frame).await {
                return event;
            }
        }
    }

    async fn answer(&mut self, words: &str) {
        self.send("SEND_MESSAGE", json!({"content": words})).await;
    }

    async fn cancel(&mut self) {
        self.send("STOP_GENERATION", json!({})).await;
    }

    async fn leave(&mut self) {
        self.line = None;
    }

    async fn reconnect(&mut self) {
        self.line = Some(Raw::connect(self.hub, SOCKET).await);
    }
}
