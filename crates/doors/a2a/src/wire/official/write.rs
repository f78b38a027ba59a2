//! Writers for the results of every operation, for elements of streams, and for a client's params.
//!
//! Output is strict: only names of the version, enums by name, times in UTC. Each type has a struct that
//! borrows from the model. The code that builds the struct decides the fields for a [`WireForm`].

mod item;
mod message;
mod push;
mod request;

use serde::{Serialize, Serializer};

use super::{
    A2aVersion,
    model::{Extra, Message, PushConfig, Raw, StreamItem, Task, TaskPage},
    shape::WireForm,
};
use crate::wire::write::to_json;

/// Mark in a part's metadata in 0.3: the data was not an object and is wrapped under `value`. The official
/// libraries use the same name.
pub(super) const DATA_WRAPPED: &str = "data_part_compat";

/// Name of the unknown fields of a part's file.
const IN_FILE: &str = "file";

impl A2aVersion {
    /// Appends an [`StreamItem`] of a stream.
    pub(crate) fn write_item(self, item: &StreamItem, out: &mut String) {
        self.shape().write_item(item, out);
    }

    /// Appends the result of a plain send, which has the form of a stream's element.
    pub(crate) fn write_sent(self, item: &StreamItem, out: &mut String) {
        self.write_item(item, out);
    }

    /// Appends a [`Task`].
    pub(crate) fn write_task(self, task: &Task, out: &mut String) {
        self.shape().write_task(task, out);
    }

    /// Appends a [`Message`].
    pub(crate) fn write_message(self, message: &Message, out: &mut String) {
        append(out, &self.shape().message(message));
    }

    /// Appends a [`TaskPage`] of tasks. In 0.3 the page size is the number of tasks in the page, as in the
    /// conformance kit.
    pub(crate) fn write_page(self, page: &TaskPage, out: &mut String) {
        self.shape().write_page(page, out);
    }

    /// Appends the [`PushConfig`] of a task.
    pub(crate) fn write_push(self, config: &PushConfig, out: &mut String) {
        self.shape().write_push(config, out);
    }

    /// Appends the push configs of a task; 0.3 has no pages of push configs.
    pub(crate) fn write_pushes(self, configs: &[PushConfig], next_token: &str, out: &mut String) {
        self.shape().write_pushes(configs, next_token, out);
    }

    /// Appends the empty result, after deleting a push config.
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

/// Unknown fields, serialized as members of the enclosing object.
#[derive(Debug, Clone, Copy, Default)]
struct ExtraOut<'a>(&'a [(String, Raw)]);

impl Serialize for ExtraOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.0.iter().filter(|(name, _)| name != IN_FILE);
        serializer.collect_map(fields.map(|(name, value)| (name, value)))
    }
}

impl WireForm {
    /// Returns the unknown fields if they come from the version of the form.
    fn extra(self, extra: &Extra) -> ExtraOut<'_> {
        // REST readers of 0.3 refuse unknown fields.
        if self.is_proto() || extra.version != Some(self.version()) {
            return ExtraOut::default();
        }
        ExtraOut(&extra.fields)
    }
}
