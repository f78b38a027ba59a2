//! `/v1/calls`: tasks and open calls: listing, showing, reading by cursor, cancelling, answering questions,
//! and sending further messages. The id of a call or of its task identifies both.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode};
use jackfield_core::{
    call::Call,
    principal::Principal,
    store::{TaskFilter, TaskRecord, TaskState},
    task::{Cursor, Task},
};
use jackfield_kit::{
    api::{
        ApiError, ApiErrorBody, ApiQuery, AuthenticatedCaller, CallErrorResponses, ErrorResponses,
        PathId, UnreadBody, header, lifetime::RequestLifetime,
    },
    server::RequestPeer,
};
use jackfield_model::{AgentId, CallId, Failure, Reason, SessionId, TaskId};

use crate::{
    OwnState,
    calls::{reply, request, response_form},
    describe::{CallFrame, CallResponses},
    stream::{self, ReadExtent},
    task_response,
    translate::{
        body::{AnswerRequest, CallBody},
        task::{CallView, TaskList, TaskSummary, WaitingView, live_view, waiting_view},
    },
};

/// Result of looking up an id.
enum FoundCall {
    Task(Arc<Task>),
    Live(Arc<Call>),
}

/// Finds a [`Call`] or [`Task`] of the principal. Calls of other callers fail like unknown calls.
async fn find(state: &OwnState, principal: &Principal, id: &str) -> Result<FoundCall, Failure> {
    let unknown = || Failure::new(Reason::NotFound, "no such call or task of yours");
    let (Some(call), Some(task)) = (CallId::parse(id), TaskId::parse(id)) else {
        return Err(unknown());
    };
    let task = match state.hub.calls().find(principal, call) {
        Some(call) => match call.task {
            Some(task) => task,
            None => return Ok(FoundCall::Live(call)),
        },
        None => task,
    };
    match state.hub.tasks().find(principal, task).await {
        Ok(task) => Ok(FoundCall::Task(task)),
        Err(failure) if failure.reason == Reason::NotFound => Err(unknown()),
        Err(failure) => Err(failure),
    }
}

/// Finds a [`Call`] of any caller that waits for a decision of the principal.
fn find_waiting(state: &OwnState, principal: &Principal, id: &str) -> Option<Arc<Call>> {
    let (call, task) = (CallId::parse(id)?, TaskId::parse(id)?);
    let mut waiting = state.hub.calls().waiting_for(principal).into_iter();
    waiting.find(|it| it.id == call || it.task == Some(task))
}

/// Lists your tasks, newest first. Calls of any caller that wait for your decision come first.
#[utoipa::path(
    get,
    path = "/v1/calls",
    tag = "calls",
    params(
        ("agent" = Option<String>, Query, description = "Only those for this agent", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"),
        ("session" = Option<String>, Query, description = "Only those in this conversation", pattern = r"^[^\x00-\x1f\x7f-\x9f]+$", max_length = 256),
        ("state" = Option<TaskState>, Query, description = "Only those in this state"),
        ("before" = Option<String>, Query, description = "Only those older than this one: the `next` of the last page", format = "uuid"),
        ("limit" = Option<usize>, Query, description = "At most so many", minimum = 1, maximum = 200),
    ),
    responses((status = 200, description = "The tasks", body = TaskList), ErrorResponses),
)]
pub(crate) async fn list(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    mut params: ApiQuery,
) -> Result<Json<TaskList>, ApiError> {
    let limit = params.limit()?;
    let filter = TaskFilter {
        agent: params.one::<AgentId>("agent")?,
        session: params.one::<SessionId>("session")?,
        state: params.one::<StateParam>("state")?.map(|named| named.0),
        before: params.one::<BeforeParam>("before")?.map(|before| before.0),
        // Fetch an extra record, to detect a next page.
        limit: limit + 1,
        ..TaskFilter::default()
    };
    params.finish()?;
    let waiting = match filter.before {
        None => waiting(&state, &principal, filter.agent.as_ref(), limit),
        Some(_) => Vec::new(),
    };
    let mut records = state.hub.tasks().list(&principal, filter).await?;
    let more = records.len() > limit;
    records.truncate(limit);
    let next = records.last().filter(|_| more).map(|record| record.id);
    let summary = |record: TaskRecord| {
        let call = state.hub.calls().find(&principal, record.call);
        TaskSummary::new(record, call.as_deref())
    };
    let tasks = records.into_iter().map(summary).collect();
    Ok(Json(TaskList {
        waiting,
        tasks,
        next,
    }))
}

/// Returns the calls that wait for a decision of the principal, at a single agent or at all of the
/// principal's agents.
fn waiting(
    state: &OwnState,
    principal: &Principal,
    agent: Option<&AgentId>,
    limit: usize,
) -> Vec<WaitingView> {
    let calls = state.hub.calls().waiting_for(principal);
    let calls = calls
        .iter()
        .filter(|call| agent.is_none_or(|agent| [&call.target, &call.addressed].contains(&agent)));
    let views = calls.take(limit).map(|call| waiting_view(call, principal));
    views.collect()
}

struct StateParam(TaskState);

impl std::str::FromStr for StateParam {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        TaskState::from_name(text).map(Self).ok_or(
            "use submitted, working, input_required, completed, failed, cancelled or rejected",
        )
    }
}

struct BeforeParam(TaskId);

impl std::str::FromStr for BeforeParam {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        TaskId::parse(text).map(Self).ok_or("use the id of a task")
    }
}

/// Shows a task with its complete conversation, or an open call. A call of another caller that waits for your
/// decision shows its request only.
#[utoipa::path(
    get,
    path = "/v1/calls/{id}",
    tag = "calls",
    params(("id" = String, Path, description = "The call or the task")),
    responses(
        (status = 200, description = "The task, or the open call", body = CallView),
        ErrorResponses,
        (status = 404, description = "No such call or task of yours: not_found", body = ApiErrorBody),
        (status = 429, description = "Too much of what you asked for before is unread: busy", body = ApiErrorBody),
    ),
)]
pub(crate) async fn show(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
    peer: Option<Extension<RequestPeer>>,
) -> Result<Response, ApiError> {
    let view = match find(&state, &principal, &id).await {
        Ok(FoundCall::Live(call)) => CallView::Live(live_view(&call, &principal)),
        Ok(FoundCall::Task(task)) => {
            let room = peer.map(|Extension(peer)| peer.account.room());
            let limit = state.hub.limits().message.0;
            return task_response::respond(&task, &principal, limit, room).await;
        }
        Err(failure) => match find_waiting(&state, &principal, &id) {
            Some(call) => CallView::Waiting(waiting_view(&call, &principal)),
            None => return Err(failure.into()),
        },
    };
    Ok(Json(view).into_response())
}

/// Reads the events of a task after a cursor, as long as a call of the task runs.
///
/// In addition to the events of a call's stream: `message` and `answer`, and `gap` for events no longer
/// stored.
#[utoipa::path(
    get,
    path = "/v1/calls/{id}/events",
    tag = "calls",
    params(
        ("id" = String, Path, description = "The call or the task"),
        ("after" = Option<String>, Query, description = "The id of the last event that was read", pattern = "^[0-9]{1,9}-[0-9]{1,18}$"),
        ("follow" = Option<bool>, Query, description = "Whether to wait for what comes; true if not said"),
        ("Last-Event-ID" = Option<String>, Header, description = "As `after`, and before it", pattern = "^[0-9]{1,9}-[0-9]{1,18}$"),
    ),
    responses(
        (status = 200, description = "The events", content((CallFrame = "text/event-stream"))),
        ErrorResponses,
        (status = 404, description = "No such call or task of yours: not_found", body = ApiErrorBody),
    ),
)]
pub(crate) async fn events(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
    headers: HeaderMap,
    mut params: ApiQuery,
) -> Result<Response, ApiError> {
    let after: Option<Cursor> = params.one("after")?;
    let follow = params.one("follow")?.unwrap_or(true);
    params.finish()?;
    let FoundCall::Task(task) = find(&state, &principal, &id).await? else {
        let text = "a call that is not kept is read by its caller alone; call with \"keep\": true";
        return Err(Failure::new(Reason::Unsupported, text).into());
    };
    let after = match header(&headers, "last-event-id")? {
        Some(id) => Some(id.parse()?),
        None => after,
    };
    let record = task.record();
    let present = Cursor {
        epoch: record.epoch,
        pos: record.log_end,
    };
    let reading = match follow {
        true => ReadExtent::Follow,
        false if after == Some(present) => ReadExtent::Nothing,
        false => ReadExtent::Until(present.pos),
    };
    let lifetime = RequestLifetime::until_stop(&principal, &state.stop);
    let reader = task.subscribe(after);
    Ok(stream::reply(&state, lifetime, None, reader, reading))
}

/// Cancels your call, or a call at your agent. The agent and the caller are notified immediately.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/cancel",
    tag = "calls",
    params(("id" = String, Path, description = "The call or the task")),
    responses(
        (status = 204, description = "It is cancelled"),
        ErrorResponses,
        (status = 404, description = "No such call or task of yours, or at an agent of yours: not_found", body = ApiErrorBody),
        (status = 409, description = "It has ended already: conflict", body = ApiErrorBody),
    ),
)]
pub(crate) async fn cancel(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<StatusCode, ApiError> {
    match find(&state, &principal, &id).await {
        Ok(FoundCall::Live(call)) => state.hub.calls().cancel(&principal, call.id)?,
        // A task waiting for its next message has no open call to cancel.
        Ok(FoundCall::Task(task)) => state.hub.tasks().cancel(&principal, task.id).await?,
        Err(failure) if failure.reason == Reason::NotFound => {
            let task = TaskId::parse(&id).ok_or_else(|| failure.clone())?;
            let cancelled = state.hub.calls().cancel_at_agent(&principal, task);
            cancelled.map_err(|at_agent| match at_agent.reason {
                Reason::NotFound => failure,
                _ => at_agent,
            })?;
        }
        Err(failure) => return Err(failure.into()),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Answers a question of an agent. The caller provides input, the owner of the agent approves. The first
/// answer wins.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/answer",
    tag = "calls",
    params(("id" = String, Path, description = "The call or the task")),
    request_body = AnswerRequest,
    responses((status = 204, description = "The agent is told"), CallErrorResponses),
)]
pub(crate) async fn answer(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
    body: UnreadBody,
) -> Result<StatusCode, ApiError> {
    let call = match find(&state, &principal, &id).await {
        Ok(FoundCall::Live(call)) => call.id,
        Ok(FoundCall::Task(task)) => task.record().call,
        // The owner of the agent approves, but does not own the call.
        Err(failure) if failure.reason == Reason::NotFound => {
            match find_waiting(&state, &principal, &id) {
                Some(call) => call.id,
                // If the question was answered meanwhile, the hub reports the conflict.
                None => CallId::parse(&id).ok_or(failure)?,
            }
        }
        Err(failure) => return Err(failure.into()),
    };
    let body: AnswerRequest = body.read(&state).await?;
    let (ask_id, answer) = body.answer()?;
    state
        .hub
        .calls()
        .answer(&principal, call, &ask_id, answer)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a further message to a task whose agent waits for input. Responds like a new call.
#[utoipa::path(
    post,
    path = "/v1/calls/{id}/messages",
    tag = "calls",
    params(
        ("id" = String, Path, description = "The task"),
        ("Jackfield-Call" = Option<String>, Header, description = "The call for which this one is made", format = "uuid"),
        ("traceparent" = Option<String>, Header, description = "The caller's trace, passed on"),
    ),
    request_body = CallBody,
    responses(CallResponses),
)]
pub(crate) async fn say_more(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
    headers: HeaderMap,
    body: UnreadBody,
) -> Result<Response, ApiError> {
    let conflict = |text: &'static str| Failure::new(Reason::Conflict, text);
    let FoundCall::Task(task) = find(&state, &principal, &id).await? else {
        return Err(conflict("a call that is not kept takes no further message").into());
    };
    let mut body: CallBody = body.read(&state).await?;
    if task
        .call()
        .is_some_and(|call| !call.open_asks(&principal).is_empty())
    {
        let text = "the agent has asked; answer with POST /v1/calls/{id}/answer";
        return Err(conflict(text).into());
    }
    let record = task.record();
    if body
        .session
        .as_ref()
        .is_some_and(|it| *it != record.session)
    {
        return Err(conflict("the task is in another conversation; leave out \"session\"").into());
    }
    let wish = response_form(&body);
    let request = request(principal.clone(), record.agent, &headers, &mut body)?;
    let since = Cursor {
        epoch: record.epoch,
        pos: record.log_end,
    };
    let task = state.hub.tasks().continue_task(request, &task).await?;
    reply(&state, &principal, &task, Some(since), wish).await
}
