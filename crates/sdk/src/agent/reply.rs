//! The agent's end of a call: what it can say while it works on a message.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{
    ask::{Answer, Approval, OpenAsk, Pending, PendingApproval, Question},
    output::{LARGEST, Outlet, Output, json_len},
    peer::{Looking, Peer, PeerCallBuilder},
};
use crate::{Artifact, Ask, AskKind, Chunk, ChunkKind, Done, DoneState, File, FileSource, Json};

/// How much text goes out at once: what the hub takes even if every character has to be escaped, with room to spare.
const PIECE: usize = 64 << 10;

/// Why something could not be said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// Nobody listens any more.
    #[error("the call is over")]
    Over,
    /// The hub cannot carry it.
    #[error("this hub does not take {0}")]
    Unsupported(&'static str),
    /// It does not fit into one frame.
    #[error("this is larger than the hub takes at once (8 MiB); send it in pieces")]
    TooLarge,
}

/// What whoever carries the replies can carry beyond text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Abilities {
    pub(crate) artifacts: bool,
    pub(crate) asks: bool,
}

/// The agent's end of a call. Each method waits while what was said before does not arrive.
#[derive(Debug, Clone)]
pub struct Reply {
    outlet: Outlet,
    abilities: Abilities,
    /// What is said at the end.
    done: Arc<Mutex<Done>>,
    /// How many ids it has given to questions and files.
    named: Arc<AtomicU64>,
}

impl Reply {
    pub(super) fn new(outlet: Outlet, abilities: Abilities) -> Self {
        Self {
            outlet,
            abilities,
            done: Arc::default(),
            named: Arc::default(),
        }
    }

    /// Says a piece of the answer.
    pub async fn text(&self, text: impl AsRef<str>) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::Text, text.as_ref(), None, None).await
    }

    /// Shows the agent's reasoning.
    pub async fn thinking(&self, text: impl AsRef<str>) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::Thinking, text.as_ref(), None, None)
            .await
    }

    /// Says what the agent is doing.
    pub async fn status(&self, text: impl AsRef<str>) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::Status, text.as_ref(), None, None)
            .await
    }

    /// A tool call begins; `call_id` joins what follows to it.
    pub async fn tool_start(&self, name: &str, call_id: &str) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::ToolStart, "", Some(name), Some(call_id))
            .await
    }

    /// Input of a tool call.
    pub async fn tool_input(&self, call_id: &str, text: impl AsRef<str>) -> Result<(), ReplyError> {
        self.chunk(ChunkKind::ToolInput, text.as_ref(), None, Some(call_id))
            .await
    }

    /// Result of a tool call. That of one that failed begins with `[error] `.
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
            self.outlet.say(Output::Chunk(chunk)).await?;
            if rest.is_empty() {
                return Ok(());
            }
            (piece, rest) = split(rest);
        }
    }

    /// Hands over an artifact, or a piece of one.
    pub async fn artifact(&self, artifact: Artifact) -> Result<(), ReplyError> {
        if !self.abilities.artifacts {
            return Err(ReplyError::Unsupported("artifacts"));
        }
        if json_len(&artifact.parts) > LARGEST {
            return Err(ReplyError::TooLarge);
        }
        self.outlet.say(Output::Artifact(artifact)).await
    }

    /// Sends a file along with the answer: by its address at the end, with its bytes as an artifact now.
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

    /// Asks the caller and waits for the answer, however long that takes.
    pub async fn ask(&self, question: impl Into<Question>) -> Result<Answer, ReplyError> {
        let Question { text, schema } = question.into();
        let asked = self.put(AskKind::Input, text, None, None, schema).await?;
        let answer = asked.answer().await?;
        Ok(Answer {
            text: answer.content.unwrap_or_default(),
            parts: answer.parts,
        })
    }

    /// Asks the owner of the agent whether it may use a tool, and waits for the decision.
    pub async fn approve(
        &self,
        tool: impl Into<String>,
        arguments: impl Into<Json>,
    ) -> Result<Approval, ReplyError> {
        self.ask_approval(tool, arguments).await?.decided().await
    }

    /// As [`approve`](Self::approve), but only asks: the question has a name by which it can also be answered elsewhere
    /// while the decision is awaited.
    pub async fn ask_approval(
        &self,
        tool: impl Into<String>,
        arguments: impl Into<Json>,
    ) -> Result<PendingApproval, ReplyError> {
        let tool = tool.into();
        let text = format!("may I use {tool}?");
        let arguments = Some(arguments.into());
        self.put(AskKind::Approval, text, Some(tool), arguments, None)
            .await
            .map(PendingApproval::new)
    }

    async fn put(
        &self,
        kind: AskKind,
        text: String,
        tool_name: Option<String>,
        arguments: Option<Json>,
        schema: Option<Json>,
    ) -> Result<Pending, ReplyError> {
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
        self.outlet.say(Output::Ask(open)).await?;
        Ok(Pending { id, answer })
    }

    fn next_number(&self) -> u64 {
        self.named.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Calls another agent on behalf of the message at hand: `reply.call_agent("bob", "hello").await?.text().await?`.
    pub fn call_agent(&self, id: impl Into<String>, text: impl Into<String>) -> PeerCallBuilder {
        PeerCallBuilder::new(self.outlet.clone(), id.into(), text.into())
    }

    /// The agents that this one may see, at most 200, only those with a skill if one is named.
    pub async fn discover(&self, skill: Option<&str>) -> Result<Vec<Peer>, ReplyError> {
        let (found, peers) = oneshot::channel();
        let looking = Looking {
            skill: skill.map(str::to_owned),
            found,
        };
        self.outlet.say(Output::Discover(looking)).await?;
        peers.await.map_err(|_| ReplyError::Over)
    }

    /// Sets the whole answer, for callers that want it at the end. A caller of a stream gets what it says beyond the text that
    /// was streamed; see [`StreamedText`](crate::StreamedText).
    pub fn result(&self, text: impl Into<String>) {
        self.done.lock().result = Some(text.into());
    }

    /// Says what the answer cost, in the agent's own terms.
    pub fn usage(&self, usage: impl Into<Json>) {
        self.done.lock().usage = Some(usage.into());
    }

    /// Says why the model stopped.
    pub fn stop_reason(&self, reason: impl Into<String>) {
        self.done.lock().stop_reason = Some(reason.into());
    }

    /// Offers an archive, which the caller may fetch once the answer is there: an [`Offer`](crate::Offer). What the caller
    /// then says about it comes to [`Agent::on_signal`](crate::Agent::on_signal). Where that hears nothing, in a hub of the same
    /// process and over A2A, nothing is offered either.
    pub fn offer_files(&self, offer: impl Into<Json>) {
        self.done.lock().file_transfer_offer = Some(offer.into());
    }

    /// The agent will wait for another message of the same task when the handler returns. What it said is the question.
    pub fn input_required(&self) {
        self.set_state(DoneState::InputRequired, false, false);
    }

    /// As [`input_required`](Self::input_required), and what it waits for are credentials: a caller whose protocol can tell
    /// the two apart is told so.
    pub fn auth_required(&self) {
        self.set_state(DoneState::InputRequired, true, false);
    }

    /// The agent will not do it, as is told when the handler returns. What it said is the reason.
    pub fn rejected(&self) {
        self.set_state(DoneState::Rejected, false, false);
    }

    /// What the agent said is a word in passing and no work: a caller whose protocol can tell the two apart gets a
    /// message and no task. For all others the call is completed.
    pub fn bare_message(&self) {
        self.set_state(DoneState::Completed, false, true);
    }

    /// Sets the state in which the agent leaves its task, instead of the one that was set before.
    fn set_state(&self, state: DoneState, needs_auth: bool, is_message: bool) {
        let mut done = self.done.lock();
        (done.state, done.needs_auth, done.is_message) = (state, needs_auth, is_message);
    }

    /// Passes on what somebody says who works for this agent.
    pub(crate) async fn pass_on(&self, output: Output) -> Result<(), ReplyError> {
        self.outlet.say(output).await
    }

    /// What whoever carries it can carry.
    pub(crate) fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// Ends as somebody ended who works for this agent. What was attached stays.
    pub(crate) fn close_like(&self, other: Done) {
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

/// What goes out at once, and the rest.
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
