//! The data types of Jackfield: messages of callers, replies of agents, ends of calls, and ids.
//!
//! Every crate uses these types. The core moves them, the store saves them, each protocol translates its
//! frames to and from them, and the SDK hands them to its users. The crate runs no task, waits for no event
//! and opens no connection.
//!
//! - [`Message`] is a caller's request to an agent, made of [`Part`]s; [`Input`] is later input of the same
//!   call.
//! - [`Event`] is a piece of an agent's reply: a [`Chunk`], an [`Artifact`] or an [`Ask`].
//! - [`End`] is the end of a call: [`Done`], a [`Failure`] or a cancel.
//! - [`Transcript`] adds up the events of a reply; [`StreamedText`] finds the part of a final result that was
//!   not streamed before.
//! - The ids of all of these are in [`id`].

mod artifact;
mod artifact_extra;
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
mod profile;
mod streamed_text;
#[cfg(test)]
mod tests;
mod transcript;
mod weight;

pub use self::{
    artifact::{Artifact, MergedArtifact},
    artifact_extra::ArtifactExtra,
    ask::{Answer, Ask, AskKind},
    base64::{Base64, InvalidBase64},
    chunk::{Chunk, ChunkKind, WaitingFor},
    end::{Done, DoneState, End},
    event::Event,
    failure::{Cause, Failure, Reason},
    file::{File, FileSource},
    id::{AgentId, CallId, CallbackId, Owner, RequestId, SessionId, TaskId, TokenId},
    input::Input,
    json::Json,
    message::Message,
    offer::{InvalidOffer, Offer},
    part::Part,
    profile::{Extension, Skill},
    streamed_text::StreamedText,
    transcript::{Overflow, Transcript},
    weight::ITEM_OVERHEAD,
};
