//! `/v1/teams/{id}/messages`, `…/stop`, `…/decisions`: actions of viewers for clients without a WebSocket.

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_kit::api::{
    Actor, ActsAsHeader, ApiError, CallErrorResponses, JsonBody, PathId, UnreadBody, invalid,
};
use jackfield_model::{CallId, Failure, Reason, TaskId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    TeamDoor,
    team::teams::{DecisionError, ViewerDecision},
    teams::team_id,
    translate,
};

/// Message to a team.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TeamMessage)]
pub(crate) struct TeamMessageBody {
    /// Text of the message.
    #[schema(min_length = 1)]
    content: String,
    /// Recipient, by name or route key. Defaults to the coordinator. Also accepted as `target_member_name`.
    #[serde(alias = "target_member_name")]
    #[schema(nullable = false)]
    target: Option<String>,
    /// Paths of files that belong to the message.
    #[serde(default)]
    context_file_paths: Vec<String>,
    /// URLs of images that belong to the message.
    #[serde(default)]
    image_urls: Vec<String>,
}

/// Result of a message to a team.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamMessageTaken)]
pub(crate) struct MessageReceipt {
    /// Started task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    task: Option<TaskId>,
    /// Call of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    call: Option<CallId>,
    /// Whether the message answered a question of the member. In such a case no task starts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    answered: bool,
}

/// Members to stop.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TeamStop)]
pub(crate) struct StopBody {
    /// Member to stop, by name or route key, with all members below. Defaults to the whole team. Also
    /// accepted as `target_member_name`.
    #[serde(alias = "target_member_name")]
    #[schema(nullable = false)]
    target: Option<String>,
}

/// Result of a stop.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamStopped)]
pub(crate) struct StopReceipt {
    /// Number of stopped calls.
    stopped: usize,
}

/// Decision on a question of a member.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TeamDecision)]
pub(crate) struct DecisionBody {
    /// Id of the tool call. Optional if a single question is pending.
    #[schema(nullable = false)]
    invocation_id: Option<String>,
    /// Whether the request is approved. Also accepted as `approved`.
    #[serde(alias = "approved")]
    approve: bool,
    /// Asking member, by name or route key. Optional if a single member asks under the id. Also accepted as
    /// `target_member_name` and as `agent_name`.
    #[serde(alias = "target_member_name", alias = "agent_name")]
    #[schema(nullable = false)]
    target: Option<String>,
    /// Reason for the decision.
    #[schema(nullable = false)]
    reason: Option<String>,
    /// Run of the question. A decision for a finished run is refused.
    #[schema(nullable = false)]
    team_run_id: Option<String>,
}

/// Empty result of a decision.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamDecided)]
pub(crate) struct DecisionReceipt {}

/// Sends a message to a team or to a member. Responds as soon as the message is stored. The results appear in
/// the team's event stream, and the task can be read like any task.
#[utoipa::path(
    post,
    path = "/v1/teams/{id}/messages",
    tag = "teams",
    params(("id" = String, Path, description = "The team"), ActsAsHeader),
    request_body = TeamMessageBody,
    responses((status = 202, description = "It is kept", body = MessageReceipt), CallErrorResponses),
)]
pub(crate) async fn say(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathId(id): PathId,
    body: UnreadBody,
) -> Result<(StatusCode, Json<MessageReceipt>), ApiError> {
    let id = team_id(&id)?;
    door.teams.get(&principal, id.as_str())?;
    let body: TeamMessageBody = body.read(&door).await?;
    let (files, images) = (body.context_file_paths, body.image_urls);
    if body.content.trim().is_empty() && files.is_empty() && images.is_empty() {
        return Err(invalid("field \"content\" is empty: what shall be said?").into());
    }
    let message = translate::message(body.content, &files, images);
    let target = body.target.as_deref();
    let said = door
        .teams
        .send_message(&principal, id.as_str(), target, message, None);
    let record = said.await?.map(|task| task.record());
    let taken = MessageReceipt {
        answered: record.is_none(),
        task: record.as_ref().map(|record| record.id),
        call: record.map(|record| record.call),
    };
    Ok((StatusCode::ACCEPTED, Json(taken)))
}

/// Stops the calls of a team or of a member. The owner of the team stops all calls; other callers stop their
/// own.
#[utoipa::path(
    post,
    path = "/v1/teams/{id}/stop",
    tag = "teams",
    params(("id" = String, Path, description = "The team"), ActsAsHeader),
    request_body = Option<StopBody>,
    responses((status = 202, description = "They are told to stop", body = StopReceipt), CallErrorResponses),
)]
pub(crate) async fn stop(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathId(id): PathId,
    body: Option<JsonBody<StopBody>>,
) -> Result<(StatusCode, Json<StopReceipt>), ApiError> {
    let id = team_id(&id)?;
    let target = body.and_then(|body| body.0.target);
    let stopped = door
        .teams
        .stop(&principal, id.as_str(), target.as_deref())?;
    Ok((StatusCode::ACCEPTED, Json(StopReceipt { stopped })))
}

/// Decides a question of a member, for example whether the member may use a tool. The owner of the asking
/// agent decides; callers decide about their own calls if the owner of the agent permits. The owner of the
/// team and the caller may always deny a tool.
#[utoipa::path(
    post,
    path = "/v1/teams/{id}/decisions",
    tag = "teams",
    params(("id" = String, Path, description = "The team"), ActsAsHeader),
    request_body = DecisionBody,
    responses((status = 200, description = "It is decided", body = DecisionReceipt), CallErrorResponses),
)]
pub(crate) async fn decide(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathId(id): PathId,
    body: UnreadBody,
) -> Result<Json<DecisionReceipt>, ApiError> {
    let id = team_id(&id)?;
    door.teams.get(&principal, id.as_str())?;
    let body: DecisionBody = body.read(&door).await?;
    let decision = ViewerDecision {
        run: body.team_run_id,
        target: body.target,
        invocation: body.invocation_id,
        approved: body.approve,
        reason: body.reason,
    };
    match door.teams.decide(&principal, id.as_str(), &decision) {
        Ok(()) => Ok(Json(DecisionReceipt {})),
        Err(undecided) => Err(failure(undecided, &decision).into()),
    }
}

fn failure(undecided: DecisionError, decision: &ViewerDecision) -> Failure {
    match undecided {
        DecisionError::NotPending if decision.invocation.is_none() => Failure::new(
            Reason::NotFound,
            "nobody in this team waits for a decision of yours",
        ),
        DecisionError::NotPending => Failure::new(
            Reason::NotFound,
            "field \"invocation_id\": no call of this team waits for a decision of this id; if an outside runtime published \
             the request, that runtime decides",
        ),
        DecisionError::Stale => Failure::new(
            Reason::Conflict,
            "field \"team_run_id\": that run is over; see GET /v1/teams/{id}",
        ),
        DecisionError::OtherMember if decision.target.is_none() => Failure::new(
            Reason::Conflict,
            "field \"target\" is needed: several members wait for a decision of this id",
        ),
        DecisionError::Several(ids) => Failure::new(
            Reason::Conflict,
            format!(
                "field \"invocation_id\" is needed: several decisions are waited for ({})",
                ids.join(", ")
            ),
        ),
        DecisionError::OtherMember => Failure::new(
            Reason::Conflict,
            "field \"target\": that member waits for no decision of this id, but another does",
        ),
        DecisionError::NotAllowed => Failure::new(
            Reason::Unauthorized,
            "the owner of the asking agent decides this, or of a team that is theirs too",
        ),
        DecisionError::NoMember(failure) => {
            let text = format!("field \"target\": {}", failure.text);
            Failure::new(failure.reason, text)
        }
        DecisionError::Failed(failure) => failure,
    }
}
