//! Test support for Jackfield:
//!
//! - [`TestHub`]: a real hub on port 0.
//! - [`Raw`] and [`Web`]: clients that send raw frames and requests, made of the clients of
//!   [`jackfield_kit::testing`]. They use third-party code, so that bugs of Jackfield's own code stay visible.
//! - [`attach_agent`]: an agent of a door that exists only in tests.
//! - [`WebClient`]: a copy of the published web client of the team stream.
//! - [`CallbackReceiver`]: a server that receives callbacks.
//! - [`FaultProxy`]: a proxy that cuts and stalls connections.
//!
//! For tests only: functions panic where a test should fail.

mod agent;
mod bridge;
mod hub;
mod judge;
mod proxy;
mod raw;
mod watch;
mod web;
mod web_client;

pub use agent::{attach_agent, attach_agent_as, fake_request};
pub use bridge::bridge_register;
pub use hub::TestHub;
pub use jackfield_kit::testing::{CallbackReceiver, SOON, Scripted};
pub use judge::judge;
pub use proxy::FaultProxy;
pub use raw::Raw;
pub use watch::AgentWatch;
pub use web::{Events, Web, answer, fetch, relay_to, with_files};
pub use web_client::{Approval, Dropped, Screen, WebClient};
