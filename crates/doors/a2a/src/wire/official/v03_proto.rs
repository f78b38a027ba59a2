//! REST of 0.3: the JSON form of its messages for gRPC.
//!
//! What it asks is read like that of JSON-RPC, whose names are taken as well; files excepted, see [`FileBytes`].

use serde_json::value::RawValue;

use super::{
    error::Fault,
    model::{Item, PushConfig, SendParams, Task},
    shape::Shape,
};

/// How often the bytes of a file are put into base64. Two published clients disagree, and nothing in the bytes tells them
/// apart: a file may well hold base64 itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileBytes {
    /// As the JSON form of Protocol Buffers has it, and the JavaScript client.
    Once,
    /// As the Python client has it, which takes the base64 for the bytes, writing and reading.
    Twice,
}

/// Reads the params of a send, plain or streaming.
pub(crate) fn read_send(
    files: FileBytes,
    params: Option<&RawValue>,
    max_depth: usize,
) -> Result<SendParams, Fault> {
    SendParams::read(Shape::V03Proto(files), params, max_depth)
}

/// Reads what a stream carries, or what answers a plain send.
pub(crate) fn read_item(files: FileBytes, raw: &RawValue) -> Result<Item, Fault> {
    Ok(Item::read(Shape::V03Proto(files), raw)?)
}

/// Appends the params of a send, plain or streaming.
pub(crate) fn write_send_params(files: FileBytes, params: &SendParams, out: &mut String) {
    Shape::V03Proto(files).write_send_params(params, out);
}

/// Appends what a stream carries, or the result of a plain send.
pub(crate) fn write_item(files: FileBytes, item: &Item, out: &mut String) {
    Shape::V03Proto(files).write_item(item, out);
}

/// Appends a task.
pub(crate) fn write_task(files: FileBytes, task: &Task, out: &mut String) {
    Shape::V03Proto(files).write_task(task, out);
}

/// Appends the push config of a task.
pub(crate) fn write_push(config: &PushConfig, out: &mut String) {
    NO_FILES.write_push(config, out);
}

/// Appends the push configs of a task.
pub(crate) fn write_pushes(configs: &[PushConfig], next_token: &str, out: &mut String) {
    NO_FILES.write_pushes(configs, next_token, out);
}

/// For what holds no files.
const NO_FILES: Shape = Shape::V03Proto(FileBytes::Once);
