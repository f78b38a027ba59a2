//! The reply of an agent as updates of a session. One [`UpdateRenderer`] serves one turn, live or replayed.

use std::{collections::HashSet, sync::Arc};

use jackfield_kit::files::Files;
use jackfield_model::{Artifact, Ask, Chunk, ChunkKind, Done, Event, Part, StreamedText};

use super::{
    file::file_block,
    tools::{ToolCalls, ToolPrefix, ToolsEnd},
};
use crate::{
    limits::TOOLS,
    wire::{ContentBlock, SessionUpdate},
};

/// Converts the events of one turn.
#[derive(Debug)]
pub(crate) struct UpdateRenderer {
    files: Arc<Files>,
    /// Whether the editor shows notices; otherwise status lines are shown as reasoning.
    has_notices: bool,
    streamed: StreamedText,
    /// Whether the editor shows some of the answer already.
    has_said: bool,
    tools: ToolCalls,
    /// Ids of artifacts whose names were shown.
    artifacts: HashSet<String>,
}

impl UpdateRenderer {
    pub(crate) fn new(prefix: ToolPrefix, files: Arc<Files>, has_notices: bool) -> Self {
        Self {
            files,
            has_notices,
            streamed: StreamedText::default(),
            has_said: false,
            tools: ToolCalls::new(prefix),
            artifacts: HashSet::new(),
        }
    }

    /// Whether [`flush`](Self::flush) has something to send.
    pub(crate) fn is_dirty(&self) -> bool {
        self.tools.is_dirty()
    }

    /// Returns the update with collected pieces of a tool call.
    pub(crate) fn flush(&mut self) -> Vec<SessionUpdate> {
        self.tools.flush()
    }

    /// Converts an event. A question is shown by [`question`](Self::question) instead, if at all.
    pub(crate) fn event(&mut self, event: Event) -> Vec<SessionUpdate> {
        match event {
            Event::Chunk(chunk) => self.chunk(chunk),
            Event::Artifact(artifact) => {
                let mut updates = self.flush();
                updates.extend(self.artifact(&artifact));
                updates
            }
            Event::Ask(_) => self.flush(),
        }
    }

    fn chunk(&mut self, chunk: Chunk) -> Vec<SessionUpdate> {
        match chunk.kind {
            ChunkKind::ToolStart => return self.tools.start(chunk),
            ChunkKind::ToolInput => return self.tools.input(chunk),
            ChunkKind::ToolResult => return self.tools.result(chunk),
            ChunkKind::Text | ChunkKind::Thinking | ChunkKind::Status => {}
        }
        let mut updates = self.flush();
        if chunk.text.is_empty() {
            return updates;
        }
        updates.push(match chunk.kind {
            ChunkKind::Thinking => SessionUpdate::thought(chunk.text),
            ChunkKind::Status => self.status(chunk.text),
            _ => {
                self.streamed.push(&chunk.text);
                self.has_said = true;
                SessionUpdate::message(ContentBlock::text(chunk.text))
            }
        });
        updates
    }

    fn status(&self, text: String) -> SessionUpdate {
        if self.has_notices {
            return SessionUpdate::Notice {
                severity: "info",
                title: text,
            };
        }
        SessionUpdate::thought(format!("{text}\n"))
    }

    /// Shows an artifact as part of the answer: its name, text, data and files.
    fn artifact(&mut self, artifact: &Artifact) -> Vec<SessionUpdate> {
        let is_first = self.artifacts.len() < TOOLS && self.artifacts.insert(artifact.id.clone());
        let mut updates = Vec::new();
        if is_first && !artifact.append {
            let name = artifact.name.as_deref().filter(|name| !name.is_empty());
            let title = name.map(|name| format!("**{name}**\n\n"));
            let has_words = !matches!(artifact.parts.first(), Some(Part::File(_)));
            let is_apart = title.is_some() || has_words;
            let gap = if is_apart { self.gap() } else { "" };
            let text = format!("{gap}{}", title.unwrap_or_default());
            if !text.is_empty() {
                updates.push(SessionUpdate::message(ContentBlock::text(text)));
            }
        }
        self.has_said = true;
        let block = |part: &Part| match part {
            Part::Text(text) => ContentBlock::text(text),
            Part::Data(json) => ContentBlock::text(format!("```json\n{}\n```\n", json.get())),
            Part::File(file) => file_block(file, &self.files),
        };
        let parts = artifact.parts.iter();
        updates.extend(parts.map(|part| SessionUpdate::message(block(part))));
        updates
    }

    /// Returns the line breaks before a paragraph of its own.
    fn gap(&self) -> &'static str {
        if self.streamed.is_empty() { "" } else { "\n\n" }
    }

    /// Shows that a tool call waits for approval. Returns the id of the tool call, too.
    pub(crate) fn approval(&mut self, ask: &Ask) -> (String, Vec<SessionUpdate>) {
        self.tools.approval(ask)
    }

    /// Shows that a tool call was approved, or not.
    pub(crate) fn decided(&mut self, ask: &Ask, is_approved: bool) -> Vec<SessionUpdate> {
        self.tools.decided(ask, is_approved)
    }

    /// Shows a question as a part of the answer, in a paragraph of its own.
    pub(crate) fn question(&mut self, ask: &Ask) -> Vec<SessionUpdate> {
        let mut updates = self.flush();
        let text = format!("{}{}", self.gap(), ask.text);
        updates.push(SessionUpdate::message(ContentBlock::text(text)));
        updates
    }

    /// Converts the final report: text that was not streamed, and files.
    pub(crate) fn done(&mut self, done: &Done) -> Vec<SessionUpdate> {
        let mut updates = self.tools.finish(ToolsEnd::Done);
        let result = done.result.as_deref().unwrap_or_default();
        let rest = self.streamed.rest_of(result);
        if !rest.is_empty() {
            updates.push(SessionUpdate::message(ContentBlock::text(rest)));
        }
        let blocks = done
            .attachments
            .iter()
            .map(|file| file_block(file, &self.files));
        updates.extend(blocks.map(SessionUpdate::message));
        updates
    }

    /// Ends a turn that failed or was cancelled.
    pub(crate) fn stopped(&mut self) -> Vec<SessionUpdate> {
        self.tools.finish(ToolsEnd::Stopped)
    }
}
