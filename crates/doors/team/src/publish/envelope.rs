//! The envelope as the description of the API shows it. It is read by hand, so that all of it is kept as it was written.

#![expect(dead_code, reason = "only described, never made")]

use utoipa::ToSchema;

/// One envelope, or a list of them.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = TeamEnvelopes)]
pub(crate) enum Envelopes {
    /// One.
    One(Envelope),
    /// Several, of which all are taken or none.
    Several(Vec<Envelope>),
}

/// An event of a team, as the team protocol writes it. What is left out and may be is filled in; unknown fields are kept.
#[derive(Debug, ToSchema)]
#[schema(as = TeamEnvelope)]
pub(crate) struct Envelope {
    /// Its id.
    event_id: Option<String>,
    /// When it happened, in RFC 3339.
    #[schema(format = DateTime)]
    timestamp: Option<String>,
    /// The team.
    team_id: Option<String>,
    /// Who says something: the team itself, a member, a team within it, or its board.
    #[schema(pattern = "^(TEAM|AGENT|SUB_TEAM|TASK_PLAN)$")]
    event_source_type: String,
    /// What is said. TEAM: `new_status`, `old_status`, `error_message`. AGENT: `agent_name` and `agent_event`, which has
    /// `event_type`, `data`, `agent_id`, `event_id` and `timestamp`. SUB_TEAM: `sub_team_node_name` and
    /// `sub_team_event`, an envelope. TASK_PLAN: `tasks`; or `task_id`, `new_status`, `agent_name`, `deliverables`.
    data: serde_json::Map<String, serde_json::Value>,
}
