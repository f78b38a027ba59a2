//! What the relay answers over HTTP, and what it posts to callbacks: exactly the fields of the original hub.
//! Times are text in ISO 8601 with milliseconds and `Z`; what is absent is left out.

use jackfield_wire::bridge::Attachment;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The body of every error.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayError)]
pub(crate) struct ErrorBody<'a> {
    /// Why, for programs: a code of the protocol, or one that only HTTP knows, such as `not_found`.
    pub(crate) error: &'a str,
    /// Why, for people; only the refusal of a plain request to `/ws` goes without.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) message: Option<&'a str>,
}

/// The answer to an async relay.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayAccepted)]
pub(crate) struct Accepted<'a> {
    /// Always `true`.
    pub(crate) accepted: bool,
    /// The request, by which its result can be asked for.
    pub(crate) request_id: &'a str,
}

/// The answer of `GET /api/agents/:id/status`; the default is that of an agent that never connected.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = RelayAgentStatus)]
pub(crate) struct AgentStatus<'a> {
    /// Whether it can be called now.
    pub(crate) online: bool,
    /// What it is.
    pub(crate) agent_type: &'a str,
    /// The tags it can be found by.
    pub(crate) capabilities: Vec<&'a str>,
    /// When it connected last.
    pub(crate) connected_at: &'a str,
    /// When it gave its last sign of life.
    pub(crate) last_heartbeat: &'a str,
    /// How many sessions it has.
    pub(crate) active_sessions: u64,
    /// Its owner, while it is connected.
    pub(crate) user_id: &'a str,
}

/// The answer of `GET /api/task-status`.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayTaskStatus)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum TaskStatus<'a> {
    /// The agent is at it.
    Running {
        /// The request.
        request_id: &'a str,
        /// When it was accepted.
        started_at: &'a str,
    },
    /// The answer is there.
    Completed {
        /// The request.
        request_id: &'a str,
        /// The whole answer.
        result: &'a str,
        /// The files the agent made.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        #[schema(value_type = Vec<Attachment<'_>>, required = false)]
        attachments: &'a [Attachment<'a>],
        /// The offer of a transfer between peers.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<serde_json::Value>)]
        file_transfer_offer: Option<&'a RawValue>,
        /// How long it took.
        duration_ms: u64,
        /// When it ended.
        completed_at: &'a str,
    },
    /// There will be no answer.
    Failed {
        /// The request.
        request_id: &'a str,
        /// Why, for programs.
        error_code: &'a str,
        /// Why, for people.
        error_message: &'a str,
        /// How long it took.
        duration_ms: u64,
        /// When it ended.
        completed_at: &'a str,
    },
}

/// What is posted to the callback of an async relay.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum Callback<'a> {
    /// The answer is there.
    Completed {
        /// The request.
        request_id: &'a str,
        /// The whole answer.
        result: &'a str,
        /// The files the agent made.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        attachments: &'a [Attachment<'a>],
        /// The offer of a transfer between peers.
        #[serde(skip_serializing_if = "Option::is_none")]
        file_transfer_offer: Option<&'a RawValue>,
        /// How long it took.
        duration_ms: u64,
        /// The conversation.
        session_key: &'a str,
        /// The title of the conversation, as the request gave it.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_title: Option<&'a str>,
        /// What the user said, as the request gave it.
        #[serde(skip_serializing_if = "Option::is_none")]
        user_message: Option<&'a str>,
    },
    /// There will be no answer.
    Failed {
        /// The request.
        request_id: &'a str,
        /// Why, for programs.
        error_code: &'a str,
        /// Why, for people.
        error_message: &'a str,
    },
}

/// The answer of `POST /api/cancel`.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayCancelled)]
pub(crate) struct Cancelled<'a> {
    /// Always `true`.
    pub(crate) success: bool,
    /// The conversation.
    pub(crate) session_id: &'a str,
    /// The request that was cancelled.
    pub(crate) request_id: &'a str,
}

/// The answer of `POST /api/disconnect`.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayDisconnected)]
pub(crate) struct Disconnected {
    /// Always `true`.
    pub(crate) success: bool,
    /// Whether there was anything to close.
    pub(crate) was_online: bool,
}

/// The answer of `POST /api/agents-by-token`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = RelayTokenAgents)]
pub(crate) struct TokenAgents<'a> {
    /// The agents that are connected with the token.
    pub(crate) agents: Vec<TokenAgent<'a>>,
}

/// One agent that is connected with a token.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayTokenAgent)]
pub(crate) struct TokenAgent<'a> {
    /// Its id.
    pub(crate) agent_id: &'a str,
    /// What it is.
    pub(crate) agent_type: &'a str,
}

/// The answer of `POST /api/rtc-signal/:agentId`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = RelaySignals)]
pub(crate) struct Signals<'a> {
    /// Always `true`.
    pub(crate) ok: bool,
    /// What the agent said since the last time.
    pub(crate) signals: Vec<Signal<'a>>,
}

/// One signal of an agent to an HTTP caller.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelaySignal)]
pub(crate) struct Signal<'a> {
    /// What it is.
    pub(crate) signal_type: &'a str,
    /// Its content, as the agent wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub(crate) payload: Option<&'a RawValue>,
}

/// The answer of `GET /health`.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = RelayHealth)]
pub(crate) struct Health {
    /// Always `ok`.
    pub(crate) status: &'static str,
}

impl Default for Health {
    fn default() -> Self {
        Health { status: "ok" }
    }
}
