//! Features of ACP: the door's rows in the table of all pairs of protocols. The protocol only has callers: a program that speaks
//! it as an agent is connected by `jackfield connect acp`.

use jackfield_kit::matrix::{Column, Support, Topic};

/// Rows of the door.
pub const MATRIX: Column = Column {
    protocol: crate::DOOR,
    agent: None,
    caller,
    exception: Column::no_exception,
};

/// Returns the support of a topic for an editor that shows forms and notices.
fn caller(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("`agent_message_chunk`, then `end_turn`"),
        Topic::Streamed => Support::full("`agent_message_chunk`"),
        Topic::Kinds => Support::full(
            "`agent_thought_chunk`, `tool_call`, `tool_call_update`, `notice`; without notices a status is a thought",
        ),
        Topic::Attachment => {
            Support::converted("a `resource_link` to the hub; pictures and sounds with their bytes")
        }
        Topic::Ask => Support::full("a form; without forms, text that the next prompt answers"),
        Topic::CancelByCaller => Support::full("`cancelled`"),
        Topic::CallerGone => Support::full("the call is cancelled; `session/load` replays it"),
        Topic::AgentGone => Support::full("an error, `data.reason` is `offline`"),
        Topic::AgentError => Support::full("an error, `data.reason` is the agent's code"),
        Topic::Timeout => Support::full("an error, `data.reason` is `timeout`"),
        Topic::SlowReader => Support::unsupported("nothing is lost: the task is read from its log"),
        Topic::UnknownAgent | Topic::ForeignAgent => {
            Support::full("404 in answer to the handshake")
        }
    }
}
