//! Waiting for a turn of a task: reads the task's log from the start of the turn and reports progress. Stops
//! when the turn ends, the agent asks a question, the result is full, or the time is up. The task continues
//! in any case.

use std::{sync::Arc, time::Duration};

use jackfield_core::{
    store::LogItem,
    task::{Cursor, Task, TaskItem},
};
use jackfield_kit::api::store_failure;
use jackfield_model::{
    Ask, Chunk, ChunkKind, Done, End, Event, Failure, File, Reason, StreamedText, Transcript,
};
use rmcp::model::{CallToolResponse, InputRequiredResult};
use tokio::time::{Instant, sleep_until};

use crate::{
    limits::RESULT,
    outcome::{ArtifactView, FileView, TaskOutcome, cut},
    progress::ProgressReporter,
    questions::{self, open_asks},
    tool_request::ToolRequest,
};

/// Reason for the end of a wait.
#[derive(Debug)]
pub(crate) enum WaitEnd {
    /// The turn ended.
    Ended,
    /// The agent asks a question that the client may answer.
    Asked(Ask),
    /// The result is full, and more output exists.
    Full,
    /// The time is up.
    Late,
    /// The hub stops.
    Stopping,
}

/// Received output of a turn.
#[derive(Debug)]
pub(crate) struct TurnOutput {
    pub(crate) stop: WaitEnd,
    /// Text of the answer.
    pub(crate) text: String,
    /// Position for continuing.
    pub(crate) cursor: Cursor,
    pub(crate) artifacts: Vec<ArtifactView>,
    pub(crate) files: Vec<FileView>,
    /// Whether output was cut that no later result can show.
    pub(crate) is_short: bool,
    /// Whether some output is no longer stored.
    pub(crate) has_gap: bool,
}

/// Waits for the turn of a task. Skips output up to `after`, which the client has already.
pub(crate) async fn wait(
    asked: &ToolRequest<'_>,
    task: &Arc<Task>,
    after: Option<Cursor>,
    patience: Duration,
    mut progress: ProgressReporter,
) -> Result<TurnOutput, Failure> {
    let until = Instant::now() + patience;
    let mut subscription = task.subscribe(task.turn());
    let mut hearing = TurnReader::new(asked, task, after);
    let broken = asked.lifetime().ended();
    tokio::pin!(broken);
    let stop = loop {
        tokio::select! {
            biased;
            failure = &mut broken => match failure.reason {
                Reason::Stopping => break WaitEnd::Stopping,
                _ => return Err(failure),
            },
            item = subscription.next() => match item {
                Ok(Some(item)) => {
                    if let Some(stop) = hearing.read_item(item, &mut progress).await {
                        break stop;
                    }
                }
                Ok(None) => break WaitEnd::Ended,
                Err(error) => return Err(store_failure(&error)),
            },
            () = progress.due() => progress.flush().await,
            () = sleep_until(until) => break WaitEnd::Late,
        }
    };
    progress.flush().await;
    let stop = match stop {
        // The client's user may still answer; the model may, too.
        WaitEnd::Late if hearing.has_asked_user => hearing.open_ask().map_or(stop, WaitEnd::Asked),
        stop => stop,
    };
    Ok(hearing.into_output(stop))
}

/// Waits like [`wait`], and makes the response of the tool. If the turn stops with questions that the client asks its user,
/// these are the response, and the client repeats the request with the answers.
pub(crate) async fn wait_and_respond(
    asked: &ToolRequest<'_>,
    task: &Arc<Task>,
    after: Option<Cursor>,
    patience: Duration,
    progress: ProgressReporter,
) -> Result<CallToolResponse, Failure> {
    let heard = wait(asked, task, after, patience, progress).await?;
    let is_paused = matches!(heard.stop, WaitEnd::Asked(_) | WaitEnd::Ended);
    if is_paused && asked.takes_questions() {
        let open = questions::open(asked.hub(), asked.principal(), task, &heard.text);
        if !open.is_empty() {
            task.outlive_readers();
            let requests = questions::requests(task.record().agent.as_str(), &open);
            let state = task.id.to_string();
            return Ok(InputRequiredResult::new(Some(requests), Some(state)).into());
        }
    }
    let outcome = TaskOutcome::new(&task.record(), heard);
    if outcome.is_open() {
        task.outlive_readers();
    }
    Ok(outcome.into_result().into())
}

struct TurnReader<'a> {
    asked: &'a ToolRequest<'a>,
    task: &'a Task,
    /// Position up to which the client has the output.
    known: u64,
    room: usize,
    /// Whether the client's user was asked a question.
    has_asked_user: bool,
    /// Complete text of the turn, including text that the client has already.
    streamed: StreamedText,
    /// Artifacts of the turn. The text of the [`Transcript`] stays empty.
    artifacts: Transcript,
    heard: TurnOutput,
}

impl<'a> TurnReader<'a> {
    fn new(asked: &'a ToolRequest<'a>, task: &'a Task, after: Option<Cursor>) -> Self {
        let epoch = task.record().epoch;
        // After a restart of the hub, positions may differ: send everything again.
        let known = after.filter(|after| after.epoch == epoch);
        let cursor = known.unwrap_or(Cursor { epoch, pos: 0 });
        Self {
            asked,
            task,
            known: cursor.pos,
            room: RESULT,
            has_asked_user: false,
            streamed: StreamedText::default(),
            artifacts: Transcript::new(asked.hub().limits().message.0),
            heard: TurnOutput {
                stop: WaitEnd::Ended,
                text: String::new(),
                cursor,
                artifacts: Vec::new(),
                files: Vec::new(),
                is_short: false,
                has_gap: false,
            },
        }
    }

    fn into_output(mut self, stop: WaitEnd) -> TurnOutput {
        let links = self.asked.mcp.files.of_task(&self.task.record());
        let (_, artifacts, _) = self.artifacts.into_inner();
        let view = |artifact| ArtifactView::new(artifact, &links, &mut self.room);
        let artifacts = artifacts.into_iter().map(view).collect();
        TurnOutput {
            stop,
            artifacts,
            ..self.heard
        }
    }

    async fn read_item(
        &mut self,
        item: TaskItem,
        progress: &mut ProgressReporter,
    ) -> Option<WaitEnd> {
        let (next, item) = match item {
            TaskItem::Row { next, item, .. } => (next, item),
            TaskItem::Gap { next } => {
                self.heard.has_gap = true;
                self.go_to(next);
                return None;
            }
        };
        let is_new = next.pos > self.known;
        match item {
            LogItem::Event(Event::Chunk(chunk)) => {
                if is_new {
                    progress.chunk(&chunk).await;
                }
                if chunk.kind == ChunkKind::Text && !chunk.text.is_empty() {
                    return self.words(&chunk, next);
                }
            }
            LogItem::Event(Event::Artifact(artifact)) if is_new => {
                self.heard.is_short |= self.artifacts.add_artifact(artifact).is_err();
            }
            LogItem::Event(Event::Ask(ask)) => {
                if let Some(stop) = self.ask(&ask.id) {
                    self.go_to(next);
                    return Some(stop);
                }
            }
            LogItem::Event(Event::Artifact(_)) | LogItem::Answer(..) => {}
            // Next turn: the output before was reported in its own turn.
            LogItem::Message(_) => self.begin(),
            LogItem::End(End::Done(done)) if is_new => self.done(&done),
            LogItem::End(_) => {}
        }
        self.go_to(next);
        None
    }

    /// Stops the wait at an open question, unless the client's user is asked meanwhile. An answered question is only history.
    fn ask(&mut self, id: &str) -> Option<WaitEnd> {
        let Some(user) = &self.asked.asker.user else {
            return self.open_ask().map(WaitEnd::Asked);
        };
        let mut open = open_asks(self.asked.hub(), self.asked.principal(), self.task);
        let ask = open.find(|ask| ask.id == id)?;
        if user.ask(&self.task.record(), &ask) {
            self.has_asked_user = true;
            return None;
        }
        Some(WaitEnd::Asked(ask))
    }

    fn open_ask(&self) -> Option<Ask> {
        open_asks(self.asked.hub(), self.asked.principal(), self.task).next()
    }

    fn go_to(&mut self, next: Cursor) {
        if next.pos > self.heard.cursor.pos || next.epoch != self.heard.cursor.epoch {
            self.heard.cursor = next;
        }
    }

    fn begin(&mut self) {
        self.room = RESULT;
        self.streamed = StreamedText::default();
        self.artifacts = Transcript::new(self.asked.hub().limits().message.0);
        self.heard.text.clear();
        self.heard.files.clear();
        self.heard.is_short = false;
        self.heard.has_gap = false;
    }

    /// Adds text. A position counts every byte: cuts text that the client has already, and leaves text beyond
    /// the limit for a later result.
    fn words(&mut self, chunk: &Chunk, next: Cursor) -> Option<WaitEnd> {
        let text = &*chunk.text;
        self.streamed.push(text);
        let start = next.pos.saturating_sub(text.len() as u64);
        let had = self.known.saturating_sub(start).min(text.len() as u64);
        let had = usize::try_from(had).unwrap_or(text.len());
        let text = &text[text.floor_char_boundary(had)..];
        let part = cut(text, &mut self.room);
        self.heard.text.push_str(part);
        let left = (text.len() - part.len()) as u64;
        self.go_to(Cursor {
            pos: next.pos - left,
            ..next
        });
        (left > 0).then_some(WaitEnd::Full)
    }

    fn done(&mut self, done: &Done) {
        let rest = self
            .streamed
            .rest_of(done.result.as_deref().unwrap_or_default());
        let part = cut(rest, &mut self.room);
        self.heard.text.push_str(part);
        self.heard.is_short |= part.len() < rest.len();
        let links = self.asked.mcp.files.of_task(&self.task.record());
        let view = |file: &File| FileView::new(file, &links);
        self.heard.files.extend(done.attachments.iter().map(view));
    }
}
