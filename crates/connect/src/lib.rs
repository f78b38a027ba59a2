//! Drives local agents as agents of a hub.
//!
//! A [`Driver`] knows one kind of local agent: how to start the agent and how to interpret its output. A
//! driver receives a [`Turn`], one message of a conversation. Its output goes through a [`Voice`] as [`Said`]
//! items, the same few kinds for every agent. The rest (attaching to the hub, conversations, the machine-wide
//! queue, workspaces) is shared by all drivers; see [`Connect`].

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
