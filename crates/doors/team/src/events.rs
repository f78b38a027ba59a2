//! `GET /v1/teams/{id}/events`: event feed of a team as envelopes over SSE. With an upgrade: the WebSocket
//! for publishing by outside runtimes. A reconnecting reader continues after its last event.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{
    Extension,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderMap, header::UPGRADE};
use jackfield_kit::{
    api::{
        Actor, ActsAsHeader, ApiError, ApiErrorBody, ApiQuery, CallErrorResponses, PathId, header,
        invalid,
        lifetime::{RequestLifetime, respond},
    },
    server::RequestPeer,
    sse::SseFrame,
    upgrade::Upgrade,
};
use jackfield_model::{Failure, Reason};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{
    DOOR, TeamDoor, publisher,
    team::feed::{FeedEvent, FeedItem, FeedReader, MissedEvents, PendingQuestion, ReplayStart},
    translate,
    view::{BoardTaskList, BoardTaskView, Team},
    viewer,
};

/// Watches a team: messages and actions of its members, and its task board.
///
/// The stream starts with `snapshot`, the current state. Retained and new events follow as `envelope` with
/// the id `RUN:SEQUENCE`. `gap` reports lost events. `failed` ends the stream: the token was revoked, the hub
/// stops, or the team was removed. With an upgrade to WebSocket, the connection publishes envelopes instead,
/// each answered.
#[utoipa::path(
    get,
    path = "/v1/teams/{id}/events",
    tag = "teams",
    params(
        ("id" = String, Path, description = "The team"),
        ("after_sequence" = Option<u64>, Query, description = "Go on after this event; one that the current run has not come to counts as none"),
        ("team_run_id" = Option<String>, Query, description = "The run that after_sequence counts in; of any other, all retained events are told"),
        ("replay" = Option<bool>, Query, description = "Whether the retained events are told again; they are if not said"),
        ("Last-Event-ID" = Option<String>, Header, description = "Go on after this event"),
        ActsAsHeader,
    ),
    responses(
        (status = 200, description = "The events", content_type = "text/event-stream", body = String),
        CallErrorResponses,
    ),
)]
pub(crate) async fn events(
    State(door): State<TeamDoor>,
    Actor(principal): Actor,
    PathId(id): PathId,
    mut params: ApiQuery,
    peer: Option<Extension<RequestPeer>>,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, _) = request.into_parts();
    if wants_socket(&parts.headers) {
        params.finish()?;
        return match Upgrade::from_parts(&mut parts) {
            Ok(upgrade) => publisher::open(door, principal, id, peer, upgrade),
            Err(bad) => Ok(bad.into_response()),
        };
    }
    let asked = viewer::since(&mut params)?;
    params.finish()?;
    // A reconnecting reader repeats its query and adds the header. The header wins.
    let since = match header(&parts.headers, "last-event-id")? {
        Some(last) => after(last)?,
        None => asked,
    };
    let (team, viewing) = door.teams.view(&principal, &id, &since)?;
    // The board is hidden from principals that only see the events of their own calls.
    let tasks = door.teams.board(&principal, &id).unwrap_or_default();
    let pending = viewing.pending();
    let first = frame(
        "snapshot",
        &TeamSnapshot {
            team: Team::from(&team),
            tasks: BoardTaskList::from(tasks).tasks,
            approvals: pending.iter().map(TeamApproval::from).collect(),
        },
    );
    let reader = TeamEventReader {
        team: id,
        viewing: Some(viewing),
    };
    let lifetime = RequestLifetime::until_stop(&principal, door.tasks.stop_token());
    let frames = stream::iter([first]).chain(reader);
    Ok(respond(door.teams.hub(), DOOR, lifetime, failed, frames))
}

fn wants_socket(headers: &HeaderMap) -> bool {
    let values = headers.get_all(UPGRADE).iter();
    let mut values = values.filter_map(|value| value.to_str().ok());
    values.any(|value| value.to_ascii_lowercase().contains("websocket"))
}

/// Parses an event id into a [`ReplayStart`].
fn after(id: &str) -> Result<ReplayStart, Failure> {
    let read = id.rsplit_once(':').and_then(|(run, sequence)| {
        let sequence = sequence.parse().ok()?;
        Some(ReplayStart::After(Some(run.to_owned()), sequence))
    });
    read.ok_or_else(|| invalid("header Last-Event-ID must be the id of an event: RUN:SEQUENCE"))
}

struct TeamEventReader {
    team: String,
    /// Reader of the feed. `None` after the final frame.
    viewing: Option<FeedReader>,
}

impl Stream for TeamEventReader {
    type Item = SseFrame;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SseFrame>> {
        let this = &mut *self;
        let Some(viewing) = &mut this.viewing else {
            return Poll::Ready(None);
        };
        Poll::Ready(Some(match ready!(viewing.poll_next(cx)) {
            Some(FeedItem::Event(told)) => {
                let encode = |told: &FeedEvent| envelope(told, &this.team).encode();
                SseFrame::encoded(viewing.frame(&told, encode))
            }
            Some(FeedItem::Missed(missed)) => gap(&missed),
            None => {
                this.viewing = None;
                let text = format!("team {} was removed", this.team);
                failed(&Failure::new(Reason::NotFound, text))
            }
        }))
    }
}

/// State of a team at the start of the stream.
#[derive(Serialize, ToSchema)]
pub(crate) struct TeamSnapshot<'a> {
    team: Team,
    tasks: Vec<BoardTaskView>,
    approvals: Vec<TeamApproval<'a>>,
}

/// Pending question.
#[derive(Serialize, ToSchema)]
struct TeamApproval<'a> {
    route_key: &'a str,
    invocation_id: &'a str,
    tool_name: &'a str,
    #[schema(value_type = serde_json::Value)]
    arguments: &'a RawValue,
    #[schema(required = false)]
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
}

impl<'a> From<&'a PendingQuestion> for TeamApproval<'a> {
    fn from(pending: &'a PendingQuestion) -> Self {
        Self {
            route_key: &pending.route,
            invocation_id: &pending.asked.of.id,
            tool_name: &pending.asked.of.tool,
            arguments: pending.asked.arguments.raw(),
            message: &pending.asked.text,
        }
    }
}

/// Lost events.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventGap<'a> {
    team_run_id: &'a str,
    from_sequence: u64,
    to_sequence: u64,
}

fn envelope(told: &FeedEvent, team: &str) -> SseFrame {
    SseFrame::data(translate::envelope(told, team))
        .with_event("envelope")
        .with_id(format!("{}:{}", told.run.id, told.sequence))
}

fn gap(missed: &MissedEvents) -> SseFrame {
    let gap = EventGap {
        team_run_id: &missed.run.id,
        from_sequence: missed.from,
        to_sequence: missed.to,
    };
    frame("gap", &gap)
}

fn failed(failure: &Failure) -> SseFrame {
    frame("failed", &ApiErrorBody::from(failure))
}

fn frame(event: &'static str, data: &impl Serialize) -> SseFrame {
    // Texts, numbers and lists always serialize.
    let data = serde_json::to_string(data).unwrap_or_default();
    SseFrame::data(data).with_event(event)
}
