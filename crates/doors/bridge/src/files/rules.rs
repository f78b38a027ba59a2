//! The operator's rules for file transfers: maximum size, maximum number through the hub, and the ICE servers
//! for direct connections.

use std::fmt;

use jackfield_core::units::Size;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;

/// The operator's rules for file transfers.
#[derive(Debug, Clone)]
pub struct FileRules {
    /// Maximum size of an archive, announced to an agent or relayed through the hub: well above the archives
    /// that agents pack.
    pub max_size: Size,
    /// Maximum number of archives relayed through the hub at once. Each takes two connections and a few
    /// pieces of memory.
    pub max_relayed: usize,
    /// ICE servers, sent to the two parties of each transfer started over `/v1`, and to no other client.
    pub ice_servers: Vec<IceServer>,
}

impl Default for FileRules {
    fn default() -> Self {
        Self {
            max_size: Size::mib(256),
            max_relayed: 16,
            ice_servers: Vec::new(),
        }
    }
}

impl FileRules {
    /// Returns the servers for a frame; `None` if there are none.
    pub(crate) fn raw_servers(&self) -> Option<Box<RawValue>> {
        let servers = (!self.ice_servers.is_empty()).then_some(&self.ice_servers)?;
        to_raw_value(servers).ok()
    }

    /// Returns the servers for a response; `None` if there are none.
    pub(crate) fn servers(&self) -> Option<Vec<IceServer>> {
        (!self.ice_servers.is_empty()).then(|| self.ice_servers.clone())
    }
}

/// An ICE server for direct connections between two parties.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct IceServer {
    /// Addresses of the server, such as `stun:stun.example.com:3478`.
    pub urls: Vec<String>,
    /// User name at the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub username: Option<String>,
    /// Password at the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub credential: Option<String>,
}

// Not derived, so that the credential is never printed.
impl fmt::Debug for IceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IceServer")
            .field("urls", &self.urls)
            .finish_non_exhaustive()
    }
}
