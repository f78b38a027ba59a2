//! Errors between a program and a hub.

use crate::{HubTlsError, UntrustedHub};

/// Error of a connection or request to a hub, or of a call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not a hub's address.
    #[error("{0:?} is not the address of a hub: use http://HOST:PORT or https://HOST")]
    Address(String),
    /// The hub could not be reached.
    #[error("cannot reach the hub at {url}")]
    Unreachable {
        /// URL of the hub.
        url: String,
        /// Cause of the error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No TLS connection to the hub: its certificate is not trusted, or only one side uses TLS.
    /// [`HubTlsError::remedy`] suggests a fix.
    #[error("no secure connection to the hub at {url}: {why}")]
    Tls {
        /// URL of the hub.
        url: String,
        /// Cause of the error.
        why: HubTlsError,
    },
    /// The process that listens at the hub's address is not trusted as the hub. No data was sent.
    #[error("the hub at {url} is not trusted: {why}")]
    Untrusted {
        /// URL of the hub.
        url: String,
        /// Cause of the error, and what to do.
        why: UntrustedHub,
    },
    /// The server at the hub's address does not open a WebSocket: most often a proxy that does not forward
    /// WebSockets.
    #[error("the hub at {url} opens no WebSocket: {why}")]
    NoWebSocket {
        /// URL of the hub.
        url: String,
        /// The server's response.
        why: String,
    },
    /// The hub refused the request.
    #[error("{message}")]
    Refused {
        /// HTTP status; 0 on a WebSocket.
        status: u16,
        /// The hub's code for the failure, such as `not_found`.
        code: String,
        /// The narrower cause, such as `other_address`, if the hub gave one.
        cause: Option<String>,
        /// The wrong field of the request, if the hub named one.
        field: Option<String>,
        /// The hub's message.
        message: String,
    },
    /// The call failed.
    #[error("{message}")]
    Failed {
        /// The hub's code for the failure, such as `offline`, or the agent's own code.
        code: String,
        /// The narrower cause, such as `unanswered`, if the hub gave one.
        cause: Option<String>,
        /// Message of the hub or the agent.
        message: String,
    },
    /// The call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The hub closed the agent's connection for good: 4001 replaced, 4002 revoked.
    #[error("the hub closed the connection: {reason} ({code})")]
    Closed {
        /// WebSocket close code.
        code: u16,
        /// The hub's reason.
        reason: String,
    },
    /// The hub sent a response that cannot be parsed.
    #[error("the hub's answer cannot be read: {0}")]
    Unreadable(String),
    /// The connection broke in the middle of a request.
    #[error("the connection to the hub broke")]
    Broken,
}

impl Error {
    /// Creates the error for a failed connection to the hub at `url`.
    pub(crate) fn unreachable(
        url: &str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let (url, source) = (url.to_owned(), source.into());
        if let Some(why) = UntrustedHub::find(&*source) {
            return Self::Untrusted { url, why };
        }
        match HubTlsError::find(&*source) {
            Some(why) => Self::Tls { url, why },
            None => Self::Unreachable { url, source },
        }
    }

    /// Returns the hub's code for the failure, if present.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } | Self::Failed { code, .. } => Some(code),
            Self::Cancelled => Some("cancelled"),
            Self::Address(_)
            | Self::Unreachable { .. }
            | Self::Tls { .. }
            | Self::Untrusted { .. }
            | Self::NoWebSocket { .. }
            | Self::Closed { .. }
            | Self::Unreadable(_)
            | Self::Broken => None,
        }
    }

    /// Returns whether a retry may help a program that was connected to the hub before. Unlike
    /// [`is_retryable`](Self::is_passing), includes a certificate under renewal, and a foreign process on the
    /// port of a hub that may return.
    pub(crate) fn is_retryable_after_disconnect(&self) -> bool {
        self.is_retryable() || matches!(self, Self::Tls { .. } | Self::Untrusted { .. })
    }

    /// Returns whether a retry may succeed without a change by the user or operator.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Broken => true,
            Self::Refused { status, code, .. } => {
                matches!(*status, 502..=504)
                    || matches!(code.as_str(), "stopping" | "internal")
                    // The agent id is held by a lost connection for a while.
                    || (*status == 0 && code == "busy")
            }
            Self::Closed { code, .. } => !matches!(*code, 4001 | 4002),
            Self::Address(_)
            | Self::Tls { .. }
            | Self::Untrusted { .. }
            | Self::NoWebSocket { .. }
            | Self::Failed { .. }
            | Self::Cancelled
            | Self::Unreadable(_) => false,
        }
    }
}
