//! A hub with the ACP door, and an editor that writes frames by hand.

use std::ops::{Deref, DerefMut};

use jackfield_core::limits::Limits;
pub(crate) use jackfield_kit::testing::{Scripted, soon};
use jackfield_kit::testing::{TestHub, TestSettings, WsClient, WsRefused};
use jackfield_model::{Ask, AskKind};
use serde_json::{Value, json};

/// A hub with the ACP door.
pub(crate) struct AcpHub(TestHub);

impl Deref for AcpHub {
    type Target = TestHub;

    fn deref(&self) -> &TestHub {
        &self.0
    }
}

impl AcpHub {
    /// As on loopback.
    pub(crate) async fn start() -> Self {
        Self::start_with(TestSettings {
            has_file_links: true,
            ..TestSettings::default()
        })
        .await
    }

    pub(crate) async fn start_with_limits(limits: Limits) -> Self {
        Self::start_with(TestSettings {
            limits,
            ..TestSettings::default()
        })
        .await
    }

    pub(crate) async fn start_with(settings: TestSettings) -> Self {
        let mut builder = settings.prepare().await;
        builder.open(jackfield_acp::Config).await;
        Self(builder.start())
    }

    /// Connects an editor that has sent nothing yet.
    pub(crate) async fn connect_to(&self, agent: &str) -> Editor {
        Editor::new(self.connect(&format!("/acp/{agent}")).await)
    }

    /// Connects an editor with headers.
    pub(crate) async fn try_connect(
        &self,
        agent: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Editor, WsRefused> {
        let path = format!("/acp/{agent}");
        let connected = WsClient::connect_with(self.addr, &path, headers).await;
        connected.map(Editor::new)
    }

    /// Connects an editor, initializes the connection and begins a session.
    pub(crate) async fn open(&self, agent: &str) -> (Editor, String) {
        self.open_with(agent, json!({})).await
    }

    /// Opens a session of an editor with these capabilities.
    pub(crate) async fn open_with(&self, agent: &str, capabilities: Value) -> (Editor, String) {
        let mut editor = self.connect_to(agent).await;
        editor.initialize(capabilities).await;
        let session = editor.new_session().await;
        (editor, session)
    }
}

/// An editor.
pub(crate) struct Editor {
    ws: WsClient,
    last_id: u64,
}

impl Deref for Editor {
    type Target = WsClient;

    fn deref(&self) -> &WsClient {
        &self.ws
    }
}

impl DerefMut for Editor {
    fn deref_mut(&mut self) -> &mut WsClient {
        &mut self.ws
    }
}

impl Editor {
    fn new(ws: WsClient) -> Self {
        Self { ws, last_id: 0 }
    }

    /// Closes the connection.
    pub(crate) async fn close(self) {
        self.ws.close().await;
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.ws.send(request).await;
        id
    }

    /// Sends a request whose response is the next frame.
    pub(crate) async fn rpc(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        let response = self.ws.frame().await;
        assert_eq!(response["id"], id, "{response}");
        response
    }

    /// The error response to a request.
    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> Value {
        let response = self.rpc(method, params).await;
        assert!(response["error"].is_object(), "{response}");
        response["error"].clone()
    }

    pub(crate) async fn tell(&mut self, method: &str, params: Value) {
        let notice = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.ws.send(notice).await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.ws.send(response).await;
    }

    pub(crate) async fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}});
        self.rpc("initialize", params).await["result"].clone()
    }

    pub(crate) async fn new_session(&mut self) -> String {
        let params = json!({"cwd": "/work", "mcpServers": []});
        let response = self.rpc("session/new", params).await;
        response["result"]["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt of one text.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        self.ask("session/prompt", params).await
    }

    /// The next update of a session.
    pub(crate) async fn update(&mut self, session: &str) -> Value {
        let frame = self.ws.frame().await;
        assert_eq!(frame["method"], "session/update", "{frame}");
        assert_eq!(frame["params"]["sessionId"], session, "{frame}");
        frame["params"]["update"].clone()
    }

    /// All updates until the response to a request, and the response.
    pub(crate) async fn updates_until(&mut self, id: u64) -> (Vec<Value>, Value) {
        let mut updates = Vec::new();
        loop {
            let frame = self.ws.frame().await;
            if frame["id"] == id && frame["method"].is_null() {
                return (updates, frame);
            }
            assert_eq!(frame["method"], "session/update", "{frame}");
            updates.push(frame["params"]["update"].clone());
        }
    }

    /// The next request of the hub.
    pub(crate) async fn question(&mut self, method: &str) -> Value {
        loop {
            let frame = self.ws.frame().await;
            if frame["method"] == method {
                return frame;
            }
            assert_eq!(frame["method"], "session/update", "{frame}");
        }
    }

    /// The stop reason of a prompt.
    pub(crate) async fn stop_reason(&mut self, id: u64) -> String {
        let (_, response) = self.updates_until(id).await;
        let reason = response["result"]["stopReason"].as_str();
        reason.unwrap_or_else(|| panic!("{response}")).to_owned()
    }
}

/// A piece of text in an update.
pub(crate) fn text_of(update: &Value) -> &str {
    update["content"]["text"].as_str().unwrap_or_default()
}

/// The text of all updates of a kind.
pub(crate) fn texts(updates: &[Value], kind: &str) -> String {
    let of_kind = updates.iter().filter(|it| it["sessionUpdate"] == kind);
    of_kind.map(text_of).collect()
}

pub(crate) fn ask(id: &str, kind: AskKind, text: &str) -> Ask {
    Ask {
        id: id.to_owned(),
        kind,
        text: text.to_owned(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    }
}
