//! The bodies of streams: the reply of a call, live or durable by cursor, and what an observer sees. Dropping the body of a live call
//! drops the caller's end of it, which cancels it. A stream also ends when its token is revoked, and those that would
//! never end by themselves when the hub stops; either is said as `failed`.

use axum::response::Response;
use futures_util::{Stream, StreamExt as _, stream};
use jackfield_core::{
    principal::Principal,
    reply::{ReplyItem, ReplyReader},
    store::LogItem,
    tap::Watching,
};
use jackfield_kit::{
    api::{
        lifetime::{self, RequestLifetime},
        store_failure,
    },
    sse::SseFrame,
};
use jackfield_model::Failure;

use crate::{
    DOOR, OwnState,
    translate::{event::CallEvent, frame::frame_from_item, watch::WatchEvent},
};

fn respond(
    state: &OwnState,
    lifetime: RequestLifetime,
    say: fn(&Failure) -> SseFrame,
    frames: impl Stream<Item = SseFrame> + Send + 'static,
) -> Response {
    lifetime::respond(&state.hub, DOOR, lifetime, say, frames)
}

fn call_failure_frame(failure: &Failure) -> SseFrame {
    CallEvent::failed(failure).frame()
}

fn watch_failure_frame(failure: &Failure) -> SseFrame {
    WatchEvent::failed(failure).frame()
}

/// How a reply is read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReadExtent {
    /// Reply to a single message, until its end.
    Turn,
    /// All events, as long as a call runs.
    Follow,
    /// All events up to the given position.
    Until(u64),
    /// No events: the reader has everything and does not wait for more.
    Nothing,
}

/// The stream of a reply, live or durable; `first` is said before what the reader has.
pub(crate) fn reply(
    state: &OwnState,
    lifetime: RequestLifetime,
    first: Option<SseFrame>,
    reader: impl Into<ReplyReader>,
    reading: ReadExtent,
) -> Response {
    let reader = TaskEventReader {
        reader: reader.into(),
        reading,
        is_over: matches!(reading, ReadExtent::Nothing),
    };
    let frames = stream::unfold(reader, |mut reader| async move {
        reader.next().await.map(|frame| (frame, reader))
    });
    respond(
        state,
        lifetime,
        call_failure_frame,
        stream::iter(first).chain(frames),
    )
}

struct TaskEventReader {
    reader: ReplyReader,
    reading: ReadExtent,
    is_over: bool,
}

impl TaskEventReader {
    async fn next(&mut self) -> Option<SseFrame> {
        while !self.is_over {
            let item = match self.reader.next().await {
                Ok(item) => item?,
                Err(error) => {
                    self.is_over = true;
                    return Some(call_failure_frame(&store_failure(&error)));
                }
            };
            match (self.reading, &item) {
                (ReadExtent::Until(end), _) => {
                    self.is_over = item.next().is_some_and(|next| next.pos >= end);
                }
                (ReadExtent::Turn, ReplyItem::Item { item, .. }) => match item {
                    // The caller said these itself.
                    LogItem::Message(_) | LogItem::Answer(..) => continue,
                    LogItem::Event(_) => {}
                    LogItem::End(_) => self.is_over = true,
                },
                (ReadExtent::Turn, ReplyItem::Gap { .. } | ReplyItem::Pulse)
                | (ReadExtent::Follow | ReadExtent::Nothing, _) => {}
            }
            if let Some(frame) = frame_from_item(item) {
                return Some(frame);
            }
        }
        None
    }
}

/// Responds with the events of a [`Watching`] observer.
pub(crate) fn watch(state: &OwnState, principal: &Principal, watching: Watching) -> Response {
    let lifetime = RequestLifetime::until_stop(principal, &state.stop);
    let seen = stream::unfold((watching, None), |(mut watching, held)| async move {
        if let Some(held) = held {
            return Some((held, (watching, None)));
        }
        let seen = WatchEvent::from(watching.next().await).frame();
        let missed = watching.missed();
        let missed = (missed > 0).then(|| WatchEvent::missed(missed).frame());
        Some((seen, (watching, missed)))
    });
    respond(state, lifetime, watch_failure_frame, seen)
}
