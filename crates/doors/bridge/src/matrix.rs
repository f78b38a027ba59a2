//! Feature matrix of the bridge: the [`Column`] of this door in the table of all pairs of protocols.

use jackfield_kit::matrix::{Column, Support, Topic};

/// The column of this door.
pub const MATRIX: Column = Column {
    protocol: crate::DOOR,
    agent: Some(agent),
    caller,
    exception: Column::no_exception,
};

/// Returns the support for a bridge agent: messages the agent can send and receive.
fn agent(topic: Topic) -> Support {
    Support::full(match topic {
        Topic::OneShot => "`chunk`, then `done`, or `done` with `result`",
        Topic::Streamed => "`chunk`",
        Topic::Kinds => "`chunk` with `kind`",
        Topic::Attachment => "`attachments` of `done`, links or `data:` URLs",
        Topic::Ask => "`ask`, with the extension `input`; the answer is `answer`",
        Topic::CancelByCaller | Topic::CallerGone | Topic::Timeout | Topic::SlowReader => {
            "gets `cancel`"
        }
        Topic::AgentGone => {
            "its connection ends; with the extension `resume` it has 30 s to come back"
        }
        Topic::AgentError => "`error` with a code of its own",
        Topic::UnknownAgent | Topic::ForeignAgent => "gets nothing",
    })
}

/// Returns the support for a bridge caller: messages the caller receives, and the fate of its calls.
fn caller(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("`chunk`, then `done`"),
        Topic::Streamed => Support::full("`chunk`"),
        Topic::Kinds => Support::full("`chunk` with `kind`"),
        Topic::Attachment => Support::converted("bytes become a link of the hub in `attachments`"),
        Topic::Ask => {
            Support::converted("a `status` chunk; the agent waits, and its owner may answer")
        }
        Topic::CancelByCaller => Support::full("`error` `session_not_found`"),
        Topic::CallerGone => Support::full("the agent is told at once"),
        Topic::AgentGone => Support::full("`error` `agent_offline`"),
        Topic::AgentError => Support::full("`error` with the agent's code"),
        Topic::Timeout => Support::full("`error` `timeout`"),
        Topic::SlowReader => Support::full("`error` `internal_error`"),
        Topic::UnknownAgent => Support::full("404 `agent_offline`"),
        Topic::ForeignAgent => {
            Support::unsupported("the platform may call every agent: it is called")
        }
    }
}
