//! A stored response: finding it by its id, and reading it from the log of its task.

use std::sync::Arc;

use jackfield_core::{
    principal::Principal,
    store::{LogItem, TaskRecord},
    task::{Cursor, Subscription, Task, TaskItem},
};
use jackfield_kit::api::store_failure;
use jackfield_model::{Answer, Failure, Message, Reason};

use super::{
    builder::{ResponseBasis, ResponseBuilder},
    head::ResponseHead,
    id::ResponseId,
};
use crate::{DOOR, door::OpenAiDoor};

/// The request of a stored response: a message, or the answer to a question.
#[derive(Debug, Clone)]
pub(crate) enum StoredInput {
    Message(Message),
    Answer(Answer),
}

/// A response, with its task.
#[derive(Debug)]
pub(crate) struct StoredResponse {
    pub(crate) id: ResponseId,
    pub(crate) task: Arc<Task>,
    /// The task as of the time of reading.
    pub(crate) record: TaskRecord,
    /// The request; `None` if the log is not kept.
    pub(crate) input: Option<StoredInput>,
    pub(crate) head: ResponseHead,
    /// Position after the response, as far as it has been read.
    pub(crate) end: u64,
    pub(crate) builder: ResponseBuilder,
}

/// Returns the failure for unknown responses and for those of other callers.
pub(crate) fn no_such_response() -> Failure {
    let text = "no such response of yours; the hub keeps a response for a day, unless its request said \"store\": false";
    Failure::new(Reason::SessionUnknown, text)
}

/// Finds the task of a response. A response belongs to the principal that asked for it.
pub(crate) async fn find_task(
    door: &OpenAiDoor,
    principal: &Principal,
    id: ResponseId,
) -> Result<Arc<Task>, Failure> {
    let found = door.hub.tasks().find(principal, id.task).await;
    let task = found.map_err(|failure| match failure.reason {
        Reason::NotFound => no_such_response(),
        _ => failure,
    })?;
    let record = task.record();
    if record.door != DOOR || record.principal != principal.key() {
        return Err(no_such_response());
    }
    Ok(task)
}

/// Returns what a response of a task is built with.
pub(crate) fn basis(
    door: &OpenAiDoor,
    record: &TaskRecord,
    id: ResponseId,
    head: ResponseHead,
) -> ResponseBasis {
    ResponseBasis {
        id: id.to_string(),
        head,
        is_stored: true,
        files: door.files.of_task(record),
        limit: door.hub.limits().message.0,
        after: None,
        is_streamed: false,
    }
}

/// Returns a reader of the log from the beginning of a response.
pub(crate) fn subscribe(task: &Arc<Task>, id: ResponseId) -> Subscription {
    let epoch = task.record().epoch;
    let pos = id.start;
    task.subscribe(Some(Cursor { epoch, pos }))
}

impl StoredResponse {
    /// Finds a response, and reads it as far as it has come.
    pub(crate) async fn find(
        door: &OpenAiDoor,
        principal: &Principal,
        id: &str,
    ) -> Result<Self, Failure> {
        let id = ResponseId::parse(id).ok_or_else(no_such_response)?;
        let task = find_task(door, principal, id).await?;
        Self::read(door, task, id).await
    }

    /// Reads a response as far as it has come.
    pub(crate) async fn read(
        door: &OpenAiDoor,
        task: Arc<Task>,
        id: ResponseId,
    ) -> Result<Self, Failure> {
        let (record, present) = task.snapshot();
        if id.start > 0 && id.start >= present.pos {
            return Err(no_such_response());
        }
        let head = ResponseHead {
            model: record.agent.to_string(),
            start: id.start,
            created_at: record.created_at.as_second(),
            ..ResponseHead::default()
        };
        let basis = basis(door, &record, id, head.clone());
        let mut response = Self {
            builder: ResponseBuilder::new(basis),
            end: id.start,
            id,
            task: task.clone(),
            record,
            input: None,
            head,
        };
        let mut subscription = subscribe(&task, id);
        let mut pos = id.start;
        while pos < present.pos && !response.is_whole() {
            let item = subscription.next().await;
            match item.map_err(|error| store_failure(&error))? {
                Some(TaskItem::Row { next, item, .. }) => {
                    response.take(pos, next.pos, item);
                    pos = next.pos;
                }
                Some(TaskItem::Gap { next }) => {
                    response.builder.mark_gap();
                    pos = next.pos;
                }
                None => break,
            }
        }
        response.builder.settle(&response.record);
        response.builder.head = response.head.clone();
        Ok(response)
    }

    /// Whether nothing more of the log belongs to the response.
    fn is_whole(&self) -> bool {
        self.builder.status.is_final() && self.input.is_some()
    }

    fn take(&mut self, pos: u64, next: u64, item: LogItem) {
        // The request of a response to an answer may stand after further questions.
        let found = match &item {
            _ if self.input.is_some() => None,
            LogItem::Message(message) => {
                let head = ResponseHead::of_message(message);
                Some((head, StoredInput::Message(message.clone())))
            }
            LogItem::Answer(_, answer) => {
                let head = ResponseHead::of_answer(answer);
                Some((head, StoredInput::Answer(answer.clone())))
            }
            LogItem::Event(_) | LogItem::End(_) => None,
        };
        if let Some((Some(head), input)) = found
            && head.start == self.id.start
        {
            self.head = head;
            self.input = Some(input);
        }
        if !self.builder.status.is_final() {
            self.builder.add(pos, next, item);
            self.end = next;
        }
    }
}
