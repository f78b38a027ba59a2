//! Dialect of Agno Go (seed 001). Calls are live: a caller that disconnects cancels the call at the agent, at
//! once.
//!
//! - [`serve`]: turns a request into a call, [`send`] and [`stream`]: the two kinds of answers
//! - [`reply_reader`]: collects the content of an answer
//! - [`translate`]: pure functions between wire and core, [`failure`]: the error codes

mod failure;
mod reply_reader;
mod send;
mod serve;
mod stream;
mod translate;

pub(crate) use self::{failure::SeedProblem, serve::routes, translate::is_json};
