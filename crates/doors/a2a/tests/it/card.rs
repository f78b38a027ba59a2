//! The cards of agents as their readers meet them: raw requests to a real server.

mod access;
mod caching;
mod content;
mod harness;
mod signing;
