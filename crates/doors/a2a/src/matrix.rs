//! Features of A2A: the door's column in the table of all pairs of protocols.

use jackfield_kit::matrix::{Column, Support, Topic};

/// Column of the door.
pub const MATRIX: Column = Column {
    protocol: crate::DOOR,
    agent: Some(agent),
    caller,
    exception: Column::no_exception,
};

/// Returns the support of a topic for an agent that the hub calls.
fn agent(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("a task that is `completed`"),
        Topic::Streamed => Support::full("artifact updates"),
        Topic::Kinds => Support::full("status updates `working` with `metadata.kind`"),
        Topic::Attachment => Support::full("a part of an artifact that is a file"),
        Topic::Ask => Support::full("`input-required`; the answer goes to the same task"),
        Topic::CancelByCaller | Topic::CallerGone | Topic::Timeout | Topic::SlowReader => {
            Support::full("gets `CancelTask`")
        }
        Topic::AgentGone => Support::converted(
            "a stream that breaks off is taken up again, for up to 5 minutes; then `offline`",
        ),
        Topic::AgentError => Support::converted("a task that is `failed` has words and no code"),
        Topic::UnknownAgent | Topic::ForeignAgent => Support::full("gets nothing"),
    }
}

/// Returns the support of a topic for a caller of the hub.
fn caller(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("`completed`, the answer in artifact and history"),
        Topic::Streamed => Support::full("artifact updates, appended"),
        Topic::Kinds => Support::full("status updates `working` with `metadata.kind`"),
        Topic::Attachment => Support::full("an artifact with the bytes"),
        Topic::Ask => Support::full("`input-required`, answered in the same task"),
        Topic::CancelByCaller => Support::full("`canceled`"),
        Topic::CallerGone => Support::unsupported("the task goes on, and can be followed again"),
        Topic::AgentGone => Support::full("`failed`, `metadata.failure` is `offline`"),
        Topic::AgentError => Support::full("`failed`, `metadata.failure` is the agent's code"),
        Topic::Timeout => Support::full("`failed`, `metadata.failure` is `timeout`"),
        Topic::SlowReader => Support::unsupported("nothing is lost: the task is read from its log"),
        Topic::UnknownAgent | Topic::ForeignAgent => Support::full("404, -32000"),
    }
}
