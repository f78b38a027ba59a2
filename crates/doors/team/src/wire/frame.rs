//! The messages of a connection itself, and the shape that all messages of the WebSocket have.

use serde_json::value::RawValue;

use super::AgentStatus;
use jackfield_wire::json::ObjectWriter;

/// Appends the message of one type, whose payload `fill` writes.
pub(super) fn message(
    message_type: &str,
    out: &mut String,
    fill: impl FnOnce(&mut ObjectWriter<'_>),
) {
    let mut object = ObjectWriter::open(out);
    object.text("type", message_type).object("payload", fill);
    object.close();
}

/// The viewer of a team is welcome.
pub fn connected_team(team_id: &str, session_id: &str, out: &mut String) {
    message("CONNECTED", out, |payload| {
        payload
            .text("team_id", team_id)
            .text("session_id", session_id);
    });
}

/// The viewer of one agent is welcome.
pub fn connected_agent(agent_id: &str, session_id: &str, out: &mut String) {
    message("CONNECTED", out, |payload| {
        payload
            .text("agent_id", agent_id)
            .text("session_id", session_id);
    });
}

/// Something is wrong with the connection or with what its viewer said, which may have called it `message_id`.
pub fn error(code: &str, message: &str, message_id: Option<&str>, out: &mut String) {
    self::message("ERROR", out, |payload| {
        payload
            .text("code", code)
            .text("message", message)
            .maybe_text("message_id", message_id);
    });
}

/// What the viewer called `message_id` is kept as this task; without one, it was the answer that a member waited for.
/// Only for viewers that name their messages, which the published web client does not.
pub fn accepted(message_id: &str, task_id: Option<&str>, out: &mut String) {
    message("MESSAGE_ACCEPTED", out, |payload| {
        payload
            .text("message_id", message_id)
            .maybe_text("task_id", task_id);
    });
}

/// What the agent is doing when its viewer comes. Here alone the state before is written though there is none.
pub fn snapshot_agent_status(new: AgentStatus, out: &mut String) {
    message("AGENT_STATUS", out, |payload| {
        payload
            .text("new_status", new.name())
            .raw("old_status", RawValue::NULL);
    });
}

/// The events `from..=to` of a run are gone. The published web client ignores this type, as it does every type that it
/// does not know, and goes on with the events behind the gap.
pub fn gap(team_run_id: &str, from: u64, to: u64, out: &mut String) {
    message("GAP", out, |payload| {
        payload
            .text("event_scope", "team_scoped")
            .text("team_run_id", team_run_id)
            .number("from_sequence", from)
            .number("to_sequence", to);
    });
}
