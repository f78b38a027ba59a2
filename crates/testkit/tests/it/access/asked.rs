//! An operation, requested by a caller: once for ann's thing, once for a thing that doesn't exist.

use std::time::Duration;

use jackfield_testkit::{Raw, bridge_register};
use reqwest::Method;
use serde_json::{Value, json};

use crate::access::{
    fixture::{AccessFixture, PAGE},
    rows::{Kind, Row},
};

/// The id of a thing that doesn't exist.
const NOTHING: &str = "nobodys-thing";
/// The id of a task that doesn't exist.
const NO_TASK: &str = "0190a0a0-0000-7000-8000-000000000000";

/// The id of a response that doesn't exist.
const NO_RESPONSE: &str = "resp_0190a0a0-0000-7000-8000-000000000000";

/// A caller's permission, as written in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    Yes,
    Own,
    Told,
    Unknown,
    No,
}

impl Cell {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Own => "own",
            Self::Told => "told",
            Self::Unknown => "unknown",
            Self::No => "–",
        }
    }
}

/// A response of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HubResponse {
    is_refused: bool,
    text: String,
}

/// The hub's responses to an operation.
#[derive(Debug)]
pub(crate) struct Answer {
    real: HubResponse,
    /// Response for a thing that doesn't exist, if the operation takes one.
    other: Option<HubResponse>,
    pub(crate) tells_of_ann: bool,
}

impl Answer {
    pub(crate) async fn to(fixture: &AccessFixture, row: &Row) -> Self {
        let other = match row.is_about_something() {
            true => Some(ask(fixture, row, Names::nothing_for(row)).await),
            false => None,
        };
        let names = Names::of(fixture);
        let mut real = ask(fixture, row, names).await;
        let tells_of_ann = !real.is_refused && row.is_listing() && real.text.contains("anns-");
        for (name, nothing) in names.all().into_iter().zip(Names::nothing_for(row).all()) {
            real.text = real.text.replace(name, nothing);
        }
        Self {
            real,
            other,
            tells_of_ann,
        }
    }

    /// The permission that the responses show; `is_list` for lists that may contain ann's things.
    pub(crate) fn cell(&self, is_list: bool) -> Cell {
        match &self.other {
            Some(other) if *other == self.real && other.is_refused => Cell::No,
            Some(other) if *other == self.real => Cell::Unknown,
            Some(_) if self.real.is_refused => Cell::Told,
            None if self.real.is_refused => Cell::No,
            None if is_list && !self.tells_of_ann => Cell::Own,
            _ => Cell::Yes,
        }
    }
}

/// Values for the names in braces of a row.
#[derive(Debug, Clone, Copy)]
struct Names<'a> {
    agent: &'a str,
    team: &'a str,
    task: &'a str,
    response: &'a str,
    token: &'a str,
    remote: &'a str,
}

impl<'a> Names<'a> {
    fn of(fixture: &'a AccessFixture) -> Self {
        Self {
            agent: "anns-agent",
            team: "anns-team",
            task: &fixture.task,
            response: &fixture.response,
            token: &fixture.ann,
            remote: "anns-remote",
        }
    }

    fn nothing_for(row: &Row) -> Self {
        Self {
            // Registering the id would create the agent.
            agent: match row.kind {
                Kind::Agora(_) => "nobodys-first",
                Kind::Bridge => "nobodys-second",
                _ => NOTHING,
            },
            team: NOTHING,
            task: NO_TASK,
            response: NO_RESPONSE,
            token: NO_TASK,
            remote: NOTHING,
        }
    }

    fn all(self) -> [&'a str; 6] {
        [
            self.agent,
            self.team,
            self.task,
            self.response,
            self.token,
            self.remote,
        ]
    }

    fn fill(self, text: &str) -> String {
        text.replace("{agent}", self.agent)
            .replace("{team}", self.team)
            .replace("{call}", self.task)
            .replace("{response}", self.response)
            .replace("{token}", self.token)
            .replace("{remote}", self.remote)
    }
}

async fn ask(fixture: &AccessFixture, row: &Row, names: Names<'_>) -> HubResponse {
    match row.kind {
        Kind::Http { method, path, body } => {
            let body = (!body.is_empty()).then(|| names.fill(body));
            http(fixture, method, &names.fill(path), body).await
        }
        Kind::Grpc(method) => {
            let path = names.fill("/a2a/agents/{agent}/lf.a2a.v1.A2AService/");
            grpc(fixture, &format!("{path}{method}")).await
        }
        Kind::GrpcOld(method) => {
            let path = names.fill("/a2a/agents/{agent}/a2a.v1.A2AService/");
            grpc(fixture, &format!("{path}{method}")).await
        }
        Kind::McpTask(method, params) => {
            let params = serde_json::from_str(&names.fill(params)).unwrap();
            mcp_task(fixture, method, params).await
        }
        Kind::Mcp(tool, arguments) => {
            let arguments: Value = serde_json::from_str(&names.fill(arguments)).unwrap();
            let params = json!({"name": tool, "arguments": arguments});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            http(fixture, "POST", "/mcp", Some(body.to_string())).await
        }
        Kind::Agora(frame) => agora(fixture, &names.fill(frame)).await,
        Kind::Bridge => bridge(fixture, names.agent).await,
        Kind::Viewer(path) => viewer(fixture, &names.fill(path), &headers(fixture)).await,
        Kind::Page(path) => page(fixture, &names.fill(path)).await,
        Kind::Acp(method) => acp(fixture, &names.fill("/acp/{agent}"), method).await,
    }
}

/// A request about a task, of a client that takes tasks. Such a request names its method and its task in headers too.
async fn mcp_task(fixture: &AccessFixture, method: &str, mut params: Value) -> HubResponse {
    let version = "2026-07-28";
    let task = params["taskId"].as_str().unwrap().to_owned();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        },
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let headers = [
        ("mcp-protocol-version", version),
        ("mcp-method", method),
        ("mcp-name", &task),
    ];
    http_with(fixture, "POST", "/mcp", Some(body.to_string()), &headers).await
}

async fn http(
    fixture: &AccessFixture,
    method: &str,
    path: &str,
    body: Option<String>,
) -> HubResponse {
    http_with(fixture, method, path, body, &[]).await
}

async fn http_with(
    fixture: &AccessFixture,
    method: &str,
    path: &str,
    body: Option<String>,
    headers: &[(&str, &str)],
) -> HubResponse {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let client = &fixture.client;
    let mut request = client
        .request(method, fixture.hub.url(path))
        .header("accept", "application/json, text/event-stream")
        .timeout(Duration::from_secs(30));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    for (name, value) in &fixture.shows {
        request = request.header(*name, value);
    }
    if let Some(body) = body {
        request = request
            .header("content-type", "application/json")
            .body(body);
    }
    let mut response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let is_stream = response.headers().get("content-type").is_some_and(|kind| {
        kind.as_bytes().starts_with(b"text/event-stream") && !path.starts_with("/mcp")
    });
    let text = if is_stream {
        // Streams may never end; the first bytes are enough, and may take long.
        let first = tokio::time::timeout(Duration::from_millis(300), response.chunk());
        let first = first.await.ok().and_then(Result::ok).flatten();
        String::from_utf8_lossy(&first.unwrap_or_default()).into_owned()
    } else {
        response.text().await.unwrap()
    };
    HubResponse {
        is_refused: matches!(status, 401 | 403),
        text: format!("{status} {text}"),
    }
}

async fn grpc(fixture: &AccessFixture, path: &str) -> HubResponse {
    let client = &fixture.client;
    let mut request = client
        .post(fixture.hub.url(path))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(vec![0; 5]);
    for (name, value) in &fixture.shows {
        request = request.header(*name, value);
    }
    let response = request.send().await.unwrap();
    let trailer = |name: &str| {
        let value = response.headers().get(name);
        value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    };
    // Without a status among the headers, the call has an answer.
    let status = trailer("grpc-status");
    HubResponse {
        is_refused: matches!(status.as_str(), "7" | "16"),
        text: format!("{status} {}", trailer("grpc-message")),
    }
}

fn headers(fixture: &AccessFixture) -> Vec<(&'static str, &str)> {
    let shows = fixture.shows.iter();
    shows.map(|(name, value)| (*name, value.as_str())).collect()
}

async fn agora(fixture: &AccessFixture, frame: &str) -> HubResponse {
    let mut raw = Raw::connect_with(fixture.hub.addr(), "/ws", &headers(fixture))
        .await
        .unwrap();
    raw.send(serde_json::from_str(frame).unwrap()).await;
    let reply = raw.frame().await;
    HubResponse {
        is_refused: reply["type"] == "error" && reply.to_string().contains("unauthorized"),
        text: reply.to_string(),
    }
}

async fn bridge(fixture: &AccessFixture, agent: &str) -> HubResponse {
    let mut raw = Raw::connect_with(fixture.hub.addr(), "/ws", &headers(fixture))
        .await
        .unwrap();
    let mut register = bridge_register(agent);
    if let Some(token) = &fixture.token {
        register["token"] = token.as_str().into();
    }
    raw.send(register).await;
    let reply = raw.frame().await;
    HubResponse {
        is_refused: reply["status"] != "ok",
        text: reply.to_string(),
    }
}

/// A page whose server makes a ticket for it. Pages of a caller without a ticket try one that does not exist.
async fn page(fixture: &AccessFixture, path: &str) -> HubResponse {
    let body = json!({"origin": PAGE}).to_string();
    let made = http(fixture, "POST", "/v1/tickets", Some(body)).await;
    let made: Value = made
        .text
        .split_once(' ')
        .map(|(_, body)| serde_json::from_str(body).unwrap_or_default())
        .unwrap_or_default();
    let query = made["query"].as_str().unwrap_or("ticket=jt_none");
    let path = format!("{path}?{query}");
    viewer(fixture, &path, &[("origin", PAGE)]).await
}

async fn viewer(
    fixture: &AccessFixture,
    path: &str,
    headers: &[(&'static str, &str)],
) -> HubResponse {
    match Raw::connect_with(fixture.hub.addr(), path, headers).await {
        Ok(mut raw) => {
            // Errors arrive on the open connection.
            let first = tokio::time::timeout(Duration::from_secs(2), raw.maybe_text()).await;
            let text = format!("{first:?}");
            HubResponse {
                is_refused: text.contains("UNAUTHORIZED"),
                text,
            }
        }
        Err(status) => HubResponse {
            is_refused: matches!(status, 401 | 403),
            text: status.to_string(),
        },
    }
}

/// The response to the last of an editor's first requests.
async fn acp(fixture: &AccessFixture, path: &str, method: &str) -> HubResponse {
    let mut raw = match Raw::connect_with(fixture.hub.addr(), path, &headers(fixture)).await {
        Ok(raw) => raw,
        Err(status) => {
            return HubResponse {
                is_refused: matches!(status, 401 | 403),
                text: status.to_string(),
            };
        }
    };
    let mut session = Value::Null;
    for (id, name) in ["initialize", "session/new", "session/prompt"]
        .iter()
        .enumerate()
    {
        let params = match *name {
            "initialize" => json!({"protocolVersion": 1}),
            "session/new" => json!({"cwd": "/", "mcpServers": []}),
            _ => json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}),
        };
        let request = json!({"jsonrpc": "2.0", "id": id, "method": name, "params": params});
        raw.send(request).await;
        let response = loop {
            // Agents may not answer a prompt.
            let frame = tokio::time::timeout(Duration::from_secs(2), raw.frame()).await;
            match frame {
                Ok(frame) if frame["id"] == id => break frame,
                Ok(_) => {}
                Err(_) => break Value::Null,
            }
        };
        session = response["result"]["sessionId"].clone();
        if *name == method {
            return HubResponse {
                is_refused: response["error"]["code"] == -32000,
                text: response.to_string(),
            };
        }
    }
    unreachable!("{method} is no request of an editor")
}
