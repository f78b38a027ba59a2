//! Endpoint of a remote.

use crate::wire::{card::Binding, official::A2aVersion};

/// Endpoint of a remote: address and protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteEndpoint {
    /// URL of the endpoint. JSON-RPC posts to the URL itself, REST below the URL (version 0.3: below `/v1`).
    /// Has no trailing slash, unless the card has a slash that matters.
    pub(crate) url: String,
    /// Protocol binding of requests.
    pub(crate) binding: Binding,
    /// Server software, which decides the paths below the URL and their content.
    pub(crate) dialect: Dialect,
    /// Protocol version of requests.
    pub(crate) version: A2aVersion,
    /// Value of `tenant` in requests.
    pub(crate) tenant: Option<String>,
    /// True if the server supports streaming.
    pub(crate) streams: bool,
}

/// Server software, where the requests depend on the software.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Requests follow the specification.
    Official,
    /// Agno's dialect: always [`Binding::JsonRpc`] and version 0.3, without a service at the URL itself. The
    /// envelope of a method goes to a path of its own: `{url}/v1/message:send`, `{url}/v1/message:stream`,
    /// `{url}/v1/tasks:get` and `{url}/v1/tasks:cancel`. The last two need `params.id` and
    /// `params.contextId`; workflows have neither path. Subscribe does not exist. Errors are `{"detail": …}`
    /// with an HTTP status, not JSON-RPC errors.
    Agno,
}
