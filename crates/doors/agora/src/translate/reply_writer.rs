//! The frames of a reply from an agent of a different door to an Agora agent.

use jackfield_kit::files::Files;
use jackfield_model::{Artifact, Ask, AskKind, Chunk, ChunkKind, Done, DoneState, Failure, Json};
use jackfield_wire::json::JsonText;

use super::{files::raw_from_files, raw_from};
use crate::wire::{
    self, AnswerContent, AnswerPayload, ErrorFrame, FramePayload, InputRequired, Opening, downlink,
};

/// Sender and ids of the frames of a reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyFrameWriter {
    /// Id of the called agent.
    pub(crate) from: String,
    /// Id of the caller's request.
    pub(crate) request_id: Option<String>,
    /// Session of the caller.
    pub(crate) session_id: Option<String>,
    /// Stream of the caller. Without one, a streamed reply uses the id of the request.
    pub(crate) stream_id: Option<String>,
}

impl ReplyFrameWriter {
    /// Returns the stream id of a reply.
    fn reply_stream(&self) -> Option<&str> {
        self.stream_id.as_deref().or(self.request_id.as_deref())
    }

    /// Returns the first frame of a streamed reply.
    pub(crate) fn opening(&self) -> String {
        let payload = FramePayload::Ids {
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

    /// Returns the frame for a [`FrameChunk`] of a streamed reply.
    pub(crate) fn chunk(&self, chunk: &Chunk) -> String {
        let chunk = wire::FrameChunk {
            text: JsonText::from(chunk.text.as_str()),
            kind: (chunk.kind != ChunkKind::Text).then(|| chunk.kind.name()),
            tool_name: chunk.tool_name.as_deref(),
            tool_call_id: chunk.tool_call_id.as_deref(),
        };
        downlink::reply_chunk(&self.from, self.reply_stream().unwrap_or_default(), chunk)
    }

    /// Returns the frame of an [`Ask`]. The stream stays open.
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

    /// Returns a `reply` without a stream. The frame names the caller's stream, because the caller may have
    /// no request id for matching.
    fn one_reply(&self, payload: &AnswerPayload<'_>) -> String {
        let opening = Opening {
            stream_id: self.stream_id.as_deref(),
            payload: Some(FramePayload::Answer(payload)),
            ..Opening::default()
        };
        downlink::reply(&self.from, &opening)
    }

    /// Returns the last frame of a reply: the end of its stream if one was `opened`, else the single `reply`.
    /// `answer` is the text not streamed before; `links` are the download links for files given as bytes.
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
        // A single reply always has an answer, even an empty one.
        let answer = answer.or((!opened).then_some(""));
        let payload = AnswerPayload {
            body: answer.map(|answer| AnswerContent {
                answer: Some(JsonText::from(answer)),
                ..AnswerContent::default()
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
        downlink::reply_end(&self.from, stream_id, Some(FramePayload::Answer(&payload)))
    }

    /// Returns the `error` frame for a [`Failure`].
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
