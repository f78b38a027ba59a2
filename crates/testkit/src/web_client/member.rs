//! A member on the screen of the web client: its status and its text, reasoning and tools, message by
//! message.
//!
//! A message is open until ASSISTANT_COMPLETE, an ERROR or the status idle closes it; later content begins
//! another message. A segment is found by its id in all messages, the last message first, whether open or
//! not. Content for an id that was never started is dropped. An id that is started twice appears twice.

use serde_json::{Value, json};

use super::{
    reading::{Dropped, Frame},
    tool::{Tool, ToolState},
};

/// A member on the screen.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) status: String,
    messages: Vec<Message>,
    artifacts: Vec<Value>,
    todos: Value,
}

#[derive(Debug, Clone, Default)]
struct Message {
    segments: Vec<Segment>,
    is_complete: bool,
}

#[derive(Debug, Clone)]
enum Segment {
    Text {
        id: Option<String>,
        text: String,
    },
    Reasoning {
        id: String,
        text: String,
    },
    Tool(Tool),
    /// A message from another member, or from the system.
    Note {
        from: String,
        text: String,
    },
    Error {
        code: String,
        message: String,
    },
}

impl Member {
    /// Creates a member without any known state.
    pub(super) fn new() -> Self {
        Self {
            status: "uninitialized".to_owned(),
            messages: Vec::new(),
            artifacts: Vec::new(),
            todos: Value::Null,
        }
    }

    pub(super) fn apply(&mut self, frame: &Frame) -> Result<(), Dropped> {
        match &*frame.kind {
            "SEGMENT_START" => self.start(frame),
            "SEGMENT_CONTENT" => return self.go_on(frame),
            "SEGMENT_END" => return self.end(frame),
            "AGENT_STATUS" => self.change(&frame.word("new_status").to_lowercase()),
            "ASSISTANT_COMPLETE" => self.complete(&frame.word("content")),
            "INTER_AGENT_MESSAGE" => self.note(frame, "sender_agent_id"),
            "SYSTEM_TASK_NOTIFICATION" => self.note(frame, "sender_id"),
            "TODO_LIST_UPDATE" => {
                self.todos = frame.payload.get("todos").cloned().unwrap_or_default();
            }
            "ARTIFACT_PERSISTED" | "ARTIFACT_UPDATED" => self.keep(frame),
            "ERROR" => self.fail(frame.word("code"), frame.word("message")),
            // All remaining frame types are about tools; the parser refuses others.
            _ => return self.use_tool(frame),
        }
        Ok(())
    }

    fn open(&mut self) -> &mut Message {
        if self.messages.last().is_none_or(|last| last.is_complete) {
            self.messages.push(Message::default());
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }

    fn close(&mut self) {
        if let Some(last) = self.messages.last_mut() {
            last.is_complete = true;
        }
    }

    fn find(&mut self, wanted: &str) -> Option<&mut Segment> {
        let messages = self.messages.iter_mut().rev();
        let mut segments = messages.flat_map(|message| &mut message.segments);
        segments.find(|segment| match segment {
            Segment::Text { id, .. } => id.as_deref() == Some(wanted),
            Segment::Reasoning { id, .. } => id == wanted,
            Segment::Tool(tool) => tool.id == wanted,
            Segment::Note { .. } | Segment::Error { .. } => false,
        })
    }

    fn tool(&mut self, id: &str) -> Result<&mut Tool, Dropped> {
        match self.find(id) {
            Some(Segment::Tool(tool)) => Ok(tool),
            _ => Err(Dropped::UnknownSegment),
        }
    }

    fn start(&mut self, frame: &Frame) {
        let (id, text) = (frame.word("id"), String::new());
        let segment = match frame.text("segment_type") {
            Some("tool_call" | "write_file" | "edit_file" | "run_bash") => {
                Segment::Tool(Tool::new(id, frame.payload.get("metadata")))
            }
            Some("reasoning") => Segment::Reasoning { id, text },
            _ => Segment::Text { id: Some(id), text },
        };
        self.open().segments.push(segment);
    }

    fn go_on(&mut self, frame: &Frame) -> Result<(), Dropped> {
        let delta = frame.word("delta");
        match self.find(&frame.word("id")) {
            Some(Segment::Text { text, .. } | Segment::Reasoning { text, .. }) => {
                text.push_str(&delta);
            }
            Some(Segment::Tool(tool)) => tool.raw.push_str(&delta),
            Some(Segment::Note { .. } | Segment::Error { .. }) | None => {
                return Err(Dropped::UnknownSegment);
            }
        }
        Ok(())
    }

    fn end(&mut self, frame: &Frame) -> Result<(), Dropped> {
        let segment = self.find(&frame.word("id"));
        let segment = segment.ok_or(Dropped::UnknownSegment)?;
        if let Segment::Tool(tool) = segment {
            tool.parsed(frame.payload.get("metadata"));
        }
        Ok(())
    }

    fn change(&mut self, status: &str) {
        status.clone_into(&mut self.status);
        if status == "idle" {
            self.close();
        }
    }

    /// Completes the message. The whole text counts only if no text was streamed into the message. A closed
    /// message is not considered: the text begins another message.
    fn complete(&mut self, content: &str) {
        if !content.trim().is_empty() {
            let message = self.open();
            let is_told = message.segments.iter().any(
                |segment| matches!(segment, Segment::Text { text, .. } if !text.trim().is_empty()),
            );
            if !is_told {
                let text = content.to_owned();
                message.segments.push(Segment::Text { id: None, text });
            }
        }
        self.close();
    }

    fn note(&mut self, frame: &Frame, from: &str) {
        let (from, text) = (frame.word(from), frame.word("content"));
        self.open().segments.push(Segment::Note { from, text });
    }

    fn keep(&mut self, frame: &Frame) {
        let artifact = json!({"path": frame.word("path"), "type": frame.word("type")});
        if !self.artifacts.contains(&artifact) {
            self.artifacts.push(artifact);
        }
    }

    /// Shows an error. An error of a tool is shown with the tool.
    fn fail(&mut self, code: String, message: String) {
        match failed_tool(&message).map(|id| self.tool(id)) {
            Some(Ok(tool)) => {
                tool.state = ToolState::Error;
                tool.result = Value::Null;
                tool.error = Some(message);
            }
            Some(Err(_)) | None => {
                let error = Segment::Error { code, message };
                self.open().segments.push(error);
            }
        }
        self.close();
    }

    fn use_tool(&mut self, frame: &Frame) -> Result<(), Dropped> {
        if frame.kind == "TOOL_LOG" {
            let tool = self.tool(&frame.word("tool_invocation_id"))?;
            tool.logs.push(frame.word("log_entry"));
            return Ok(());
        }
        self.tool(&frame.word("invocation_id"))?.apply(frame)
    }

    /// Returns the tools that await approval.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Tool> {
        let segments = self.messages.iter().flat_map(|message| &message.segments);
        segments.filter_map(|segment| match segment {
            Segment::Tool(tool) if tool.state == ToolState::AwaitingApproval => Some(tool),
            _ => None,
        })
    }

    /// Returns the text of all messages.
    pub(super) fn text(&self) -> String {
        let segments = self.messages.iter().flat_map(|message| &message.segments);
        let texts = segments.filter_map(|segment| match segment {
            Segment::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the contents of the screen, without ids that differ from run to run.
    pub(super) fn shown(&self) -> Value {
        let mut shown = json!({
            "status": self.status,
            "messages": self.messages.iter().map(Message::shown).collect::<Vec<_>>(),
        });
        if !self.artifacts.is_empty() {
            shown["artifacts"] = self.artifacts.clone().into();
        }
        if !self.todos.is_null() {
            shown["todos"] = self.todos.clone();
        }
        shown
    }
}

impl Message {
    fn shown(&self) -> Value {
        let segments: Vec<_> = self.segments.iter().map(Segment::shown).collect();
        let mut shown = json!({ "segments": segments });
        if !self.is_complete {
            shown["open"] = true.into();
        }
        shown
    }
}

impl Segment {
    fn shown(&self) -> Value {
        match self {
            Self::Text { text, .. } => json!({ "text": text }),
            Self::Reasoning { text, .. } => json!({ "reasoning": text }),
            Self::Tool(tool) => tool.shown(),
            Self::Note { from, text } => json!({"from": from, "note": text}),
            Self::Error { code, message } => json!({"error": code, "message": message}),
        }
    }
}

/// Returns the invocation id in an error: `Error executing tool 'N' (ID: X): …`.
fn failed_tool(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("Error executing tool ")?;
    let (_, rest) = rest.split_once(" (ID: ")?;
    let (id, _) = rest.split_once("):")?;
    Some(id)
}
