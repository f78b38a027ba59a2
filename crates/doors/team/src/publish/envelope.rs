//! Schema of envelopes for the API description. The door reads envelopes by hand to keep them unchanged.

#![expect(dead_code, reason = "only described, never made")]

use utoipa::ToSchema;

/// A single envelope, or a list.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = TeamEnvelopes)]
pub(crate) enum Envelopes {
    /// Single envelope.
    One(Envelope),
    /// List, accepted completely or not at all.
    Several(Vec<Envelope>),
}

/// Event of a team in the team protocol. Missing optional fields are filled in; unknown fields are kept.
#[derive(Debug, ToSchema)]
#[schema(as = TeamEnvelope)]
pub(crate) struct Envelope {
    /// Id of the event.
    event_id: Option<String>,
    /// Time of the event, in RFC 3339.
    #[schema(format = DateTime)]
    timestamp: Option<String>,
    /// Id of the team.
    team_id: Option<String>,
    /// Source of the event: the team itself, a member, a nested team, or the task board.
    #[schema(pattern = "^(TEAM|AGENT|SUB_TEAM|TASK_PLAN)$")]
    event_source_type: String,
    /// Content of the event. TEAM: `new_status`, `old_status`, `error_message`. AGENT: `agent_name` and
    /// `agent_event` with `event_type`, `data`, `agent_id`, `event_id` and `timestamp`. SUB_TEAM:
    /// `sub_team_node_name` and `sub_team_event`, an envelope. TASK_PLAN: `tasks`; or `task_id`,
    /// `new_status`, `agent_name`, `deliverables`.
    data: serde_json::Map<String, serde_json::Value>,
}
