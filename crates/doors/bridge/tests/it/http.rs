//! The relay's HTTP API as a platform meets it: real requests to a real server, and scripted agents.

mod a2a;
mod addresses;
mod agents;
mod bodies;
mod callbacks;
mod calls;
mod clocks;
mod description;
mod harness;
mod kept;
mod paths;
mod receiver;
mod refusals;
mod rtc;
mod stream;
