//! The A2A interface of Agno Go (seed 001): JSON-RPC bodies at two routes, one of which answers with a stream.
//!
//! [`Request::parse`] reads a body and checks it in the order of the original, which makes a [`Refusal`] of the first
//! mistake. [`task`] writes the result of `message/send`, [`event`] the stream of `message/stream`. Whoever serves the
//! interface needs nothing else, hub or no hub.
//!
//! Beyond the original: an id may be a number, the agent may be named by a header, fields that nobody knows are kept,
//! a field given twice is refused, and an unreadable body is told which field it is about.

pub(crate) mod event;
mod part;
mod refusal;
mod request;
pub(crate) mod task;
#[cfg(test)]
mod tests;

pub(crate) use part::{Data, File, FileSource, Part};
pub(crate) use refusal::{Code, Id, Refusal};
pub(crate) use request::{Request, Rules};

/// The header that names the agent where the message does not.
pub(crate) const AGENT_HEADER: &str = "x-agent-id";

/// The most parts of one message: far more than anybody writes, and few enough to be taken apart.
pub(crate) const MAX_PARTS: usize = 1000;
