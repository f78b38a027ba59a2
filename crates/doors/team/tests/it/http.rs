//! The routes of teams over real HTTP, beside the hub's own API, on a hub with a store in memory and scripted
//! agents. Every answer in JSON is checked against the hub's own description.

mod board;
mod description;
mod harness;
mod making;
mod publishing;
mod refusals;
mod seed;
mod steering;
