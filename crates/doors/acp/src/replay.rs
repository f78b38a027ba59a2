//! `session/load` and `session/resume`: opens a session again that the hub has. The hub has it as long as it has a task of the
//! session: a day after the last prompt. A load replays the transcript from the logs of these tasks.

use std::sync::Arc;

use jackfield_core::{
    principal::Whose,
    store::{LogItem, TaskFilter, TaskOrder, TaskRecord, TaskState},
    task::{Task, TaskItem},
};
use jackfield_kit::api::store_failure;
use jackfield_model::{AskKind, End, Failure};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    connection::{Shared, unknown_session},
    conversation::{Conversation, Waiting},
    failure::refused,
    limits::REPLAY,
    translate::{ToolPrefix, UpdateRenderer, user_blocks},
    turn::{GAP, Turn, send},
    wire::{self, RequestId, RpcError, SessionUpdate},
};

/// Opens a session, and sends the response.
pub(crate) async fn run(
    shared: Arc<Shared>,
    conversation: Arc<Conversation>,
    cancel: CancellationToken,
    id: RequestId,
    has_replay: bool,
) {
    let load = Load {
        shared: &shared,
        conversation: &conversation,
        cancel: &cancel,
    };
    let response = match load.open(has_replay).await {
        Ok(waiting) => {
            conversation.open(waiting);
            wire::response(&id, &json!({}))
        }
        Err(error) => {
            conversation.end(Waiting::Nothing);
            wire::refusal(Some(&id), &error)
        }
    };
    shared.outbox.send(response).await;
}

struct Load<'a> {
    shared: &'a Arc<Shared>,
    conversation: &'a Conversation,
    /// Cancelled when the transcript is not wanted any more.
    cancel: &'a CancellationToken,
}

impl Load<'_> {
    /// Finds the tasks of the session and replays them. Returns what the agent waits for.
    async fn open(&self, has_replay: bool) -> Result<Waiting, RpcError> {
        let records = self.records().await.map_err(|error| refused(&error))?;
        let Some(last) = records.last().cloned() else {
            return Err(unknown_session(self.conversation.id().as_str()));
        };
        if has_replay {
            for record in records {
                if self.cancel.is_cancelled() {
                    break;
                }
                self.replay(record).await.map_err(|error| refused(&error))?;
            }
        }
        self.waiting(last).await.map_err(|error| refused(&error))
    }

    /// Returns the tasks of the session, oldest first.
    async fn records(&self) -> Result<Vec<TaskRecord>, Failure> {
        let caller = &self.shared.caller;
        let filter = TaskFilter {
            whose: Whose::default(),
            agent: Some(caller.agent.clone()),
            session: Some(self.conversation.id().clone()),
            order: TaskOrder::default(),
            limit: REPLAY,
            ..TaskFilter::default()
        };
        let tasks = self.shared.door.hub.tasks();
        let mut records = tasks.list(&caller.principal, filter).await?;
        records.reverse();
        Ok(records)
    }

    async fn find(&self, record: &TaskRecord) -> Result<Arc<Task>, Failure> {
        let tasks = self.shared.door.hub.tasks();
        tasks.find(&self.shared.caller.principal, record.id).await
    }

    /// Returns what the agent waits for after its last task.
    async fn waiting(&self, last: TaskRecord) -> Result<Waiting, Failure> {
        if last.state != TaskState::InputRequired {
            return Ok(Waiting::Nothing);
        }
        let task = self.find(&last).await?;
        let asks = task
            .call()
            .map(|call| call.open_asks(&self.shared.caller.principal));
        let mut asks = asks.unwrap_or_default().into_iter();
        Ok(match asks.find(|ask| ask.kind == AskKind::Input) {
            Some(ask) => Waiting::Answer(Box::new(Turn::waiting(self.shared, task, &ask))),
            None => Waiting::Message(task),
        })
    }

    /// Replays a task as far as its log goes now.
    async fn replay(&self, record: TaskRecord) -> Result<(), Failure> {
        let task = self.find(&record).await?;
        let (_, end) = task.snapshot();
        let mut reader = task.subscribe(None);
        let mut turn = self.renderer(&task, 0);
        let mut pos = 0;
        while pos < end.pos {
            let item = reader.next().await.map_err(|error| store_failure(&error))?;
            let updates = match item {
                Some(TaskItem::Row { next, item, .. }) => {
                    if let LogItem::Message(_) = &item {
                        turn = self.renderer(&task, pos);
                    }
                    pos = next.pos;
                    self.item(&mut turn, item)
                }
                Some(TaskItem::Gap { next }) => {
                    pos = next.pos;
                    vec![SessionUpdate::thought(GAP)]
                }
                None => return Ok(()),
            };
            self.send(updates).await;
        }
        let updates = turn.flush();
        self.send(updates).await;
        Ok(())
    }

    fn renderer(&self, task: &Task, pos: u64) -> UpdateRenderer {
        let files = self.shared.door.files.of_task(&task.record());
        // A notice is for the moment only; in a transcript, status lines are reasoning.
        UpdateRenderer::new(ToolPrefix::new(task.id, pos), files, false)
    }

    fn item(&self, turn: &mut UpdateRenderer, item: LogItem) -> Vec<SessionUpdate> {
        let said = |parts: &[_]| {
            let blocks = user_blocks(parts, &self.shared.door.files).into_iter();
            let chunk = |content| SessionUpdate::UserMessageChunk { content };
            blocks.map(chunk).collect::<Vec<_>>()
        };
        match item {
            LogItem::Message(message) => said(&message.parts),
            LogItem::Answer(_, answer) => {
                let words = answer.content.map(jackfield_model::Part::Text);
                let parts: Vec<_> = words.into_iter().chain(answer.parts).collect();
                said(&parts)
            }
            LogItem::Event(jackfield_model::Event::Ask(ask)) if ask.kind == AskKind::Input => {
                turn.question(&ask)
            }
            LogItem::Event(event) => turn.event(event),
            LogItem::End(End::Done(done)) => turn.done(&done),
            LogItem::End(End::Failed(failure)) => {
                let mut updates = turn.stopped();
                let text = format!("The prompt failed: {}\n", failure.text);
                updates.push(SessionUpdate::thought(text));
                updates
            }
            LogItem::End(End::Cancelled) => turn.stopped(),
        }
    }

    async fn send(&self, updates: Vec<SessionUpdate>) {
        send(self.shared, self.conversation.id(), updates).await;
    }
}
