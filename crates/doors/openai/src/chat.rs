//! `POST /v1/chat/completions`: a live call. The response is the whole answer, or a stream of chunks; closing the connection
//! cancels the call.

mod reader;
mod stream;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::HeaderMap;
use jackfield_kit::{api::lifetime::RequestLifetime, trace};
use jackfield_model::{Failure, Reason};
use jackfield_wire::read::OpenObject;
use jiff::Timestamp;

pub(crate) use self::reader::rejected;
use self::{
    reader::{AnswerReader, ReadStep},
    stream::ChatStream,
};
use crate::{
    door::OpenAiDoor,
    failure::OpenAiError,
    helper,
    live::{LiveRequest, LiveTurn},
    serve::{BodyText, Caller, agent_of},
    session,
    translate::{Conversation, metadata_of, take_settings},
    wire::{ChatCompletion, ChatRequest, Choice, SaidMessage, TokenUsage, WaitsFor},
};

/// Fields that are the same in every piece of a completion.
#[derive(Debug)]
pub(crate) struct CompletionHead {
    id: String,
    created: i64,
    model: String,
    /// Whether a stream ends with the usage.
    includes_usage: bool,
}

impl CompletionHead {
    fn new(request: &ChatRequest<'_>) -> Self {
        Self {
            id: "chatcmpl-".to_owned(),
            created: Timestamp::now().as_second(),
            model: request.model.clone().into_owned(),
            includes_usage: request.stream_options.include_usage,
        }
    }

    fn of_call(mut self, call: impl std::fmt::Display) -> Self {
        self.id = format!("chatcmpl-{call}");
        self
    }

    /// Returns the whole completion.
    fn completion(&self, message: SaidMessage, end: AnswerEnd) -> ChatCompletion<'_> {
        ChatCompletion {
            id: &self.id,
            object: "chat.completion",
            created: self.created,
            model: &self.model,
            choices: [Choice {
                index: 0,
                message,
                logprobs: None,
                finish_reason: end.finish_reason,
            }],
            usage: end.usage,
            jackfield: end.waits_for,
        }
    }
}

/// How an answer ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerEnd {
    finish_reason: &'static str,
    usage: Option<TokenUsage>,
    waits_for: Option<WaitsFor>,
}

impl AnswerEnd {
    /// An answer that ends with a question.
    const ASKED: Self = Self {
        finish_reason: "stop",
        usage: None,
        waits_for: Some(WaitsFor::ANSWER),
    };
    /// An answer of the door itself.
    const OWN: Self = Self {
        finish_reason: "stop",
        usage: None,
        waits_for: None,
    };
}

/// Creates a chat completion.
pub(crate) async fn complete(
    State(door): State<OpenAiDoor>,
    Caller(principal): Caller,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, OpenAiError> {
    let text = BodyText::read(&door, request).await?;
    let OpenObject { known, rest } = text.parse::<OpenObject<'_, ChatRequest<'_>>>(&door)?;
    let settings = take_settings(&rest)?;
    let agent = agent_of(&door, &principal, &known.model)?;
    let conversation = Conversation::from_chat(&known.messages)?;
    let session = match session::in_headers(&headers)? {
        Some(session) => Some(session),
        None => session::of_user(known.user.as_deref())?,
    };
    let head = CompletionHead::new(&known);
    if door.answers_helpers
        && let Some(answer) = helper::answer(&conversation.last_text())
    {
        return Ok(own_answer(
            &door,
            &head.of_call("helper"),
            answer,
            known.stream,
        ));
    }
    let asked = LiveRequest {
        principal: &principal,
        agent,
        conversation: &conversation,
        session,
        metadata: metadata_of(&settings),
        headers: &headers,
    };
    let turn = LiveTurn::open(&door, &asked)?;
    let call = turn.call().id;
    let head = head.of_call(call);
    let lifetime = RequestLifetime::for_principal(&principal);
    let mut response = if known.stream {
        ChatStream::new(door.clone(), head, turn).respond(lifetime)
    } else {
        let whole = whole(&door, &head, turn);
        tokio::select! {
            response = whole => response?,
            failure = lifetime.ended() => return Err(failure.into()),
        }
    };
    trace::add_call_header(response.headers_mut(), call);
    Ok(response)
}

/// Waits for the whole answer. A client that leaves drops this, and with it the call.
async fn whole(
    door: &OpenAiDoor,
    head: &CompletionHead,
    turn: LiveTurn,
) -> Result<Response, OpenAiError> {
    let limit = door.hub.limits().message;
    let mut reader = AnswerReader::new(door.clone(), turn);
    let mut said = SaidMessage {
        role: "assistant",
        content: String::new(),
        refusal: None,
        reasoning_content: String::new(),
    };
    loop {
        match reader.next().await {
            ReadStep::Said { content, reasoning } => {
                said.content.push_str(&content);
                said.reasoning_content.push_str(&reasoning);
                if said.content.len() + said.reasoning_content.len() > limit.0 {
                    let text = format!(
                        "the answer has more than {limit}; ask for it with \"stream\": true"
                    );
                    return Err(Failure::new(Reason::TooLarge, text).into());
                }
            }
            ReadStep::Asked(text) => said.content.push_str(&text),
            ReadStep::Ended(end) => return Ok(Json(head.completion(said, end)).into_response()),
            ReadStep::Failed(failure) => return Err(failure.into()),
        }
    }
}

/// Responds with an answer of the door itself.
fn own_answer(
    door: &OpenAiDoor,
    head: &CompletionHead,
    content: String,
    is_streamed: bool,
) -> Response {
    if is_streamed {
        return stream::own_answer(door, head, &content);
    }
    let said = SaidMessage {
        role: "assistant",
        content,
        refusal: None,
        reasoning_content: String::new(),
    };
    Json(head.completion(said, AnswerEnd::OWN)).into_response()
}
