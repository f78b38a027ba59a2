//! The gRPC binding as its callers meet it: a client that was generated from the published definition, on a real socket, and
//! a scripted agent. Messages are written as the JSON that the definition gives them.

mod harness;
mod limits;
mod operations;
mod refusals;
mod streams;
mod v03;
