//! Be an agent of a Jackfield hub, or call one, from Rust.
//!
//! An [`Agent`] attaches to a hub by one outbound connection and answers whoever calls it, whichever protocol they
//! speak:
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
//! A handler can also think aloud, show what its tools do, hand over files and other things it made, ask its caller and
//! wait for the answer, and call other agents:
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
//! The connection may be cut at any time: the agent comes back, its handlers go on meanwhile, and its callers get every
//! piece of every answer once. What a handler says waits where the hub does not keep up, so that a fast agent needs no
//! care.
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
//! Both find the hub at `http://127.0.0.1:7411` or where `JACKFIELD_HUB` says, and show the token in
//! `JACKFIELD_TOKEN` if there is one. A hub with a CA of its own is trusted if `JACKFIELD_CA` names it: a PEM file, or a
//! fingerprint ([`Trust`]). Both connect again after a cut, with full jitter; an agent that was replaced by
//! a newer connection or whose token was revoked does not.
//!
//! Agents attach over the Agent Mesh bridge protocol, with the extensions `resume`, `artifacts`, `input` and `meta`. At a
//! hub that does not know these, agents work too, without what the extension brings.
//!
//! # Three endings
//!
//! The same agent needs no hub on the network. With the feature `a2a` it is served by one's own axum server, in the
//! A2A dialect of Agno Go, without any hub; `a2a::serve` takes several:
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
//! With the feature `in-process` it is part of a hub in the same process, until the handle is dropped:
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
//! A [`Workflow`] is steps one after another, a [`Team`] is members with a coordinator. Both become an [`Agent`] by `into`,
//! with all three endings.

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
mod stop;
mod team;
mod tls;
mod workflow;

pub use jackfield_model::{
    Artifact, Ask, AskKind, BadBase64, Base64, Chunk, ChunkKind, Done, DoneState, File, FileSource,
    Json, Offer, Part, StreamedText, Transcript, WaitingFor,
};

#[cfg(feature = "in-process")]
pub use self::in_process::InProcess;
pub use self::{
    address::Address,
    agent::{
        Agent, Answer, Approval, Extension, Failure, Message, Peer, PeerCall, PeerCallBuilder,
        PendingApproval, Question, Reply, ReplyError, Signal, SignalError, Signaller, Skill,
    },
    backoff::Backoff,
    bridge::try_socket,
    discovery::{Discovered, Discovery, Ends, Untrusted},
    error::Error,
    hub::{
        AgentInfo, Announced, CallBuilder, CallStream, Content, Event, EventStream, Hub, RawEvent,
        Reconnect, Said, SaidSignal, Started, Transfer, encode,
    },
    member::MemberCall,
    stop::told_to_stop,
    team::{Members, Team},
    tls::{Fingerprint, TlsError, Trust},
    workflow::Workflow,
};

/// What a handler of an agent may fail with; its text is what the caller gets, and its code if it is a [`Failure`].
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;
