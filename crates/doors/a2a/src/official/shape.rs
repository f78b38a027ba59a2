//! JSON forms for reading params and writing results: one per version, and a second form of 0.3 for its REST
//! clients.

use serde_json::value::RawValue;

use super::ask::Answer;
use crate::wire::official::{
    Version,
    error::Fault,
    model::{Item, SendParams},
    v03_proto::{self, FileBytes},
};

/// JSON form of params and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// JSON of a version.
    Plain(Version),
    /// JSON of the gRPC messages of 0.3, used by REST clients of 0.3.
    Proto03(FileBytes),
}

impl Shape {
    /// Returns the form that REST clients of `version` use.
    pub(super) fn rest(version: Version, files: FileBytes) -> Self {
        match version {
            Version::V03 => Self::Proto03(files),
            Version::V10 => Self::Plain(version),
        }
    }

    /// Reads the [`SendParams`] of a send operation, plain or streaming.
    pub(super) fn read_send(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<SendParams, Fault> {
        match self {
            Self::Plain(version) => version.read_send(params, max_depth),
            Self::Proto03(files) => v03_proto::read_send(files, params, max_depth),
        }
    }

    /// Appends an [`Item`] of a stream to `out`.
    pub(super) fn write_item(self, item: &Item, out: &mut String) {
        match self {
            Self::Plain(version) => version.write_item(item, out),
            Self::Proto03(files) => v03_proto::write_item(files, item, out),
        }
    }

    /// Appends an [`Answer`] to `out`. A stream has no body of its own and is written as an empty result.
    pub(super) fn write(self, answer: &Answer, out: &mut String) {
        match (answer, self) {
            (Answer::Sent(item), Self::Plain(version)) => version.write_sent(item, out),
            (Answer::Sent(item), Self::Proto03(files)) => v03_proto::write_item(files, item, out),
            (Answer::Task(task), Self::Plain(version)) => version.write_task(task, out),
            (Answer::Task(task), Self::Proto03(files)) => v03_proto::write_task(files, task, out),
            (Answer::Page(page), Self::Plain(version)) => version.write_page(page, out),
            // The gRPC messages of 0.3 define no page of tasks.
            (Answer::Page(page), Self::Proto03(_)) => Version::V03.write_page(page, out),
            (Answer::Push(config), Self::Plain(version)) => version.write_push(config, out),
            (Answer::Push(config), Self::Proto03(_)) => v03_proto::write_push(config, out),
            (Answer::Pushes(page), Self::Plain(version)) => {
                version.write_pushes(&page.configs, &page.next_page_token, out);
            }
            (Answer::Pushes(page), Self::Proto03(_)) => {
                v03_proto::write_pushes(&page.configs, &page.next_page_token, out);
            }
            (Answer::Card(card), _) => out.push_str(card),
            (Answer::Deleted | Answer::Stream(_), Self::Plain(version)) => {
                version.write_nothing(out);
            }
            (Answer::Deleted | Answer::Stream(_), Self::Proto03(_)) => out.push_str("{}"),
        }
    }
}
