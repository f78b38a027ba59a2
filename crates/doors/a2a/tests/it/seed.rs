//! The seed's interface as its callers meet it: raw bodies to a real server, and a scripted agent.

mod bodies;
mod callers;
mod ends;
mod examples;
mod harness;
mod refusals;
mod send;
mod slow;
mod stream;
