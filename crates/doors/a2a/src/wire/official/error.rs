//! Errors, with their codes in every binding.

mod body;
mod grpc;
mod read;

use super::Version;
pub(crate) use body::http_error;
pub(crate) use grpc::GrpcCode;

/// Kind of an error. The first five kinds are from JSON-RPC, the next nine from the protocol. The rest exist
/// in HTTP and gRPC but not in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
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

impl Kind {
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
pub(crate) struct Fault {
    /// Kind of the error.
    pub kind: Kind,
    /// Cause and remedy, for people.
    pub message: String,
    /// Invalid fields with the reason.
    pub violations: Vec<(String, String)>,
    /// Further machine-readable facts.
    pub metadata: Vec<(&'static str, String)>,
}

impl Fault {
    /// Creates an error of a [`Kind`].
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
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
            ..Self::new(Kind::InvalidParams, message)
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
            Kind::Parse => -32700,
            Kind::InvalidRequest | Kind::Conflict => -32600,
            Kind::MethodNotFound => -32601,
            Kind::InvalidParams | Kind::TooLarge => -32602,
            Kind::Internal | Kind::Unavailable => -32603,
            Kind::TaskNotFound => -32001,
            Kind::TaskNotCancelable => -32002,
            Kind::PushNotSupported => -32003,
            Kind::Unsupported => -32004,
            Kind::ContentType => -32005,
            Kind::InvalidAgentResponse => -32006,
            Kind::NoExtendedCard => -32007,
            Kind::ExtensionRequired => -32008,
            Kind::VersionNotSupported => -32009,
            Kind::Unauthenticated | Kind::AgentNotFound | Kind::Busy => -32000,
        }
    }

    /// Returns the HTTP status in the REST binding of a version.
    pub(crate) fn http_status(&self, version: Version) -> u16 {
        let is_old = version == Version::V03;
        match self.kind {
            Kind::Parse
            | Kind::InvalidRequest
            | Kind::InvalidParams
            | Kind::ExtensionRequired
            | Kind::VersionNotSupported => 400,
            Kind::Unauthenticated => 401,
            Kind::MethodNotFound | Kind::TaskNotFound | Kind::AgentNotFound => 404,
            Kind::Conflict => 409,
            Kind::TooLarge => 413,
            Kind::Busy => 429,
            Kind::Internal => 500,
            Kind::Unavailable => 503,
            Kind::NoExtendedCard if is_old => 404,
            Kind::TaskNotCancelable if is_old => 409,
            Kind::ContentType if is_old => 415,
            Kind::PushNotSupported | Kind::Unsupported if is_old => 501,
            Kind::InvalidAgentResponse if is_old => 502,
            Kind::NoExtendedCard
            | Kind::TaskNotCancelable
            | Kind::ContentType
            | Kind::PushNotSupported
            | Kind::Unsupported => 400,
            Kind::InvalidAgentResponse => 500,
        }
    }

    /// Returns the gRPC code.
    pub(crate) fn grpc_code(&self) -> GrpcCode {
        match self.kind {
            Kind::Parse | Kind::InvalidRequest | Kind::InvalidParams | Kind::ContentType => {
                GrpcCode::InvalidArgument
            }
            Kind::MethodNotFound => GrpcCode::Unimplemented,
            Kind::Internal | Kind::InvalidAgentResponse => GrpcCode::Internal,
            Kind::TaskNotFound | Kind::AgentNotFound => GrpcCode::NotFound,
            Kind::TaskNotCancelable
            | Kind::PushNotSupported
            | Kind::Unsupported
            | Kind::NoExtendedCard
            | Kind::ExtensionRequired
            | Kind::VersionNotSupported => GrpcCode::FailedPrecondition,
            Kind::Unauthenticated => GrpcCode::Unauthenticated,
            Kind::TooLarge | Kind::Busy => GrpcCode::ResourceExhausted,
            Kind::Unavailable => GrpcCode::Unavailable,
            Kind::Conflict => GrpcCode::Aborted,
        }
    }

    /// Returns the name of the status in REST bodies: the name of the gRPC code, or the nearest name for the
    /// HTTP status.
    pub(crate) fn status_name(&self) -> &'static str {
        match self.kind {
            Kind::MethodNotFound => GrpcCode::NotFound.name(),
            _ => self.grpc_code().name(),
        }
    }

    /// Returns the machine-readable reason.
    pub(crate) fn reason(&self) -> &'static str {
        self.kind.reason()
    }
}
