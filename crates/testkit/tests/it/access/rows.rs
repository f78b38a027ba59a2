//! The operations: every route of `/openapi.json`, the protocols' routes outside of it, and operations over WebSocket,
//! gRPC and MCP. A name in braces stands for a thing: ann's, or one that doesn't exist.

use std::fmt;

/// The names of things.
const NAMES: [&str; 6] = [
    "{agent}",
    "{team}",
    "{call}",
    "{response}",
    "{token}",
    "{remote}",
];

/// How an operation is requested.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Http {
        method: &'static str,
        path: &'static str,
        body: &'static str,
    },
    /// A method of the A2A service of 1.0, below the address of an agent.
    Grpc(&'static str),
    /// A method of the A2A service of 0.3, below the address of an agent.
    GrpcOld(&'static str),
    /// A tool and its arguments.
    Mcp(&'static str, &'static str),
    /// A method for a task, and its params.
    McpTask(&'static str, &'static str),
    /// The first frame on a connection.
    Agora(&'static str),
    /// A registration.
    Bridge,
    /// A handshake.
    Viewer(&'static str),
    /// A handshake of a web page, with a ticket.
    Page(&'static str),
    /// The last request of an editor, on a connection to an agent.
    Acp(&'static str),
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
}

impl Row {
    /// The route as in `/openapi.json`, for plain HTTP.
    pub(crate) fn route(&self) -> Option<String> {
        let (method, path) = match self.kind {
            Kind::Http { method, path, .. } => (method, path),
            Kind::Viewer(path) => ("GET", path),
            _ => return None,
        };
        let path = path.split('?').next().unwrap_or(path);
        let path = NAMES
            .iter()
            .fold(path.to_owned(), |path, name| path.replace(name, "{id}"));
        Some(format!("{method} {path}"))
    }

    /// Whether the operation takes a thing that may be ann's.
    pub(crate) fn is_about_something(&self) -> bool {
        let has = |text: &str| NAMES.iter().any(|name| text.contains(name));
        match self.kind {
            Kind::Http { path, body, .. } => has(path) || has(body),
            Kind::Mcp(_, text)
            | Kind::McpTask(_, text)
            | Kind::Agora(text)
            | Kind::Viewer(text)
            | Kind::Page(text) => has(text),
            Kind::Grpc(_) | Kind::GrpcOld(_) | Kind::Bridge | Kind::Acp(_) => true,
        }
    }

    /// Whether the operation lists things.
    pub(crate) fn is_listing(&self) -> bool {
        let is_get = match self.kind {
            Kind::Http { method, path, .. } => method == "GET" || path.ends_with("/find"),
            Kind::Mcp(..) | Kind::Agora(_) => true,
            Kind::Grpc(_)
            | Kind::GrpcOld(_)
            | Kind::McpTask(..)
            | Kind::Bridge
            | Kind::Viewer(_)
            | Kind::Page(_)
            | Kind::Acp(_) => false,
        };
        is_get && !self.is_about_something()
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Http { .. } => write!(f, "`{}`", self.route().unwrap_or_default()),
            Kind::Grpc(method) => write!(f, "gRPC `{method}`"),
            Kind::GrpcOld(method) => write!(f, "gRPC 0.3 `{method}`"),
            Kind::Mcp(name, _) | Kind::McpTask(name, _) => write!(f, "MCP `{name}`"),
            Kind::Agora(frame) if frame.contains("register") => f.write_str("Agora `register`"),
            Kind::Agora(_) => f.write_str("Agora `list`"),
            Kind::Bridge => f.write_str("bridge `register`"),
            Kind::Acp(method) => write!(f, "ACP `{method}`"),
            Kind::Viewer(_) => write!(f, "WebSocket `{}`", self.route().unwrap_or_default()),
            Kind::Page(path) => {
                let path = path.replace("{team}", "{id}");
                write!(f, "WebSocket with a ticket `GET {path}`")
            }
        }
    }
}

const fn get(path: &'static str) -> Kind {
    Kind::Http {
        method: "GET",
        path,
        body: "",
    }
}

const fn send(method: &'static str, path: &'static str, body: &'static str) -> Kind {
    Kind::Http { method, path, body }
}

const ASKED: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}}"#;
const SEED: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"messageId": "m", "role": "user", "agentId": "{agent}", "parts": [{"kind": "text", "text": "x"}]}}}"#;
const RELAY: &str =
    r#"{"agent_id": "{agent}", "session_id": "s", "request_id": "r", "content": "x"}"#;
const TRANSFER: &str = r#"{"transfer_id": "t", "zip_size": 1, "zip_sha256": "0000000000000000000000000000000000000000000000000000000000000000", "file_count": 1}"#;
const PEER: &str = "/v1/peers/{peer}";
const HEARTBEAT: &str = r#"{"peer_id": "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"}"#;

/// Read-only operations come first, deletions last.
const KINDS: &[Kind] = &[
    get("/healthz"),
    get("/health"),
    get("/readyz"),
    get("/metrics"),
    get("/openapi.json"),
    get("/schemas"),
    get("/schemas/{protocol}/{name}"),
    get("/v1/prove?nonce=00000000000000000000000000000000"),
    get("/v1/whoami"),
    get("/v1/agents"),
    get("/v1/agents/{agent}"),
    get("/v1/agents/{agent}/calls"),
    get("/v1/calls"),
    get("/v1/calls/{call}"),
    get("/v1/calls/{call}/events?follow=false"),
    get("/v1/models"),
    get("/v1/models/{agent}"),
    get("/v1/responses/{response}"),
    get("/v1/responses/{response}/input_items"),
    get("/v1/callbacks"),
    get("/v1/events"),
    get("/v1/files/{id}/{name}"),
    get("/v1/tokens"),
    get("/v1/remotes"),
    get("/v1/remotes/{remote}"),
    get("/v1/remotes/{remote}/card"),
    get("/v1/teams"),
    get("/v1/teams/{team}"),
    get("/v1/teams/{team}/events"),
    get("/v1/teams/{team}/tasks"),
    get("/v1/peers"),
    get(PEER),
    get("/v1/transfers/{ticket}"),
    get("/v1/agents/{agent}/transfers/{transfer}/content"),
    get("/invite/{ticket}"),
    get("/agents"),
    get("/peers"),
    get("/register/{peer}"),
    get("/api/agents/{agent}/status"),
    get("/api/relay/events?agent_id={agent}&request_id=r"),
    get("/api/task-status?agent_id={agent}&request_id=r"),
    get("/api/transfers/{agent}/{transfer}/content"),
    get("/.well-known/agent-card.json"),
    get("/.well-known/agent.json"),
    get("/.well-known/jwks.json"),
    get("/v1/card"),
    get("/a2a/v1/tasks"),
    get("/a2a/agents/{agent}/.well-known/agent-card.json"),
    get("/a2a/agents/{agent}/v1/tasks"),
    send("POST", "/a2a", ASKED),
    send("POST", "/a2a/agents/{agent}", ASKED),
    send("POST", "/a2a/message/send", SEED),
    send("POST", "/a2a/message/stream", SEED),
    Kind::Viewer("/ws/agent-team/{team}"),
    Kind::Viewer("/ws/agent/{agent}"),
    Kind::Page("/ws/agent-team/{team}"),
    Kind::Agora(r#"{"type": "list"}"#),
    Kind::Acp("initialize"),
    Kind::Acp("session/prompt"),
    Kind::Mcp("find_agents", "{}"),
    Kind::Mcp(
        "call_agent",
        r#"{"agent": "{agent}", "message": "x", "wait_seconds": 1}"#,
    ),
    Kind::Mcp("task", r#"{"task": "{call}", "wait_seconds": 0}"#),
    Kind::McpTask("tasks/get", r#"{"taskId": "{call}"}"#),
    Kind::McpTask(
        "tasks/update",
        r#"{"taskId": "{call}", "inputResponses": {}}"#,
    ),
    Kind::Grpc("SendMessage"),
    Kind::Grpc("SendStreamingMessage"),
    Kind::Grpc("GetTask"),
    Kind::Grpc("ListTasks"),
    Kind::Grpc("CancelTask"),
    Kind::Grpc("SubscribeToTask"),
    Kind::Grpc("CreateTaskPushNotificationConfig"),
    Kind::Grpc("GetTaskPushNotificationConfig"),
    Kind::Grpc("ListTaskPushNotificationConfigs"),
    Kind::Grpc("DeleteTaskPushNotificationConfig"),
    Kind::Grpc("GetExtendedAgentCard"),
    Kind::GrpcOld("SendMessage"),
    Kind::GrpcOld("SendStreamingMessage"),
    Kind::GrpcOld("GetTask"),
    Kind::GrpcOld("CancelTask"),
    Kind::GrpcOld("TaskSubscription"),
    Kind::GrpcOld("CreateTaskPushNotificationConfig"),
    Kind::GrpcOld("GetTaskPushNotificationConfig"),
    Kind::GrpcOld("ListTaskPushNotificationConfig"),
    Kind::GrpcOld("DeleteTaskPushNotificationConfig"),
    Kind::GrpcOld("GetAgentCard"),
    send("POST", "/agents/find", r#"{"goal": "anns"}"#),
    send("POST", "/tools/find", r#"{"goal": "anns"}"#),
    send("POST", "/register", HEARTBEAT),
    send("POST", "/heartbeat", HEARTBEAT),
    send(
        "POST",
        "/mcp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#,
    ),
    send(
        "POST",
        "/v1/agents/{agent}/calls",
        r#"{"text": "x", "detach": true}"#,
    ),
    send("POST", "/v1/agents/{agent}/transfers", TRANSFER),
    send(
        "POST",
        "/v1/agents/{agent}/transfers/{transfer}/signals",
        r#"{"signal_type": "poll"}"#,
    ),
    send(
        "PUT",
        "/v1/agents/{agent}/transfers/{transfer}/content",
        "x",
    ),
    send("PUT", "/v1/transfers/{ticket}", "x"),
    send(
        "POST",
        "/v1/calls/{call}/answer",
        r#"{"ask_id": "a", "content": "x"}"#,
    ),
    send("POST", "/v1/calls/{call}/messages", r#"{"text": "x"}"#),
    send("POST", "/v1/calls/{call}/resend", ""),
    send("POST", "/v1/invites", r#"{"agent": "{agent}"}"#),
    send(
        "POST",
        "/v1/tickets",
        r#"{"origin": "https://page.example"}"#,
    ),
    send(
        "POST",
        "/v1/peers",
        r#"{"address": "/ip4/127.0.0.1/tcp/9/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", "keep": true}"#,
    ),
    send("POST", "/v1/peers/{peer}/block", ""),
    send("POST", "/v1/peers/{peer}/unblock", ""),
    send(
        "POST",
        "/v1/remotes",
        r#"{"url": "http://127.0.0.1:9", "id": "anns-other", "keep": true}"#,
    ),
    send("POST", "/v1/discover", r#"{"url": "http://127.0.0.1:9"}"#),
    send(
        "POST",
        "/v1/teams",
        r#"{"id": "anns-new", "coordinator": "first", "members": [{"name": "first", "agent": "{agent}"}]}"#,
    ),
    send(
        "POST",
        "/v1/teams/{team}/decisions",
        r#"{"invocation_id": "i", "approve": true}"#,
    ),
    send("POST", "/v1/teams/{team}/events", "[]"),
    send("POST", "/v1/teams/{team}/messages", r#"{"content": "x"}"#),
    send("POST", "/v1/teams/{team}/stop", ""),
    send(
        "POST",
        "/v1/teams/{team}/tasks",
        r#"{"tasks": [{"task_name": "t", "assignee_name": "first"}]}"#,
    ),
    send(
        "PATCH",
        "/v1/teams/{team}/tasks/{task}",
        r#"{"status": "in_progress"}"#,
    ),
    send("PATCH", "/v1/teams/{team}", r#"{"description": "x"}"#),
    send(
        "POST",
        "/v1/tokens",
        r#"{"name": "n", "owner": "ann", "scopes": []}"#,
    ),
    send(
        "POST",
        "/v1/chat/completions",
        r#"{"model": "{agent}", "messages": [{"role": "user", "content": "x"}]}"#,
    ),
    send(
        "POST",
        "/v1/responses",
        r#"{"model": "{agent}", "input": "x"}"#,
    ),
    send("POST", "/v1/responses/{response}/cancel", ""),
    send("POST", "/api/relay", RELAY),
    send(
        "POST",
        "/api/a2a/call",
        r#"{"caller_agent_id": "x", "target_agent_id": "{agent}", "task_description": "x"}"#,
    ),
    send("POST", "/api/agents-by-token", r#"{"token_hash": "x"}"#),
    send(
        "POST",
        "/api/rtc-signal/{agent}",
        r#"{"transfer_id": "t", "signal_type": "poll"}"#,
    ),
    send(
        "POST",
        "/api/cancel",
        r#"{"agent_id": "{agent}", "session_id": "s"}"#,
    ),
    send("POST", "/api/disconnect", r#"{"agent_id": "{agent}"}"#),
    send("PATCH", "/v1/agents/{agent}", r#"{"share": "nobody"}"#),
    Kind::Agora(r#"{"type": "register", "id": "{agent}"}"#),
    Kind::Bridge,
    Kind::Mcp("cancel", r#"{"task": "{call}"}"#),
    Kind::McpTask("tasks/cancel", r#"{"taskId": "{call}"}"#),
    send("POST", "/v1/calls/{call}/cancel", ""),
    send("DELETE", "/register/{peer}", ""),
    send("DELETE", PEER, ""),
    send("DELETE", "/v1/teams/{team}", ""),
    send("DELETE", "/v1/remotes/{remote}", ""),
    send("DELETE", "/v1/agents/{agent}", ""),
    send("DELETE", "/v1/tokens/{token}", ""),
];

/// All rows.
pub(crate) fn rows() -> Vec<Row> {
    KINDS.iter().map(|kind| Row { kind: *kind }).collect()
}
