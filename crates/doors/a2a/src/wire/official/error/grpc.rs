//! gRPC codes that the protocol uses.

/// Code of a gRPC status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GrpcCode {
    /// Code 3.
    InvalidArgument,
    /// Code 5.
    NotFound,
    /// Code 8.
    ResourceExhausted,
    /// Code 9.
    FailedPrecondition,
    /// Code 10.
    Aborted,
    /// Code 12.
    Unimplemented,
    /// Code 13.
    Internal,
    /// Code 14.
    Unavailable,
    /// Code 16.
    Unauthenticated,
}

impl GrpcCode {
    /// Returns the number of the code.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::InvalidArgument => 3,
            Self::NotFound => 5,
            Self::ResourceExhausted => 8,
            Self::FailedPrecondition => 9,
            Self::Aborted => 10,
            Self::Unimplemented => 12,
            Self::Internal => 13,
            Self::Unavailable => 14,
            Self::Unauthenticated => 16,
        }
    }

    /// Returns the name of the code.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}
