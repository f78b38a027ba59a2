//! Where a remote is called, and how.

use crate::wire::{card::Binding, official::Version};

/// Where a remote is called, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The URL: JSON-RPC goes to it as it is, REST below it (version 0.3: below `/v1` there). No slash at its end, unless
    /// the card says so and means it.
    pub(crate) url: String,
    /// How requests are put.
    pub(crate) binding: Binding,
    /// Who wrote the server: decides which paths below the URL exist and what goes there.
    pub(crate) dialect: Dialect,
    /// The version that is spoken.
    pub(crate) version: Version,
    /// What requests name as `tenant`.
    pub(crate) tenant: Option<String>,
    /// Whether it streams.
    pub(crate) streams: bool,
}

/// Who wrote the server, where that matters to the way it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Calls are as the specification has them.
    Official,
    /// Agno's own: always [`Binding::JsonRpc`] and version 0.3, and nothing is served at the URL itself. The envelope of a
    /// method goes to a path of its own: `{url}/v1/message:send`, `{url}/v1/message:stream`, `{url}/v1/tasks:get` and
    /// `{url}/v1/tasks:cancel` (the last two want `params.id` and `params.contextId`; workflows have neither). There is
    /// no subscribe. Errors are `{"detail": …}` with an HTTP status, not JSON-RPC errors.
    Agno,
}
