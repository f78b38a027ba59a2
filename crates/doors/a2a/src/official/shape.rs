//! JSON forms for reading params and writing results: one per version, and a second form of 0.3 for its REST
//! clients.

use serde_json::value::RawValue;

use super::operation::OperationResult;
use crate::wire::official::{
    A2aVersion,
    error::A2aError,
    model::{SendParams, StreamItem},
    v03_proto::{self, FileBytes},
};

/// JSON form of params and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BindingForm {
    /// JSON of a version.
    Plain(A2aVersion),
    /// JSON of the gRPC messages of 0.3, used by REST clients of 0.3.
    Proto03(FileBytes),
}

impl BindingForm {
    /// Returns the form that REST clients of `version` use.
    pub(super) fn rest(version: A2aVersion, files: FileBytes) -> Self {
        match version {
            A2aVersion::V03 => Self::Proto03(files),
            A2aVersion::V10 => Self::Plain(version),
        }
    }

    /// Reads the [`SendParams`] of a send operation, plain or streaming.
    pub(super) fn read_send(
        self,
        params: Option<&RawValue>,
        max_depth: usize,
    ) -> Result<SendParams, A2aError> {
        match self {
            Self::Plain(version) => version.read_send(params, max_depth),
            Self::Proto03(files) => v03_proto::read_send(files, params, max_depth),
        }
    }

    /// Appends an [`StreamItem`] of a stream to `out`.
    pub(super) fn write_item(self, item: &StreamItem, out: &mut String) {
        match self {
            Self::Plain(version) => version.write_item(item, out),
            Self::Proto03(files) => v03_proto::write_item(files, item, out),
        }
    }

    /// Appends an [`OperationResult`] to `out`. A stream has no body of its own and is written as an empty result.
    pub(super) fn write(self, answer: &OperationResult, out: &mut String) {
        match (answer, self) {
            (OperationResult::Sent(item), Self::Plain(version)) => version.write_sent(item, out),
            (OperationResult::Sent(item), Self::Proto03(files)) => {
                v03_proto::write_item(files, item, out)
            }
            (OperationResult::Task(task), Self::Plain(version)) => version.write_task(task, out),
            (OperationResult::Task(task), Self::Proto03(files)) => {
                v03_proto::write_task(files, task, out)
            }
            (OperationResult::Page(page), Self::Plain(version)) => version.write_page(page, out),
            // The gRPC messages of 0.3 define no page of tasks.
            (OperationResult::Page(page), Self::Proto03(_)) => {
                A2aVersion::V03.write_page(page, out)
            }
            (OperationResult::Push(config), Self::Plain(version)) => {
                version.write_push(config, out)
            }
            (OperationResult::Push(config), Self::Proto03(_)) => v03_proto::write_push(config, out),
            (OperationResult::Pushes(page), Self::Plain(version)) => {
                version.write_pushes(&page.configs, &page.next_page_token, out);
            }
            (OperationResult::Pushes(page), Self::Proto03(_)) => {
                v03_proto::write_pushes(&page.configs, &page.next_page_token, out);
            }
            (OperationResult::Card(card), _) => out.push_str(card),
            (OperationResult::Deleted | OperationResult::Stream(_), Self::Plain(version)) => {
                version.write_nothing(out);
            }
            (OperationResult::Deleted | OperationResult::Stream(_), Self::Proto03(_)) => {
                out.push_str("{}")
            }
        }
    }
}
