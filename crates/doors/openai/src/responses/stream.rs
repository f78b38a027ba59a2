//! The events of a response as a stream. A stored response is read from the log of its task, by any number of readers and
//! from any event on; one that is not stored is a live call with its only reader.

use axum::response::Response;
use futures_util::stream;
use jackfield_core::{
    call::Reply,
    store::LogItem,
    task::{Subscription, TaskItem},
};
use jackfield_kit::{
    api::{
        lifetime::{self, RequestLifetime},
        store_failure,
    },
    sse::SseFrame,
};
use jackfield_model::{Failure, Reason};

use super::builder::ResponseBuilder;
use crate::{
    DOOR,
    door::OpenAiDoor,
    failure::{ErrorBody, OpenAiError},
    live::LiveTurn,
    wire::{ResponseStatus, StreamError},
};

/// Reads a reply into a response.
#[derive(Debug)]
pub(super) struct ResponseReader {
    door: OpenAiDoor,
    pub(super) builder: ResponseBuilder,
    source: ReplySource,
    /// Position after the last row.
    pos: u64,
}

/// Where the rows of a response come from.
#[derive(Debug)]
enum ReplySource {
    Stored(Subscription),
    Live(Box<LiveTurn>),
    /// Nothing more comes.
    Ended,
}

impl ResponseReader {
    /// Creates a reader of a stored response.
    pub(super) fn stored(
        door: &OpenAiDoor,
        builder: ResponseBuilder,
        subscription: Subscription,
    ) -> Self {
        Self {
            door: door.clone(),
            pos: builder.head.start,
            builder,
            source: ReplySource::Stored(subscription),
        }
    }

    /// Creates a reader of a live call.
    pub(super) fn live(door: &OpenAiDoor, builder: ResponseBuilder, turn: LiveTurn) -> Self {
        Self {
            door: door.clone(),
            builder,
            source: ReplySource::Live(Box::new(turn)),
            // As in a log, where the message comes first.
            pos: 1,
        }
    }

    /// Reads until the response is whole.
    pub(super) async fn finish(mut self) -> Result<ResponseBuilder, Failure> {
        while self.step().await? {}
        Ok(self.builder)
    }

    /// Reads a row. Returns whether more may come.
    async fn step(&mut self) -> Result<bool, Failure> {
        match &mut self.source {
            ReplySource::Stored(subscription) => match subscription.next().await {
                Ok(Some(TaskItem::Row { next, item, .. })) => {
                    self.builder.add(self.pos, next.pos, item);
                    self.pos = next.pos;
                }
                Ok(Some(TaskItem::Gap { next })) => {
                    self.builder.mark_gap();
                    self.pos = next.pos;
                }
                Ok(None) => {
                    let record = subscription.task().record();
                    self.builder.settle(&record);
                    if !self.builder.status.is_final() {
                        let text = "the hub is stopping; read the response again in a moment";
                        return Err(Failure::new(Reason::Stopping, text));
                    }
                }
                Err(error) => return Err(store_failure(&error)),
            },
            ReplySource::Live(turn) => {
                let item = match turn.next().await {
                    Some(Reply::Event(event)) => LogItem::Event(event),
                    Some(Reply::End(end)) => LogItem::End(end),
                    None => return Err(Failure::agent_left()),
                };
                let end = self.pos + item.advance();
                self.builder.add(self.pos, end, item);
                self.pos = end;
            }
            ReplySource::Ended => return Ok(false),
        }
        if !self.builder.status.is_final() {
            return Ok(true);
        }
        let source = std::mem::replace(&mut self.source, ReplySource::Ended);
        match (source, self.builder.asked.clone()) {
            (ReplySource::Live(turn), Some(ask)) => turn.park(&self.door, ask),
            // The client may answer whenever it likes, and reads nothing until then.
            (ReplySource::Stored(subscription), Some(_)) => subscription.task().outlive_readers(),
            _ => {}
        }
        Ok(false)
    }

    async fn next_frame(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(frame) = self.builder.frames().pop_front() {
                return Some(frame);
            }
            match self.step().await {
                Ok(true) => {}
                Ok(false) if self.builder.frames().is_empty() => return None,
                Ok(false) => {}
                Err(failure) => {
                    self.source = ReplySource::Ended;
                    self.builder.status = ResponseStatus::Failed;
                    return Some(error_event(&failure));
                }
            }
        }
    }

    /// Responds with the stream. The builder gives events.
    pub(super) fn respond(self, lifetime: RequestLifetime) -> Response {
        let hub = self.door.hub.clone();
        let frames = stream::unfold(self, |mut reader| async move {
            let frame = reader.next_frame().await?;
            Some((frame, reader))
        });
        lifetime::respond(&hub, DOOR, lifetime, error_event, frames)
    }
}

/// Returns the event of a stream that breaks off.
fn error_event(failure: &Failure) -> SseFrame {
    let ErrorBody {
        message,
        param,
        code,
        ..
    } = OpenAiError::from(failure.clone()).body;
    let error = StreamError {
        code,
        message,
        param,
    };
    error.frame()
}
