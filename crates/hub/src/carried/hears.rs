//! What callers of each protocol can hear, and what becomes of their calls.

use super::{Matter, Passage, Protocol};

/// How something passes to a caller of this protocol.
pub(super) fn passage(caller: Protocol, matter: Matter) -> Passage {
    match caller {
        Protocol::Agora => agora(matter),
        Protocol::Bridge => bridge(matter),
        Protocol::A2a => a2a(matter),
        Protocol::Team => team(matter),
        Protocol::P2p => p2p(matter),
    }
}

fn agora(matter: Matter) -> Passage {
    match matter {
        Matter::OneShot => Passage::whole("`reply`, or a stream of one chunk"),
        Matter::Streamed => Passage::whole("`reply`, `reply_chunk`, `reply_end`"),
        Matter::Kinds => Passage::whole("`reply_chunk` with `kind`"),
        Matter::Attachment => Passage::folded("bytes become a link of the hub in `attachments`"),
        Matter::Ask => Passage::whole("`reply` with `input_required`, answered by `ask_id`"),
        Matter::CancelByCaller => Passage::whole("`error` `cancelled`"),
        Matter::CallerGone => Passage::whole("the agent is told at once"),
        Matter::AgentGone => Passage::whole("`error` `offline`"),
        Matter::AgentError => Passage::whole("`error` with the agent's code"),
        Matter::Timeout => Passage::whole("`error` `timeout`"),
        Matter::SlowReader => Passage::whole("`error` `slow_reader`"),
        Matter::UnknownAgent | Matter::ForeignAgent => Passage::whole("`error` `not_found`"),
    }
}

fn bridge(matter: Matter) -> Passage {
    match matter {
        Matter::OneShot => Passage::whole("`chunk`, then `done`"),
        Matter::Streamed => Passage::whole("`chunk`"),
        Matter::Kinds => Passage::whole("`chunk` with `kind`"),
        Matter::Attachment => Passage::folded("bytes become a link of the hub in `attachments`"),
        Matter::Ask => {
            Passage::folded("a `status` chunk; the agent waits, and its owner may answer")
        }
        Matter::CancelByCaller => Passage::whole("`error` `session_not_found`"),
        Matter::CallerGone => Passage::whole("the agent is told at once"),
        Matter::AgentGone => Passage::whole("`error` `agent_offline`"),
        Matter::AgentError => Passage::whole("`error` with the agent's code"),
        Matter::Timeout => Passage::whole("`error` `timeout`"),
        Matter::SlowReader => Passage::whole("`error` `internal_error`"),
        Matter::UnknownAgent => Passage::whole("404 `agent_offline`"),
        Matter::ForeignAgent => Passage::not("the platform may call every agent: it is called"),
    }
}

fn a2a(matter: Matter) -> Passage {
    match matter {
        Matter::OneShot => Passage::whole("`completed`, the answer in artifact and history"),
        Matter::Streamed => Passage::whole("artifact updates, appended"),
        Matter::Kinds => Passage::whole("status updates `working` with `metadata.kind`"),
        Matter::Attachment => Passage::whole("an artifact with the bytes"),
        Matter::Ask => Passage::whole("`input-required`, answered in the same task"),
        Matter::CancelByCaller => Passage::whole("`canceled`"),
        Matter::CallerGone => Passage::not("the task goes on, and can be followed again"),
        Matter::AgentGone => Passage::whole("`failed`, `metadata.failure` is `offline`"),
        Matter::AgentError => Passage::whole("`failed`, `metadata.failure` is the agent's code"),
        Matter::Timeout => Passage::whole("`failed`, `metadata.failure` is `timeout`"),
        Matter::SlowReader => Passage::not("nothing is lost: the task is read from its log"),
        Matter::UnknownAgent | Matter::ForeignAgent => Passage::whole("404, -32000"),
    }
}

fn team(matter: Matter) -> Passage {
    match matter {
        Matter::OneShot => Passage::whole("`ASSISTANT_COMPLETE` with the answer"),
        Matter::Streamed => Passage::whole("a segment `text`"),
        Matter::Kinds => {
            Passage::whole("segments `reasoning` and `tool_call`, `TOOL_EXECUTION_…`, `TOOL_LOG`")
        }
        Matter::Attachment => {
            Passage::folded("`ARTIFACT_PERSISTED`; bytes become a link of the hub")
        }
        Matter::Ask => {
            Passage::whole("`TOOL_APPROVAL_REQUESTED` of `ask_user`; the next message answers it")
        }
        Matter::CancelByCaller => Passage::whole("`AGENT_STATUS` `idle` without an answer"),
        Matter::CallerGone => Passage::not("the run goes on, and the next viewer sees it"),
        Matter::AgentGone => Passage::whole("`ERROR` `offline`"),
        Matter::AgentError => Passage::folded("`ERROR` `agent` with the agent's words"),
        Matter::Timeout => Passage::whole("`ERROR` `timeout`"),
        Matter::SlowReader => {
            Passage::not("nothing is lost up to `team_ring`; beyond it `GAP` says what is gone")
        }
        Matter::UnknownAgent | Matter::ForeignAgent => {
            Passage::whole("`ERROR` `TARGET_MEMBER_NOT_PLACED`")
        }
    }
}

fn p2p(matter: Matter) -> Passage {
    match matter {
        Matter::OneShot => Passage::whole("`result`, or the body by 1.0.0"),
        Matter::Streamed => Passage::whole("`chunk`, by 1.1.0"),
        Matter::Kinds => Passage::folded("status lines stay, thinking and tools are dropped"),
        Matter::Attachment => Passage::folded("a link in `files` of the result"),
        Matter::Ask => {
            Passage::not("the call fails with 400 and the question: a handoff cannot answer")
        }
        Matter::CancelByCaller => Passage::whole("the stream that it reset is over"),
        Matter::CallerGone => Passage::whole("the agent is told at once"),
        Matter::AgentGone => Passage::whole("`error` 502"),
        Matter::AgentError => Passage::whole("`error` 502, `reason` is the agent's code"),
        Matter::Timeout => Passage::whole("`error` 504"),
        Matter::SlowReader => Passage::whole("`error` 500, `reason` is `slow_reader`"),
        Matter::UnknownAgent | Matter::ForeignAgent => Passage::whole("`error` 404"),
    }
}
