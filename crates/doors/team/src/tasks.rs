//! `/v1/teams/{id}/tasks`: task board of a team. Changes appear as events in the team's feed.

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_kit::{
    api::{
        Actor, ActsAsHeader, ApiError, ApiErrorBody, CallErrorResponses, ErrorResponses, PathId,
        PathIds, UnreadBody, invalid,
    },
    json::StrictObject,
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    TeamDoor,
    team::board::{BoardStatus, NewDeliverable, NewTask, TaskChange},
    teams::team_id,
    view::{BoardTaskList, BoardTaskView},
};

/// Tasks to add to a board.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTeamTasks)]
pub(crate) struct NewTasks {
    /// Tasks. All are added, or none if any is refused.
    #[schema(value_type = Vec<TaskBody>, min_items = 1)]
    tasks: Vec<StrictObject<TaskBody>>,
    /// Member that adds the tasks. Defaults to the calling member, or to the coordinator if the owner calls.
    #[schema(nullable = false)]
    agent_name: Option<String>,
}

/// Task to add to a board.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTeamTask)]
pub(crate) struct TaskBody {
    /// Name of the task, unique on the board.
    #[schema(min_length = 1)]
    task_name: String,
    /// Assigned member, by name or route key.
    assignee_name: String,
    /// Description of the work.
    #[serde(default)]
    description: String,
    /// Tasks to complete before, by name or id: tasks on the board, or tasks added in the same request.
    #[serde(default)]
    dependencies: Vec<String>,
}

impl From<TaskBody> for NewTask {
    fn from(body: TaskBody) -> Self {
        Self {
            name: body.task_name,
            assignee: body.assignee_name,
            description: body.description,
            dependencies: body.dependencies,
        }
    }
}

/// Changes of a task. Fields left out stay unchanged.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TeamTaskChange)]
pub(crate) struct ChangeBody {
    /// New status. Any status may follow any other.
    #[schema(value_type = Option<String>, nullable = false, pattern = "^(not_started|queued|in_progress|completed|blocked|failed)$")]
    status: Option<BoardStatus>,
    /// Files to add to the produced files.
    #[serde(default)]
    #[schema(value_type = Vec<DeliverableBody>)]
    deliverables: Vec<StrictObject<DeliverableBody>>,
    /// Complete list of tasks to complete before, by name or id.
    #[schema(nullable = false)]
    dependencies: Option<Vec<String>>,
    /// Assigned member, by name or route key.
    #[schema(nullable = false)]
    assignee_name: Option<String>,
    /// Description of the work.
    #[schema(nullable = false)]
    description: Option<String>,
    /// Member that makes the change. Defaults to the calling member, or to the coordinator if the owner
    /// calls.
    #[schema(nullable = false)]
    agent_name: Option<String>,
}

/// File produced by a task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewDeliverable)]
pub(crate) struct DeliverableBody {
    /// Path of the file.
    #[schema(min_length = 1)]
    file_path: String,
    /// Description of the file.
    #[serde(default)]
    summary: String,
}

impl From<DeliverableBody> for NewDeliverable {
    fn from(body: DeliverableBody) -> Self {
        Self {
            file_path: body.file_path,
            summary: body.summary,
        }
    }
}

/// Lists the tasks of a team's board, oldest first. Allowed for the owner, the members, and principals that
/// may watch the team.
#[utoipa::path(
    get,
    path = "/v1/teams/{id}/tasks",
    tag = "teams",
    params(("id" = String, Path, description = "The team"), ActsAsHeader),
    responses(
        (status = 200, description = "The board", body = BoardTaskList),
        ErrorResponses,
        (status = 404, description = "No such team, or none that you may see: not_found", body = ApiErrorBody),
    ),
)]
pub(crate) async fn list(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathId(id): PathId,
) -> Result<Json<BoardTaskList>, ApiError> {
    let id = team_id(&id)?;
    let tasks = door.teams.board(&principal, id.as_str())?;
    Ok(Json(tasks.into()))
}

/// Adds tasks to a team's board. Allowed for the owner and the members.
#[utoipa::path(
    post,
    path = "/v1/teams/{id}/tasks",
    tag = "teams",
    params(("id" = String, Path, description = "The team"), ActsAsHeader),
    request_body = NewTasks,
    responses((status = 201, description = "The tasks that were added", body = BoardTaskList), CallErrorResponses),
)]
pub(crate) async fn add(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathId(id): PathId,
    body: UnreadBody,
) -> Result<(StatusCode, Json<BoardTaskList>), ApiError> {
    let id = team_id(&id)?;
    door.teams.get(&principal, id.as_str())?;
    let new: NewTasks = body.read(&door).await?;
    let tasks = new.tasks.into_iter().map(|task| task.0.into()).collect();
    let by = new.agent_name.as_deref();
    let (added, saved) = door.teams.add_tasks(&principal, id.as_str(), tasks, by)?;
    saved.await?;
    Ok((StatusCode::CREATED, Json(added.into())))
}

/// Changes a task of a team's board, given by id or name. Allowed for the team's owner and members.
#[utoipa::path(
    patch,
    path = "/v1/teams/{id}/tasks/{task}",
    tag = "teams",
    params(
        ("id" = String, Path, description = "The team"),
        ("task" = String, Path, description = "The task's id or name"),
        ActsAsHeader,
    ),
    request_body = ChangeBody,
    responses((status = 200, description = "The task as it is now", body = BoardTaskView), CallErrorResponses),
)]
pub(crate) async fn change(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathIds(id, task): PathIds,
    body: UnreadBody,
) -> Result<Json<BoardTaskView>, ApiError> {
    let id = team_id(&id)?;
    door.teams.get(&principal, id.as_str())?;
    let body: ChangeBody = body.read(&door).await?;
    let by = body.agent_name.as_deref();
    let change = TaskChange {
        status: body.status,
        deliverables: body
            .deliverables
            .into_iter()
            .map(|it| it.0.into())
            .collect(),
        dependencies: body.dependencies,
        assignee: body.assignee_name,
        description: body.description,
    };
    if change == TaskChange::default() {
        let text = "the body changes nothing: give status, deliverables, dependencies, assignee_name or description";
        return Err(invalid(text).into());
    }
    let changed = door
        .teams
        .change_task(&principal, id.as_str(), &task, change, by);
    let (task, saved) = changed?;
    saved.await?;
    Ok(Json(task.into()))
}
