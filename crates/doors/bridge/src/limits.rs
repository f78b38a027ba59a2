//! The limits of the bridge, each with its reason. They are configurable under `[bridge]`.

use jackfield_core::units::{Size, Span};
use serde::{Deserialize, Serialize};

/// The limits of the bridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BridgeLimits {
    /// Largest body of a request to the relay API; as the original hub has it.
    pub relay_body: Size,
    /// Largest end of an agent's answer, which repeats its chunks. Four times a frame, since the hub holds it
    /// in memory only to drop the repetition.
    pub frame_of_end: Size,
    /// Pause between the end of a request and the next request of its session, for agents without the
    /// extension `meta`. The published client ends a request that arrives while its program of the request
    /// before still exits, as an empty success. Programs exit within some tens of milliseconds; no person
    /// notices this much.
    pub session_pause: Span,
}

impl Default for BridgeLimits {
    fn default() -> Self {
        Self {
            relay_body: Size::mib(5),
            frame_of_end: Size::mib(32),
            session_pause: Span::millis(250),
        }
    }
}
