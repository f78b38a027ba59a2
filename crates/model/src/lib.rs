//! The nouns of Jackfield: what callers say, what agents answer, how a call ends, and what they are called.
//!
//! Every crate uses these types: the core moves them, the store writes them down, each protocol translates its frames to and
//! from them, and the SDK hands them to its users. Nothing here runs, waits or opens a connection.
//!
//! - [`Message`] is what a caller says, made of [`Part`]s; [`Input`] is what follows it.
//! - [`Event`] is what an agent says while it works: a [`Chunk`], an [`Artifact`] or an [`Ask`].
//! - [`End`] is how a call ends: [`Done`], a [`Failure`] or a cancel.
//! - [`Transcript`] adds up what an agent said; [`StreamedText`] tells what the end of a stream adds to it.
//! - The ids of all of these are in [`id`].

mod artifact;
mod ask;
mod base64;
mod chunk;
mod end;
mod event;
pub mod failure;
mod file;
pub mod id;
mod input;
mod json;
mod message;
mod offer;
mod part;
mod streamed_text;
#[cfg(test)]
mod tests;
mod transcript;
mod weight;

pub use self::{
    artifact::Artifact,
    ask::{Answer, Ask, AskKind},
    base64::{BadBase64, Base64},
    chunk::{Chunk, ChunkKind, WaitingFor},
    end::{Done, DoneState, End},
    event::Event,
    failure::{Cause, Failure, Reason},
    file::{File, FileSource},
    id::{AgentId, CallId, CallbackId, Owner, RequestId, SessionId, TaskId, TokenId},
    input::Input,
    json::Json,
    message::Message,
    offer::{BadOffer, Offer},
    part::Part,
    streamed_text::StreamedText,
    transcript::{Overflow, Transcript},
    weight::ITEM_OVERHEAD,
};
