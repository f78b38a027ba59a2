//! The ACP door: editors use the agents and teams of the hub by the Agent Client Protocol (wire version 1), over a WebSocket
//! at `/acp/{agent}`. See `docs/protocols/acp.md`, and <https://agentclientprotocol.com> for the protocol. `jackfield acp`
//! forwards an editor's standard input and output to this door.
//!
//! How a prompt passes through the door:
//!
//! 1. `serve.rs` authenticates the handshake and finds the agent. `session.rs` runs the connection: it reads frames and
//!    writes those of the `outbox.rs`.
//! 2. `connection.rs` keeps the protocol's state of one connection. It reads a frame (`wire.rs`, and `wire/` for the types)
//!    and answers at once, or starts a task of the connection.
//! 3. `prompt.rs` is the task of one prompt: it starts a durable call, or answers the question that the session waits for
//!    (`conversation.rs`). `turn.rs` reads the reply from the log of the hub's task, and `question.rs` asks the editor.
//! 4. `translate/` converts content blocks to a message, and events to updates. `failure.rs` has the codes.
//!
//! `replay.rs` is `session/load`: the transcript comes from the logs of the session's tasks.

mod config;
mod connection;
mod conversation;
mod door;
mod failure;
mod limits;
mod matrix;
mod outbox;
mod prompt;
mod question;
mod replay;
mod serve;
mod session;
mod translate;
mod turn;
mod wire;

pub use self::{config::Config, matrix::MATRIX};

/// Name of the door in logs, error messages and metrics.
pub const DOOR: &str = "acp";
