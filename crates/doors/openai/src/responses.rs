//! `/v1/responses`. A response that the hub stores is a durable task, or a part of one ([`id::ResponseId`]): it can be read
//! again, resumed from any event, cancelled, and continued. A response with `"store": false` is a live call.

mod begin;
mod builder;
mod head;
mod id;
mod items;
mod lookup;
mod numbers;
mod stored;
mod stored_input;
mod stream;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::HeaderMap;
use jackfield_core::principal::Principal;
use jackfield_kit::{api::lifetime::RequestLifetime, trace};
use jackfield_model::{CallId, Json as RawJson, Reason};
use jackfield_wire::read::OpenObject;
use jiff::Timestamp;
use serde_json::value::RawValue;

pub(crate) use self::lookup::{cancel, input_items, show};
use self::{
    begin::{BegunResponse, StoredRequest, find_previous},
    builder::{ResponseBasis, ResponseBuilder},
    head::ResponseHead,
    stored::{basis, subscribe},
    stream::ResponseReader,
};
use crate::{
    door::OpenAiDoor,
    failure::OpenAiError,
    live::{LiveRequest, LiveTurn},
    serve::{BodyText, Caller, agent_of},
    session,
    translate::{Conversation, metadata_of, take_settings},
    wire::{RequestInput, ResponsesRequest},
};

/// Creates a response.
pub(crate) async fn create(
    State(door): State<OpenAiDoor>,
    Caller(principal): Caller,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, OpenAiError> {
    let text = BodyText::read(&door, request).await?;
    let OpenObject { known, rest } = text.parse::<OpenObject<'_, ResponsesRequest<'_>>>(&door)?;
    let mut settings = take_settings(&rest)?;
    let agent = agent_of(&door, &principal, &known.model)?;
    let is_stored = known.store.unwrap_or(true);
    if known.background && !is_stored {
        let text = "field \"background\": a response in the background is stored; leave out \"store\": false";
        return Err(OpenAiError::field(Reason::Invalid, "background", text));
    }
    let input = RequestInput::read(known.input).map_err(|error| error.within("input"))?;
    let conversation = Conversation::from_input(input, known.instructions.as_deref())?;
    let head = head(&known)?;
    if let Some(metadata) = &head.metadata {
        settings.insert("metadata".to_owned(), metadata.to_value());
    }
    let metadata = metadata_of(&settings);
    let previous = match known.previous_response_id.as_deref() {
        Some(id) => Some(find_previous(&door, &principal, &agent, id).await?),
        None => None,
    };
    let session = match session::in_headers(&headers)? {
        Some(session) => Some(session),
        None if previous.is_some() => None,
        None => session::of_user(known.user.as_deref())?,
    };
    if !is_stored {
        let asked = LiveRequest {
            principal: &principal,
            agent,
            conversation: &conversation,
            session: session.or_else(|| Some(previous.as_ref()?.record.session.clone())),
            metadata,
            headers: &headers,
        };
        let turn = LiveTurn::open(&door, &asked)?;
        return unstored(&door, &principal, head, turn, known.stream).await;
    }
    let asked = StoredRequest {
        principal: &principal,
        agent,
        conversation: &conversation,
        session,
        previous,
        head,
        metadata,
        headers: &headers,
    };
    let begun = asked.begin(&door).await?;
    stored(&door, &principal, begun, known.stream).await
}

fn head(request: &ResponsesRequest<'_>) -> Result<ResponseHead, OpenAiError> {
    let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    Ok(ResponseHead {
        model: request.model.clone().into_owned(),
        start: 0,
        created_at: Timestamp::now().as_second(),
        background: request.background,
        previous: owned(&request.previous_response_id),
        instructions: owned(&request.instructions),
        metadata: request.metadata.map(metadata_object).transpose()?.flatten(),
        user: owned(&request.user),
    })
}

fn metadata_object(raw: &RawValue) -> Result<Option<RawJson>, OpenAiError> {
    match raw.get().as_bytes().first() {
        Some(b'n') => Ok(None),
        Some(b'{') => Ok(Some(raw.to_owned().into())),
        _ => {
            let text = "field \"metadata\" must be an object";
            Err(OpenAiError::field(Reason::Invalid, "metadata", text))
        }
    }
}

/// Responds with a live call.
async fn unstored(
    door: &OpenAiDoor,
    principal: &Principal,
    head: ResponseHead,
    turn: LiveTurn,
    is_streamed: bool,
) -> Result<Response, OpenAiError> {
    let call = turn.call().clone();
    let builder = ResponseBuilder::new(ResponseBasis {
        id: format!("resp_{}", call.id),
        head,
        is_stored: false,
        files: door.files.of_call(&call),
        limit: door.hub.limits().message.0,
        after: None,
        is_streamed,
    });
    let lifetime = RequestLifetime::for_principal(principal);
    let reader = ResponseReader::live(door, builder, turn);
    respond(reader, lifetime, call.id, is_streamed).await
}

/// Responds with a task.
async fn stored(
    door: &OpenAiDoor,
    principal: &Principal,
    begun: BegunResponse,
    is_streamed: bool,
) -> Result<Response, OpenAiError> {
    let BegunResponse { id, task, head } = begun;
    let record = task.record();
    tracing::debug!(call = %record.call, task = %record.id, from = record.caller, to = %record.agent, "kept call");
    let is_detached = head.background && !is_streamed;
    let mut builder = ResponseBuilder::new(ResponseBasis {
        is_streamed,
        ..basis(door, &record, id, head)
    });
    if is_detached {
        builder.settle(&record);
        let mut response = Json(builder.object()).into_response();
        trace::add_call_header(response.headers_mut(), record.call);
        return Ok(response);
    }
    let subscription = subscribe(&task, id);
    let lifetime = RequestLifetime::until_stop(principal, &door.stop);
    let reader = ResponseReader::stored(door, builder, subscription);
    respond(reader, lifetime, record.call, is_streamed).await
}

async fn respond(
    mut reader: ResponseReader,
    lifetime: RequestLifetime,
    call: CallId,
    is_streamed: bool,
) -> Result<Response, OpenAiError> {
    let mut response = if is_streamed {
        reader.builder.begin();
        reader.respond(lifetime)
    } else {
        let whole = tokio::select! {
            whole = reader.finish() => whole?,
            failure = lifetime.ended() => return Err(failure.into()),
        };
        // Nobody looks at the status of a response that came at once.
        if let Some(failure) = whole.failure() {
            return Err(failure.into());
        }
        Json(whole.object()).into_response()
    };
    trace::add_call_header(response.headers_mut(), call);
    Ok(response)
}
