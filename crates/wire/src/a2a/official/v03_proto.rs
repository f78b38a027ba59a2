//! How 0.3 looks in REST: the JSON form of its messages for gRPC. Reading needs nothing of its own, since `read_*` take
//! this shape as well.

use super::{
    model::{Item, PushConfig, Task},
    write::Shape,
};

/// Appends what a stream carries, or the result of a plain send.
pub fn write_item(item: &Item, out: &mut String) {
    Shape::V03Proto.write_item(item, out);
}

/// Appends a task.
pub fn write_task(task: &Task, out: &mut String) {
    Shape::V03Proto.write_task(task, out);
}

/// Appends the push config of a task.
pub fn write_push(config: &PushConfig, out: &mut String) {
    Shape::V03Proto.write_push(config, out);
}

/// Appends the push configs of a task.
pub fn write_pushes(configs: &[PushConfig], out: &mut String) {
    Shape::V03Proto.write_pushes(configs, "", out);
}
