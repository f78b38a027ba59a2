//! Connection messages, and the common shape of all WebSocket messages.

use serde::Serialize;

use super::AgentStatus;

/// Initial buffer size for a message, sufficient for most. Growing in steps cost a fifth of the speed of a
/// burst.
const USUAL_SIZE: usize = 1024;

/// Serializes `value` as JSON.
pub(super) fn json(value: &impl Serialize) -> String {
    let mut out = Vec::with_capacity(USUAL_SIZE);
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        // All types of the module serialize without errors.
        Err(_) => String::new(),
    }
}

/// Returns a message with the given type and payload.
pub(super) fn message(message_type: &str, payload: impl Serialize) -> String {
    #[derive(Serialize)]
    struct TypedMessage<'a, P> {
        r#type: &'a str,
        payload: P,
    }
    json(&TypedMessage {
        r#type: message_type,
        payload,
    })
}

/// Payload of `CONNECTED` for a viewer of a team.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct ConnectedTeam<'a> {
    team_id: &'a str,
    session_id: &'a str,
}

/// Payload of `CONNECTED` for a viewer of a single agent.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct ConnectedAgent<'a> {
    agent_id: &'a str,
    session_id: &'a str,
}

/// Payload of an `ERROR` about a connection or a message.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct ErrorPayload<'a> {
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<&'a str>,
}

/// Payload of `MESSAGE_ACCEPTED`.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct AcceptedPayload<'a> {
    message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
}

/// Payload of the `AGENT_STATUS` of a new viewer's snapshot.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct AgentStatusPayload {
    new_status: AgentStatus,
    old_status: Option<AgentStatus>,
}

/// Payload of `GAP`.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct GapPayload<'a> {
    event_scope: &'static str,
    team_run_id: &'a str,
    from_sequence: u64,
    to_sequence: u64,
}

/// Returns the `CONNECTED` message for a viewer of a team.
pub fn connected_team(team_id: &str, session_id: &str) -> String {
    message(
        "CONNECTED",
        ConnectedTeam {
            team_id,
            session_id,
        },
    )
}

/// Returns the `CONNECTED` message for a viewer of a single agent.
pub fn connected_agent(agent_id: &str, session_id: &str) -> String {
    message(
        "CONNECTED",
        ConnectedAgent {
            agent_id,
            session_id,
        },
    )
}

/// Returns the `ERROR` message for a connection, or for the viewer's message `message_id`.
pub fn error(code: &str, message: &str, message_id: Option<&str>) -> String {
    let payload = ErrorPayload {
        code,
        message,
        message_id,
    };
    self::message("ERROR", payload)
}

/// Returns the `MESSAGE_ACCEPTED` message: the viewer's message `message_id` is stored as task `task_id`.
/// Without a task, the message answered a question of a member. Sent only to viewers that assign message ids;
/// the published web client does not.
pub fn accepted(message_id: &str, task_id: Option<&str>) -> String {
    message(
        "MESSAGE_ACCEPTED",
        AcceptedPayload {
            message_id,
            task_id,
        },
    )
}

/// Returns the `AGENT_STATUS` message of a new viewer's snapshot. Only here `old_status` is written although
/// missing.
pub fn snapshot_agent_status(new: AgentStatus) -> String {
    let payload = AgentStatusPayload {
        new_status: new,
        old_status: None,
    };
    message("AGENT_STATUS", payload)
}

/// Returns the `GAP` message: the events `from..=to` of a run are lost. The published web client ignores the
/// type like every unknown type, and continues with the events after the gap.
pub fn gap(team_run_id: &str, from: u64, to: u64) -> String {
    let payload = GapPayload {
        event_scope: "team_scoped",
        team_run_id,
        from_sequence: from,
        to_sequence: to,
    };
    message("GAP", payload)
}
