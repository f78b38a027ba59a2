//! Requests about stored responses: reading, resuming and cancelling them.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};
use jackfield_kit::api::{ApiError, ApiQuery, lifetime::RequestLifetime};
use jackfield_model::Reason;
use serde_json::Value;
use tokio::time::timeout;

use super::{
    begin::open_ask,
    builder::{ResponseBasis, ResponseBuilder},
    respond,
    stored::{StoredResponse, basis, subscribe},
    stored_input,
    stream::ResponseReader,
};
use crate::{
    door::OpenAiDoor,
    failure::OpenAiError,
    serve::{Caller, IdInPath},
    wire::{ListObject, ResponseStatus},
};

/// Longest wait for a cancelled task to be written down. A response that is not by then is told as it is.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// Shows a stored response, or streams its events, from any event on.
pub(crate) async fn show(
    State(door): State<OpenAiDoor>,
    Caller(principal): Caller,
    IdInPath(id): IdInPath,
    query: Result<ApiQuery, ApiError>,
) -> Result<Response, OpenAiError> {
    let mut query = query.map_err(|_| OpenAiError::malformed_query())?;
    let is_streamed: bool = parameter(&mut query, "stream")?.unwrap_or(false);
    let after: Option<u64> = parameter(&mut query, "starting_after")?;
    if after.is_some() && !is_streamed {
        let text = "query parameter starting_after goes with stream=true";
        return Err(OpenAiError::field(Reason::Invalid, "starting_after", text));
    }
    let found = StoredResponse::find(&door, &principal, &id).await?;
    if !is_streamed {
        return Ok(Json(found.builder.object()).into_response());
    }
    let StoredResponse {
        id,
        task,
        record,
        head,
        ..
    } = found;
    let builder = ResponseBuilder::new(ResponseBasis {
        after,
        is_streamed,
        ..basis(&door, &record, id, head)
    });
    let subscription = subscribe(&task, id);
    let lifetime = RequestLifetime::until_stop(&principal, &door.stop);
    let reader = ResponseReader::stored(&door, builder, subscription);
    respond(reader, lifetime, record.call, is_streamed).await
}

fn parameter<T: std::str::FromStr<Err: std::fmt::Display>>(
    query: &mut ApiQuery,
    name: &str,
) -> Result<Option<T>, OpenAiError> {
    let value = query.one(name);
    value.map_err(|failure| OpenAiError::from(failure).with_param(name))
}

/// Cancels a response that goes on. One that has ended stays as it is.
pub(crate) async fn cancel(
    State(door): State<OpenAiDoor>,
    Caller(principal): Caller,
    IdInPath(id): IdInPath,
) -> Result<Response, OpenAiError> {
    let found = StoredResponse::find(&door, &principal, &id).await?;
    let goes_on = matches!(
        found.builder.status,
        ResponseStatus::Queued | ResponseStatus::InProgress
    );
    if !goes_on && open_ask(&found, &principal).is_none() {
        return Ok(Json(found.builder.object()).into_response());
    }
    match door.hub.tasks().cancel(&principal, found.id.task).await {
        Ok(()) => {}
        // It has ended meanwhile.
        Err(failure) if failure.reason == Reason::Conflict => {}
        Err(failure) => return Err(failure.into()),
    }
    // The end is told when it is on disk.
    drop(timeout(CANCEL_WAIT, found.task.over()).await);
    let now = StoredResponse::find(&door, &principal, &id).await?;
    Ok(Json(now.builder.object()).into_response())
}

/// Lists the input of a stored response.
pub(crate) async fn input_items(
    State(door): State<OpenAiDoor>,
    Caller(principal): Caller,
    IdInPath(id): IdInPath,
) -> Result<Json<ListObject<Value>>, OpenAiError> {
    let found = StoredResponse::find(&door, &principal, &id).await?;
    let files = door.files.of_task(&found.record);
    Ok(Json(ListObject::whole(stored_input::of(&found, &files))))
}
