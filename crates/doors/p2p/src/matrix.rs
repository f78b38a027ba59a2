//! What the p2p protocol supports: this door's column of the table of all pairs of protocols.

use jackfield_kit::matrix::{Column, Support, Topic};

/// The column of this door.
pub const MATRIX: Column = Column {
    protocol: crate::DOOR,
    agent: Some(agent),
    caller,
    exception,
};

/// What an agent can send and receive.
fn agent(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("`result`, or a plain body"),
        Topic::Streamed => {
            Support::full("`chunk`, by 1.1.0; the words of a plain body as they come")
        }
        Topic::Kinds => {
            Support::converted("a peer tells status lines, nothing of thinking and tools")
        }
        Topic::Attachment => Support::converted("a peer gives links in the words of its answer"),
        Topic::Ask => Support::unsupported("a peer has no way to ask: what it gives is its answer"),
        Topic::CancelByCaller | Topic::CallerGone | Topic::Timeout | Topic::SlowReader => {
            Support::full("its stream is reset")
        }
        Topic::AgentGone => Support::full("its connection ends"),
        Topic::AgentError => Support::converted(
            "an error of a peer has words and a number, which becomes `peer_error`",
        ),
        Topic::UnknownAgent | Topic::ForeignAgent => Support::full("gets nothing"),
    }
}

/// What a caller receives, and the fate of its calls.
fn caller(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("`result`, or the body by 1.0.0"),
        Topic::Streamed => Support::full("`chunk`, by 1.1.0"),
        Topic::Kinds => Support::converted("status lines stay, thinking and tools are dropped"),
        Topic::Attachment => Support::converted("a link in `files` of the result"),
        Topic::Ask => Support::unsupported(
            "the call fails with 400 and the question: a handoff cannot answer",
        ),
        Topic::CancelByCaller => Support::full("the stream that it reset is over"),
        Topic::CallerGone => Support::full("the agent is told at once"),
        Topic::AgentGone => Support::full("`error` 502"),
        Topic::AgentError => Support::full("`error` 502, `reason` is the agent's code"),
        Topic::Timeout => Support::full("`error` 504"),
        Topic::SlowReader => Support::full("`error` 500, `reason` is `slow_reader`"),
        Topic::UnknownAgent | Topic::ForeignAgent => Support::full("`error` 404"),
    }
}

/// Two peers meet without the hub.
fn exception(agent: &str, topic: Topic) -> Option<Support> {
    match topic {
        _ if agent != crate::DOOR => None,
        Topic::UnknownAgent | Topic::ForeignAgent => None,
        _ => Some(Support::unsupported(
            "404: peers hand off to each other directly, the hub shows no peer to a peer",
        )),
    }
}
