//! Renders the events of a call for a reader of the bridge's stream. Events unknown to the protocol are
//! converted: questions become `status`, text of artifacts becomes text of the answer, and their files become
//! attachments of the end.

use std::sync::Arc;

use jackfield_core::{call::Life, task::LastTurn};
use jackfield_kit::files::Files;
use jackfield_model::{
    Ask, Chunk, ChunkKind, Done, DoneState, End, Event, File, Json, Part, StreamedText,
};
use jackfield_wire::{bridge::BridgeErrorCode, json::JsonText};

use super::{code_and_text, sentences};
use crate::{
    attachment::attachment_from_file,
    wire::sse::{self, ChunkEvent, DoneEvent},
};

/// Maximum number of files collected for the end of a stream.
pub(crate) const MAX_FILES: usize = 1000;

/// Renderer of a call's events for one reader.
#[derive(Debug)]
pub(super) struct EventRenderer {
    life: Life,
    /// Text sent to the reader. An agent may repeat the text at the end, add to it there, or send all of it
    /// only there.
    streamed: StreamedText,
    /// Files of artifacts collected up to now.
    files: Vec<File>,
    links: Arc<Files>,
}

impl EventRenderer {
    pub(super) fn new(life: Life, links: Arc<Files>) -> Self {
        Self {
            life,
            streamed: StreamedText::default(),
            files: Vec::new(),
            links,
        }
    }

    /// Adds the text and files of a [`LastTurn`] whose beginning the reader missed.
    pub(super) fn catch_up(&mut self, turn: LastTurn) {
        self.streamed = turn.streamed;
        let (_, artifacts, _) = turn.transcript.into_inner();
        for artifact in artifacts {
            let (text, files) = split_parts(artifact.parts);
            self.streamed.push(&text);
            self.files.extend(files);
        }
        self.files.truncate(MAX_FILES);
    }

    /// Renders an [`Event`]; returns `None` if the stream has no counterpart.
    pub(super) fn event(&mut self, event: Event) -> Option<String> {
        match event {
            Event::Chunk(chunk) => {
                if chunk.kind == ChunkKind::Text {
                    self.streamed.push(&chunk.text);
                }
                Some(render_chunk(&chunk))
            }
            Event::Ask(Ask { text, .. }) => Some(render_chunk(&Chunk::status(text))),
            Event::Artifact(artifact) => {
                let (text, files) = split_parts(artifact.parts);
                self.files.extend(files);
                self.files.truncate(MAX_FILES);
                self.streamed.push(&text);
                (!text.is_empty()).then(|| render_chunk(&Chunk::text(text)))
            }
        }
    }

    /// Renders the [`End`]: returns the last event of the stream, and optionally one that precedes it.
    pub(super) fn end(&mut self, end: &End) -> (Option<String>, String) {
        match end {
            End::Cancelled => {
                let code = BridgeErrorCode::SessionNotFound.name();
                (None, sse::error(code, sentences::CANCELLED))
            }
            End::Failed(failure) => {
                let (code, text) = code_and_text(failure, self.life);
                (None, sse::error(code, &text))
            }
            End::Done(done) if done.state == DoneState::Rejected => (
                None,
                sse::error(
                    BridgeErrorCode::InternalError.name(),
                    &rejected(done.result.as_deref().unwrap_or_default()),
                ),
            ),
            End::Done(done) => self.done(done),
        }
    }

    fn done(&self, done: &Done) -> (Option<String>, String) {
        let files = done.attachments.iter().chain(&self.files);
        let attachments: Vec<_> = files
            .map(|file| attachment_from_file(file, &self.links))
            .collect();
        let result = done.result.as_deref().filter(|result| !result.is_empty());
        let rest = self.streamed.rest_of(result.unwrap_or_default());
        let last = sse::done(&DoneEvent {
            attachments: &attachments,
            file_transfer_offer: offer(done),
            result: result
                .filter(|_| self.life == Life::Durable)
                .map(JsonText::from),
        });
        (
            (!rest.is_empty()).then(|| render_chunk(&Chunk::text(rest))),
            last,
        )
    }
}

/// Returns the offer of a transfer between peers, as the agent wrote it.
pub(crate) fn offer(done: &Done) -> Option<&serde_json::value::RawValue> {
    done.file_transfer_offer.as_ref().map(Json::raw)
}

/// Returns the text for a request refused by the agent, with the agent's reason if given.
pub(crate) fn rejected(why: &str) -> String {
    match why {
        "" => sentences::REJECTED.to_owned(),
        why => format!("{}: {why}", sentences::REJECTED),
    }
}

fn render_chunk(chunk: &Chunk) -> String {
    sse::chunk(&ChunkEvent {
        delta: JsonText::from(chunk.text.as_str()),
        kind: (chunk.kind != ChunkKind::Text).then(|| chunk.kind.name()),
        tool_name: chunk.tool_name.as_deref(),
        tool_call_id: chunk.tool_call_id.as_deref(),
    })
}

/// Splits the [`Part`]s of an artifact into text and files.
pub(crate) fn split_parts(parts: Vec<Part>) -> (String, Vec<File>) {
    let (mut text, mut files) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(words) => text.push_str(&words),
            Part::Data(json) => text.push_str(json.get()),
            Part::File(file) => files.push(file),
        }
    }
    (text, files)
}

#[cfg(test)]
mod tests {
    use jackfield_core::limits::Limits;
    use jackfield_kit::files::FileKey;
    use jackfield_model::{Artifact, AskKind, Failure, FileSource, Reason};

    use super::*;

    fn renderer(life: Life) -> EventRenderer {
        let files = Files::new(&Limits::default());
        files.serve_at("https://hub.example", FileKey::new("key"));
        EventRenderer::new(life, Arc::new(files))
    }

    fn file(name: &str, source: FileSource) -> File {
        File {
            name: Some(name.into()),
            mime: Some("text/plain".into()),
            source,
        }
    }

    fn done(result: &str) -> Done {
        Done {
            result: Some(result.into()),
            ..Done::default()
        }
    }

    #[test]
    fn chunks_say_their_kind_unless_it_is_text() {
        let mut renderer = renderer(Life::Live);
        let tool = Chunk {
            kind: ChunkKind::ToolStart,
            tool_name: Some("Bash".into()),
            tool_call_id: Some("t1".into()),
            ..Chunk::default()
        };
        for (chunk, event) in [
            (
                Chunk::text("hé \"x\"\n"),
                r#"{"type":"chunk","delta":"hé \"x\"\n"}"#,
            ),
            (
                tool,
                r#"{"type":"chunk","delta":"","kind":"tool_start","tool_name":"Bash","tool_call_id":"t1"}"#,
            ),
            (
                Chunk::status("…"),
                r#"{"type":"chunk","delta":"…","kind":"status"}"#,
            ),
        ] {
            assert_eq!(renderer.event(Event::Chunk(chunk)).unwrap(), event);
        }
    }

    #[test]
    fn the_end_repeats_the_result_to_readers_of_kept_streams_only() {
        let end = End::Done(Box::new(done("all")));
        let mut live = renderer(Life::Live);
        live.event(Event::text("all"));
        assert_eq!(live.end(&end), (None, r#"{"type":"done"}"#.to_owned()));
        let mut kept = renderer(Life::Durable);
        kept.event(Event::text("all"));
        assert_eq!(
            kept.end(&end),
            (None, r#"{"type":"done","result":"all"}"#.to_owned())
        );
    }

    #[test]
    fn what_an_agent_says_only_at_the_end_is_told_before_it() {
        let end = End::Done(Box::new(done("all")));
        for (streamed, rest) in [
            ("", Some("all")),
            ("al", Some("l")),
            ("all", None),
            ("none", None),
        ] {
            let mut renderer = renderer(Life::Live);
            renderer.event(Event::text(streamed));
            let chunk = rest.map(|rest| format!(r#"{{"type":"chunk","delta":"{rest}"}}"#));
            assert_eq!(renderer.end(&end).0, chunk, "{streamed}");
        }
    }

    #[test]
    fn artifacts_and_questions_are_folded() {
        let mut renderer = renderer(Life::Live);
        let artifact = Artifact {
            id: "a".into(),
            name: None,
            parts: vec![
                Part::Text("words".into()),
                Part::File(file("a.txt", FileSource::Uri("https://e/a".into()))),
                Part::File(file("b.txt", FileSource::Bytes("aGk=".into()))),
            ],
            append: false,
            last: true,
            extra: None,
        };
        let told = renderer.event(Event::Artifact(artifact)).unwrap();
        assert_eq!(told, r#"{"type":"chunk","delta":"words"}"#);
        let ask = Ask {
            id: "q".into(),
            kind: AskKind::Input,
            text: "which?".into(),
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            schema: None,
        };
        let told = renderer.event(Event::Ask(ask)).unwrap();
        assert_eq!(told, r#"{"type":"chunk","delta":"which?","kind":"status"}"#);
        let (_, last) = renderer.end(&End::done());
        let start = r#"{"type":"done","attachments":[{"name":"a.txt","url":"https://e/a","type":"text/plain"},{"name":"b.txt","url":"https://hub.example/v1/files/"#;
        assert!(last.starts_with(start), "{last}");
        assert!(last.ends_with(r#"","type":"text/plain"}]}"#), "{last}");
    }

    #[test]
    fn ends_that_are_none_become_errors_with_the_codes_of_the_protocol() {
        let mut renderer = renderer(Life::Live);
        let refused = Done {
            state: DoneState::Rejected,
            ..done("not today")
        };
        for (end, code, text) in [
            (End::Cancelled, "session_not_found", "Request cancelled"),
            (
                End::Failed(Failure::agent_left()),
                "agent_offline",
                "Agent disconnected",
            ),
            (
                End::Failed(Failure::new(Reason::Crashed, "boom")),
                "adapter_crash",
                "boom",
            ),
            (
                End::Failed(Failure::new(Reason::Agent("quota".into()), "no more")),
                "quota",
                "no more",
            ),
            (
                End::Done(Box::new(refused)),
                "internal_error",
                "The agent refused the request: not today",
            ),
        ] {
            let event = format!(r#"{{"type":"error","code":"{code}","message":"{text}"}}"#);
            assert_eq!(renderer.end(&end), (None, event));
        }
    }
}
