//! The OpenAI door: agents and teams are models of the OpenAI API. Callers only: see `docs/protocols/openai.md`,
//! and <https://platform.openai.com/docs/api-reference> for the protocol.
//!
//! - `config.rs`: the section `[openai]`, and how the hub opens the door; `door.rs`: routes and shared state;
//!   `limits.rs`; `matrix.rs`: the supported features ([`MATRIX`])
//! - `wire`: types of the protocol; `translate`: pure conversions; `failure.rs`: the protocol's errors
//! - `serve.rs`: caller and body of a request; `models.rs`: the list of models
//! - `session.rs`: which conversation a request belongs to; `parked.rs`: live calls that wait for an answer;
//!   `helper.rs`: prompts of Open WebUI that the door answers itself
//! - `schemas.rs`: JSON Schemas of the events of streams
//! - `live.rs`: a live call for a request; `chat.rs`: chat completions; `responses.rs`: responses, which are durable tasks
//!
//! A chat completion is a live call: its caller's connection is its only reader. A response that the client lets
//! the hub store is a durable task, and everything that is told of it is computed from the task's log.

mod chat;
mod config;
mod door;
mod failure;
mod helper;
mod limits;
mod live;
mod matrix;
mod models;
mod parked;
mod responses;
mod schemas;
mod serve;
mod session;
mod translate;
mod wire;

pub use self::{config::Config, matrix::MATRIX};

/// Name of the door in logs, error messages and metrics.
pub const DOOR: &str = "openai";
