//! Agno's stream: the working state, the agent's text and tool calls, the final state, then the task itself.

use std::collections::VecDeque;

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use jackfield_core::metrics::Connected;
use jackfield_kit::sse::{SseBody, SseFrame};
use jackfield_model::ChunkKind;
use jackfield_wire::json::RawMembers;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::{
        A2aState, A2aStatus, ArtifactUpdate, GetParams, Message, Part, PartContent, Raw, Role,
        StatusUpdate, StreamItem,
    },
    rpc::{self, RpcId},
};
use crate::{
    DOOR,
    official::{InboundRequest, UpdateStream, reply, snapshot::is_reply},
};

/// Returns the response that streams a task.
pub(super) fn respond(inbound: InboundRequest, id: RpcId, updates: UpdateStream) -> Response {
    let keepalive = reply::keepalive(&inbound.a2a);
    let telling = AgnoStream {
        _counted: inbound.a2a.hub.metrics().connection(DOOR),
        inbound,
        id,
        updates: Some(updates),
        task: None,
        ready: VecDeque::new(),
    };
    let frames = stream::unfold(telling, |mut telling| async move {
        let frame = telling.next().await?;
        Some((frame, telling))
    });
    SseBody::new(frames)
        .with_keepalive(keepalive)
        .into_response()
}

struct AgnoStream {
    inbound: InboundRequest,
    id: RpcId,
    /// Source of updates; `None` after the last update.
    updates: Option<UpdateStream>,
    task: Option<String>,
    ready: VecDeque<StreamItem>,
    _counted: Connected,
}

impl AgnoStream {
    async fn next(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(self.frame(&item));
            }
            match self.updates.as_mut()?.next().await {
                Some(Ok(update)) => self.tell(update.item),
                // A caller without access to the task any more gets the error, not the task's state.
                Some(Err(fault)) if fault.kind == A2aErrorKind::Unauthenticated => {
                    return Some(self.gave_up(&fault));
                }
                // Agno's clients do not know errors in a stream. The task at the end shows that the work
                // continues.
                Some(Err(fault)) => match self.last().await {
                    Some(last) => {
                        self.updates = None;
                        self.ready.push_back(last);
                    }
                    None => return Some(self.gave_up(&fault)),
                },
                None => {
                    self.updates = None;
                    let last = self.last().await;
                    self.ready.extend(last);
                }
            }
        }
    }

    fn tell(&mut self, item: StreamItem) {
        let item = match item {
            StreamItem::Task(task) => {
                // The stream starts with the working state; the task comes last.
                self.task = Some(task.id.clone());
                StreamItem::Status(Box::new(StatusUpdate {
                    task_id: task.id,
                    context_id: task.context_id,
                    status: A2aStatus {
                        timestamp: task.status.timestamp,
                        ..A2aStatus::new(A2aState::Working)
                    },
                    is_final: false,
                    metadata: None,
                    extra: task.extra,
                }))
            }
            StreamItem::Artifact(update) if is_reply(&update.artifact.id) => {
                self.ready
                    .extend(said(*update).map(Box::new).map(StreamItem::Message));
                return;
            }
            // The working state was the first event.
            StreamItem::Status(update) if is_empty(&update) => return,
            StreamItem::Status(update) => done_meanwhile(*update),
            item => item,
        };
        self.ready.push_back(item);
    }

    /// Returns the final task, if still stored.
    async fn last(&mut self) -> Option<StreamItem> {
        let params = GetParams {
            tenant: None,
            id: self.task.take()?,
            history_length: None,
        };
        let task = self.inbound.get(params).await.ok()?;
        Some(StreamItem::Task(Box::new(task)))
    }

    /// Ends the stream with an error event.
    fn gave_up(&mut self, fault: &A2aError) -> SseFrame {
        self.updates = None;
        SseFrame::data(rpc::write_error(A2aVersion::V03, &self.id, fault))
    }

    fn frame(&self, item: &StreamItem) -> SseFrame {
        let name = match item {
            StreamItem::Task(_) => "Task",
            StreamItem::Message(_) => "Message",
            StreamItem::Status(_) => "TaskStatusUpdateEvent",
            StreamItem::Artifact(_) => "TaskArtifactUpdateEvent",
        };
        let data = rpc::write_result(&self.id, |out| A2aVersion::V03.write_item(item, out));
        SseFrame::data(data).with_event(name)
    }
}

/// Returns a piece of the reply as a message; `None` for a piece without content, which only marks the end.
fn said(update: ArtifactUpdate) -> Option<Message> {
    let is_word =
        |part: &Part| !matches!(&part.content, PartContent::Text(text) if text.is_empty());
    if !update.artifact.parts.iter().any(is_word) {
        return None;
    }
    let id = format!("{}-{}", update.task_id, update.artifact.id);
    let message = Message {
        context_id: Some(update.context_id),
        task_id: Some(update.task_id),
        metadata: metadata_of(&AgnoMetadata {
            agno_content_category: Some("content"),
            ..AgnoMetadata::default()
        }),
        ..Message::new(id, Role::Agent, update.artifact.parts)
    };
    Some(message)
}

/// Returns true if the update has no content besides the working state.
fn is_empty(update: &StatusUpdate) -> bool {
    let status = &update.status;
    status.state == A2aState::Working && status.message.is_none() && update.metadata.is_none()
}

/// Translates a status update into Agno's form: reasoning becomes a message, tool calls get Agno's event
/// types.
fn done_meanwhile(mut update: StatusUpdate) -> StreamItem {
    let metadata = update.metadata.as_deref().and_then(RawMembers::of);
    let metadata = metadata.unwrap_or_default();
    let kind = metadata.text("kind");
    let kind = kind.and_then(|kind| ChunkKind::from_name(&kind));
    let event = match (kind, update.status.message.take()) {
        (Some(ChunkKind::Thinking), Some(thought)) => {
            return StreamItem::Message(Box::new(Message {
                metadata: metadata_of(&AgnoMetadata {
                    agno_content_category: Some("reasoning"),
                    ..AgnoMetadata::default()
                }),
                ..thought
            }));
        }
        (kind, message) => {
            update.status.message = message;
            match kind {
                Some(ChunkKind::ToolStart) => Some("tool_call_started"),
                Some(ChunkKind::ToolResult) => Some("tool_call_completed"),
                _ => None,
            }
        }
    };
    if let Some(event) = event {
        let text = |name| metadata.get(name);
        let (tool, call) = (text("toolName"), text("toolCallId"));
        let named = metadata_of(&AgnoMetadata {
            agno_event_type: Some(event),
            tool_name: tool,
            tool_call_id: call,
            ..AgnoMetadata::default()
        });
        update.metadata = named;
    }
    StreamItem::Status(Box::new(update))
}

/// Agno's metadata of a message or a status.
#[derive(Default, Serialize)]
struct AgnoMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    agno_content_category: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agno_event_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a RawValue>,
}

fn metadata_of(metadata: &AgnoMetadata<'_>) -> Option<Raw> {
    to_raw_value(metadata).ok()
}
