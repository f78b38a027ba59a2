//! A tool on the screen of the web client. Its state only moves forward.

use serde_json::{Value, json};

use super::reading::{Dropped, Frame};

/// State of a tool call, in order of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ToolState {
    Parsing,
    Parsed,
    AwaitingApproval,
    Approved,
    Executing,
    Success,
    Error,
    Denied,
}

impl ToolState {
    fn is_end(self) -> bool {
        matches!(self, Self::Success | Self::Error | Self::Denied)
    }

    fn label(self) -> &'static str {
        match self {
            Self::Parsing => "parsing",
            Self::Parsed => "parsed",
            Self::AwaitingApproval => "awaiting-approval",
            Self::Approved => "approved",
            Self::Executing => "executing",
            Self::Success => "success",
            Self::Error => "error",
            Self::Denied => "denied",
        }
    }
}

/// A tool call.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    /// Id of the segment, which is also the id of the invocation.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: ToolState,
    /// Text streamed while the call was being written.
    pub(super) raw: String,
    pub(super) arguments: Value,
    pub(super) result: Value,
    pub(super) error: Option<String>,
    pub(super) logs: Vec<String>,
    /// The approval token, which the decision repeats.
    pub(super) token: Value,
}

impl Tool {
    pub(super) fn new(id: String, metadata: Option<&Value>) -> Self {
        let name = metadata.and_then(|metadata| metadata["tool_name"].as_str());
        Self {
            id,
            name: name.unwrap_or("MISSING_TOOL_NAME").to_owned(),
            state: ToolState::Parsing,
            raw: String::new(),
            arguments: json!({}),
            result: Value::Null,
            error: None,
            logs: Vec::new(),
            token: Value::Null,
        }
    }

    /// Marks the segment as ended.
    pub(super) fn parsed(&mut self, metadata: Option<&Value>) {
        let metadata = metadata.unwrap_or(&Value::Null);
        self.learn(metadata.get("arguments"));
        if let Some(name) = metadata["tool_name"].as_str() {
            name.clone_into(&mut self.name);
        }
        self.state = self.state.max(ToolState::Parsed);
    }

    fn learn(&mut self, arguments: Option<&Value>) {
        if let Some(arguments) = arguments {
            self.arguments = arguments.clone();
        }
    }

    pub(super) fn apply(&mut self, frame: &Frame) -> Result<(), Dropped> {
        let next = match &*frame.kind {
            "TOOL_APPROVAL_REQUESTED" => ToolState::AwaitingApproval,
            "TOOL_APPROVED" => ToolState::Approved,
            "TOOL_EXECUTION_STARTED" => ToolState::Executing,
            "TOOL_EXECUTION_SUCCEEDED" => ToolState::Success,
            "TOOL_DENIED" => ToolState::Denied,
            _ => ToolState::Error,
        };
        // A final state may be repeated, but never changes.
        let may = if self.state.is_end() {
            next == self.state
        } else {
            next >= self.state
        };
        if !may {
            return Err(Dropped::ToolIsFurther);
        }
        self.state = next;
        self.learn(frame.payload.get("arguments"));
        if next == ToolState::AwaitingApproval {
            let token = frame.payload.get("approval_token");
            self.token = token.cloned().unwrap_or_default();
        }
        if next == ToolState::Success {
            let result = frame.payload.get("result");
            self.result = result.cloned().unwrap_or_default();
        }
        if matches!(next, ToolState::Error | ToolState::Denied) {
            let why = frame.text("reason").or_else(|| frame.text("error"));
            self.error = why.map(str::to_owned);
        }
        Ok(())
    }

    pub(super) fn shown(&self) -> Value {
        let mut shown = json!({
            "tool": self.name,
            "id": self.id,
            "state": self.state.label(),
            "arguments": self.arguments,
        });
        if !self.result.is_null() {
            shown["result"] = self.result.clone();
        }
        if let Some(error) = &self.error {
            shown["error"] = error.as_str().into();
        }
        if !self.logs.is_empty() {
            shown["logs"] = self.logs.clone().into();
        }
        shown
    }
}
