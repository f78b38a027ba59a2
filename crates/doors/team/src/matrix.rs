//! Features of the team protocol: the team door's column in the matrix of all protocol pairs.

use jackfield_kit::matrix::{Column, Support, Topic};

/// Column of the team door.
pub const MATRIX: Column = Column {
    protocol: crate::DOOR,
    agent: Some(agent),
    caller,
    exception: Column::no_exception,
};

/// Returns how a team supports `topic` when called as an agent.
fn agent(topic: Topic) -> Support {
    Support::full(match topic {
        Topic::OneShot | Topic::Streamed | Topic::Kinds | Topic::Attachment | Topic::Ask => {
            "as in the coordinator's protocol"
        }
        Topic::CancelByCaller | Topic::CallerGone | Topic::Timeout | Topic::SlowReader => {
            "the coordinator and the members that work for it are told"
        }
        Topic::AgentGone => "its coordinator leaves",
        Topic::AgentError => "its coordinator fails",
        Topic::UnknownAgent | Topic::ForeignAgent => "gets nothing",
    })
}

/// Returns how a viewer of a team supports `topic` as a caller.
fn caller(topic: Topic) -> Support {
    match topic {
        Topic::OneShot => Support::full("`ASSISTANT_COMPLETE` with the answer"),
        Topic::Streamed => Support::full("a segment `text`"),
        Topic::Kinds => {
            Support::full("segments `reasoning` and `tool_call`, `TOOL_EXECUTION_…`, `TOOL_LOG`")
        }
        Topic::Attachment => {
            Support::converted("`ARTIFACT_PERSISTED`; bytes become a link of the hub")
        }
        Topic::Ask => {
            Support::full("`TOOL_APPROVAL_REQUESTED` of `ask_user`; the next message answers it")
        }
        Topic::CancelByCaller => Support::full("`AGENT_STATUS` `idle` without an answer"),
        Topic::CallerGone => Support::unsupported("the run goes on, and the next viewer sees it"),
        Topic::AgentGone => Support::full("`ERROR` `offline`"),
        Topic::AgentError => Support::converted("`ERROR` `agent` with the agent's words"),
        Topic::Timeout => Support::full("`ERROR` `timeout`"),
        Topic::SlowReader => Support::unsupported(
            "nothing is lost up to `teams.ring`; beyond it `GAP` says what is gone",
        ),
        Topic::UnknownAgent | Topic::ForeignAgent => {
            Support::full("`ERROR` `TARGET_MEMBER_NOT_PLACED`")
        }
    }
}
