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

mod address;
mod agent;
mod backoff;
mod error;
mod hub;

pub use self::{
    address::Address,
    agent::{Agent, Message, Reply},
    backoff::Backoff,
    error::Error,
    hub::{
        AgentInfo, CallBuilder, CallStream, Chunk, Done, Event, EventStream, Hub, RawEvent,
        Started, encode,
    },
};

/// What a handler of an agent may fail with; its text is what the caller gets.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;
