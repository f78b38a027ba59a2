//! What the tests of Jackfield stand on: a real hub on port 0, a WebSocket client that sends raw frames (somebody
//! else's code, so that ours cannot hide its own mistakes), an agent of a door that exists only here, and a proxy
//! that cuts and stalls connections. For tests only: it panics where a test should fail.

mod fake;
mod hub;
mod proxy;
mod raw;

pub use fake::{FakeAgent, fake_request};
pub use hub::TestHub;
pub use proxy::FaultProxy;
pub use raw::{Raw, SOON};
