//! A2A interface of Agno Go (seed 001): JSON-RPC bodies at two routes, of which the second answers with a
//! stream.
//!
//! [`SeedRequest::parse`] reads a body and checks the body in the order of the original. The first error becomes
//! a [`SeedRefusal`]. [`task`] writes the result of `message/send`, [`event`] the stream of `message/stream`. The
//! module does not depend on a hub.
//!
//! Extensions of the original: an id may be a number, a header may name the agent, unknown fields are kept, a
//! repeated field is refused, and the error for an unreadable body names the field.

pub(crate) mod event;
mod part;
mod refusal;
mod request;
pub(crate) mod task;
#[cfg(test)]
mod tests;

pub(crate) use part::{SeedData, SeedFile, SeedFileSource, SeedPart};
pub(crate) use refusal::{SeedCode, SeedRefusal, SeedRequestId};
pub(crate) use request::{Rules, SeedRequest};

/// Header that names the agent if the message does not.
pub(crate) const AGENT_HEADER: &str = "x-agent-id";

/// Largest number of parts per message: far more than in practice, and cheap to process.
pub(crate) const MAX_PARTS: usize = 1000;
