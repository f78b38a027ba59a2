//! `POST /v1/agents/{id}/calls`: calls an agent, live or kept, and answers as a stream, all at once, or as soon as it
//! is kept. [`reply`] does the same for the further messages of a task.

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
    api::{Caller, Id, Problem, Unread, leash::Leash, store_failure},
    similar::with_meant,
    trace,
};
use jackfield_model::{AgentId, CallId, End, Failure, Reason, Transcript};
use std::sync::Arc;

use crate::{
    DOOR, OwnState,
    agents::agent_id,
    describe::CallAnswers,
    stream::{self, Reading},
    translate::{
        body::CallBody,
        event::{CallEvent, OpenedView},
        task::{CallResult, Detached},
    },
};

/// How the caller wants its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// As it comes.
    Stream,
    /// All at once.
    Whole,
    /// Only that it is kept.
    Detach,
}

/// Calls an agent. Losing the connection of a call that is not kept cancels it at once.
///
/// The stream begins with `call`, goes on with `chunk`, `artifact` and `ask`, and has one end: `done`, `failed` or
/// `cancelled`. The events of a kept call have ids; `GET /v1/calls/{id}/events` goes on from any of them.
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
    responses(CallAnswers),
)]
pub(crate) async fn open(
    State(state): State<OwnState>,
    Caller(principal): Caller,
    Id(id): Id,
    headers: HeaderMap,
    body: Unread,
) -> Result<Response, Problem> {
    let meant = |failure| with_meant(failure, &id, &state.hub, &principal);
    let target = agent_id(&id).map_err(meant)?;
    state
        .hub
        .agents()
        .find(&principal, target.as_str())
        .map_err(meant)?;
    let mut body: CallBody = body.read(&state).await?;
    let wish = wish(&body);
    let is_kept = body.is_kept();
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
        Wish::Stream => {
            let first = CallEvent::Call(OpenedView::from(&*call)).frame();
            let leash = Leash::of(&call.principal);
            stream::reply(&state, leash, Some(first), asking, Reading::Turn)
        }
        Wish::Whole | Wish::Detach => {
            let leash = Leash::of(&call.principal);
            let (opened, remedy) = (OpenedView::from(&*call), "ask for it with \"stream\": true");
            let waiting = wait(asking.into(), opened, state.hub.limits(), remedy);
            Json(leashed(waiting, leash).await?).into_response()
        }
    };
    Ok(named(response, call.id))
}

fn can_resume(hub: &Hub, principal: &Principal, target: &AgentId) -> bool {
    let entry = hub.agents().find(principal, target.as_str());
    entry.is_ok_and(|entry| entry.can_resume())
}

pub(crate) fn wish(body: &CallBody) -> Wish {
    match (body.detach, body.stream) {
        (true, _) => Wish::Detach,
        (false, true) => Wish::Stream,
        (false, false) => Wish::Whole,
    }
}

/// What is asked of the hub.
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
    trace::follow(&mut request, headers)?;
    Ok(request)
}

/// The answer of a task that was begun or gone on with; `since` is where its turn begins, if not at the start.
pub(crate) async fn reply(
    state: &OwnState,
    principal: &Principal,
    task: &Arc<Task>,
    since: Option<Cursor>,
    wish: Wish,
) -> Result<Response, Problem> {
    let record = task.record();
    tracing::debug!(call = %record.call, task = %record.id, from = record.caller, to = %record.agent, "kept call");
    let subscription = task.subscribe(since);
    let response = match wish {
        Wish::Detach => {
            let detached = Detached {
                task: record.id,
                call: record.call,
                session: record.session,
            };
            (StatusCode::ACCEPTED, Json(detached)).into_response()
        }
        Wish::Stream => {
            let start = since.unwrap_or(Cursor {
                epoch: record.epoch,
                pos: 0,
            });
            let first = CallEvent::Call(OpenedView::from(&record)).frame_at(Some(start));
            let leash = Leash::until_stop(principal, &state.stop);
            stream::reply(state, leash, Some(first), subscription, Reading::Turn)
        }
        Wish::Whole => {
            let leash = Leash::until_stop(principal, &state.stop);
            let remedy = format!("read it from /v1/calls/{}/events", record.id);
            let opened = OpenedView::from(&record);
            let waiting = wait(subscription.into(), opened, state.hub.limits(), &remedy);
            Json(leashed(waiting, leash).await?).into_response()
        }
    };
    Ok(named(response, record.call))
}

/// Tells which call the response is about.
fn named(mut response: Response, call: CallId) -> Response {
    trace::name(response.headers_mut(), call);
    response
}

/// Waits for a reply as long as the caller's token and, for durable calls, the hub last.
async fn leashed(
    waiting: impl Future<Output = Result<CallResult, Failure>>,
    leash: Leash,
) -> Result<CallResult, Failure> {
    tokio::select! {
        result = waiting => result,
        failure = leash.broken() => Err(failure),
    }
}

/// Waits for the whole reply. A caller that leaves drops this, and with it a live call. A live reply that is too large fails at
/// once; a durable one at its end, since it can be read elsewhere.
async fn wait(
    mut reader: ReplyReader,
    opened: OpenedView,
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
    opened: OpenedView,
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
