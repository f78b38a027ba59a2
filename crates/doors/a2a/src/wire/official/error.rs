//! Errors, with their codes in every binding.

mod body;
mod grpc;
mod read;

use super::A2aVersion;
pub(crate) use body::http_error;
pub(crate) use grpc::GrpcCode;

/// Kind of an error. The first five kinds are from JSON-RPC, the next nine from the protocol. The rest exist
/// in HTTP and gRPC but not in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum A2aErrorKind {
    /// The body is not JSON.
    Parse,
    /// The body is not a request.
    InvalidRequest,
    /// Unknown method.
    MethodNotFound,
    /// Invalid params.
    InvalidParams,
    /// Internal failure.
    Internal,
    /// Unknown task, or a task that the caller may not see.
    TaskNotFound,
    /// The task is already over.
    TaskNotCancelable,
    /// The server does not support push notifications.
    PushNotSupported,
    /// The operation is not supported, or not in the current state.
    Unsupported,
    /// Media type that the agent does not accept.
    ContentType,
    /// The agent's answer violates the protocol.
    InvalidAgentResponse,
    /// The agent has no extended card.
    NoExtendedCard,
    /// The agent requires an extension that the caller did not declare.
    ExtensionRequired,
    /// Unsupported protocol version.
    VersionNotSupported,
    /// The caller must authenticate.
    Unauthenticated,
    /// Unknown agent, or an agent that the caller may not see.
    AgentNotFound,
    /// The request is too large.
    TooLarge,
    /// Too many requests at once.
    Busy,
    /// Temporarily unavailable.
    Unavailable,
    /// Conflict with the current state.
    Conflict,
}

impl A2aErrorKind {
    /// Returns the machine-readable reason: the protocol's name of the error in capitals, without the word
    /// error.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Parse => "PARSE",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::MethodNotFound => "METHOD_NOT_FOUND",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::Internal => "INTERNAL",
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::Unsupported => "UNSUPPORTED_OPERATION",
            Self::ContentType => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::InvalidAgentResponse => "INVALID_AGENT_RESPONSE",
            Self::NoExtendedCard => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Self::ExtensionRequired => "EXTENSION_SUPPORT_REQUIRED",
            Self::VersionNotSupported => "VERSION_NOT_SUPPORTED",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::AgentNotFound => "AGENT_NOT_FOUND",
            Self::TooLarge => "TOO_LARGE",
            Self::Busy => "BUSY",
            Self::Unavailable => "UNAVAILABLE",
            Self::Conflict => "CONFLICT",
        }
    }
}

/// Error for a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct A2aError {
    /// Kind of the error.
    pub kind: A2aErrorKind,
    /// Cause and remedy, for people.
    pub message: String,
    /// Invalid fields with the reason.
    pub violations: Vec<(String, String)>,
    /// Further machine-readable facts.
    pub metadata: Vec<(&'static str, String)>,
}

impl A2aError {
    /// Creates an error of a [`A2aErrorKind`].
    pub(crate) fn new(kind: A2aErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            violations: Vec::new(),
            metadata: Vec::new(),
        }
    }

    /// Creates an error about a field of the params.
    pub(crate) fn field(field: impl Into<String>, why: impl Into<String>) -> Self {
        let (field, why) = (field.into(), why.into());
        let message = format!("invalid params: {field}: {why}");
        Self {
            violations: vec![(field, why)],
            ..Self::new(A2aErrorKind::InvalidParams, message)
        }
    }

    /// Adds a machine-readable fact.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((name, value.into()));
        self
    }

    /// Returns the JSON-RPC code.
    pub(crate) fn code(&self) -> i64 {
        match self.kind {
            A2aErrorKind::Parse => -32700,
            A2aErrorKind::InvalidRequest | A2aErrorKind::Conflict => -32600,
            A2aErrorKind::MethodNotFound => -32601,
            A2aErrorKind::InvalidParams | A2aErrorKind::TooLarge => -32602,
            A2aErrorKind::Internal | A2aErrorKind::Unavailable => -32603,
            A2aErrorKind::TaskNotFound => -32001,
            A2aErrorKind::TaskNotCancelable => -32002,
            A2aErrorKind::PushNotSupported => -32003,
            A2aErrorKind::Unsupported => -32004,
            A2aErrorKind::ContentType => -32005,
            A2aErrorKind::InvalidAgentResponse => -32006,
            A2aErrorKind::NoExtendedCard => -32007,
            A2aErrorKind::ExtensionRequired => -32008,
            A2aErrorKind::VersionNotSupported => -32009,
            A2aErrorKind::Unauthenticated | A2aErrorKind::AgentNotFound | A2aErrorKind::Busy => {
                -32000
            }
        }
    }

    /// Returns the HTTP status in the REST binding of a version.
    pub(crate) fn http_status(&self, version: A2aVersion) -> u16 {
        let is_old = version == A2aVersion::V03;
        match self.kind {
            A2aErrorKind::Parse
            | A2aErrorKind::InvalidRequest
            | A2aErrorKind::InvalidParams
            | A2aErrorKind::ExtensionRequired
            | A2aErrorKind::VersionNotSupported => 400,
            A2aErrorKind::Unauthenticated => 401,
            A2aErrorKind::MethodNotFound
            | A2aErrorKind::TaskNotFound
            | A2aErrorKind::AgentNotFound => 404,
            A2aErrorKind::Conflict => 409,
            A2aErrorKind::TooLarge => 413,
            A2aErrorKind::Busy => 429,
            A2aErrorKind::Internal => 500,
            A2aErrorKind::Unavailable => 503,
            A2aErrorKind::NoExtendedCard if is_old => 404,
            A2aErrorKind::TaskNotCancelable if is_old => 409,
            A2aErrorKind::ContentType if is_old => 415,
            A2aErrorKind::PushNotSupported | A2aErrorKind::Unsupported if is_old => 501,
            A2aErrorKind::InvalidAgentResponse if is_old => 502,
            A2aErrorKind::NoExtendedCard
            | A2aErrorKind::TaskNotCancelable
            | A2aErrorKind::ContentType
            | A2aErrorKind::PushNotSupported
            | A2aErrorKind::Unsupported => 400,
            A2aErrorKind::InvalidAgentResponse => 500,
        }
    }

    /// Returns the gRPC code.
    pub(crate) fn grpc_code(&self) -> GrpcCode {
        match self.kind {
            A2aErrorKind::Parse
            | A2aErrorKind::InvalidRequest
            | A2aErrorKind::InvalidParams
            | A2aErrorKind::ContentType => GrpcCode::InvalidArgument,
            A2aErrorKind::MethodNotFound => GrpcCode::Unimplemented,
            A2aErrorKind::Internal | A2aErrorKind::InvalidAgentResponse => GrpcCode::Internal,
            A2aErrorKind::TaskNotFound | A2aErrorKind::AgentNotFound => GrpcCode::NotFound,
            A2aErrorKind::TaskNotCancelable
            | A2aErrorKind::PushNotSupported
            | A2aErrorKind::Unsupported
            | A2aErrorKind::NoExtendedCard
            | A2aErrorKind::ExtensionRequired
            | A2aErrorKind::VersionNotSupported => GrpcCode::FailedPrecondition,
            A2aErrorKind::Unauthenticated => GrpcCode::Unauthenticated,
            A2aErrorKind::TooLarge | A2aErrorKind::Busy => GrpcCode::ResourceExhausted,
            A2aErrorKind::Unavailable => GrpcCode::Unavailable,
            A2aErrorKind::Conflict => GrpcCode::Aborted,
        }
    }

    /// Returns the name of the status in REST bodies: the name of the gRPC code, or the nearest name for the
    /// HTTP status.
    pub(crate) fn status_name(&self) -> &'static str {
        match self.kind {
            A2aErrorKind::MethodNotFound => GrpcCode::NotFound.name(),
            _ => self.grpc_code().name(),
        }
    }

    /// Returns the machine-readable reason.
    pub(crate) fn reason(&self) -> &'static str {
        self.kind.reason()
    }
}
