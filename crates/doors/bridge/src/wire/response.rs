//! HTTP responses of the relay, and bodies of callbacks: exactly the fields of the original hub. Times are
//! text in ISO 8601 with milliseconds and `Z`; absent fields are omitted.

use jackfield_wire::bridge::Attachment;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The body of every error.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayError)]
pub(crate) struct RelayErrorBody<'a> {
    /// Error code, for programs: a code of the protocol, or one specific to HTTP, such as `not_found`.
    pub(crate) error: &'a str,
    /// Error text, for people; missing only in the refusal of a plain request to `/ws`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) message: Option<&'a str>,
}

/// The answer to an async relay.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayAccepted)]
pub(crate) struct RelayAccepted<'a> {
    /// Always `true`.
    pub(crate) accepted: bool,
    /// Request id, for asking for the result.
    pub(crate) request_id: &'a str,
}

/// The answer of `GET /api/agents/:id/status`: the status of an agent. The default is the status of an agent
/// that never connected.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = RelayAgentStatus)]
pub(crate) struct AgentStatusResponse<'a> {
    /// Whether the agent can be called now.
    pub(crate) online: bool,
    /// Type of the agent.
    pub(crate) agent_type: &'a str,
    /// Tags for discovery.
    pub(crate) capabilities: Vec<&'a str>,
    /// Time of the last connect.
    pub(crate) connected_at: &'a str,
    /// Time of the last heartbeat.
    pub(crate) last_heartbeat: &'a str,
    /// Number of sessions.
    pub(crate) active_sessions: u64,
    /// Owner of the agent, while connected.
    pub(crate) user_id: &'a str,
}

/// The answer of `GET /api/task-status`: the state of an async or durable request.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayTaskStatus)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum TaskStatusResponse<'a> {
    /// The agent is working.
    Running {
        /// Request id.
        request_id: &'a str,
        /// Time of acceptance.
        started_at: &'a str,
    },
    /// The answer is complete.
    Completed {
        /// Request id.
        request_id: &'a str,
        /// Full answer.
        result: &'a str,
        /// Files created by the agent.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        #[schema(value_type = Vec<Attachment<'_>>, required = false)]
        attachments: &'a [Attachment<'a>],
        /// Offer of a transfer between peers.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<serde_json::Value>)]
        file_transfer_offer: Option<&'a RawValue>,
        /// Duration in milliseconds.
        duration_ms: u64,
        /// Time of the end.
        completed_at: &'a str,
    },
    /// The request failed without an answer.
    Failed {
        /// Request id.
        request_id: &'a str,
        /// Error code, for programs.
        error_code: &'a str,
        /// Error text, for people.
        error_message: &'a str,
        /// Duration in milliseconds.
        duration_ms: u64,
        /// Time of the end.
        completed_at: &'a str,
    },
}

/// The body of a callback for an async relay.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum CallbackBody<'a> {
    /// The answer is complete.
    Completed {
        /// Request id.
        request_id: &'a str,
        /// Full answer.
        result: &'a str,
        /// Files created by the agent.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        attachments: &'a [Attachment<'a>],
        /// Offer of a transfer between peers.
        #[serde(skip_serializing_if = "Option::is_none")]
        file_transfer_offer: Option<&'a RawValue>,
        /// Duration in milliseconds.
        duration_ms: u64,
        /// Session id.
        session_key: &'a str,
        /// Title of the session, as given by the request.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_title: Option<&'a str>,
        /// Message of the user, as given by the request.
        #[serde(skip_serializing_if = "Option::is_none")]
        user_message: Option<&'a str>,
    },
    /// The request failed without an answer.
    Failed {
        /// Request id.
        request_id: &'a str,
        /// Error code, for programs.
        error_code: &'a str,
        /// Error text, for people.
        error_message: &'a str,
    },
}

/// The answer of `POST /api/cancel`.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayCancelled)]
pub(crate) struct CancelResponse<'a> {
    /// Always `true`.
    pub(crate) success: bool,
    /// Session id.
    pub(crate) session_id: &'a str,
    /// Id of the cancelled request.
    pub(crate) request_id: &'a str,
}

/// The answer of `POST /api/disconnect`.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayDisconnected)]
pub(crate) struct DisconnectResponse {
    /// Always `true`.
    pub(crate) success: bool,
    /// Whether the agent was connected.
    pub(crate) was_online: bool,
}

/// The answer of `POST /api/agents-by-token`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = RelayTokenAgents)]
pub(crate) struct TokenAgents<'a> {
    /// Agents connected with the token.
    pub(crate) agents: Vec<TokenAgent<'a>>,
}

/// One agent connected with a token.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayTokenAgent)]
pub(crate) struct TokenAgent<'a> {
    /// Id of the agent.
    pub(crate) agent_id: &'a str,
    /// Type of the agent.
    pub(crate) agent_type: &'a str,
}

/// The answer of `POST /api/rtc-signal/:agentId`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = RelaySignals)]
pub(crate) struct SignalsResponse<'a> {
    /// Always `true`.
    pub(crate) ok: bool,
    /// The agent's signals since the last request.
    pub(crate) signals: Vec<SignalView<'a>>,
}

/// One signal of an agent to an HTTP caller.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelaySignal)]
pub(crate) struct SignalView<'a> {
    /// Type of the signal.
    pub(crate) signal_type: &'a str,
    /// Content of the signal, as written by the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) payload: Option<&'a RawValue>,
}

/// The answer of `GET /health`.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayHealth)]
pub(crate) struct HealthResponse {
    /// Always `ok`.
    pub(crate) status: &'static str,
}

impl Default for HealthResponse {
    fn default() -> Self {
        HealthResponse { status: "ok" }
    }
}
