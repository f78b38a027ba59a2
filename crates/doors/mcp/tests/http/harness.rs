//! A hub with the MCP door on a port of its own, agents whose part the test plays, and a client that writes JSON-RPC by
//! hand.

use std::{net::SocketAddr, sync::Arc};

use jackfield_core::{
    agent::{Profile, Skill},
    hub::Hub,
    limits::Limits,
    principal::{Principal, Scopes},
    store::memory::MemoryStore,
    task::Task,
};
use jackfield_kit::files::{FileKey, Files};
pub(crate) use jackfield_kit::testing::{Scripted, soon};
use jackfield_kit::{
    auth::Gatekeeper,
    server::Server,
    tasks::Tasks,
    testing::{Manner, SOON, SseReader},
};
use jackfield_mcp::{McpState, router};
use jackfield_model::{Owner, TaskId};
use jackfield_own::OwnState;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

/// A running hub.
pub(crate) struct Running {
    addr: SocketAddr,
    pub(crate) hub: Hub,
    pub(crate) tasks: Tasks,
    client: reqwest::Client,
    _server: JoinSet<usize>,
}

impl Running {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(true, Limits::default()).await
    }

    pub(crate) async fn start_with(trusts_everyone: bool, limits: Limits) -> Self {
        let hub = Hub::open(Arc::new(MemoryStore::default()), limits)
            .await
            .unwrap();
        let tasks = Tasks::new();
        let files = Files::for_hub(&hub);
        let gatekeeper = Gatekeeper::new(hub.clone(), trusts_everyone);
        let (app, _) = router(McpState {
            hub: hub.clone(),
            gatekeeper: gatekeeper.clone(),
            files: files.clone(),
            version: "1.2.3",
            stop: tasks.stop_token().clone(),
        });
        let (own, _) = jackfield_own::router(OwnState {
            hub: hub.clone(),
            gatekeeper,
            files: files.clone(),
            version: "1.2.3",
            stop: tasks.stop_token().clone(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let key = FileKey::new("file key");
        files.serve_at(&format!("http://{addr}"), key);
        let mut server = JoinSet::new();
        server.spawn(Server::new(vec![listener], app.merge(own), tasks.clone()).run(SOON));
        Self {
            addr,
            hub,
            tasks,
            client: reqwest::Client::new(),
            _server: server,
        }
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.addr);
        self.client.request(method, url).timeout(SOON)
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
        SseReader::of(request.send().await.unwrap()).await
    }

    pub(crate) async fn token(&self, owner: &str, scopes: &[&str]) -> String {
        let owner = Owner::parse(owner).unwrap();
        let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
        let new = self.hub.tokens().create("t".into(), owner, &scopes, None);
        new.await.unwrap().secret
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
            name: format!("Agent {id}"),
            description: Some(description.to_owned()),
            skills: vec![Skill {
                id: format!("{id}-skill"),
                name: Some("Some Skill".to_owned()),
                ..Skill::default()
            }],
            ..Profile::default()
        };
        let manner = Manner {
            door: "local",
            is_lively: true,
            one_call_per_session: false,
        };
        Scripted::attach(&self.hub, principal, id, profile, manner)
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
