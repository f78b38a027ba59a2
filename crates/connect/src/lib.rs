//! Drives local agents as agents of a hub.
//!
//! A [`Driver`] knows one kind of local agent: how to start the agent and how to interpret its output. A
//! driver receives a [`Turn`], one message of a conversation. Its output goes through a [`DriverOutput`] as [`OutputItem`]
//! items, the same few kinds for every agent. The rest (attaching to the hub, conversations, the machine-wide
//! queue, workspaces) is shared by all drivers; see [`ConnectedAgent`].

mod agent_token;
pub mod attachments;
mod connect_event;
mod driver;
mod driver_output;
pub mod drivers;
mod environment;
mod files;
mod lines;
mod output_item;
mod owner;
mod process;
pub mod queue;
mod reaper;
mod run;
mod session_locks;
mod sessions;
pub mod setup;
mod stdin_writer;
mod turn;
pub mod workspace;

pub use self::{
    agent_token::{AgentToken, address_of_agent},
    connect_event::{ConnectEvent, ConnectListener, MessageOutcome},
    driver::{Driver, DriverFuture, SelfDescription},
    driver_output::{DriverOutput, OwnerDecision},
    files::{notes, through_hub},
    lines::{LONGEST_LINE, LineReader, OutputLine, TextReader},
    output_item::OutputItem,
    owner::{ApprovalRequest, OwnerTerminal, TerminalDecision},
    process::{ChildProcess, CommandSpec, ProcessExit, ProcessOutput},
    reaper::Reaper,
    run::ConnectedAgent,
    sessions::Sessions,
    turn::{McpServer, Turn},
};
