//! Parameters of the editor's requests, and the response to `initialize`.
//!
//! The working folder and the MCP servers of a session are read, so that wrong ones are refused, and not used: the agent works
//! on its own machine.

use jackfield_wire::read::or_default;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{VERSION, content::RawBlock};

/// Parameters of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    pub(crate) protocol_version: u16,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) client_capabilities: ClientCapabilities,
}

/// What the editor can do, as far as the hub uses it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ClientCapabilities {
    elicitation: Option<ElicitationCapabilities>,
    session: Option<ClientSessionCapabilities>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct ElicitationCapabilities {
    form: Option<Supported>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct ClientSessionCapabilities {
    notices: Option<Supported>,
}

/// An object, whose presence means support.
#[derive(Debug, Clone, Default, Deserialize)]
struct Supported {}

impl ClientCapabilities {
    /// Returns whether the editor shows forms for questions.
    pub(crate) fn has_forms(&self) -> bool {
        let elicitation = self.elicitation.as_ref();
        elicitation.is_some_and(|it| it.form.is_some())
    }

    /// Returns whether the editor shows notices.
    pub(crate) fn has_notices(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|it| it.notices.is_some())
    }
}

/// Writes the result of `initialize`, for an agent with an id and a name for people.
pub(crate) fn initialized(agent: &str, title: Option<&str>, version: &str) -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
            "mcpCapabilities": {"http": false, "sse": false},
            "sessionCapabilities": {"resume": {}, "close": {}},
            "auth": {},
        },
        "authMethods": [],
        "agentInfo": {"name": agent, "title": title.unwrap_or(agent), "version": version},
    })
}

/// Parameters of `session/new`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "read for its checks only")]
pub(crate) struct NewSession {
    cwd: String,
    #[serde(default, deserialize_with = "or_default")]
    mcp_servers: Vec<Ignored>,
}

/// An object whose fields are not used.
#[derive(Debug, Deserialize)]
struct Ignored {}

/// Parameters of the requests and notifications that name a session and nothing else that is used: `session/load`,
/// `session/resume`, `session/close`, `session/cancel`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionParams {
    pub(crate) session_id: String,
}

/// Parameters of `session/prompt`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    pub(crate) session_id: String,
    pub(super) prompt: Vec<RawBlock>,
    #[serde(default, rename = "_meta", deserialize_with = "or_default")]
    meta: PromptMeta,
}

#[derive(Debug, Default, Deserialize)]
struct PromptMeta {
    #[serde(default, deserialize_with = "jackfield_wire::read::lenient")]
    traceparent: Option<String>,
}

impl Prompt {
    /// Returns the caller's trace, unchecked.
    pub(crate) fn traceparent(&self) -> Option<&str> {
        self.meta.traceparent.as_deref()
    }
}

/// Parameters of `$/cancel_request`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelRequestParams<'a> {
    #[serde(borrow)]
    pub(crate) request_id: &'a RawValue,
}
