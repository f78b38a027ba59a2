//! Agents of this machine, driven as agents of a hub.
//!
//! A [`Driver`] knows one kind of local agent: how it is started and what its output means. What a driver gets is a
//! [`Turn`], one message of a conversation; what it says goes through a [`Voice`] as [`Said`], the same few kinds whatever
//! the agent is. Everything around it (attaching to the hub, conversations, the queue of this machine, workspaces) is the
//! same for all drivers.

mod agent_token;
pub mod attachments;
mod driver;
pub mod drivers;
mod environment;
mod files;
mod inlet;
mod lines;
mod news;
mod owner;
mod process;
pub mod queue;
mod reaper;
mod run;
mod said;
mod sessions;
pub mod setup;
mod turn;
mod turns;
mod voice;
pub mod workspace;

pub use self::{
    agent_token::{AgentToken, address_of_agent},
    driver::{Driver, Introduction, Working},
    files::{notes, through_hub},
    lines::{LONGEST_LINE, Line, Lines, Pieces},
    news::{Ended, Listener, News},
    owner::{Asked, Desk, Request},
    process::{Exit, Output, Process, Spec},
    reaper::Reaper,
    run::Connect,
    said::Said,
    sessions::Sessions,
    turn::{McpServer, Turn},
    voice::{Decision, Voice},
};
