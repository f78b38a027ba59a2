//! What came of a kept relay, for its status and its callback.

use jackfield_core::{
    call::Life,
    files::Files,
    store::{TaskRecord, TaskState},
    task::LastTurn,
};
use jackfield_model::{Done, DoneState, End, File, Transcript};
use jackfield_wire::bridge::{Attachment, ErrorCode};
use serde_json::value::RawValue;

use super::{
    teller::{offer, rejected, unfold},
    told, words,
};
use crate::attachment::attachment_from_file;

/// What came of a kept relay.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// How long it took.
    pub(crate) duration_ms: u64,
    /// The answer, or the code and the words of what went wrong.
    pub(crate) result: Result<Answered, (String, String)>,
}

/// An answer in one piece.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// The words.
    pub(crate) text: String,
    files: Vec<File>,
    done: Done,
}

impl From<Transcript> for Answered {
    /// The bridge has no artifacts: their text follows the answer, and their files are attachments.
    fn from(transcript: Transcript) -> Self {
        let (mut text, artifacts, done) = transcript.into_inner();
        let mut files = Vec::new();
        for artifact in artifacts {
            let (more, of_artifact) = unfold(artifact.parts);
            // Some agents say the same in their artifact and at the end.
            if !text.contains(&more) {
                text.push_str(&more);
            }
            files.extend(of_artifact);
        }
        Self { text, files, done }
    }
}

impl Answered {
    /// The files that the agent made; `links` are for those that are bytes.
    pub(crate) fn attachments(&self, links: &Files) -> Vec<Attachment<'_>> {
        let files = self.done.attachments.iter().chain(&self.files);
        files
            .map(|file| attachment_from_file(file, links))
            .collect()
    }

    /// The offer of a transfer between peers.
    pub(crate) fn offer(&self) -> Option<&RawValue> {
        offer(&self.done)
    }
}

impl Outcome {
    /// Of a task that is over, by its record and as much of its log as there is.
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

fn result_of(record: &TaskRecord, turn: LastTurn) -> Result<Answered, (String, String)> {
    let failed = |failure| {
        let (code, text) = told(failure, Life::Durable);
        Err((code.to_owned(), text))
    };
    let ours = |code: ErrorCode, text: String| Err((code.name().to_owned(), text));
    let cancelled = || ours(ErrorCode::SessionNotFound, words::CANCELLED.to_owned());
    let refused = |text| ours(ErrorCode::InternalError, text);
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
            let mut answered = Answered::from(turn.transcript);
            // By the protocol, an agent's result is the full text of its answer.
            if let Some(result) = done.result.filter(|result| !result.is_empty()) {
                answered.text = result;
            }
            Ok(answered)
        }
        // Nothing of it was kept but how it ended.
        None => match record.state {
            TaskState::Cancelled => cancelled(),
            TaskState::Rejected => refused(words::REJECTED.to_owned()),
            TaskState::Failed
            | TaskState::Submitted
            | TaskState::Working
            | TaskState::InputRequired
            | TaskState::Completed => Ok(Answered::default()),
        },
    }
}
