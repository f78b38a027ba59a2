//! The dialect of Agno Go (seed 001). Calls are live: a caller that leaves cancels its call at the agent, at once.

mod failure;
mod listen;
mod send;
mod serve;
mod stream;
mod translate;

pub(crate) use self::{failure::Problem, serve::routes, translate::is_json};
