//! The official protocol as its callers meet it: raw requests to a real server, and a scripted agent.

mod addresses;
mod agno;
mod callers;
mod dialled;
mod files;
mod harness;
mod operations;
mod promises;
mod push;
mod refusals;
mod revoked;
mod room;
mod silence;
mod states;
mod strict;
mod times;
