//! Writing: the result of every operation, what streams carry, and what a client asks.
//!
//! Output is strict: the names of the version and no others, enums by name, times in UTC.

mod item;
mod message;
mod push;
mod request;

use super::{
    Version,
    model::{Item, Message, Page, PushConfig, Task},
};

/// The mark in the metadata of a part of 0.3 whose data was no object, and was put into one under `value`. The official
/// libraries know it by this name.
pub(super) const DATA_WRAPPED: &str = "data_part_compat";

impl Version {
    /// Appends what a stream carries.
    pub(crate) fn write_item(self, item: &Item, out: &mut String) {
        self.shape().write_item(item, out);
    }

    /// Appends the result of a plain send, which is written like an element of a stream.
    pub(crate) fn write_sent(self, item: &Item, out: &mut String) {
        self.write_item(item, out);
    }

    /// Appends a task.
    pub(crate) fn write_task(self, task: &Task, out: &mut String) {
        self.shape().write_task(task, out);
    }

    /// Appends a message.
    pub(crate) fn write_message(self, message: &Message, out: &mut String) {
        self.shape().write_message(message, out);
    }

    /// Appends a page of tasks. In 0.3 its size is how many it has, as the conformance kit counts.
    pub(crate) fn write_page(self, page: &Page, out: &mut String) {
        self.shape().write_page(page, out);
    }

    /// Appends the push config of a task.
    pub(crate) fn write_push(self, config: &PushConfig, out: &mut String) {
        self.shape().write_push(config, out);
    }

    /// Appends the push configs of a task; 0.3 has no pages of them.
    pub(crate) fn write_pushes(self, configs: &[PushConfig], next_token: &str, out: &mut String) {
        self.shape().write_pushes(configs, next_token, out);
    }

    /// Appends the result of an operation that has none: a push config is deleted.
    pub(crate) fn write_nothing(self, out: &mut String) {
        out.push_str(match self {
            Self::V03 => "null",
            Self::V10 => "{}",
        });
    }
}
