//! Where a reply is written: the text to standard output, everything else dimmed to standard error. Keeps the two
//! apart on a terminal, where both go to the same lines.

use std::io::{self, IsTerminal};

use jackfield_connect::notes;
use jackfield_sdk::{Artifact, Chunk, ChunkKind, Done, FileSource, Part, StreamedText};

use crate::output::{self, Style, clean, clean_lines};

/// The page a reply is written on.
#[derive(Debug)]
pub(crate) struct Page {
    /// Whether the last line of the text has no end yet.
    text_open: bool,
    /// What kind of thing stands on an open line besides the text.
    aside_open: Option<ChunkKind>,
    /// The text of the current turn, to which the result at its end may add something.
    streamed: StreamedText,
    shows_asides: bool,
    /// What is read by a program gets the text as it is.
    is_terminal: bool,
    style: Style,
}

impl Page {
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
            // Whoever waits for files should know that some do not come.
            ChunkKind::Status if notes::is_note(&chunk.text) => self.note(&clean(&chunk.text)),
            ChunkKind::Status => self.aside_line(&chunk.text),
        }
    }

    /// More of the text.
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

    /// More of something besides the text; it begins on a line of its own.
    fn aside(&mut self, kind: ChunkKind, mark: &str, text: &str) -> io::Result<()> {
        if !self.shows_asides || text.is_empty() {
            return Ok(());
        }
        if self.aside_open != Some(kind) {
            self.make_room()?;
            output::murmur(&self.style.dim(mark));
        }
        output::murmur(&self.style.dim(&clean_lines(text)));
        self.aside_open = Some(kind);
        Ok(())
    }

    /// A line besides the text.
    pub(crate) fn aside_line(&mut self, text: &str) -> io::Result<()> {
        if self.shows_asides && !text.trim().is_empty() {
            self.note(&self.style.dim(clean(text).trim_end()))?;
        }
        Ok(())
    }

    /// A line that everybody should see.
    fn note(&mut self, text: &str) -> io::Result<()> {
        self.make_room()?;
        output::chat(text);
        Ok(())
    }

    /// Writes the text of an artifact. Its files and data are only named, with `how` to get them.
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
        self.note("(some of the answer is no longer kept)")
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
            output::murmur("\n");
        }
    }

    /// What follows begins on a line of its own; where the text goes elsewhere, its line stays as it is.
    pub(super) fn make_room(&mut self) -> io::Result<()> {
        self.end_aside();
        if self.is_terminal {
            self.end()?;
        }
        Ok(())
    }

    /// Ends the lines that stand there.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.end_aside();
        if std::mem::take(&mut self.text_open) {
            output::write("\n")?;
        }
        Ok(())
    }
}
