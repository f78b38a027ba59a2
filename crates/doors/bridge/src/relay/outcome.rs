//! The result of a durable relay, for its status and its callback.

use jackfield_core::{
    call::Life,
    store::{TaskRecord, TaskState},
    task::LastTurn,
};
use jackfield_kit::files::Files;
use jackfield_model::{Done, DoneState, End, File, StreamedText, Transcript};
use jackfield_wire::bridge::{Attachment, BridgeErrorCode};
use serde_json::value::RawValue;

use super::{
    code_and_text,
    renderer::{offer, rejected, split_parts},
    sentences,
};
use crate::attachment::attachment_from_file;

/// The result of a durable relay.
#[derive(Debug)]
pub(crate) struct RelayOutcome {
    /// Duration in milliseconds.
    pub(crate) duration_ms: u64,
    /// Answer, or the code and the text of the error.
    pub(crate) result: Result<CompleteAnswer, (String, String)>,
}

/// A complete answer.
#[derive(Debug, Default)]
pub(crate) struct CompleteAnswer {
    /// Text of the answer.
    pub(crate) text: String,
    files: Vec<File>,
    done: Done,
}

impl CompleteAnswer {
    /// Converts a reply and the agent's `result`, which by the protocol is the full text of its answer. The
    /// bridge has no artifacts: their text follows the answer, unless the result repeats it after the
    /// `streamed` text. Their files become attachments.
    fn new(transcript: Transcript, mut streamed: StreamedText, result: Option<String>) -> Self {
        let (text, artifacts, done) = transcript.into_inner();
        let (mut of_artifacts, mut files) = (String::new(), Vec::new());
        for artifact in artifacts {
            let (more, of_artifact) = split_parts(artifact.parts);
            of_artifacts.push_str(&more);
            files.extend(of_artifact);
        }
        streamed.push(&of_artifacts);
        let text = match result.filter(|result| !result.is_empty()) {
            Some(result) if streamed.continued_by(&result).is_some() => result,
            Some(result) => result + &of_artifacts,
            None => text + &of_artifacts,
        };
        Self { text, files, done }
    }

    /// Returns the files of the answer; `links` provides URLs for files given as bytes.
    pub(crate) fn attachments(&self, links: &Files) -> Vec<Attachment<'_>> {
        let files = self.done.attachments.iter().chain(&self.files);
        files
            .map(|file| attachment_from_file(file, links))
            .collect()
    }

    /// Returns the offer of a transfer between peers.
    pub(crate) fn offer(&self) -> Option<&RawValue> {
        offer(&self.done)
    }
}

impl RelayOutcome {
    /// Reads the result of a finished task from its [`TaskRecord`] and the available part of its log.
    pub(crate) fn of(record: &TaskRecord, turn: LastTurn) -> Self {
        let took = record
            .updated_at
            .duration_since(record.created_at)
            .as_millis();
        Self {
            duration_ms: u64::try_from(took).unwrap_or(0),
            result: result_of(record, turn),
        }
    }
}

fn result_of(record: &TaskRecord, turn: LastTurn) -> Result<CompleteAnswer, (String, String)> {
    let failed = |failure| {
        let (code, text) = code_and_text(failure, Life::Durable);
        Err((code.to_owned(), text))
    };
    let ours = |code: BridgeErrorCode, text: String| Err((code.name().to_owned(), text));
    let cancelled = || {
        ours(
            BridgeErrorCode::SessionNotFound,
            sentences::CANCELLED.to_owned(),
        )
    };
    let refused = |text| ours(BridgeErrorCode::InternalError, text);
    if let Some(failure) = &record.failure {
        return failed(failure);
    }
    match turn.end {
        Some(End::Failed(failure)) => failed(&failure),
        Some(End::Cancelled) => cancelled(),
        Some(End::Done(done)) if done.state == DoneState::Rejected => {
            refused(rejected(turn.transcript.text()))
        }
        Some(End::Done(done)) => {
            let (transcript, streamed) = (turn.transcript, turn.streamed);
            Ok(CompleteAnswer::new(transcript, streamed, done.result))
        }
        // Only the final state was stored.
        None => match record.state {
            TaskState::Cancelled => cancelled(),
            TaskState::Rejected => refused(sentences::REJECTED.to_owned()),
            TaskState::Failed => ours(BridgeErrorCode::InternalError, sentences::FAILED.to_owned()),
            TaskState::Submitted
            | TaskState::Working
            | TaskState::InputRequired
            | TaskState::Completed => Ok(CompleteAnswer::default()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jackfield_core::{limits::Limits, store::LogItem};
    use jackfield_model::{AgentId, Artifact, CallId, Event, RequestId, SessionId, TaskId};
    use jiff::Timestamp;
    use serde_json::Value;

    use super::{super::renderer::EventRenderer, *};

    fn record(state: TaskState) -> TaskRecord {
        let call = CallId::new();
        TaskRecord {
            id: TaskId::from(call),
            call,
            principal: "ann".into(),
            token: None,
            caller: "ann".into(),
            door: "bridge".into(),
            agent: AgentId::parse("bob").unwrap(),
            session: SessionId::parse("s").unwrap(),
            request: RequestId::parse("r").unwrap(),
            parent: None,
            state,
            needs_auth: false,
            sent: true,
            sent_at: None,
            cancelling: false,
            handle: None,
            epoch: 0,
            log_end: 0,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            wait_until: None,
            failure: None,
            callback: None,
            followers: Vec::new(),
            once: None,
            unread: None,
            context: Default::default(),
        }
    }

    #[test]
    fn a_task_of_which_only_the_state_is_known_succeeds_only_if_it_completed() {
        for (state, code) in [
            (TaskState::Completed, None),
            (TaskState::Failed, Some("internal_error")),
            (TaskState::Rejected, Some("internal_error")),
            (TaskState::Cancelled, Some("session_not_found")),
        ] {
            let turn = LastTurn::from_items(Vec::new(), 1024);
            let outcome = RelayOutcome::of(&record(state), turn);
            let told = outcome.result.err().map(|(code, _)| code);
            assert_eq!(told.as_deref(), code, "{state:?}");
        }
    }

    /// Text of a stream of these events.
    fn streamed(events: &[Event], end: &End) -> String {
        let files = Arc::new(Files::new(&Limits::default()));
        let mut renderer = EventRenderer::new(Life::Durable, files);
        let mut sent: Vec<_> = events
            .iter()
            .filter_map(|event| renderer.event(event.clone()))
            .collect();
        sent.extend(renderer.end(end).0);
        let delta = |chunk: String| {
            let chunk: Value = serde_json::from_str(&chunk).unwrap();
            chunk["delta"].as_str().unwrap().to_owned()
        };
        sent.into_iter().map(delta).collect()
    }

    #[test]
    fn the_answer_has_the_text_of_artifacts_as_the_stream_does() {
        for (text, result, wanted) in [
            ("the report: ", None, "the report: report"),
            ("see: ", Some("see: "), "see: report"),
            ("see: ", Some("see: report"), "see: report"),
            ("see: ", Some("see: report!"), "see: report!"),
            ("", Some("report"), "report"),
            ("", None, "report"),
        ] {
            let events = [
                Event::text(text),
                Event::Artifact(Artifact::new("a").text("report")),
            ];
            let end = End::Done(Box::new(Done {
                result: result.map(str::to_owned),
                ..Done::default()
            }));
            let case = format!("{text:?}, then {result:?}");
            assert_eq!(streamed(&events, &end), wanted, "{case}");
            let log = events.into_iter().map(LogItem::Event);
            let log = log.chain([LogItem::End(end)]).collect();
            let turn = LastTurn::from_items(log, 1024);
            let outcome = RelayOutcome::of(&record(TaskState::Completed), turn);
            assert_eq!(outcome.result.unwrap().text, wanted, "{case}");
        }
    }
}
