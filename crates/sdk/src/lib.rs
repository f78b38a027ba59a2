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
//! `JACKFIELD_TOKEN` if there is one. Both connect again after a cut, with full jitter; an agent that was replaced by
//! a newer connection or whose token was revoked does not.
//!
//! Agents attach over the Agent Mesh bridge protocol, with the extensions `resume`, `artifacts`, `input` and `meta`. At a
//! hub that does not know these, agents work too, without what the extension brings.

mod address;
mod agent;
mod backoff;
mod bridge;
mod error;
mod hub;
mod part;

pub use self::{
    address::Address,
    agent::{
        Agent, Answer, Approval, Artifact, Failure, Message, Peer, PeerCall, PeerCallBuilder,
        Question, Reply, ReplyError,
    },
    backoff::Backoff,
    error::Error,
    hub::{
        AgentInfo, CallBuilder, CallStream, Chunk, Done, Event, EventStream, Hub, RawEvent,
        Started, encode,
    },
    part::{File, FileSource, Part},
};

/// What a handler of an agent may fail with; its text is what the caller gets, and its code if it is a [`Failure`].
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;
