//! The forms in which things are read and written: one for each version, and another of 0.3 for its REST clients.

use serde_json::value::RawValue;

use super::ask::Answer;
use crate::wire::official::{
    Version,
    error::Fault,
    model::{Item, SendParams},
    v03_proto::{self, FileBytes},
};

/// A form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The JSON of a version.
    Plain(Version),
    /// The JSON of 0.3's gRPC messages, as its REST clients speak it.
    Proto03(FileBytes),
}

impl Shape {
    /// How the REST clients of a version speak.
    pub(super) fn rest(version: Version, files: FileBytes) -> Self {
        match version {
            Version::V03 => Self::Proto03(files),
            Version::V10 => Self::Plain(version),
        }
    }

    /// Reads the params of a send, plain or streaming.
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

    /// Appends an element of a stream.
    pub(super) fn write_item(self, item: &Item, out: &mut String) {
        match self {
            Self::Plain(version) => version.write_item(item, out),
            Self::Proto03(files) => v03_proto::write_item(files, item, out),
        }
    }

    /// Appends an answer; of a stream there is nothing to append.
    pub(super) fn write(self, answer: &Answer, out: &mut String) {
        match (answer, self) {
            (Answer::Sent(item), Self::Plain(version)) => version.write_sent(item, out),
            (Answer::Sent(item), Self::Proto03(files)) => v03_proto::write_item(files, item, out),
            (Answer::Task(task), Self::Plain(version)) => version.write_task(task, out),
            (Answer::Task(task), Self::Proto03(files)) => v03_proto::write_task(files, task, out),
            (Answer::Page(page), Self::Plain(version)) => version.write_page(page, out),
            // The messages of gRPC know no pages of tasks.
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
