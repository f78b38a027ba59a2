//! Be an agent of a Jackfield hub, or call one, from Rust.
//!
//! An [`Agent`] attaches to a hub over one outbound connection and answers callers of every protocol that the hub
//! serves:
//!
//! ```no_run
//! # async fn example() -> Result<(), jackfield_sdk::Error> {
//! use jackfield_sdk::Agent;
//!
//! Agent::new("echo")
//!     .description("says what you said")
//!     .on_message(|message, reply| async move {
//!         for word in message.text.split_whitespace() {
//!             reply.text(format!("{word} ")).await?;
//!         }
//!         Ok(())
//!     })
//!     .run()
//!     .await
//! # }
//! ```
//!
//! With its [`Reply`], a handler can also stream its reasoning, report tool calls, send files and other artifacts, ask
//! the caller a question and wait for the answer, and call other agents:
//!
//! ```no_run
//! # async fn example() -> Result<(), jackfield_sdk::Error> {
//! use jackfield_sdk::{Agent, Artifact};
//!
//! Agent::new("editor")
//!     .on_message(|message, reply| async move {
//!         let tone = reply.ask("which tone?").await?.text;
//!         reply.status("writing").await?;
//!         let task = format!("{tone}, please: {}", message.text);
//!         let draft = reply.call_agent("writer", task).await?.text().await?;
//!         let file = Artifact::new("draft").name("draft.md").text(draft);
//!         reply.artifact(file).await?;
//!         Ok(())
//!     })
//!     .run()
//!     .await
//! # }
//! ```
//!
//! The connection may be lost at any time. The agent reconnects, its handlers keep running meanwhile, and callers receive
//! every piece of every reply exactly once. Methods of [`Reply`] wait while the hub does not keep up, so a fast agent
//! needs no flow control of its own.
//!
//! A [`Hub`] calls agents:
//!
//! ```no_run
//! # async fn example() -> Result<(), jackfield_sdk::Error> {
//! use jackfield_sdk::{Event, Hub};
//!
//! let hub = Hub::from_env()?;
//! println!("{}", hub.ask("echo", "hello").await?);
//!
//! let mut call = hub.call("echo").text("hello again").start().await?;
//! while let Some(event) = call.next().await? {
//!     if let Event::Chunk(chunk) = event {
//!         print!("{}", chunk.text);
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! [`Agent`] and [`Hub`] connect to `http://127.0.0.1:7411`, or to the URL in `JACKFIELD_HUB`, and authenticate with the
//! token in `JACKFIELD_TOKEN`, if set. For a hub with its own CA, set `JACKFIELD_CA` to a PEM file or to a fingerprint
//! ([`TlsTrust`]). Both reconnect after a lost connection, with full jitter ([`Backoff`]). An agent does not reconnect after
//! a newer connection has replaced it or its token was revoked ([`Error::Closed`]).
//!
//! Agents attach over the Agent Mesh bridge protocol, with the extensions `resume`, `artifacts`, `input` and `meta`. A
//! hub without these extensions can be used too; only the features of the missing extensions are unavailable.
//!
//! # Three ways to serve an agent
//!
//! The same [`Agent`] can also run without a hub on the network. With the feature `a2a`, your own axum server serves the
//! agent in the A2A dialect of Agno Go, without any hub. `a2a::serve` serves several agents:
//!
#![cfg_attr(feature = "a2a", doc = "```no_run")]
#![cfg_attr(not(feature = "a2a"), doc = "```ignore")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use jackfield_sdk::Agent;
//!
//! let agent = Agent::new("my-agent")
//!     .on_message(|_, reply| async move { Ok(reply.text("Hello from agent!").await?) });
//! let router = agent.into_a2a_router("/a2a")?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7777").await?;
//! axum::serve(listener, router).await?;
//! # Ok(()) }
//! ```
//!
//! With the feature `in-process`, the agent attaches to a hub in the same process until the returned handle is dropped:
//!
#![cfg_attr(feature = "in-process", doc = "```no_run")]
#![cfg_attr(not(feature = "in-process"), doc = "```ignore")]
//! # fn example(
//! #     agent: jackfield_sdk::Agent,
//! #     hub: &jackfield_core::hub::Hub,
//! # ) -> Result<(), jackfield_sdk::Error> {
//! let attached = agent.attach_to(hub)?;
//! # drop(attached);
//! # Ok(()) }
//! ```
//!
//! # Several agents as one
//!
//! A [`Workflow`] runs steps one after another. A [`Team`] has members and a coordinator. Both convert into an [`Agent`]
//! with `into` and can be served in all three ways.

#[cfg(feature = "a2a")]
pub mod a2a;
mod address;
mod agent;
mod backoff;
mod bridge;
mod discovery;
mod error;
mod hub;
#[cfg(feature = "in-process")]
mod in_process;
mod joined_text;
mod member;
mod socket;
mod stop;
mod team;
mod tls;
mod workflow;

pub use jackfield_model::{
    Artifact, Ask, AskKind, Base64, Chunk, ChunkKind, Done, DoneState, Extension, File, FileSource,
    InvalidBase64, Json, Offer, Part, Skill, StreamedText, Transcript, WaitingFor,
};

#[cfg(feature = "in-process")]
pub use self::in_process::InProcess;
pub use self::{
    address::HubAddress,
    agent::{
        Agent, AgentFailure, CallerAnswer, CallerQuestion, CallerSignal, Message, PeerCall,
        PeerCallBuilder, PeerInfo, PendingApproval, Reply, ReplyError, SignalError, Signaller,
        ToolApproval,
    },
    backoff::Backoff,
    bridge::try_socket,
    discovery::{ConnectionEnds, Discovery, DiscoveryFuture, UntrustedHub},
    error::Error,
    hub::{
        AgentInfo, AnnouncedTransfer, ArchiveStream, CallBuilder, CallStarted, CallStream, Event,
        EventStream, FileTransfer, Hub, RawEvent, ReceivedSignal, ReceivedSignals, Reconnect,
        encode,
    },
    member::MemberCall,
    socket::HubSocket,
    stop::stop_requested,
    team::{Team, TeamMembers},
    tls::{Fingerprint, HubTlsError, TlsTrust},
    workflow::Workflow,
};

/// Error of a message handler ([`Agent::on_message`]). The caller receives the error's text, and the code of a [`AgentFailure`].
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;
