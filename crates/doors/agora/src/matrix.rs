//! Feature matrix of Agora: the [`Column`] of this door in the table of all pairs of protocols.

use jackfield_kit::matrix::{Column, Support, Topic};

/// The column of this door.
pub const MATRIX: Column = Column {
    protocol: crate::DOOR,
    agent: Some(agent),
    caller,
    exception,
};

/// Returns the support for an Agora agent: messages the agent can send and receive.
fn agent(topic: Topic) -> Support {
    Support::full(match topic {
        Topic::OneShot => "`reply`",
        Topic::Streamed => "`reply_chunk`",
        Topic::Kinds => "`reply_chunk` with `kind`",
        Topic::Attachment => "`attachments` in the payload of its last frame, links or bytes",
        Topic::Ask => "`reply` with `input_required`; the answer is a `message`",
        Topic::CancelByCaller | Topic::CallerGone | Topic::Timeout | Topic::SlowReader => {
            "gets `cancel`"
        }
        Topic::AgentGone => "its connection ends",
        Topic::AgentError => "`error` with a code of its own",
        Topic::UnknownAgent | Topic::ForeignAgent => "gets nothing",
    })
}

/// Returns the support for an Agora caller: messages the caller receives, and the fate of its calls.
fn caller(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("`reply`, or a stream of one chunk"),
        Topic::Streamed => Support::full("`reply`, `reply_chunk`, `reply_end`"),
        Topic::Kinds => Support::full("`reply_chunk` with `kind`"),
        Topic::Attachment => Support::converted("bytes become a link of the hub in `attachments`"),
        Topic::Ask => Support::full("`reply` with `input_required`, answered by `ask_id`"),
        Topic::CancelByCaller => Support::full("`error` `cancelled`"),
        Topic::CallerGone => Support::full("the agent is told at once"),
        Topic::AgentGone => Support::full("`error` `offline`"),
        Topic::AgentError => Support::full("`error` with the agent's code"),
        Topic::Timeout => Support::full("`error` `timeout`"),
        Topic::SlowReader => Support::full("`error` `slow_reader`"),
        Topic::UnknownAgent | Topic::ForeignAgent => Support::full("`error` `not_found`"),
    }
}

/// Returns the exceptions: the hub relays frames between two Agora agents unread, and the files of an A2A
/// agent fit Agora's `artifacts`.
fn exception(agent: &str, topic: Topic) -> Option<Support> {
    match agent {
        crate::DOOR => relay(topic),
        "a2a" if topic == Topic::Attachment => {
            let text = "in `artifacts` of the payload, bytes as bytes";
            Some(Support::full(text))
        }
        _ => None,
    }
}

/// Returns the support between two Agora agents.
fn relay(topic: Topic) -> Option<Support> {
    Some(match topic {
        Topic::Attachment => Support::full("the payload as it is, bytes too"),
        Topic::Ask => Support::full("the payload as it is; so is the answer"),
        Topic::CancelByCaller => Support::full("`cancel` unchanged; the agent decides what to do"),
        Topic::CallerGone => Support::converted("`error` `offline`, if a stream is open"),
        Topic::AgentGone => Support::converted("`error` `offline`, if a stream is open"),
        Topic::Timeout => {
            Support::unsupported("a relay has no timeout: both sides wait as long as they like")
        }
        Topic::OneShot
        | Topic::Streamed
        | Topic::Kinds
        | Topic::AgentError
        | Topic::SlowReader
        | Topic::UnknownAgent
        | Topic::ForeignAgent => return None,
    })
}
