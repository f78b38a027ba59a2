//! `GET /api/task-status`: the state of an async or durable relay.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use jackfield_core::{
    store::{TaskRecord, TaskState},
    task::{LastTurn, Task},
};
use jackfield_kit::api::store_failure;
use jackfield_model::RequestId;

use super::{
    RelayQuery,
    describe::QueryErrors,
    problem::{RelayApiError, agent_id, peer_id},
};
use crate::{
    door::Bridge,
    relay::{outcome::RelayOutcome, sentences::time},
    wire::response::{RelayErrorBody, TaskStatusResponse},
};

/// Shows the state of an async or durable request.
#[utoipa::path(
    get,
    path = "/api/task-status",
    tag = "relay",
    security(("platform_secret" = [])),
    params(
        ("agent_id" = String, Query, description = "Who was asked", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"),
        ("request_id" = String, Query, description = "The request", min_length = 1, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"),
    ),
    responses(
        (status = 200, description = "Where it stands", body = TaskStatusResponse<'static>),
        QueryErrors,
        (status = 404, description = "No such request: not_found", body = RelayErrorBody<'static>),
        (status = 500, description = "A fault of the hub: internal_error", body = RelayErrorBody<'static>),
    ),
)]
pub(crate) async fn show(
    State(bridge): State<Arc<Bridge>>,
    query: RelayQuery,
) -> Result<Response, RelayApiError> {
    let agent = query.required("agent_id")?;
    let request = query.required("request_id")?;
    let agent = agent_id(agent)?;
    let request = peer_id("request_id", request, RequestId::parse)?;
    let task = bridge.requests.find(&bridge, &agent, &request).await?;
    let task = task.ok_or_else(RelayApiError::no_task)?;
    let record = task.record();
    if is_running(&task, &record) {
        let status = TaskStatusResponse::Running {
            request_id: request.as_str(),
            started_at: &time(record.created_at),
        };
        return Ok(Json(status).into_response());
    }
    let turn = LastTurn::read(&task, bridge.hub.limits().message.0).await;
    let turn = turn.map_err(|error| store_failure(&error))?;
    let outcome = RelayOutcome::of(&record, turn);
    let completed_at = time(record.updated_at);
    let duration_ms = outcome.duration_ms;
    let status = match &outcome.result {
        Ok(done) => TaskStatusResponse::Completed {
            request_id: request.as_str(),
            result: &done.text,
            attachments: &done.attachments(&bridge.links.of_task(&record)),
            file_transfer_offer: done.offer(),
            duration_ms,
            completed_at: &completed_at,
        },
        Err((code, text)) => TaskStatusResponse::Failed {
            request_id: request.as_str(),
            error_code: code,
            error_message: text,
            duration_ms,
            completed_at: &completed_at,
        },
    };
    Ok(Json(status).into_response())
}

/// Returns whether the agent is still working. For the bridge, an agent that ended its turn with a question
/// has answered.
fn is_running(task: &Task, record: &TaskRecord) -> bool {
    match record.state {
        TaskState::Submitted | TaskState::Working => true,
        TaskState::InputRequired => task.call().is_some(),
        TaskState::Completed | TaskState::Failed | TaskState::Cancelled | TaskState::Rejected => {
            false
        }
    }
}
