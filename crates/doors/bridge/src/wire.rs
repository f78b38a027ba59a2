//! HTTP messages between the platform and the hub: [`body`] holds the bodies of requests, [`response`] the
//! answers and callbacks, [`sse`] the events of streams. The frames of agents are in
//! [`jackfield_wire::bridge`], because the SDK is an agent too.

pub(crate) mod body;
pub(crate) mod response;
pub(crate) mod sse;
#[cfg(test)]
mod tests;
