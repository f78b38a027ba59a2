//! What routes of the hub's own API share, whichever door they belong to: who asks and what, read strictly; refusals as
//! `{"error", "message"}`; streams that end when they must. JSON with snake_case names; who may not do something gets 401
//! and not 403, as in every door of this hub.

mod actor;
mod extract;
pub mod leash;
mod problem;
mod refused;

use axum::{extract::State, response::Response};
use http::{Method, StatusCode, Uri};
use jackfield_core::hub::Hub;
use jackfield_model::{Failure, Reason};

pub use self::{
    actor::{ACTS_AS, Actor, ActsAs},
    extract::{Body, Caller, Id, Ids, Params, Text, Unread, header},
    problem::{ErrorView, Problem, invalid, status, store_failure},
    refused::{CallRefused, Refused, Responses, errors},
};
use crate::auth::Gatekeeper;

/// What routes need to have; the state of a router.
pub trait Api: Send + Sync {
    /// The hub.
    fn hub(&self) -> &Hub;
    /// Who decides who is calling.
    fn gatekeeper(&self) -> &Gatekeeper;
}

/// For a method that a path does not take. No failure of the core is about methods: the word is `invalid`, the code
/// HTTP's own.
#[allow(clippy::unused_async, reason = "a handler is asynchronous")]
pub async fn wrong_method(method: Method, uri: Uri) -> Problem {
    let text = format!("{} does not take {method}; see /openapi.json", uri.path());
    Problem::from(Failure::new(Reason::Invalid, text)).with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// Counts an answer that is a refusal of bad input; the state is the hub and the door's name.
#[allow(clippy::unused_async, reason = "a handler is asynchronous")]
pub async fn count_refused(
    State((hub, door)): State<(Hub, &'static str)>,
    response: Response,
) -> Response {
    if matches!(
        response.status(),
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE
    ) {
        hub.metrics().refused(door);
    }
    response
}
