//! What can go wrong between a program and a hub.

use crate::{TlsError, Untrusted};

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of the hub is none.
    #[error("{0:?} is not the address of a hub: use http://HOST:PORT or https://HOST")]
    Address(String),
    /// The hub could not be reached.
    #[error("cannot reach the hub at {url}")]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no TLS connection to the hub: its certificate is not trusted, or only one side speaks TLS.
    /// [`TlsError::remedy`] says what to do.
    #[error("no secure connection to the hub at {url}: {why}")]
    Tls {
        /// Where it was looked for.
        url: String,
        /// Why.
        why: TlsError,
    },
    /// Whoever listens at the hub's address was not taken for the hub; nothing was sent.
    #[error("the hub at {url} is not trusted: {why}")]
    Untrusted {
        /// Where it was looked for.
        url: String,
        /// Why, and what to do about it.
        why: Untrusted,
    },
    /// Something answers at the hub's address, and opens no WebSocket: most often a proxy that does not pass them on.
    #[error("the hub at {url} opens no WebSocket: {why}")]
    NoWebSocket {
        /// Where it was asked for.
        url: String,
        /// What was answered instead.
        why: String,
    },
    /// The hub said no.
    #[error("{message}")]
    Refused {
        /// The HTTP status; 0 on a WebSocket.
        status: u16,
        /// The hub's name for the failure, such as `not_found`.
        code: String,
        /// What it says about it.
        message: String,
    },
    /// The call failed.
    #[error("{message}")]
    Failed {
        /// The hub's name for the failure, such as `offline`, or the agent's own code.
        code: String,
        /// The narrower cause, such as `unanswered`, if the hub gave one.
        cause: Option<String>,
        /// What is said about it.
        message: String,
    },
    /// The call was cancelled.
    #[error("the call was cancelled")]
    Cancelled,
    /// The hub ended the agent's connection for good: 4001 replaced, 4002 revoked.
    #[error("the hub closed the connection: {reason} ({code})")]
    Closed {
        /// The WebSocket close code.
        code: u16,
        /// The hub's reason.
        reason: String,
    },
    /// The hub sent something that cannot be read.
    #[error("the hub's answer cannot be read: {0}")]
    Unreadable(String),
    /// The connection broke in the middle.
    #[error("the connection to the hub broke")]
    Broken,
}

impl Error {
    /// No connection to the hub at this URL, for this reason.
    pub(crate) fn unreachable(
        url: &str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let (url, source) = (url.to_owned(), source.into());
        if let Some(why) = Untrusted::find(&*source) {
            return Self::Untrusted { url, why };
        }
        match TlsError::find(&*source) {
            Some(why) => Self::Tls { url, why },
            None => Self::Unreachable { url, source },
        }
    }

    /// The hub's name for the failure, if it gave one.
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

    /// Whether trying again may help a program that was connected to the hub before: also if a certificate is being renewed,
    /// or somebody listens in the place of a hub that is to come back.
    pub(crate) fn may_pass_after_a_cut(&self) -> bool {
        self.is_passing() || matches!(self, Self::Tls { .. } | Self::Untrusted { .. })
    }

    /// Whether trying again may help without anybody changing anything.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Broken => true,
            Self::Refused { status, code, .. } => {
                matches!(*status, 502..=504)
                    || matches!(code.as_str(), "stopping" | "internal")
                    // An agent's id that is held for a while.
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
