//! What the operator set for transfers of files: how large, how many at once through the hub, and the servers that help two
//! parties to a direct way.

use std::fmt;

use jackfield_core::units::Size;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;

/// What the operator set for transfers of files.
#[derive(Debug, Clone)]
pub struct FileRules {
    /// The largest archive that is announced to an agent or goes through the hub: room to spare over what agents pack.
    pub max_size: Size,
    /// How many archives go through the hub at once. Each takes two connections and a few pieces of memory.
    pub max_relayed: usize,
    /// Told to the two parties of each transfer that is begun over `/v1`, and to nobody else.
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
    /// The servers as a frame has them; nothing if there are none.
    pub(crate) fn raw_servers(&self) -> Option<Box<RawValue>> {
        let servers = (!self.ice_servers.is_empty()).then_some(&self.ice_servers)?;
        to_raw_value(servers).ok()
    }

    /// The servers as an answer has them; nothing if there are none.
    pub(crate) fn servers(&self) -> Option<Vec<IceServer>> {
        (!self.ice_servers.is_empty()).then(|| self.ice_servers.clone())
    }
}

/// A server that helps two parties to a direct way. `Debug` shows no credential.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct IceServer {
    /// Its addresses, such as `stun:stun.example.com:3478`.
    pub urls: Vec<String>,
    /// Who one is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub username: Option<String>,
    /// How one proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub credential: Option<String>,
}

impl fmt::Debug for IceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IceServer")
            .field("urls", &self.urls)
            .finish_non_exhaustive()
    }
}
