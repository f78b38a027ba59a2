//! The messages of a connection itself, and the shape that all messages of the WebSocket have.

use serde::Serialize;

use super::AgentStatus;

/// How many bytes most messages need, with all that is added to them. Growing in steps cost a fifth of the speed of a
/// burst.
const USUAL_SIZE: usize = 1024;

/// The JSON of `value`.
pub(super) fn json(value: &impl Serialize) -> String {
    let mut out = Vec::with_capacity(USUAL_SIZE);
    match serde_json::to_writer(&mut out, value) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        // The types of this module have nothing that cannot be written.
        Err(_) => String::new(),
    }
}

/// The message of one type.
pub(super) fn message(message_type: &str, payload: impl Serialize) -> String {
    #[derive(Serialize)]
    struct Message<'a, P> {
        r#type: &'a str,
        payload: P,
    }
    json(&Message {
        r#type: message_type,
        payload,
    })
}

/// The viewer of a team is connected.
pub fn connected_team(team_id: &str, session_id: &str) -> String {
    #[derive(Serialize)]
    struct Connected<'a> {
        team_id: &'a str,
        session_id: &'a str,
    }
    message(
        "CONNECTED",
        Connected {
            team_id,
            session_id,
        },
    )
}

/// The viewer of one agent is connected.
pub fn connected_agent(agent_id: &str, session_id: &str) -> String {
    #[derive(Serialize)]
    struct Connected<'a> {
        agent_id: &'a str,
        session_id: &'a str,
    }
    message(
        "CONNECTED",
        Connected {
            agent_id,
            session_id,
        },
    )
}

/// Something is wrong with the connection, or with the message that its viewer calls `message_id`.
pub fn error(code: &str, message: &str, message_id: Option<&str>) -> String {
    #[derive(Serialize)]
    struct Error<'a> {
        code: &'a str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<&'a str>,
    }
    let payload = Error {
        code,
        message,
        message_id,
    };
    self::message("ERROR", payload)
}

/// What the viewer called `message_id` is kept as this task; without one, it was the answer that a member waited for.
/// Only for viewers that name their messages, which the published web client does not.
pub fn accepted(message_id: &str, task_id: Option<&str>) -> String {
    #[derive(Serialize)]
    struct Accepted<'a> {
        message_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        task_id: Option<&'a str>,
    }
    message(
        "MESSAGE_ACCEPTED",
        Accepted {
            message_id,
            task_id,
        },
    )
}

/// What the agent is doing when its viewer comes. Here alone the state before is written though there is none.
pub fn snapshot_agent_status(new: AgentStatus) -> String {
    #[derive(Serialize)]
    struct Snapshot {
        new_status: AgentStatus,
        old_status: Option<AgentStatus>,
    }
    let payload = Snapshot {
        new_status: new,
        old_status: None,
    };
    message("AGENT_STATUS", payload)
}

/// The events `from..=to` of a run are gone. The published web client ignores this type, as it does every type that it
/// does not know, and goes on with the events behind the gap.
pub fn gap(team_run_id: &str, from: u64, to: u64) -> String {
    #[derive(Serialize)]
    struct Gap<'a> {
        event_scope: &'static str,
        team_run_id: &'a str,
        from_sequence: u64,
        to_sequence: u64,
    }
    let payload = Gap {
        event_scope: "team_scoped",
        team_run_id,
        from_sequence: from,
        to_sequence: to,
    };
    message("GAP", payload)
}
