//! Response bodies of streams: a live call, a durable call by cursor, and the events for an observer.
//!
//! Dropping the body of a live call drops the caller's end and cancels the call. Revoking the token ends a
//! stream. Endless streams also end when the hub stops. In both cases the last event is `failed`.

use axum::response::Response;
use futures_util::{Stream, StreamExt as _, stream};
use jackfield_core::{
    call::{Asking, Reply},
    principal::Principal,
    store::LogItem,
    tap::Watching,
    task::{Subscription, TaskItem},
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
    translate::{
        event::{CallEvent, CallIds},
        frame::frame_from_item,
        watch::WatchEvent,
    },
};

fn respond(
    state: &OwnState,
    leash: RequestLifetime,
    say: fn(&Failure) -> SseFrame,
    frames: impl Stream<Item = SseFrame> + Send + 'static,
) -> Response {
    lifetime::respond(&state.hub, DOOR, leash, say, frames)
}

fn call_failure_frame(failure: &Failure) -> SseFrame {
    CallEvent::failed(failure).frame()
}

fn watch_failure_frame(failure: &Failure) -> SseFrame {
    WatchEvent::failed(failure).frame()
}

/// Responds with the stream of a live call.
pub(crate) fn live(state: &OwnState, asking: Asking) -> Response {
    let leash = RequestLifetime::for_principal(&asking.call().principal);
    let opened = CallEvent::Call(CallIds::from(&**asking.call())).frame();
    let replies = stream::unfold(Some(asking.replies()), |replies| async move {
        let mut replies = replies?;
        match replies.next().await? {
            Reply::Event(event) => Some((CallEvent::from(event).frame(), Some(replies))),
            Reply::End(end) => Some((CallEvent::from(end).frame(), None)),
        }
    });
    let frames = stream::iter([opened]).chain(replies);
    respond(state, leash, call_failure_frame, frames)
}

/// Extent of reading a [`Subscription`].
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

/// Responds with the stream of a durable call. Sends `first` before the events of the subscription.
pub(crate) fn durable(
    state: &OwnState,
    principal: &Principal,
    first: Option<SseFrame>,
    subscription: Subscription,
    reading: ReadExtent,
) -> Response {
    let leash = RequestLifetime::until_stop(principal, &state.stop);
    let reader = TaskEventReader {
        subscription,
        reading,
        is_over: matches!(reading, ReadExtent::Nothing),
    };
    let rows = stream::unfold(reader, |mut reader| async move {
        reader.next().await.map(|frame| (frame, reader))
    });
    respond(
        state,
        leash,
        call_failure_frame,
        stream::iter(first).chain(rows),
    )
}

struct TaskEventReader {
    subscription: Subscription,
    reading: ReadExtent,
    is_over: bool,
}

impl TaskEventReader {
    async fn next(&mut self) -> Option<SseFrame> {
        while !self.is_over {
            let item = match self.subscription.next().await {
                Ok(item) => item?,
                Err(error) => {
                    self.is_over = true;
                    return Some(call_failure_frame(&store_failure(&error)));
                }
            };
            let (TaskItem::Row { next, .. } | TaskItem::Gap { next }) = &item;
            match (self.reading, &item) {
                (ReadExtent::Until(end), _) => self.is_over = next.pos >= end,
                (ReadExtent::Turn, TaskItem::Row { item, .. }) => match item {
                    // The caller sent these items itself.
                    LogItem::Message(_) | LogItem::Answer(..) => continue,
                    LogItem::Event(_) => {}
                    LogItem::End(_) => self.is_over = true,
                },
                (ReadExtent::Turn, TaskItem::Gap { .. })
                | (ReadExtent::Follow | ReadExtent::Nothing, _) => {}
            }
            return Some(frame_from_item(item));
        }
        None
    }
}

/// Responds with the events of a [`Watching`] observer.
pub(crate) fn watch(state: &OwnState, principal: &Principal, watching: Watching) -> Response {
    let leash = RequestLifetime::until_stop(principal, &state.stop);
    let seen = stream::unfold((watching, None), |(mut watching, held)| async move {
        if let Some(held) = held {
            return Some((held, (watching, None)));
        }
        let seen = WatchEvent::from(watching.next().await).frame();
        let missed = watching.missed();
        let missed = (missed > 0).then(|| WatchEvent::missed(missed).frame());
        Some((seen, (watching, missed)))
    });
    respond(state, leash, watch_failure_frame, seen)
}
