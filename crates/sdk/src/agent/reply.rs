//! [`Reply`], a handler's output while it works on a message.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{
    ask::{CallerAnswer, CallerQuestion, OpenAsk, PendingAnswer, PendingApproval, ToolApproval},
    output::{AgentOutput, LARGEST, OutputSender, json_len},
    peer::{PeerCallBuilder, PeerDiscovery, PeerInfo},
};
use crate::{Artifact, Ask, AskKind, Chunk, ChunkKind, Done, DoneState, File, FileSource, Json};

/// Largest piece of text that is sent at once, in bytes. Fits into a frame even if every character has to be
/// escaped, with room to spare.
const PIECE: usize = 64 << 10;

/// Why a reply could not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// The call has ended.
    #[error("the call is over")]
    Over,
    /// The hub does not support this kind of output.
    #[error("this hub does not take {0}")]
    Unsupported(&'static str),
    /// The output does not fit into one frame.
    #[error("this is larger than the hub takes at once (8 MiB); send it in pieces")]
    TooLarge,
}

/// Output kinds beyond text that the transport supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OutputSupport {
    pub(crate) artifacts: bool,
    pub(crate) asks: bool,
}

/// The agent's end of a call. Methods that send output wait while too much earlier output is undelivered.
#[derive(Debug, Clone)]
pub struct Reply {
    outlet: OutputSender,
    abilities: OutputSupport,
    /// The end of the reply, sent when the handler returns.
    done: Arc<Mutex<Done>>,
    /// Count of ids given to questions and files.
    issued_ids: Arc<AtomicU64>,
}

impl Reply {
    pub(super) fn new(outlet: OutputSender, abilities: OutputSupport) -> Self {
        Self {
            outlet,
            abilities,
            done: Arc::default(),
            issued_ids: Arc::default(),
        }
    }

    /// Sends a piece of the reply's text.
    pub async fn text(&self, text: impl AsRef<str>) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::Text, text.as_ref(), None, None).await
    }

    /// Sends a piece of the agent's reasoning.
    pub async fn thinking(&self, text: impl AsRef<str>) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::Thinking, text.as_ref(), None, None)
            .await
    }

    /// Sends a status line: what the agent is doing.
    pub async fn status(&self, text: impl AsRef<str>) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::Status, text.as_ref(), None, None)
            .await
    }

    /// Starts a tool call. `call_id` links its input and result to the call.
    pub async fn tool_start(&self, name: &str, call_id: &str) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::ToolStart, "", Some(name), Some(call_id))
            .await
    }

    /// Sends input of a tool call.
    pub async fn tool_input(&self, call_id: &str, text: impl AsRef<str>) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::ToolInput, text.as_ref(), None, Some(call_id))
            .await
    }

    /// Sends the result of a tool call. Start the result of a failed call with `[error] `.
    pub async fn tool_result(
        &self,
        call_id: &str,
        text: impl AsRef<str>,
    ) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::ToolResult, text.as_ref(), None, Some(call_id))
            .await
    }

    async fn chunk(
        &self,
        kind: ChunkKind,
        text: &str,
        tool_name: Option<&str>,
        tool_call_id: Option<&str>,
    ) -> Result<(), ReplyError> {
        let (mut piece, mut rest) = split(text);
        loop {
            let chunk = Chunk {
                kind,
                text: piece.to_owned(),
                tool_name: tool_name.map(str::to_owned),
                tool_call_id: tool_call_id.map(str::to_owned),
                extra: None,
                waiting_for: None,
            };
            self.outlet.send(AgentOutput::Chunk(chunk)).await?;
            if rest.is_empty() {
                return Ok(());
            }
            (piece, rest) = split(rest);
        }
    }

    /// Sends an artifact, or a piece of one.
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), ReplyError> {
        if !self.abilities.artifacts {
            return Err(ReplyError::Unsupported("artifacts"));
        }
        if json_len(&artifact.parts) > LARGEST {
            return Err(ReplyError::TooLarge);
        }
        self.outlet.send(AgentOutput::Artifact(artifact)).await
    }

    /// Attaches a file to the reply. A file with a URL is listed at the end; a file with bytes is sent now,
    /// as an [`Artifact`].
    pub async fn attach(&self, file: File) -> Result<(), ReplyError> {
        if let FileSource::Uri(_) = file.source {
            self.done.lock().attachments.push(file);
            return Ok(());
        }
        let id = format!("file-{}", self.next_number());
        let mut artifact = Artifact::new(id).file(file.clone());
        artifact.name = file.name;
        self.artifact(artifact).await
    }

    /// Asks the caller and waits for the answer, without a time limit.
    pub async fn ask(
        &self,
        question: impl Into<CallerQuestion>,
    ) -> Result<CallerAnswer, ReplyError> {
        let CallerQuestion { text, schema } = question.into();
        let asked = self
            .send_question(AskKind::Input, text, None, None, schema)
            .await?;
        let answer = asked.answer().await?;
        Ok(CallerAnswer {
            text: answer.content.unwrap_or_default(),
            parts: answer.parts,
        })
    }

    /// Asks the agent's owner for permission to use a tool and waits for the decision.
    pub async fn approve(
        &self,
        tool: impl Into<String>,
        arguments: impl Into<Json>,
    ) -> Result<ToolApproval, ReplyError> {
        self.ask_approval(tool, arguments).await?.decided().await
    }

    /// Like [`approve`](Self::approve), but returns once the question is sent. Its id allows answering the
    /// question elsewhere while [`PendingApproval::decided`] waits.
    pub async fn ask_approval(
        &self,
        tool: impl Into<String>,
        arguments: impl Into<Json>,
    ) -> Result<PendingApproval, ReplyError> {
        let tool = tool.into();
        let text = format!("may I use {tool}?");
        let arguments = Some(arguments.into());
        self.send_question(AskKind::Approval, text, Some(tool), arguments, None)
            .await
            .map(PendingApproval::new)
    }

    async fn send_question(
        &self,
        kind: AskKind,
        text: String,
        tool_name: Option<String>,
        arguments: Option<Json>,
        schema: Option<Json>,
    ) -> Result<PendingAnswer, ReplyError> {
        if !self.abilities.asks {
            return Err(ReplyError::Unsupported("questions"));
        }
        let id = format!("ask-{}", self.next_number());
        let ask = Ask {
            id: id.clone(),
            kind,
            text,
            tool_name,
            tool_call_id: None,
            arguments,
            schema,
        };
        if json_len(&ask) > LARGEST {
            return Err(ReplyError::TooLarge);
        }
        let (sender, answer) = oneshot::channel();
        let open = OpenAsk {
            ask,
            answer: sender,
        };
        self.outlet.send(AgentOutput::Ask(open)).await?;
        Ok(PendingAnswer { id, answer })
    }

    fn next_number(&self) -> u64 {
        self.issued_ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Calls a peer agent on behalf of the current message: `reply.call_agent("bob",
    /// "hello").await?.text().await?`.
    pub fn call_agent(&self, id: impl Into<String>, text: impl Into<String>) -> PeerCallBuilder {
        PeerCallBuilder::new(self.outlet.clone(), id.into(), text.into())
    }

    /// Lists the agents that this agent may see, at most 200. With `skill`, lists only agents with that
    /// skill.
    pub async fn discover(&self, skill: Option<&str>) -> Result<Vec<PeerInfo>, ReplyError> {
        let (found, peers) = oneshot::channel();
        let looking = PeerDiscovery {
            skill: skill.map(str::to_owned),
            found,
        };
        self.outlet.send(AgentOutput::Discover(looking)).await?;
        peers.await.map_err(|_| ReplyError::Over)
    }

    /// Sets the whole reply, for callers that want one text at the end. A streaming caller receives the part
    /// beyond the text that was streamed; see [`StreamedText`](crate::StreamedText).
    pub fn result(&self, text: impl Into<String>) {
        self.done.lock().result = Some(text.into());
    }

    /// Sets the usage (cost) of the reply, in the agent's own terms.
    pub fn usage(&self, usage: impl Into<Json>) {
        self.done.lock().usage = Some(usage.into());
    }

    /// Sets the reason why the model stopped.
    pub fn stop_reason(&self, reason: impl Into<String>) {
        self.done.lock().stop_reason = Some(reason.into());
    }

    /// Offers an archive ([`Offer`](crate::Offer)) that the caller may fetch after the reply. Signals of the
    /// caller about the transfer arrive at [`Agent::on_signal`](crate::Agent::on_signal). Agents without
    /// signals (in a hub of the same process, and over A2A) offer nothing: the offer is dropped.
    pub fn offer_files(&self, offer: impl Into<Json>) {
        self.done.lock().file_transfer_offer = Some(offer.into());
    }

    /// Leaves the task waiting for a further message when the handler returns. The text sent so far is the
    /// question.
    pub fn input_required(&self) {
        self.set_state(DoneState::InputRequired, false, false);
    }

    /// Like [`input_required`](Self::input_required), but the agent waits for credentials. Protocols that
    /// distinguish the two cases tell the caller.
    pub fn auth_required(&self) {
        self.set_state(DoneState::InputRequired, true, false);
    }

    /// Rejects the message when the handler returns. The text sent so far is the reason.
    pub fn rejected(&self) {
        self.set_state(DoneState::Rejected, false, false);
    }

    /// Marks the reply as a bare message without a task. Callers whose protocol distinguishes the two receive
    /// a message and no task; for all other callers the call is completed.
    pub fn bare_message(&self) {
        self.set_state(DoneState::Completed, false, true);
    }

    /// Sets the state in which the agent leaves its task. Replaces an earlier state.
    fn set_state(&self, state: DoneState, needs_auth: bool, is_message: bool) {
        let mut done = self.done.lock();
        (done.state, done.needs_auth, done.is_message) = (state, needs_auth, is_message);
    }

    /// Forwards output of a member agent that works for this agent.
    pub(crate) async fn forward(&self, output: AgentOutput) -> Result<(), ReplyError> {
        self.outlet.send(output).await
    }

    /// Returns the output kinds that the transport supports.
    pub(crate) fn abilities(&self) -> OutputSupport {
        self.abilities
    }

    /// Ends the reply in the same way as a member's reply. Keeps earlier attachments.
    pub(crate) fn end_like(&self, other: Done) {
        let mut done = self.done.lock();
        let mut attachments = std::mem::take(&mut done.attachments);
        attachments.extend(other.attachments);
        *done = Done {
            attachments,
            ..other
        };
    }

    pub(super) fn done(&self) -> Done {
        self.done.lock().clone()
    }
}

/// Splits `text` into the piece to send now and the rest.
fn split(text: &str) -> (&str, &str) {
    if text.len() <= PIECE {
        return (text, "");
    }
    text.split_at(text.floor_char_boundary(PIECE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = format!("x{}", "\u{f6}".repeat(PIECE));
        let (mut whole, mut rest) = (String::new(), text.as_str());
        while !rest.is_empty() {
            let (piece, after) = split(rest);
            assert!(!piece.is_empty() && piece.len() <= PIECE);
            whole.push_str(piece);
            rest = after;
        }
        assert_eq!(whole, text);
        assert_eq!(split(""), ("", ""));
    }
}
