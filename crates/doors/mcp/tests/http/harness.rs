//! The MCP door: a client that writes JSON-RPC by hand, and reads results from JSON or a stream.

use std::{ops::Deref, sync::Arc};

use jackfield_core::{agent::Profile, limits::Limits, principal::Principal, task::Task};
pub(crate) use jackfield_kit::testing::{Scripted, soon};
use jackfield_kit::testing::{SseReader, TestHub, TestSettings};
use jackfield_model::{Ask, AskKind, Skill, TaskId};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

/// A hub with the MCP door and its own API.
pub(crate) struct McpHub(TestHub);

impl Deref for McpHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.0
    }
}

impl McpHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        let settings = TestSettings {
            limits,
            trusts_everyone,
            has_file_links: true,
            ..TestSettings::default()
        };
        let mut builder = settings.prepare().await;
        builder.open(jackfield_mcp::Config).await;
        builder.open(jackfield_own::Config::default()).await;
        Self(builder.start())
    }

    /// A message as clients send it.
    pub(crate) fn post(&self, message: &Value) -> RequestBuilder {
        self.ask(Method::POST, "/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .body(message.to_string())
    }

    /// The response to a request.
    pub(crate) async fn rpc(&self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        last(self.post(&message).send().await.unwrap()).await
    }

    /// The result of a tool.
    pub(crate) async fn tool(&self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        let response = self.rpc("tools/call", params).await;
        assert_eq!(response["error"], Value::Null, "{response}");
        response["result"].clone()
    }

    /// Begins to call a tool, as request 7 of the session `s`.
    pub(crate) async fn begin(
        &self,
        name: &str,
        arguments: Value,
        token: Option<&str>,
    ) -> SseReader {
        let mut params = json!({"name": name, "arguments": arguments});
        if let Some(token) = token {
            params["_meta"] = json!({"progressToken": token});
        }
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let request = self.post(&message).header("mcp-session-id", "s");
        SseReader::open(request).await
    }

    /// Attaches an agent of `local`.
    pub(crate) fn attach(&self, id: &str) -> Scripted {
        self.attach_for(&Principal::local(), id, "an agent")
    }

    pub(crate) fn attach_for(
        &self,
        principal: &Principal,
        id: &str,
        description: &str,
    ) -> Scripted {
        let profile = Profile {
            description: Some(description.to_owned()),
            ..Profile::default()
        };
        let skill = Skill {
            id: format!("{id}-skill"),
            name: Some("Some Skill".to_owned()),
            ..Skill::default()
        };
        let agent = self.agent(id).of(principal).profile(profile);
        agent.named(skill).attach()
    }

    /// A task of `local`.
    pub(crate) async fn task(&self, id: &Value) -> Arc<Task> {
        let id = TaskId::parse(id.as_str().unwrap()).unwrap();
        let found = self.hub.tasks().find(&Principal::local(), id).await;
        found.unwrap()
    }
}

/// The response at the end of a stream, or an answer that is no stream.
pub(crate) async fn last(response: Response) -> Value {
    if response.headers()["content-type"] == "application/json" {
        return response.json().await.unwrap();
    }
    let mut reader = SseReader::of(response).await;
    response_of(&mut reader).await
}

/// The response at the end of a stream; what comes before is left out.
pub(crate) async fn response_of(reader: &mut SseReader) -> Value {
    let mut last = Value::Null;
    while let Some(next) = reader.next().await {
        last = next.data;
    }
    assert_eq!(last["id"], 7, "{last}");
    last
}

/// The words of a tool's result, as a model reads them.
pub(crate) fn words(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap().iter();
    let texts: Vec<_> = blocks.filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

/// A question of an agent.
pub(crate) fn ask(id: &str, kind: AskKind, text: &str) -> Ask {
    Ask {
        id: id.to_owned(),
        kind,
        text: text.to_owned(),
        tool_name: Some("rm".to_owned()),
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}

/// A client of version 2026-07-28, which says in each request what it can do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modern {
    /// Takes a task in place of a result.
    pub(crate) tasks: bool,
    /// Shows forms to its user.
    pub(crate) forms: bool,
}

impl Modern {
    fn capabilities(self) -> Value {
        let mut capabilities = json!({});
        if self.tasks {
            capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
        }
        if self.forms {
            capabilities["elicitation"] = json!({"form": {}});
        }
        capabilities
    }
}

impl McpHub {
    /// The response to a request of version 2026-07-28.
    pub(crate) async fn modern(&self, client: Modern, method: &str, params: Value) -> Value {
        let request = self.modern_request(client, method, params);
        last(request.send().await.unwrap()).await
    }

    /// The same, by the holder of a token.
    pub(crate) async fn modern_as(
        &self,
        token: &str,
        client: Modern,
        method: &str,
        params: Value,
    ) -> Value {
        let request = self.modern_request(client, method, params);
        last(request.bearer_auth(token).send().await.unwrap()).await
    }

    fn modern_request(&self, client: Modern, method: &str, mut params: Value) -> RequestBuilder {
        let name = ["name", "taskId"].map(|key| params[key].as_str().map(str::to_owned));
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": client.capabilities(),
        });
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let mut request = self.post(&message);
        request = request.header("mcp-protocol-version", "2026-07-28");
        request = request.header("mcp-method", method);
        match name.into_iter().flatten().next() {
            Some(name) => request.header("mcp-name", name),
            None => request,
        }
    }
}
