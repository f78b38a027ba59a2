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
    hub::{Hub, Request},
    limits::Limits,
    principal::Principal,
    reply::{ReplyItem, ReplyReader},
    store::LogItem,
    task::{Cursor, Task},
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
        ResponseForm::Stream => {
            let first = CallEvent::Call(CallIds::from(&*call)).frame();
            let lifetime = RequestLifetime::for_principal(&call.principal);
            stream::reply(&state, lifetime, Some(first), asking, ReadExtent::Turn)
        }
        ResponseForm::Whole | ResponseForm::Detach => {
            let lifetime = RequestLifetime::for_principal(&call.principal);
            let (opened, remedy) = (CallIds::from(&*call), "ask for it with \"stream\": true");
            let waiting = wait(asking.into(), opened, state.hub.limits(), remedy);
            Json(leashed(waiting, lifetime).await?).into_response()
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
            let first = CallEvent::Call(CallIds::from(&record)).frame_at(Some(start));
            let lifetime = RequestLifetime::until_stop(principal, &state.stop);
            stream::reply(state, lifetime, Some(first), subscription, ReadExtent::Turn)
        }
        ResponseForm::Whole => {
            let lifetime = RequestLifetime::until_stop(principal, &state.stop);
            let remedy = format!("read it from /v1/calls/{}/events", record.id);
            let opened = CallIds::from(&record);
            let waiting = wait(subscription.into(), opened, state.hub.limits(), &remedy);
            Json(leashed(waiting, lifetime).await?).into_response()
        }
    };
    Ok(with_call_id(response, record.call))
}

/// Adds the call id to the response headers.
fn with_call_id(mut response: Response, call: CallId) -> Response {
    trace::add_call_header(response.headers_mut(), call);
    response
}

/// Waits for a reply as long as the caller's token and, for durable calls, the hub last.
async fn leashed(
    waiting: impl Future<Output = Result<CallResult, Failure>>,
    lifetime: RequestLifetime,
) -> Result<CallResult, Failure> {
    tokio::select! {
        result = waiting => result,
        failure = lifetime.ended() => Err(failure),
    }
}

/// Waits for the whole reply. A caller that leaves drops this, and with it a live call. A live reply that is too large fails at
/// once; a durable one at its end, since it can be read elsewhere.
async fn wait(
    mut reader: ReplyReader,
    opened: CallIds,
    limits: &Limits,
    remedy: &str,
) -> Result<CallResult, Failure> {
    let is_live = matches!(reader, ReplyReader::Live(_));
    let mut transcript = Transcript::new(limits.message.0);
    loop {
        match reader.next().await {
            Ok(Some(ReplyItem::Item { item, .. })) => match item {
                LogItem::Message(_) => transcript.begin_turn(),
                LogItem::Event(event) => {
                    if transcript.add(event).is_err() && is_live {
                        return Err(too_large(limits, remedy));
                    }
                }
                LogItem::Answer(..) => {}
                LogItem::End(_) if transcript.is_truncated() && !is_live => {
                    return Err(too_large(limits, remedy));
                }
                LogItem::End(end) => return result_from(transcript, end, opened),
            },
            Ok(Some(ReplyItem::Gap { .. })) => transcript.mark_truncated(),
            Ok(Some(ReplyItem::Pulse)) => {}
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
