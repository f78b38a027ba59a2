//! Feature matrix of the OpenAI API: the [`Column`] of this door, which has callers and no agents.

use jackfield_kit::matrix::{Column, Support, Topic};

/// The column of this door.
pub const MATRIX: Column = Column {
    protocol: crate::DOOR,
    agent: None,
    caller,
    exception: Column::no_exception,
};

/// Returns the support for a caller: what it receives, and the fate of its calls.
fn caller(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("`content`"),
        Topic::Streamed => Support::full("`delta.content`"),
        Topic::Kinds => {
            Support::converted("all of it in `reasoning_content`, a line per tool and status")
        }
        Topic::Attachment => Support::converted("bytes become a link of the hub in `content`"),
        Topic::Ask => Support::full(
            "`content`, which ends with `finish_reason` `stop`; the next message of the conversation answers",
        ),
        Topic::CancelByCaller => Support::full("the connection that it closed is over"),
        Topic::CallerGone => Support::full("the agent is told at once"),
        Topic::AgentGone => Support::full("`error` `offline`"),
        Topic::AgentError => Support::full("`error` with the agent's code"),
        Topic::Timeout => Support::full("`error` `timeout`"),
        Topic::SlowReader => Support::full("`error` `slow_reader`"),
        Topic::UnknownAgent | Topic::ForeignAgent => Support::full("404 `model_not_found`"),
    }
}
