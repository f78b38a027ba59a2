//! `POST /v1/teams/{id}/events`: publishing of envelopes by outside runtimes. An envelope is validated down
//! to its innermost event, stored unchanged, and shown in the team's feed. A list is accepted completely or
//! not at all.

mod claim;
mod envelope;

use std::sync::Arc;

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_core::principal::Principal;
use jackfield_kit::api::{
    Actor, ActsAsHeader, ApiError, CallErrorResponses, PathId, UnreadBody, invalid,
};
use jackfield_model as event;
use jackfield_model::{Failure, Reason};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

pub(crate) use self::envelope::{Envelope, Envelopes};
use crate::{
    TeamDoor,
    team::teams::CheckedEnvelope,
    teams::team_id,
    translate,
    wire::{EnvelopeDefaults, EnvelopeLimits, PublishedEnvelope, complete, read_envelopes},
};

/// Result of publishing events.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamEventsAccepted)]
pub(crate) struct PublishReceipt {
    /// Number of accepted events.
    accepted: usize,
    /// Run that shows the events.
    #[schema(value_type = String)]
    team_run_id: Arc<str>,
    /// Number of the last event.
    last_sequence: u64,
}

/// Publishes events of a team: a single envelope, or a list that is accepted completely or not at all. The
/// owner may publish for every member, a member only for itself. Unknown fields are kept.
#[utoipa::path(
    post,
    path = "/v1/teams/{id}/events",
    tag = "teams",
    params(("id" = String, Path, description = "The team"), ActsAsHeader),
    request_body(content = Envelopes, description = "An envelope of the team protocol, or a list of them"),
    responses((status = 202, description = "They are shown", body = PublishReceipt), CallErrorResponses),
)]
pub(crate) async fn publish(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathId(id): PathId,
    body: UnreadBody,
) -> Result<(StatusCode, Json<PublishReceipt>), ApiError> {
    door.teams.publisher(&principal, team_id(&id)?.as_str())?;
    let text = body.read_text(&door).await?;
    let accepted = publish_text(&door, &principal, &id, &text)?;
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

/// Publishes the text of a runtime: an envelope or a list.
pub(crate) fn publish_text(
    door: &TeamDoor,
    principal: &Principal,
    team: &str,
    text: &str,
) -> Result<PublishReceipt, Failure> {
    let team = team_id(team)?;
    let team = team.as_str();
    // Check first: an unauthorized caller learns nothing about errors in the text.
    let publisher = door.teams.publisher(principal, team)?;
    let limits = EnvelopeLimits {
        max_depth: door.teams.hub().limits().json_depth,
        ..EnvelopeLimits::default()
    };
    let envelopes = read_envelopes(text, &limits).map_err(|fault| invalid(fault.to_string()))?;
    if envelopes.is_empty() {
        return Err(invalid("the list is empty: what shall be published?"));
    }
    let is_list = text.trim_start().starts_with('[');
    let mut checked = Vec::with_capacity(envelopes.len());
    for (index, envelope) in envelopes.iter().enumerate() {
        let at = if is_list {
            format!("[{index}].")
        } else {
            String::new()
        };
        let claim = claim::of(envelope);
        checked.push(publisher.check(&claim, &at)?);
    }
    let at = translate::time(Timestamp::now());
    let envelopes = envelopes.iter().zip(checked);
    let whole = envelopes.map(|(envelope, checked)| whole(envelope, checked, team, &at));
    let whole = whole.collect::<Result<Vec<_>, _>>()?;
    let accepted = whole.len();
    let (run, last_sequence) = door.teams.publish(principal, team, whole)?;
    Ok(PublishReceipt {
        accepted,
        team_run_id: run.id.clone(),
        last_sequence,
    })
}

/// Fills in the fields that the runtime left out of a [`PublishedEnvelope`] envelope.
fn whole(
    envelope: &PublishedEnvelope<'_>,
    checked: CheckedEnvelope,
    team: &str,
    at: &str,
) -> Result<(CheckedEnvelope, event::Json), Failure> {
    let text = complete(
        envelope,
        &EnvelopeDefaults {
            team_id: team,
            event_id: Uuid::new_v4().as_u128(),
            at,
            agent_id: checked.agent.as_ref().map(|agent| agent.as_str()),
        },
    );
    let raw = RawValue::from_string(text).map_err(|error| {
        tracing::error!(%error, "an envelope was completed to something that is no JSON");
        Failure::new(Reason::Internal, "the envelope could not be completed")
    })?;
    Ok((checked, raw.into()))
}
