//! A chat completion as a stream of chunks. A failure is an `error` object, which no `[DONE]` follows: a client that
//! only looks for text must not take a broken answer for a whole one.

use std::collections::VecDeque;

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use jackfield_kit::{
    api::lifetime::{self, RequestLifetime},
    sse::{SseBody, SseFrame},
};

use super::{
    AnswerEnd, CompletionHead,
    reader::{AnswerReader, ReadStep},
};
use crate::{
    DOOR,
    door::OpenAiDoor,
    failure::error_frame,
    live::LiveTurn,
    wire::{ChatChunk, ChunkChoice, Delta, WaitsFor},
};

/// A streamed chat completion.
pub(super) struct ChatStream {
    door: OpenAiDoor,
    head: CompletionHead,
    reader: AnswerReader,
    /// Frames that are ready.
    frames: VecDeque<SseFrame>,
    is_over: bool,
}

impl ChatStream {
    pub(super) fn new(door: OpenAiDoor, head: CompletionHead, turn: LiveTurn) -> Self {
        let frames = [head.begin()].into();
        Self {
            reader: AnswerReader::new(door.clone(), turn),
            door,
            head,
            frames,
            is_over: false,
        }
    }

    /// Returns the response. Dropping its body cancels the call.
    pub(super) fn respond(self, lifetime: RequestLifetime) -> Response {
        let hub = self.door.hub.clone();
        let frames = stream::unfold(self, |mut chat| async move {
            let frame = chat.next().await?;
            Some((frame, chat))
        });
        lifetime::respond(&hub, DOOR, lifetime, error_frame, frames)
    }

    async fn next(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some(frame);
            }
            if self.is_over {
                return None;
            }
            match self.reader.next().await {
                ReadStep::Said { content, reasoning } => {
                    let frame = self.head.said(&content, &reasoning);
                    self.frames.push_back(frame);
                }
                ReadStep::Asked(text) => {
                    let frame = self.head.asked(&text);
                    self.frames.push_back(frame);
                }
                ReadStep::Ended(end) => {
                    self.is_over = true;
                    self.frames.extend(self.head.end(end));
                }
                ReadStep::Failed(failure) => {
                    self.is_over = true;
                    self.frames.push_back(error_frame(&failure));
                }
            }
        }
    }
}

/// Responds with an answer of the door itself.
pub(super) fn own_answer(door: &OpenAiDoor, head: &CompletionHead, content: &str) -> Response {
    let mut frames = vec![head.begin(), head.said(content, "")];
    frames.extend(head.end(AnswerEnd::OWN));
    let keepalive = door.hub.limits().keepalive.0;
    let body = SseBody::new(stream::iter(frames)).with_keepalive(keepalive);
    body.into_response()
}

impl CompletionHead {
    fn chunk<'a>(&'a self, choices: &'a [ChunkChoice<'a>]) -> ChatChunk<'a> {
        ChatChunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices,
            usage: None,
            jackfield: None,
        }
    }

    fn delta(&self, delta: Delta<'_>, waits_for: Option<WaitsFor>) -> SseFrame {
        let choice = ChunkChoice {
            index: 0,
            delta,
            finish_reason: None,
        };
        frame(&ChatChunk {
            jackfield: waits_for,
            ..self.chunk(&[choice])
        })
    }

    fn begin(&self) -> SseFrame {
        let delta = Delta {
            role: Some("assistant"),
            content: Some(""),
            ..Delta::default()
        };
        self.delta(delta, None)
    }

    fn said(&self, content: &str, reasoning: &str) -> SseFrame {
        let filled = |text| Some(text).filter(|text: &&str| !text.is_empty());
        let delta = Delta {
            content: filled(content),
            reasoning_content: filled(reasoning),
            ..Delta::default()
        };
        self.delta(delta, None)
    }

    /// Returns the chunk with a question.
    fn asked(&self, question: &str) -> SseFrame {
        let delta = Delta {
            content: Some(question),
            ..Delta::default()
        };
        self.delta(delta, Some(WaitsFor::ANSWER))
    }

    fn end(&self, end: AnswerEnd) -> Vec<SseFrame> {
        let choice = ChunkChoice {
            index: 0,
            delta: Delta::default(),
            finish_reason: Some(end.finish_reason),
        };
        let last = ChatChunk {
            jackfield: end.waits_for,
            ..self.chunk(std::slice::from_ref(&choice))
        };
        let mut frames = vec![frame(&last)];
        if self.includes_usage {
            frames.push(frame(&ChatChunk {
                usage: Some(end.usage.unwrap_or_default()),
                ..self.chunk(&[])
            }));
        }
        frames.push(SseFrame::data("[DONE]"));
        frames
    }
}

fn frame(chunk: &ChatChunk<'_>) -> SseFrame {
    SseFrame::data(serde_json::to_vec(chunk).unwrap_or_default())
}
