//! Writing: the result of every operation, what streams carry, and what a client asks.
//!
//! Output is strict: the names of the version and no others, enums by name, times in UTC. Each thing has a struct that borrows
//! from the model; which of its fields a [`Shape`] has is decided where the struct is made.

mod item;
mod message;
mod push;
mod request;

use serde::{Serialize, Serializer};

use super::{
    Version,
    model::{Extra, Item, Message, Page, PushConfig, Raw, Task},
    shape::Shape,
};
use crate::wire::write::to_json;

/// The mark in the metadata of a part of 0.3 whose data was no object, and was put into one under `value`. The official
/// libraries know it by this name.
pub(super) const DATA_WRAPPED: &str = "data_part_compat";

/// Under this name are the unknown fields of the file that a part holds.
const IN_FILE: &str = "file";

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
        append(out, &self.shape().message(message));
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

/// Appends a value as JSON.
pub(super) fn append(out: &mut String, value: &impl Serialize) {
    out.push_str(&to_json(value));
}

/// Unknown fields that are written again, as members of the object that they were read in.
#[derive(Debug, Clone, Copy, Default)]
struct ExtraOut<'a>(&'a [(String, Raw)]);

impl Serialize for ExtraOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.0.iter().filter(|(name, _)| name != IN_FILE);
        serializer.collect_map(fields.map(|(name, value)| (name, value)))
    }
}

impl Shape {
    /// The fields that are not known here, if they are of the version that is written.
    fn extra(self, extra: &Extra) -> ExtraOut<'_> {
        // The readers of REST in 0.3 take nothing that they do not know.
        if self.is_proto() || extra.version != Some(self.version()) {
            return ExtraOut::default();
        }
        ExtraOut(&extra.fields)
    }
}
