//! What can go wrong, with its codes in every binding.

mod body;
mod grpc;
mod read;

use super::Version;
pub(crate) use body::http_error;
pub(crate) use grpc::GrpcCode;

/// A kind of error. The first five are those of JSON-RPC, the next nine those of the protocol; the last say what HTTP and
/// gRPC have words for and the protocol has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The body is no JSON.
    Parse,
    /// The body is no request.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The method does not take this.
    InvalidParams,
    /// Something broke.
    Internal,
    /// There is no such task, or none that the caller may know of.
    TaskNotFound,
    /// The task is over.
    TaskNotCancelable,
    /// Nobody is notified here.
    PushNotSupported,
    /// This cannot be done, or not now.
    Unsupported,
    /// A media type that is not taken.
    ContentType,
    /// The agent's answer makes no sense.
    InvalidAgentResponse,
    /// There is no extended card.
    NoExtendedCard,
    /// The agent wants an extension that the caller did not declare.
    ExtensionRequired,
    /// A version that is not spoken here.
    VersionNotSupported,
    /// The caller has to say who it is.
    Unauthenticated,
    /// There is no such agent, or none that the caller may know of.
    AgentNotFound,
    /// Too much at once.
    TooLarge,
    /// Too many at once.
    Busy,
    /// Not now.
    Unavailable,
    /// It contradicts what is.
    Conflict,
}

impl Kind {
    /// The reason, for programs: the protocol's name of the error in capitals, without the word error.
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

/// What a caller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What kind it is.
    pub kind: Kind,
    /// What happened and what to do, for people.
    pub message: String,
    /// The fields that are wrong, and why.
    pub violations: Vec<(String, String)>,
    /// What else programs may want to know.
    pub metadata: Vec<(&'static str, String)>,
}

impl Fault {
    /// An error of this kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            violations: Vec::new(),
            metadata: Vec::new(),
        }
    }

    /// A field of the params that is not right.
    pub(crate) fn field(field: impl Into<String>, why: impl Into<String>) -> Self {
        let (field, why) = (field.into(), why.into());
        let message = format!("invalid params: {field}: {why}");
        Self {
            violations: vec![(field, why)],
            ..Self::new(Kind::InvalidParams, message)
        }
    }

    /// Adds something that programs may want to know.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((name, value.into()));
        self
    }

    /// The code in JSON-RPC.
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

    /// The status over HTTP, in the REST binding of a version.
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

    /// The code in gRPC.
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

    /// What REST bodies call the status: the name of the code in gRPC, or the nearest to the status over HTTP.
    pub(crate) fn status_name(&self) -> &'static str {
        match self.kind {
            Kind::MethodNotFound => GrpcCode::NotFound.name(),
            _ => self.grpc_code().name(),
        }
    }

    /// The reason, for programs.
    pub(crate) fn reason(&self) -> &'static str {
        self.kind.reason()
    }
}
