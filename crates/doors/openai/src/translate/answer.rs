//! The end of an answer: what was not streamed, the artifacts, and links to files.

use jackfield_kit::files::Files;
use jackfield_model::{Artifact, Done, File, Json, Part, StreamedText, Transcript};
use serde_json::Value;

use crate::wire::TokenUsage;

/// Adds up what of an answer its streamed text does not have.
#[derive(Debug)]
pub(crate) struct AnswerRest {
    streamed: StreamedText,
    /// The text of the [`Transcript`] stays empty.
    artifacts: Transcript,
}

impl AnswerRest {
    /// Creates the rest of an answer, with at most `limit` bytes of artifacts.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            streamed: StreamedText::default(),
            artifacts: Transcript::new(limit),
        }
    }

    /// Adds streamed text.
    pub(crate) fn push(&mut self, text: &str) {
        self.streamed.push(text);
    }

    /// Adds an artifact or a piece of one. One that does not fit is left out, as is said at the end.
    pub(crate) fn artifact(&mut self, artifact: Artifact) {
        // The transcript remembers that something is missing.
        drop(self.artifacts.add_artifact(artifact));
    }

    /// Returns the text after the streamed text. Files become links.
    pub(crate) fn end(self, done: &Done, files: &Files) -> String {
        let result = done.result.as_deref().unwrap_or_default();
        let mut text = self.streamed.rest_of(result).to_owned();
        let mut has_text = !self.streamed.is_empty() || !text.is_empty();
        let mut add = |piece: &str| {
            if has_text {
                text.push_str("\n\n");
            }
            has_text = true;
            text.push_str(piece);
        };
        let is_short = self.artifacts.is_truncated();
        let (_, artifacts, _) = self.artifacts.into_inner();
        for part in artifacts.iter().flat_map(|made| &made.parts) {
            match part {
                Part::Text(words) if words.is_empty() => {}
                Part::Text(words) => add(words),
                Part::Data(json) => add(&format!("```json\n{}\n```", json.get())),
                Part::File(file) => add(&link(file, files)),
            }
        }
        for file in &done.attachments {
            add(&link(file, files));
        }
        if is_short {
            add("(Some results of the agent are too large to be shown here.)");
        }
        text
    }
}

/// Returns a Markdown link to a file; an image is shown.
fn link(file: &File, files: &Files) -> String {
    let is_image = |mime: &str| mime.starts_with("image/");
    let mark = if file.mime.as_deref().is_some_and(is_image) {
        "!"
    } else {
        ""
    };
    // Letters that would end the link's text, or its address, early.
    let name = file.name.as_deref().unwrap_or("file");
    let name = name.replace(['[', ']', '\\', '\n', '\r'], " ");
    let url = files.url(file).replace(' ', "%20");
    let url = url.replace('(', "%28").replace(')', "%29");
    format!("{mark}[{name}]({url})")
}

/// Returns the tokens that an agent tells, under the names of OpenAI's APIs; zeros for what it does not tell.
pub(crate) fn usage_of(usage: Option<&Json>) -> Option<TokenUsage> {
    let usage = usage?.to_value();
    let count = |names: [&str; 2]| {
        let mut told = names.iter().filter_map(|name| usage.get(name));
        told.find_map(Value::as_u64)
    };
    let prompt = count(["prompt_tokens", "input_tokens"]);
    let completion = count(["completion_tokens", "output_tokens"]);
    let total = count(["total_tokens", "total_tokens"]);
    prompt.or(completion).or(total)?;
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: total.unwrap_or(prompt.saturating_add(completion)),
    })
}
