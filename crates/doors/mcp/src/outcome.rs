//! Result of a tool that waits for an agent: structured content for programs, and text for models. The last
//! line of the text states the task's state and the next step.

use jackfield_core::store::{TaskRecord, TaskState};
use jackfield_kit::files::Files;
use jackfield_model::{Artifact, Ask, AskKind, Failure, File, FileSource, Json, Part};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::Serialize;

use crate::{
    failure::next_step,
    limits::RESULT,
    waiting::{TurnOutput, WaitEnd},
};

/// State of a task, with the output received.
#[derive(Debug, Serialize)]
pub(crate) struct TaskOutcome {
    task: String,
    agent: String,
    session: String,
    state: &'static str,
    text: String,
    cursor: String,
    more: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<AskView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<OutcomeError>,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

#[derive(Debug, Serialize)]
struct AskView {
    kind: AskKind,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Json>,
}

#[derive(Debug, Serialize)]
struct OutcomeError {
    code: String,
    message: String,
}

/// Artifact of the agent.
#[derive(Debug, Serialize)]
pub(crate) struct ArtifactView {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    data: Vec<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileView>,
    /// Whether the artifact is incomplete.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// File, by its address.
#[derive(Debug, Serialize)]
pub(crate) struct FileView {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// Returns the part of `text` that fits into `room`, and reduces `room`.
pub(crate) fn cut<'a>(text: &'a str, room: &mut usize) -> &'a str {
    let part = &text[..text.floor_char_boundary(*room)];
    *room -= part.len();
    part
}

impl FileView {
    pub(crate) fn new(file: &File, links: &Files) -> Self {
        Self {
            name: file.name.clone(),
            mime: file.mime.clone(),
            url: match &file.source {
                FileSource::Uri(url) => Some(url.clone()),
                FileSource::Bytes(_) => links.link(file),
            },
        }
    }

    fn link(&self) -> Option<ContentBlock> {
        let url = self.url.clone()?;
        let name = self.name.clone().unwrap_or_else(|| "file".to_owned());
        let mut resource = Resource::new(url, name);
        resource.mime_type.clone_from(&self.mime);
        Some(ContentBlock::resource_link(resource))
    }
}

impl ArtifactView {
    pub(crate) fn new(artifact: Artifact, links: &Files, room: &mut usize) -> Self {
        let mut view = Self {
            id: artifact.id,
            name: artifact.name,
            text: String::new(),
            data: Vec::new(),
            files: Vec::new(),
            cut: false,
        };
        for part in artifact.parts {
            match part {
                Part::Text(text) => {
                    let part = cut(&text, room);
                    view.cut |= part.len() < text.len();
                    view.text.push_str(part);
                }
                Part::Data(json) => match room.checked_sub(json.get().len()) {
                    Some(left) => {
                        *room = left;
                        view.data.push(json);
                    }
                    None => view.cut = true,
                },
                Part::File(file) => view.files.push(FileView::new(&file, links)),
            }
        }
        view
    }
}

impl TaskOutcome {
    /// Builds the outcome from a task's record and its received output.
    pub(crate) fn new(record: &TaskRecord, heard: TurnOutput) -> Self {
        let (more, is_stopping) = (
            matches!(heard.stop, WaitEnd::Full),
            matches!(heard.stop, WaitEnd::Stopping),
        );
        let (state, ask) = match heard.stop {
            WaitEnd::Ended | WaitEnd::Full => (record.state, None),
            WaitEnd::Late | WaitEnd::Stopping => (TaskState::Working, None),
            WaitEnd::Asked(ask) => (TaskState::InputRequired, Some(ask)),
        };
        let state = match state {
            TaskState::Submitted => TaskState::Working,
            state => state,
        };
        let failure = record.failure.as_ref();
        let failure = failure.filter(|_| state == TaskState::Failed);
        let mut outcome = Self {
            task: record.id.to_string(),
            agent: record.agent.to_string(),
            session: record.session.to_string(),
            state: state.name(),
            text: heard.text,
            cursor: heard.cursor.to_string(),
            more,
            artifacts: heard.artifacts,
            files: heard.files,
            ask: ask.map(AskView::from),
            error: failure.map(OutcomeError::from),
            note: String::new(),
        };
        let is_short = heard.is_short || outcome.artifacts.iter().any(|it| it.cut);
        let mut notes = Vec::new();
        if heard.has_gap {
            notes.push("Some of the answer is no longer kept.".to_owned());
        }
        if more {
            notes.push(format!(
                "This is as much as one result may have ({} KiB): call task with task and after={} for the rest.",
                RESULT >> 10,
                outcome.cursor
            ));
        }
        if is_short {
            notes.push(format!(
                "Not all of it fits here: GET /v1/calls/{0} of the hub, or `jackfield task show {0}`, has the whole.",
                outcome.task
            ));
        }
        if is_stopping {
            notes.push("The hub is being restarted; wait a few seconds.".to_owned());
        }
        notes.extend(outcome.next(state, more, failure));
        outcome.note = notes.join(" ");
        outcome
    }

    /// Returns the next step for the model.
    fn next(&self, state: TaskState, more: bool, failure: Option<&Failure>) -> Option<String> {
        let after = &self.cursor;
        match state {
            TaskState::Submitted | TaskState::Working if more => None,
            TaskState::Submitted | TaskState::Working => Some(format!(
                "The agent is still working: call task with task and after={after} to wait on."
            )),
            TaskState::InputRequired => Some(match &self.ask {
                Some(ask) if ask.kind == AskKind::Approval => {
                    "The agent asks for leave: call task with task and approve.".to_owned()
                }
                _ => "The agent waits for an answer: call task with task and answer.".to_owned(),
            }),
            TaskState::Completed => None,
            TaskState::Failed => failure.map(|failure| next_step(&failure.reason).to_owned()),
            TaskState::Cancelled => Some("The task was cancelled.".to_owned()),
            TaskState::Rejected => Some("The agent would not do it.".to_owned()),
        }
        .filter(|text| !text.is_empty())
    }

    fn is_error(&self) -> bool {
        matches!(self.state, "failed" | "cancelled" | "rejected")
    }

    /// Returns whether the agent is still working.
    pub(crate) fn is_working(&self) -> bool {
        self.state == TaskState::Working.name()
    }

    /// Returns whether the task continues or may continue.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, "working" | "input_required")
    }

    /// Converts the outcome into a [`CallToolResult`].
    pub(crate) fn into_result(self) -> CallToolResult {
        let mut content = Vec::new();
        if !self.text.is_empty() {
            content.push(ContentBlock::text(self.text.clone()));
        }
        for artifact in &self.artifacts {
            content.extend(artifact_block(artifact));
            content.extend(artifact.files.iter().filter_map(FileView::link));
        }
        content.extend(self.files.iter().filter_map(FileView::link));
        content.push(ContentBlock::text(self.last_line()));
        let mut result = if self.is_error() {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        };
        result.structured_content = serde_json::to_value(&self).ok();
        result
    }

    fn last_line(&self) -> String {
        let mut line = format!(
            "[state: {}, task: {}, session: {}]",
            self.state, self.task, self.session
        );
        if let Some(error) = &self.error {
            line += &format!(" {}: {}", error.code, error.message);
        }
        if let Some(ask) = &self.ask {
            line += &format!(" {}", ask.text);
        }
        if !self.note.is_empty() {
            line += &format!(" {}", self.note);
        }
        line
    }
}

fn artifact_block(artifact: &ArtifactView) -> Option<ContentBlock> {
    let mut text = artifact.text.clone();
    for data in &artifact.data {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(data.get());
    }
    if text.is_empty() {
        return None;
    }
    let name = artifact.name.as_deref().unwrap_or(&artifact.id);
    Some(ContentBlock::text(format!("Artifact {name}:\n{text}")))
}

impl From<Ask> for AskView {
    fn from(ask: Ask) -> Self {
        Self {
            kind: ask.kind,
            text: ask.text,
            schema: ask.schema,
        }
    }
}

impl From<&Failure> for OutcomeError {
    fn from(failure: &Failure) -> Self {
        Self {
            code: failure.reason.name().to_owned(),
            message: failure.text.to_string(),
        }
    }
}
