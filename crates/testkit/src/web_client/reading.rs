//! The frame parser of the web client: the required fields of each type, and the reasons for dropping a
//! frame.

use serde_json::{Map, Value};

/// Reason why the web client drops a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dropped {
    /// Not JSON, or without a type.
    Unreadable,
    /// Unknown type.
    UnknownType,
    /// A required field is missing.
    Incomplete,
    /// Seen before: the sequence number is not above the last number of the run.
    Seen,
    /// About an unknown member.
    UnknownMember,
    /// About a segment or a tool that was never started.
    UnknownSegment,
    /// Would move a tool back to an earlier state.
    ToolIsFurther,
}

/// A parsed frame.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: String,
    pub(super) payload: Map<String, Value>,
}

const SEGMENTS: [&str; 3] = ["SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"];
const TOOLS: [&str; 6] = [
    "TOOL_APPROVAL_REQUESTED",
    "TOOL_APPROVED",
    "TOOL_DENIED",
    "TOOL_EXECUTION_STARTED",
    "TOOL_EXECUTION_SUCCEEDED",
    "TOOL_EXECUTION_FAILED",
];
const OTHERS: [&str; 12] = [
    "CONNECTED",
    "AGENT_STATUS",
    "TEAM_STATUS",
    "TASK_PLAN_EVENT",
    "TOOL_LOG",
    "ASSISTANT_COMPLETE",
    "TODO_LIST_UPDATE",
    "INTER_AGENT_MESSAGE",
    "SYSTEM_TASK_NOTIFICATION",
    "ARTIFACT_PERSISTED",
    "ARTIFACT_UPDATED",
    "ERROR",
];

impl Frame {
    pub(super) fn read(text: &str) -> Result<Self, Dropped> {
        let Ok(Value::Object(mut frame)) = serde_json::from_str(text) else {
            return Err(Dropped::Unreadable);
        };
        let kind = match frame.remove("type") {
            Some(Value::String(kind)) if !kind.is_empty() => kind,
            _ => return Err(Dropped::Unreadable),
        };
        let payload = match frame.remove("payload") {
            Some(Value::Object(payload)) => Some(payload),
            _ => None,
        };
        let is_segment = SEGMENTS.contains(&&*kind);
        let is_tool = TOOLS.contains(&&*kind);
        if !is_segment && !is_tool && !OTHERS.contains(&&*kind) {
            return Err(Dropped::UnknownType);
        }
        // Only segments require a payload.
        if is_segment && payload.is_none() {
            return Err(Dropped::Incomplete);
        }
        let frame = Self {
            kind,
            payload: payload.unwrap_or_default(),
        };
        if frame.is_complete() {
            Ok(frame)
        } else {
            Err(Dropped::Incomplete)
        }
    }

    fn is_complete(&self) -> bool {
        let has = |name| self.text(name).is_some_and(|text| !text.trim().is_empty());
        let kind = self.kind.as_str();
        if SEGMENTS.contains(&kind) {
            let has_delta = kind != "SEGMENT_CONTENT" || self.text("delta").is_some();
            return self.text("id").is_some_and(|id| !id.is_empty()) && has_delta;
        }
        if TOOLS.contains(&kind) && !(has("invocation_id") && has("tool_name")) {
            return false;
        }
        match kind {
            "TOOL_DENIED" => has("reason") || has("error"),
            "TOOL_EXECUTION_FAILED" => has("error"),
            "TOOL_LOG" => has("log_entry"),
            _ => true,
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.payload.get(name).and_then(Value::as_str)
    }

    /// Returns a field as text; empty if missing.
    pub(super) fn word(&self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_owned()
    }

    /// Returns the run and the sequence number; `None` for frames without a number, which are never dropped
    /// as seen.
    pub(super) fn number(&self) -> Option<(String, u64)> {
        let envelope = self.payload.get("team_stream_event_envelope")?;
        let run = envelope.get("team_run_id")?.as_str()?;
        let sequence = envelope.get("sequence")?.as_u64()?;
        (sequence > 0).then(|| (run.to_owned(), sequence))
    }

    /// Returns whether the frame is about the whole team.
    pub(super) fn is_of_team(&self) -> bool {
        match self.text("event_scope") {
            Some(scope) => scope == "team_scoped",
            None => matches!(&*self.kind, "TEAM_STATUS" | "TASK_PLAN_EVENT" | "CONNECTED"),
        }
    }
}
