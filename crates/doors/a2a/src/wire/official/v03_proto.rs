//! REST of 0.3: the JSON form of the gRPC messages.
//!
//! Requests are read like JSON-RPC requests, whose names are accepted too; files are the exception, see
//! [`FileBytes`].

use serde_json::value::RawValue;

use super::{
    error::A2aError,
    model::{PushConfig, SendParams, StreamItem, Task},
    shape::WireForm,
};

/// Number of base64 encodings of file bytes. Two published clients disagree, and the bytes do not reveal the
/// client: a file may itself contain base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileBytes {
    /// One encoding, by the JSON form of Protocol Buffers and the JavaScript client.
    Once,
    /// Two encodings, by the Python client, which treats the base64 as the bytes when writing and reading.
    Twice,
}

/// Reads the [`SendParams`] of a send, plain or streaming.
pub(crate) fn read_send(
    files: FileBytes,
    params: Option<&RawValue>,
    max_depth: usize,
) -> Result<SendParams, A2aError> {
    SendParams::read(WireForm::V03Proto(files), params, max_depth)
}

/// Reads an [`StreamItem`] of a stream, or the answer to a plain send.
pub(crate) fn read_item(files: FileBytes, raw: &RawValue) -> Result<StreamItem, A2aError> {
    Ok(StreamItem::read(WireForm::V03Proto(files), raw)?)
}

/// Appends the params of a send, plain or streaming.
pub(crate) fn write_send_params(files: FileBytes, params: &SendParams, out: &mut String) {
    WireForm::V03Proto(files).write_send_params(params, out);
}

/// Appends an element of a stream, or the result of a plain send.
pub(crate) fn write_item(files: FileBytes, item: &StreamItem, out: &mut String) {
    WireForm::V03Proto(files).write_item(item, out);
}

/// Appends a [`Task`].
pub(crate) fn write_task(files: FileBytes, task: &Task, out: &mut String) {
    WireForm::V03Proto(files).write_task(task, out);
}

/// Appends the [`PushConfig`] of a task.
pub(crate) fn write_push(config: &PushConfig, out: &mut String) {
    NO_FILES.write_push(config, out);
}

/// Appends the push configs of a task.
pub(crate) fn write_pushes(configs: &[PushConfig], next_token: &str, out: &mut String) {
    NO_FILES.write_pushes(configs, next_token, out);
}

/// Form for content without files.
const NO_FILES: WireForm = WireForm::V03Proto(FileBytes::Once);
