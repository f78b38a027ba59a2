//! [`ReplyWriter`], the writer of a reply: text to standard output, all other parts dimmed to standard error. Keeps
//! the two apart on a terminal, where both share the same lines.

use std::io::{self, IsTerminal};

use jackfield_connect::notes;
use jackfield_sdk::{Artifact, Chunk, ChunkKind, Done, FileSource, Part, StreamedText};

use crate::output::{self, Style, clean, clean_lines};

/// Writer of a reply.
#[derive(Debug)]
pub(crate) struct ReplyWriter {
    /// Whether the last line of text is unfinished.
    text_open: bool,
    /// Kind of the unfinished line on standard error, if any.
    aside_open: Option<ChunkKind>,
    /// Text of the current turn so far. The final result may add to this text.
    streamed: StreamedText,
    shows_asides: bool,
    /// Whether standard output is a terminal. A program receives the text unchanged.
    is_terminal: bool,
    style: Style,
}

impl ReplyWriter {
    pub(crate) fn new(verbose: bool) -> Self {
        Self {
            text_open: false,
            aside_open: None,
            streamed: StreamedText::default(),
            shows_asides: verbose || io::stderr().is_terminal(),
            is_terminal: io::stdout().is_terminal(),
            style: Style::stderr(),
        }
    }

    pub(super) fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        let tool = chunk.tool_name.as_deref().unwrap_or("tool");
        match chunk.kind {
            ChunkKind::Text => {
                self.streamed.push(&chunk.text);
                self.text(&chunk.text)
            }
            ChunkKind::Thinking => self.aside(chunk.kind, "", &chunk.text),
            ChunkKind::ToolStart => self.aside_line(&format!("[{tool}] {}", chunk.text)),
            ChunkKind::ToolInput => self.aside(chunk.kind, "  ", &chunk.text),
            ChunkKind::ToolResult => self.aside(chunk.kind, "  -> ", &chunk.text),
            // A user who waits for files should know that some will not come.
            ChunkKind::Status if notes::is_note(&chunk.text) => self.note(&clean(&chunk.text)),
            ChunkKind::Status => self.aside_line(&chunk.text),
        }
    }

    /// Writes more of the text.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_aside();
        if self.is_terminal {
            output::write(&clean_lines(text))?;
        } else {
            output::write(text)?;
        }
        self.text_open = !text.ends_with('\n');
        Ok(())
    }

    /// Writes more of a side output (thinking, tool input, tool result), starting on a new line.
    fn aside(&mut self, kind: ChunkKind, mark: &str, text: &str) -> io::Result<()> {
        if !self.shows_asides || text.is_empty() {
            return Ok(());
        }
        if self.aside_open != Some(kind) {
            self.start_line()?;
            output::print_message_part(&self.style.dim(mark));
        }
        output::print_message_part(&self.style.dim(&clean_lines(text)));
        self.aside_open = Some(kind);
        Ok(())
    }

    /// Writes a line of side output.
    pub(crate) fn aside_line(&mut self, text: &str) -> io::Result<()> {
        if self.shows_asides && !text.trim().is_empty() {
            self.note(&self.style.dim(clean(text).trim_end()))?;
        }
        Ok(())
    }

    /// Writes a line that is always shown.
    fn note(&mut self, text: &str) -> io::Result<()> {
        self.start_line()?;
        output::print_message(text);
        Ok(())
    }

    /// Writes the text of an [`Artifact`]. Files and data are only named, with `how` to get them.
    pub(super) fn artifact(&mut self, artifact: &Artifact, how: &str) -> io::Result<()> {
        let mut is_text = true;
        for part in &artifact.parts {
            match part {
                Part::Text(text) => self.text(text)?,
                Part::File(_) | Part::Data(_) => is_text = false,
            }
        }
        if artifact.append || is_text {
            return Ok(());
        }
        let name = artifact.name.as_ref().unwrap_or(&artifact.id);
        let note = format!("made {}{how}", clean(name));
        self.note(&self.style.dim(&note))
    }

    pub(super) fn gap(&mut self) -> io::Result<()> {
        self.note("(some of the answer is no longer stored)")
    }

    pub(super) fn done(&mut self, done: &Done, how: &str) -> io::Result<()> {
        let streamed = std::mem::take(&mut self.streamed);
        self.text(streamed.rest_of(done.result.as_deref().unwrap_or_default()))?;
        for file in &done.attachments {
            let name = clean(file.name.as_deref().unwrap_or_default());
            let uri = match &file.source {
                FileSource::Uri(uri) => clean(uri),
                FileSource::Bytes(_) => String::new(),
            };
            let attached = format!("attached: {name} {uri}");
            self.note(&format!("{}{how}", attached.trim_end()))?;
        }
        Ok(())
    }

    fn end_aside(&mut self) {
        if self.aside_open.take().is_some() {
            output::print_message_part("\n");
        }
    }

    /// Ends the current line before the next output. If text and messages go to different places, the line of
    /// text stays open.
    pub(super) fn start_line(&mut self) -> io::Result<()> {
        self.end_aside();
        if self.is_terminal {
            self.end()?;
        }
        Ok(())
    }

    /// Ends all open lines.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.end_aside();
        if std::mem::take(&mut self.text_open) {
            output::write("\n")?;
        }
        Ok(())
    }
}
