//! `POST /v1/agents/{id}/calls`: calls an agent, live or durable. The response is a stream, the complete
//! answer, or a confirmation that the call is stored. [`reply`] responds in the same way to further messages
//! of a task.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode};
use jackfield_core::{
    call::{Asking, Reply},
    hub::{Hub, Request},
    limits::Limits,
    principal::Principal,
    store::{LogItem, TaskRecord},
    task::{Cursor, Subscription, Task, TaskItem},
};
use jackfield_kit::{
    api::{
        ApiError, AuthenticatedCaller, PathId, UnreadBody, lifetime::RequestLifetime, store_failure,
    },
    similar::with_suggestions,
    trace,
};
use jackfield_model::{AgentId, CallId, End, Failure, Reason, Transcript};
use std::sync::Arc;

use crate::{
    DOOR, OwnState,
    agents::agent_id,
    describe::CallResponses,
    stream::{self, ReadExtent},
    translate::{
        body::CallBody,
        event::{CallEvent, CallIds},
        task::{CallResult, Detached},
    },
};

/// Form of the response, as requested in the [`CallBody`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseForm {
    /// Stream of events.
    Stream,
    /// Complete answer.
    Whole,
    /// Confirmation that the call is stored.
    Detach,
}

/// Calls an agent. Losing the connection cancels the call, unless the call is durable.
///
/// The stream begins with `call`, continues with `chunk`, `artifact` and `ask`, and ends with `done`,
/// `failed` or `cancelled`. The events of a durable call have ids; `GET /v1/calls/{id}/events` continues
/// after any id.
#[utoipa::path(
    post,
    path = "/v1/agents/{id}/calls",
    tag = "calls",
    params(
        ("id" = String, Path, description = "The agent"),
        ("Jackfield-Call" = Option<String>, Header, description = "The call for which this one is made: it passes on its deadline and its cancel", format = "uuid"),
        ("traceparent" = Option<String>, Header, description = "The caller's trace, passed on"),
    ),
    request_body = CallBody,
    responses(CallResponses),
)]
pub(crate) async fn open(
    State(state): State<OwnState>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
    headers: HeaderMap,
    body: UnreadBody,
) -> Result<Response, ApiError> {
    let meant = |failure| with_suggestions(failure, &id, &state.hub, &principal);
    let target = agent_id(&id).map_err(meant)?;
    state
        .hub
        .agents()
        .find(&principal, target.as_str())
        .map_err(meant)?;
    let mut body: CallBody = body.read(&state).await?;
    let wish = response_form(&body);
    let is_kept = body.is_durable();
    let is_kept_for_reader =
        !is_kept && body.keep_if_resumable && can_resume(&state.hub, &principal, &target);
    let mut request = request(principal.clone(), target, &headers, &mut body)?;
    if is_kept_for_reader {
        request.unread = Some(state.hub.limits().unread.0);
    }
    if is_kept || is_kept_for_reader {
        let task = state.hub.tasks().start(request).await;
        let task = task.map_err(meant)?;
        return reply(&state, &principal, &task, None, wish).await;
    }
    let asking = state.hub.calls().open(request);
    let asking = asking.map_err(meant)?;
    let call = asking.call().clone();
    tracing::debug!(call = %call.id, from = call.principal.label(), to = %call.target, "live call");
    let response = match wish {
        ResponseForm::Stream => stream::live(&state, asking),
        ResponseForm::Whole | ResponseForm::Detach => {
            Json(wait(&state, asking).await?).into_response()
        }
    };
    Ok(with_call_id(response, call.id))
}

fn can_resume(hub: &Hub, principal: &Principal, target: &AgentId) -> bool {
    let entry = hub.agents().find(principal, target.as_str());
    entry.is_ok_and(|entry| entry.can_resume())
}

pub(crate) fn response_form(body: &CallBody) -> ResponseForm {
    match (body.detach, body.stream) {
        (true, _) => ResponseForm::Detach,
        (false, true) => ResponseForm::Stream,
        (false, false) => ResponseForm::Whole,
    }
}

/// Builds the [`Request`] to the hub.
pub(crate) fn request(
    principal: Principal,
    target: AgentId,
    headers: &HeaderMap,
    body: &mut CallBody,
) -> Result<Request, Failure> {
    let mut request = Request::new(principal, DOOR, target, body.message()?);
    request.session = body.session.take();
    request.request = body.request_id.take();
    request.patience = body.patience();
    request.wait_online = body.wait_online.map(|span| span.0);
    trace::set_origin(&mut request, headers)?;
    Ok(request)
}

/// Responds with the output of a new or continued [`Task`]. `since` is the start of the turn, if not the start of
/// the task.
pub(crate) async fn reply(
    state: &OwnState,
    principal: &Principal,
    task: &Arc<Task>,
    since: Option<Cursor>,
    wish: ResponseForm,
) -> Result<Response, ApiError> {
    let record = task.record();
    tracing::debug!(call = %record.call, task = %record.id, from = record.caller, to = %record.agent, "kept call");
    let subscription = task.subscribe(since);
    let response = match wish {
        ResponseForm::Detach => {
            let detached = Detached {
                task: record.id,
                call: record.call,
                session: record.session,
            };
            (StatusCode::ACCEPTED, Json(detached)).into_response()
        }
        ResponseForm::Stream => {
            let start = since.unwrap_or(Cursor {
                epoch: record.epoch,
                pos: 0,
            });
            let first = CallEvent::Call(CallIds::from(&record)).durable_frame(start);
            stream::durable(
                state,
                principal,
                Some(first),
                subscription,
                ReadExtent::Turn,
            )
        }
        ResponseForm::Whole => {
            let leash = RequestLifetime::until_stop(principal, &state.stop);
            let waiting = wait_for_task(&record, subscription, state.hub.limits());
            let result = tokio::select! {
                result = waiting => result?,
                failure = leash.ended() => return Err(failure.into()),
            };
            Json(result).into_response()
        }
    };
    Ok(with_call_id(response, record.call))
}

/// Adds the call id to the response headers.
fn with_call_id(mut response: Response, call: CallId) -> Response {
    trace::add_call_header(response.headers_mut(), call);
    response
}

/// Waits for the complete reply ([`CallResult`]). A disconnecting caller drops the future, and with the future the call.
async fn wait(state: &OwnState, asking: Asking) -> Result<CallResult, Failure> {
    let opened = CallIds::from(&**asking.call());
    let leash = RequestLifetime::for_principal(&asking.call().principal);
    let limits = state.hub.limits();
    let mut replies = asking.replies();
    let gathering = async move {
        let mut transcript = Transcript::new(limits.message.0);
        while let Some(reply) = replies.next().await {
            let event = match reply {
                Reply::Event(event) => event,
                Reply::End(end) => return result_from(transcript, end, opened),
            };
            if transcript.add(event).is_err() {
                return Err(too_large(limits, "ask for it with \"stream\": true"));
            }
        }
        Err(Failure::agent_left())
    };
    tokio::select! {
        result = gathering => result,
        failure = leash.ended() => Err(failure),
    }
}

async fn wait_for_task(
    record: &TaskRecord,
    mut subscription: Subscription,
    limits: &Limits,
) -> Result<CallResult, Failure> {
    let mut transcript = Transcript::new(limits.message.0);
    loop {
        match subscription.next().await {
            Ok(Some(TaskItem::Row { item, .. })) => match item {
                LogItem::Message(_) => transcript.begin_turn(),
                // The end reports a truncated transcript.
                LogItem::Event(event) => drop(transcript.add(event)),
                LogItem::Answer(..) => {}
                LogItem::End(end) => {
                    let remedy = format!("read it from /v1/calls/{}/events", record.id);
                    return if transcript.is_truncated() {
                        Err(too_large(limits, &remedy))
                    } else {
                        result_from(transcript, end, record.into())
                    };
                }
            },
            Ok(Some(TaskItem::Gap { .. })) => transcript.mark_truncated(),
            Ok(None) => return Err(Failure::agent_left()),
            Err(error) => return Err(store_failure(&error)),
        }
    }
}

fn result_from(
    mut transcript: Transcript,
    end: End,
    opened: CallIds,
) -> Result<CallResult, Failure> {
    match end {
        End::Done(done) => {
            transcript.finish(*done);
            Ok(CallResult::new(transcript, opened, false))
        }
        End::Cancelled => Ok(CallResult::new(transcript, opened, true)),
        End::Failed(failure) => Err(failure),
    }
}

fn too_large(limits: &Limits, remedy: &str) -> Failure {
    let text = format!("the answer is larger than {}; {remedy}", limits.message);
    Failure::new(Reason::TooLarge, text)
}
