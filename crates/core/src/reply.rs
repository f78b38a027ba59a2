//! [`ReplyReader`]: one reader for live and durable replies, for doors that serve both. A live reply comes from the pipe of its
//! call, a durable one from the log of its task; both give the same [`ReplyItem`]s. Doors that only know one kind use
//! [`Replies`] or [`Subscription`] directly.

use crate::{
    call::{CallerHandle, LiveItem, Replies, Reply},
    store::{LogItem, StoreError},
    task::{Cursor, Subscription, TaskItem},
};

/// One item of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyItem {
    /// An event or the end; of a durable reply also messages and answers of the caller.
    Item {
        /// Cursor after the item, of a durable reply.
        next: Option<Cursor>,
        /// Content of the item.
        item: LogItem,
    },
    /// Items of a durable reply that are no longer there.
    Gap {
        /// Cursor of the next item.
        next: Cursor,
    },
    /// A keepalive of the agent, of a live reply.
    Pulse,
}

impl ReplyItem {
    /// Returns the cursor after the item, of a durable reply.
    pub fn next(&self) -> Option<Cursor> {
        match self {
            Self::Item { next, .. } => *next,
            Self::Gap { next } => Some(*next),
            Self::Pulse => None,
        }
    }
}

/// Reader of a live or a durable reply. Dropping the reader of a live reply cancels its call.
#[derive(Debug)]
pub enum ReplyReader {
    /// Reads the pipe of a live call.
    Live(Replies),
    /// Reads the log of a task.
    Durable(Subscription),
}

impl From<CallerHandle> for ReplyReader {
    fn from(asking: CallerHandle) -> Self {
        Self::Live(asking.replies())
    }
}

impl From<Subscription> for ReplyReader {
    fn from(subscription: Subscription) -> Self {
        Self::Durable(subscription)
    }
}

impl ReplyReader {
    /// Waits for the next item; returns `None` after the end. A durable reply also ends without an end, when the hub stops.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<ReplyItem>, StoreError> {
        let item = match self {
            Self::Live(replies) => replies.next_item().await.map(ReplyItem::from),
            Self::Durable(subscription) => subscription.next().await?.map(ReplyItem::from),
        };
        Ok(item)
    }
}

impl From<LiveItem> for ReplyItem {
    fn from(item: LiveItem) -> Self {
        let item = match item {
            LiveItem::Reply(Reply::Event(event)) => LogItem::Event(event),
            LiveItem::Reply(Reply::End(end)) => LogItem::End(end),
            LiveItem::Pulse => return Self::Pulse,
        };
        Self::Item { next: None, item }
    }
}

impl From<TaskItem> for ReplyItem {
    fn from(item: TaskItem) -> Self {
        match item {
            TaskItem::Row { next, item, .. } => Self::Item {
                next: Some(next),
                item,
            },
            TaskItem::Gap { next } => Self::Gap { next },
        }
    }
}
