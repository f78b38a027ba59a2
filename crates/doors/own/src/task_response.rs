//! Response of `GET /v1/calls/{id}`: a task with its complete conversation, as JSON written in pieces while
//! the client reads.
//!
//! The log is read in pages: first for an overview, then again for each member of the JSON object. The
//! response holds a page, a piece of JSON and the largest row of the log in memory, never the whole task.

use std::sync::Arc;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderValue, header};
use jackfield_core::{
    principal::Principal,
    store::LogItem,
    task::{Cursor, Subscription, Task, TaskItem},
};
use jackfield_kit::{
    api::{ApiError, lifetime::RequestLifetime, store_failure},
    server::AnswerReservation,
};
use jackfield_model::{
    Artifact, Ask, Chunk, ChunkKind, Done, End, Event, Failure, MergedArtifact, Part, Reason,
    StreamedText,
};
use serde::Serialize;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::translate::task::{HistoryItem, Role, TaskSummary};

/// Size of a piece of JSON, in bytes.
const PIECE: usize = 32 << 10;
/// Memory of a response besides the largest row of the log: a page of the log (64 KiB), the piece in work,
/// and the queued pieces.
const BUFFER: usize = 192 << 10;
/// Copies of a row held while writing: the row itself and its JSON.
const COPIES: usize = 2;

/// Responds with a [`Task`]. Fails with `busy` if the client's account has no room for the memory of the
/// response.
pub(crate) async fn respond(
    task: &Arc<Task>,
    principal: &Principal,
    limit: usize,
    room: Option<AnswerReservation>,
) -> Result<Response, ApiError> {
    let (record, present) = task.snapshot();
    let call = task.call();
    let asks = call.as_ref().map(|call| call.open_asks(principal));
    let overview = ResponseOverview::of(task, present, limit).await?;
    if let Some(room) = &room {
        room.grow(BUFFER + overview.largest * COPIES + overview.index)?;
    }
    let answer = TaskResponse {
        task: task.clone(),
        summary: TaskSummary::new(record, call.as_deref()),
        asks: asks.unwrap_or_default(),
        overview,
        present,
    };
    let (pieces, written) = mpsc::channel(1);
    let lifetime = RequestLifetime::for_principal(principal);
    let writing = async move {
        // Released when the response is sent or abandoned.
        let _room = room;
        tokio::select! {
            biased;
            failure = lifetime.ended() => Err(failure),
            result = answer.write(JsonWriter::new(pieces)) => result,
        }
    };
    let mut pieces = Box::pin(written_pieces(writing, written));
    let first = pieces.next().await.transpose()?.unwrap_or_default();
    let body = match pieces.next().await {
        // A small response has a known length and cannot break off.
        None => Body::from(first),
        Some(second) => Body::from_stream(stream::iter([Ok(first), second]).chain(pieces)),
    };
    let json = HeaderValue::from_static("application/json");
    Ok(([(header::CONTENT_TYPE, json)], body).into_response())
}

/// Returns the pieces written by `writing`. The writing proceeds only as the pieces are read.
fn written_pieces(
    writing: impl Future<Output = Result<(), Failure>> + Send + 'static,
    written: Receiver<Bytes>,
) -> impl Stream<Item = Result<Bytes, Failure>> + Send + 'static {
    let state = (Some(Box::pin(writing)), written);
    stream::unfold(state, |(mut writing, mut written)| async move {
        loop {
            let Some(future) = &mut writing else {
                let piece = written.recv().await?;
                return Some((Ok(piece), (writing, written)));
            };
            tokio::select! {
                biased;
                Some(piece) = written.recv() => return Some((Ok(piece), (writing, written))),
                result = future => {
                    writing = None;
                    if let Err(failure) = result {
                        return Some((Err(failure), (writing, written)));
                    }
                }
            }
        }
    })
}

/// Log of a [`Task`] up to a fixed position.
struct TaskLog {
    subscription: Subscription,
    pos: u64,
    end: u64,
    /// Whether some rows are no longer stored.
    has_gap: bool,
}

impl TaskLog {
    fn read(task: &Arc<Task>, from: Cursor, end: u64) -> Self {
        Self {
            subscription: task.subscribe(Some(from)),
            pos: from.pos,
            end,
            has_gap: false,
        }
    }

    /// Returns the next row and its position. Cuts text that has grown beyond the end position.
    async fn next(&mut self) -> Result<Option<(u64, LogItem)>, Failure> {
        if self.pos >= self.end {
            return Ok(None);
        }
        let next = self.subscription.next().await;
        let Some(TaskItem::Row { next, mut item, .. }) = next.map_err(|it| store_failure(&it))?
        else {
            self.has_gap = true;
            self.pos = self.end;
            return Ok(None);
        };
        let start = next.pos.saturating_sub(item.advance());
        self.pos = next.pos;
        if start >= self.end {
            return Ok(None);
        }
        if let LogItem::Event(Event::Chunk(chunk)) = &mut item {
            let most = usize::try_from(self.end - start).unwrap_or(usize::MAX);
            chunk.text.truncate(chunk.text.floor_char_boundary(most));
        }
        Ok(Some((start, item)))
    }
}

/// Structure of an [`TaskResponse`].
#[derive(Debug, Default)]
struct ResponseOverview {
    /// End position, and whether output is left out because of its size or its age.
    end: u64,
    truncated: bool,
    /// Weight of the largest row, in bytes.
    largest: usize,
    /// Artifacts without their parts.
    artifacts: Vec<Artifact>,
    /// Positions of the rows with the parts of each artifact.
    rows: Vec<Vec<u64>>,
    /// Weight of `artifacts` and `rows`, in bytes.
    index: usize,
    /// Start of the last turn, the streamed text of the turn, and the position of its end.
    turn: u64,
    streamed: StreamedText,
    done: Option<u64>,
}

impl ResponseOverview {
    /// Reads the log up to the present, or up to `limit` bytes.
    async fn of(task: &Arc<Task>, present: Cursor, limit: usize) -> Result<Self, Failure> {
        let mut overview = Self::default();
        let mut room = limit;
        let start = Cursor { pos: 0, ..present };
        let mut log = TaskLog::read(task, start, present.pos);
        while let Some((pos, item)) = log.next().await? {
            let weight = item.weight();
            let Some(left) = room.checked_sub(weight) else {
                overview.truncated = true;
                break;
            };
            room = left;
            overview.largest = overview.largest.max(weight);
            overview.end = pos + item.advance();
            overview.add(pos, item);
        }
        overview.truncated |= log.has_gap;
        Ok(overview)
    }

    fn add(&mut self, pos: u64, item: LogItem) {
        match item {
            LogItem::Message(_) => {
                self.turn = pos;
                self.streamed = StreamedText::default();
                self.done = None;
            }
            LogItem::Event(Event::Chunk(chunk)) => self.streamed.push(answer_of(&chunk)),
            LogItem::Event(Event::Artifact(artifact)) => self.artifact(pos, artifact),
            LogItem::End(End::Done(_)) => self.done = Some(pos),
            LogItem::Event(Event::Ask(_))
            | LogItem::Answer(..)
            | LogItem::End(End::Failed(_) | End::Cancelled) => {}
        }
    }

    fn artifact(&mut self, pos: u64, new: Artifact) {
        self.index += size_of::<u64>();
        let head = Artifact {
            parts: Vec::new(),
            extra: None,
            ..new
        };
        let weight = size_of::<Artifact>() + size_of::<Vec<u64>>() + head.weight();
        match Artifact::merge_into(&mut self.artifacts, head) {
            MergedArtifact::Extended(index) => self.rows[index].push(pos),
            MergedArtifact::Replaced(index) => self.rows[index] = vec![pos],
            MergedArtifact::Added => {
                self.index += weight;
                self.rows.push(vec![pos]);
            }
        }
    }
}

/// Returns the text that a [`Chunk`] adds to the answer.
fn answer_of(chunk: &Chunk) -> &str {
    match chunk.kind {
        ChunkKind::Text => &chunk.text,
        ChunkKind::Thinking
        | ChunkKind::ToolStart
        | ChunkKind::ToolInput
        | ChunkKind::ToolResult
        | ChunkKind::Status => "",
    }
}

/// Writer of JSON that sends pieces to the client.
struct JsonWriter {
    to: Sender<Bytes>,
    unsent: Vec<u8>,
    /// Whether the next element of the current list is the first.
    is_first: bool,
}

impl JsonWriter {
    fn new(to: Sender<Bytes>) -> Self {
        Self {
            to,
            unsent: Vec::new(),
            is_first: true,
        }
    }

    fn raw(&mut self, json: &str) {
        self.unsent.extend_from_slice(json.as_bytes());
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.unsent, value).map_err(|error| {
            let text = format!("the task cannot be written as JSON: {error}");
            Failure::new(Reason::Internal, text)
        })
    }

    /// Writes the name of a member that is not the first.
    fn member(&mut self, name: &str) {
        self.raw(",\"");
        self.raw(name);
        self.raw("\":");
    }

    /// Writes text within an open string.
    fn text(&mut self, text: &str) -> Result<(), Failure> {
        let start = self.unsent.len();
        self.value(text)?;
        self.unsent.remove(start);
        self.unsent.pop();
        Ok(())
    }

    fn open_list(&mut self) {
        self.raw("[");
        self.is_first = true;
    }

    /// Writes the separator before a list element.
    fn element(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.raw(",");
        }
    }

    /// Sends the written JSON if a piece is full. Waits for the client.
    async fn flush_if_full(&mut self) {
        if self.unsent.len() >= PIECE {
            self.flush().await;
        }
    }

    async fn flush(&mut self) {
        let mut written = Bytes::from(std::mem::take(&mut self.unsent));
        while !written.is_empty() {
            let piece = written.split_to(PIECE.min(written.len()));
            // Sending fails after the client disconnected; the response is then dropped.
            drop(self.to.send(piece).await);
        }
    }
}

/// Response before writing.
struct TaskResponse {
    task: Arc<Task>,
    summary: TaskSummary,
    asks: Vec<Ask>,
    overview: ResponseOverview,
    present: Cursor,
}

#[derive(Serialize)]
struct ResponseHead<'a> {
    life: &'static str,
    #[serde(flatten)]
    record: &'a TaskSummary,
}

impl TaskResponse {
    fn log(&self, from: u64) -> TaskLog {
        let from = Cursor {
            pos: from,
            ..self.present
        };
        TaskLog::read(&self.task, from, self.overview.end)
    }

    async fn row(&self, pos: u64) -> Result<Option<LogItem>, Failure> {
        let row = self.log(pos).next().await?;
        Ok(row.map(|(_, item)| item))
    }

    async fn write(mut self, mut out: JsonWriter) -> Result<(), Failure> {
        let head = ResponseHead {
            life: "kept",
            record: &self.summary,
        };
        out.value(&head)?;
        // Remove the closing brace: more members follow.
        out.unsent.pop();
        self.write_text(&mut out).await?;
        self.write_artifacts(&mut out).await?;
        self.write_done(&mut out).await?;
        self.write_history(&mut out).await?;
        out.member("asks");
        out.value(&std::mem::take(&mut self.asks))?;
        out.member("truncated");
        out.value(&self.overview.truncated)?;
        out.member("cursor");
        out.value(&self.present.to_string())?;
        out.raw("}");
        out.flush().await;
        Ok(())
    }

    /// Returns the end of the last turn, or the default if the turn did not end with [`Done`].
    async fn done(&self) -> Result<Done, Failure> {
        let row = match self.overview.done {
            Some(pos) => self.row(pos).await?,
            None => None,
        };
        Ok(match row {
            Some(LogItem::End(End::Done(done))) => *done,
            _ => Done::default(),
        })
    }

    async fn write_text(&mut self, out: &mut JsonWriter) -> Result<(), Failure> {
        out.member("text");
        out.raw("\"");
        if !self.overview.streamed.is_empty() {
            let mut log = self.log(self.overview.turn);
            while let Some((_, item)) = log.next().await? {
                if let LogItem::Event(Event::Chunk(chunk)) = &item {
                    out.text(answer_of(chunk))?;
                    out.flush_if_full().await;
                }
            }
        }
        let result = self.done().await?.result.unwrap_or_default();
        out.text(self.overview.streamed.rest_of(&result))?;
        out.flush_if_full().await;
        out.raw("\"");
        Ok(())
    }

    async fn write_artifacts(&mut self, out: &mut JsonWriter) -> Result<(), Failure> {
        out.member("artifacts");
        out.raw("[");
        let artifacts = self.overview.artifacts.iter().zip(&self.overview.rows);
        for (at, (made, rows)) in artifacts.enumerate() {
            out.raw(if at == 0 { "{\"id\":" } else { ",{\"id\":" });
            out.value(&made.id)?;
            if let Some(name) = &made.name {
                out.member("name");
                out.value(name)?;
            }
            out.member("parts");
            out.open_list();
            // Whether a text is open, and whether the text of a later row may continue it.
            let (mut is_in_text, mut is_plain) = (false, false);
            for (row, pos) in rows.iter().enumerate() {
                let Some(LogItem::Event(Event::Artifact(artifact))) = self.row(*pos).await? else {
                    self.overview.truncated = true;
                    continue;
                };
                for (index, part) in artifact.parts.iter().enumerate() {
                    let extra = artifact.extra.as_ref();
                    let was_plain = is_plain;
                    is_plain = !extra.is_some_and(|extra| extra.is_on_part(index));
                    // Text of a later row continues the text before, as in `Artifact::merge_into`.
                    let continues =
                        row > 0 && was_plain && is_plain && matches!(part, Part::Text(_));
                    if is_in_text && !continues {
                        is_in_text = false;
                        out.raw("\"}");
                    }
                    match part {
                        Part::Text(text) => {
                            if !std::mem::replace(&mut is_in_text, true) {
                                out.element();
                                out.raw("{\"text\":\"");
                            }
                            out.text(text)?;
                        }
                        Part::File(_) | Part::Data(_) => {
                            out.element();
                            out.value(part)?;
                        }
                    }
                }
                drop(artifact);
                out.flush_if_full().await;
            }
            out.raw(if is_in_text { "\"}]" } else { "]" });
            out.member("append");
            out.value(&made.append)?;
            out.member("last");
            out.value(&made.last)?;
            out.raw("}");
            out.flush_if_full().await;
        }
        out.raw("]");
        Ok(())
    }

    async fn write_done(&self, out: &mut JsonWriter) -> Result<(), Failure> {
        let done = self.done().await?;
        out.member("attachments");
        out.value(&done.attachments)?;
        if done.needs_auth {
            out.member("needs_auth");
            out.value(&true)?;
        }
        if let Some(offer) = &done.file_transfer_offer {
            out.member("file_transfer_offer");
            out.value(offer)?;
        }
        drop(done);
        out.flush_if_full().await;
        Ok(())
    }

    async fn write_history(&mut self, out: &mut JsonWriter) -> Result<(), Failure> {
        out.member("history");
        out.open_list();
        let mut log = self.log(0);
        let mut history = HistoryWriter {
            out,
            streamed: StreamedText::default(),
            is_open: false,
        };
        while let Some((_, item)) = log.next().await? {
            history.add(item)?;
            history.out.flush_if_full().await;
        }
        self.overview.truncated |= log.has_gap;
        history.close();
        out.raw("]");
        Ok(())
    }
}

/// Writer of the conversation, in order. Adjacent text of the agent forms a single item.
struct HistoryWriter<'a> {
    out: &'a mut JsonWriter,
    /// Text streamed by the agent in the current turn.
    streamed: StreamedText,
    /// Whether an item with the agent's text is open.
    is_open: bool,
}

impl HistoryWriter<'_> {
    fn add(&mut self, item: LogItem) -> Result<(), Failure> {
        if let LogItem::Event(event) = item {
            return match event {
                Event::Chunk(chunk) => {
                    self.streamed.push(answer_of(&chunk));
                    self.add_text(answer_of(&chunk))
                }
                Event::Artifact(_) => Ok(()),
                Event::Ask(ask) => self.item(&HistoryItem::asked(ask)),
            };
        }
        match item {
            LogItem::Message(message) => {
                self.streamed = StreamedText::default();
                self.item(&HistoryItem::message(message))
            }
            LogItem::Answer(ask, answer) => self.item(&HistoryItem::answer(ask, answer)),
            LogItem::End(End::Done(done)) => {
                let result = done.result.unwrap_or_default();
                self.add_text(self.streamed.clone().rest_of(&result))?;
                self.close();
                Ok(())
            }
            LogItem::End(_) | LogItem::Event(_) => {
                self.close();
                Ok(())
            }
        }
    }

    fn item(&mut self, item: &HistoryItem) -> Result<(), Failure> {
        self.close();
        self.out.element();
        self.out.value(item)
    }

    fn add_text(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        if !std::mem::replace(&mut self.is_open, true) {
            self.out.element();
            self.out.raw("{\"role\":");
            self.out.value(&Role::Agent)?;
            self.out.raw(",\"parts\":[{\"text\":\"");
        }
        self.out.text(text)
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.out.raw("\"}]}");
        }
    }
}
