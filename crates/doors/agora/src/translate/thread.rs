//! The frames of a reply that an agent of another door gives to an Agora agent.

use jackfield_core::files::Files;
use jackfield_model::{Artifact, Ask, AskKind, Chunk, ChunkKind, Done, DoneState, Failure, Json};
use jackfield_wire::json::Text;

use super::{files::raw_from_files, raw_from};
use crate::wire::{
    self, AnswerBody, AnswerPayload, ErrorFrame, InputRequired, Opening, Payload, downlink,
};

/// Whom the frames of a reply are from, and what they are matched by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Thread {
    /// The agent that was called.
    pub(crate) from: String,
    /// The caller's id of the request.
    pub(crate) request_id: Option<String>,
    /// The caller's conversation.
    pub(crate) session_id: Option<String>,
    /// The caller's stream. A caller that has none gets a streamed reply under the id of its request.
    pub(crate) stream_id: Option<String>,
}

impl Thread {
    /// The stream of a reply.
    fn reply_stream(&self) -> Option<&str> {
        self.stream_id.as_deref().or(self.request_id.as_deref())
    }

    /// The frame that begins a streamed reply.
    pub(crate) fn opening(&self) -> String {
        let payload = Payload::Ids {
            request_id: self.request_id.as_deref(),
            session_id: self.session_id.as_deref(),
        };
        let opening = Opening {
            stream_id: self.reply_stream(),
            stream: true,
            payload: Some(payload),
            ..Opening::default()
        };
        downlink::reply(&self.from, &opening)
    }

    /// A piece of a streamed reply.
    pub(crate) fn chunk(&self, chunk: &Chunk) -> String {
        let chunk = wire::Chunk {
            text: Text::from(chunk.text.as_str()),
            kind: (chunk.kind != ChunkKind::Text).then(|| chunk.kind.name()),
            tool_name: chunk.tool_name.as_deref(),
            tool_call_id: chunk.tool_call_id.as_deref(),
        };
        downlink::reply_chunk(&self.from, self.reply_stream().unwrap_or_default(), chunk)
    }

    /// A question: it says what is wanted, and the stream stays open.
    pub(crate) fn ask(&self, ask: &Ask) -> String {
        let kind = match ask.kind {
            AskKind::Input => "input",
            AskKind::Approval => "approval",
        };
        let input_required = InputRequired {
            id: Some(ask.id.clone()),
            kind: Some(kind.to_owned()),
            text: ask.text.clone(),
            schema: ask.schema.as_ref().map(|json| json.raw().to_owned()),
            tool: ask.tool_name.clone(),
        };
        let payload = AnswerPayload {
            request_id: self.request_id.as_deref(),
            session_id: self.session_id.as_deref(),
            input_required: Some(&input_required),
            ..AnswerPayload::default()
        };
        self.one_reply(&payload)
    }

    /// A `reply` that is no stream. It names the caller's, which may have no request to match it by.
    fn one_reply(&self, payload: &AnswerPayload<'_>) -> String {
        let opening = Opening {
            stream_id: self.stream_id.as_deref(),
            payload: Some(Payload::Answer(payload)),
            ..Opening::default()
        };
        downlink::reply(&self.from, &opening)
    }

    /// The end of a reply: of its stream if one was `opened`, else the one `reply`. `answer` is the text that was not
    /// streamed; `links` are for files that are bytes.
    pub(crate) fn done(
        &self,
        done: &Done,
        answer: Option<&str>,
        artifacts: &[Artifact],
        links: &Files,
        opened: bool,
    ) -> String {
        let state = match done.state {
            DoneState::Completed => None,
            DoneState::InputRequired => Some("input_required"),
            DoneState::Rejected => Some("rejected"),
        };
        let artifacts = raw_from(artifacts);
        let attachments = raw_from_files(&done.attachments, links);
        // One reply always has an answer, be it empty.
        let answer = answer.or((!opened).then_some(""));
        let payload = AnswerPayload {
            body: answer.map(|answer| AnswerBody {
                answer: Some(Text::from(answer)),
                ..AnswerBody::default()
            }),
            request_id: self.request_id.as_deref(),
            session_id: self.session_id.as_deref(),
            state,
            attachments: attachments.as_deref(),
            artifacts: artifacts.as_deref(),
            usage: done.usage.as_ref().map(Json::raw),
            stop_reason: done.stop_reason.as_deref(),
            ..AnswerPayload::default()
        };
        if !opened {
            return self.one_reply(&payload);
        }
        let stream_id = self.reply_stream().unwrap_or_default();
        downlink::reply_end(&self.from, stream_id, Some(Payload::Answer(&payload)))
    }

    /// The failure of a reply.
    pub(crate) fn failed(&self, failure: &Failure) -> String {
        downlink::error(&ErrorFrame {
            from: Some(self.from.as_str().into()),
            to: Some(self.from.as_str().into()),
            stream_id: self.reply_stream().map(Into::into),
            request_id: self.request_id.as_deref().map(Into::into),
            ..ErrorFrame::new(failure.reason.name(), &failure.text)
        })
    }
}
