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
        leash::{self, Leash},
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
    leash: Leash,
    say: fn(&Failure) -> SseFrame,
    frames: impl Stream<Item = SseFrame> + Send + 'static,
) -> Response {
    leash::respond(&state.hub, DOOR, leash, say, frames)
}

fn say_in_call(failure: &Failure) -> SseFrame {
    CallEvent::failed(failure).frame()
}

fn say_to_observer(failure: &Failure) -> SseFrame {
    WatchEvent::failed(failure).frame()
}

/// How a reply is read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reading {
    /// The reply to one message, until its end.
    Turn,
    /// Everything, as long as a call is running.
    Follow,
    /// Everything up to this position.
    Until(u64),
    /// The reader has all there is and does not wait for more.
    Nothing,
}

/// The stream of a reply, live or durable; `first` is said before what the reader has.
pub(crate) fn reply(
    state: &OwnState,
    leash: Leash,
    first: Option<SseFrame>,
    reader: impl Into<ReplyReader>,
    reading: Reading,
) -> Response {
    let reader = Reader {
        reader: reader.into(),
        reading,
        is_over: matches!(reading, Reading::Nothing),
    };
    let frames = stream::unfold(reader, |mut reader| async move {
        reader.next().await.map(|frame| (frame, reader))
    });
    respond(state, leash, say_in_call, stream::iter(first).chain(frames))
}

struct Reader {
    reader: ReplyReader,
    reading: Reading,
    is_over: bool,
}

impl Reader {
    async fn next(&mut self) -> Option<SseFrame> {
        while !self.is_over {
            let item = match self.reader.next().await {
                Ok(item) => item?,
                Err(error) => {
                    self.is_over = true;
                    return Some(say_in_call(&store_failure(&error)));
                }
            };
            match (self.reading, &item) {
                (Reading::Until(end), _) => {
                    self.is_over = item.next().is_some_and(|next| next.pos >= end);
                }
                (Reading::Turn, ReplyItem::Item { item, .. }) => match item {
                    // The caller said these itself.
                    LogItem::Message(_) | LogItem::Answer(..) => continue,
                    LogItem::Event(_) => {}
                    LogItem::End(_) => self.is_over = true,
                },
                (Reading::Turn, ReplyItem::Gap { .. } | ReplyItem::Pulse)
                | (Reading::Follow | Reading::Nothing, _) => {}
            }
            if let Some(frame) = frame_from_item(item) {
                return Some(frame);
            }
        }
        None
    }
}

/// The stream of an observer.
pub(crate) fn watch(state: &OwnState, principal: &Principal, watching: Watching) -> Response {
    let leash = Leash::until_stop(principal, &state.stop);
    let seen = stream::unfold((watching, None), |(mut watching, held)| async move {
        if let Some(held) = held {
            return Some((held, (watching, None)));
        }
        let seen = WatchEvent::from(watching.next().await).frame();
        let missed = watching.missed();
        let missed = (missed > 0).then(|| WatchEvent::missed(missed).frame());
        Some((seen, (watching, missed)))
    });
    respond(state, leash, say_to_observer, seen)
}
