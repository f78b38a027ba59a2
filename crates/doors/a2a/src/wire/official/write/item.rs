//! Tasks, and what streams carry.

use jackfield_wire::{json::ObjectWriter, time};

use super::{
    super::{
        Version,
        model::{Artifact, ArtifactUpdate, Item, Page, State, Status, StatusUpdate, Task},
        names::OLD_CANCELED,
        shape::Shape,
    },
    message::put_texts,
};

impl Shape {
    /// Appends what a stream carries.
    pub(in crate::wire::official) fn write_item(self, item: &Item, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        if self == Self::V03 {
            self.put_item(item, &mut object);
        } else {
            let name = match item {
                Item::Task(_) => "task",
                Item::Message(_) => "message",
                Item::Status(_) => "statusUpdate",
                Item::Artifact(_) => "artifactUpdate",
            };
            object.object(name, |object| self.put_item(item, object));
        }
        object.close();
    }

    fn put_item(self, item: &Item, object: &mut ObjectWriter<'_>) {
        match item {
            Item::Task(task) => self.put_task(task, object),
            Item::Message(message) => self.put_message(message, object),
            Item::Status(update) => self.put_status_update(update, object),
            Item::Artifact(update) => self.put_artifact_update(update, object),
        }
    }

    /// Appends a task.
    pub(in crate::wire::official) fn write_task(self, task: &Task, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        self.put_task(task, &mut object);
        object.close();
    }

    /// Appends a page of tasks.
    pub(in crate::wire::official) fn write_page(self, page: &Page, out: &mut String) {
        let size = match self.version() {
            Version::V03 => page.tasks.len(),
            Version::V10 => page.page_size,
        };
        let mut object = ObjectWriter::open(out);
        object
            .list("tasks", &page.tasks, |out, task| {
                self.write_task(task, out);
            })
            .text("nextPageToken", page.next_page_token.as_str())
            .number("pageSize", size as u64)
            .number("totalSize", page.total_size as u64);
        object.close();
    }

    fn put_task(self, task: &Task, object: &mut ObjectWriter<'_>) {
        if self == Self::V03 {
            object.text("kind", "task");
        }
        object
            .text("id", task.id.as_str())
            .text("contextId", task.context_id.as_str())
            .object("status", |object| self.put_status(&task.status, object));
        if !task.artifacts.is_empty() {
            object.list("artifacts", &task.artifacts, |out, artifact| {
                let mut object = ObjectWriter::open(out);
                self.put_artifact(artifact, &mut object);
                object.close();
            });
        }
        // Callers of 0.3 count on it.
        if !task.history.is_empty() || self == Self::V03 {
            object.list("history", &task.history, |out, message| {
                self.write_message(message, out);
            });
        }
        object.maybe_raw("metadata", task.metadata.as_deref());
        self.put_extra(&task.extra, object);
    }

    fn put_status(self, status: &Status, object: &mut ObjectWriter<'_>) {
        object.text("state", self.state(status.state));
        if let Some(message) = &status.message {
            object.object("message", |object| self.put_message(message, object));
        }
        let timestamp = status.timestamp.as_deref().and_then(time::to_utc);
        object.maybe_text("timestamp", timestamp.as_deref());
        self.put_extra(&status.extra, object);
    }

    fn state(self, state: State) -> &'static str {
        match self {
            Self::V03 => state.name(Version::V03),
            Self::V03Proto(_) if state == State::Canceled => OLD_CANCELED,
            Self::V03Proto(_) | Self::V10 => state.name(Version::V10),
        }
    }

    fn put_artifact(self, artifact: &Artifact, object: &mut ObjectWriter<'_>) {
        object
            .text("artifactId", artifact.id.as_str())
            .maybe_text("name", artifact.name.as_deref())
            .maybe_text("description", artifact.description.as_deref());
        self.put_parts("parts", &artifact.parts, object);
        object.maybe_raw("metadata", artifact.metadata.as_deref());
        put_texts("extensions", &artifact.extensions, object);
        self.put_extra(&artifact.extra, object);
    }

    fn put_status_update(self, update: &StatusUpdate, object: &mut ObjectWriter<'_>) {
        if self == Self::V03 {
            object.text("kind", "status-update");
        }
        object
            .text("taskId", update.task_id.as_str())
            .text("contextId", update.context_id.as_str())
            .object("status", |object| self.put_status(&update.status, object));
        if self.version() == Version::V03 {
            object.flag("final", update.is_final);
        }
        object.maybe_raw("metadata", update.metadata.as_deref());
        self.put_extra(&update.extra, object);
    }

    fn put_artifact_update(self, update: &ArtifactUpdate, object: &mut ObjectWriter<'_>) {
        if self == Self::V03 {
            object.text("kind", "artifact-update");
        }
        object
            .text("taskId", update.task_id.as_str())
            .text("contextId", update.context_id.as_str())
            .object("artifact", |object| {
                self.put_artifact(&update.artifact, object);
            });
        for (name, value) in [("append", update.append), ("lastChunk", update.last_chunk)] {
            if value {
                object.flag(name, value);
            }
        }
        object.maybe_raw("metadata", update.metadata.as_deref());
        self.put_extra(&update.extra, object);
    }
}
