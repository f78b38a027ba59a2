//! Caller, body and model of a request. Rights come first: the body of a caller without any is not read.

use axum::{
    body::Body,
    extract::{FromRequestParts, Path, Request},
};
use http::{HeaderMap, StatusCode, header, request::Parts};
use jackfield_core::principal::Principal;
use jackfield_kit::{api::invalid, body, similar::with_suggestions};
use jackfield_model::{AgentId, Failure, Reason};
use jackfield_wire::read;
use serde::Deserialize;

use crate::{door::OpenAiDoor, failure::OpenAiError, translate::model_id};

/// Extractor for the authenticated caller.
#[derive(Debug)]
pub(crate) struct Caller(pub(crate) Principal);

impl FromRequestParts<OpenAiDoor> for Caller {
    type Rejection = OpenAiError;

    async fn from_request_parts(parts: &mut Parts, door: &OpenAiDoor) -> Result<Self, OpenAiError> {
        Ok(Self(door.gatekeeper.admit_request(parts)?))
    }
}

/// Extractor for the id in the path; any text.
#[derive(Debug)]
pub(crate) struct IdInPath(pub(crate) String);

impl FromRequestParts<OpenAiDoor> for IdInPath {
    type Rejection = OpenAiError;

    async fn from_request_parts(parts: &mut Parts, door: &OpenAiDoor) -> Result<Self, OpenAiError> {
        match Path::<String>::from_request_parts(parts, door).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(invalid("the id in the path is not UTF-8").into()),
        }
    }
}

/// Body of a request as text, which the types of `wire` borrow from.
#[derive(Debug)]
pub(crate) struct BodyText(String);

impl BodyText {
    /// Reads the body of a request, which must be JSON.
    pub(crate) async fn read(door: &OpenAiDoor, request: Request) -> Result<Self, OpenAiError> {
        let (parts, body) = request.into_parts();
        check_type(&parts.headers)?;
        Self::read_text(door, body).await
    }

    async fn read_text(door: &OpenAiDoor, body: Body) -> Result<Self, OpenAiError> {
        let limits = door.hub.limits();
        let bytes = body::read(body, limits.message, limits.write_stuck).await?;
        let text = String::from_utf8(bytes.into());
        text.map(Self)
            .map_err(|_| invalid("the body is not UTF-8").into())
    }

    /// Parses the body. An error names the wrong field.
    pub(crate) fn parse<'a, T: Deserialize<'a>>(
        &'a self,
        door: &OpenAiDoor,
    ) -> Result<T, OpenAiError> {
        Ok(read::read(&self.0, door.hub.limits().json_depth)?)
    }
}

/// Refuses types that a page of another site can send without asking.
fn check_type(headers: &HeaderMap) -> Result<(), OpenAiError> {
    let given = headers.get(header::CONTENT_TYPE);
    let given = given.map_or_else(String::new, |it| {
        String::from_utf8_lossy(it.as_bytes()).to_ascii_lowercase()
    });
    match given.split(';').next().unwrap_or_default().trim() {
        "application/json" => Ok(()),
        other => {
            let text = format!("header Content-Type must be application/json, got {other:?}");
            Err(OpenAiError::from(invalid(text)).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
        }
    }
}

/// Finds the agent behind a model. Unknown agents and those of others look the same.
pub(crate) fn agent_of(
    door: &OpenAiDoor,
    principal: &Principal,
    model: &str,
) -> Result<AgentId, OpenAiError> {
    let id = model_id(model);
    let find = || {
        let agent = AgentId::parse(id).map_err(|_| Failure::no_such_agent(id))?;
        door.hub.agents().find(principal, agent.as_str())?;
        Ok(agent)
    };
    find().map_err(|failure: Failure| {
        let failure = with_suggestions(failure, id, &door.hub, principal);
        let text = match failure.reason {
            Reason::NotFound => format!("{}; GET /v1/models lists the models", failure.text),
            _ => failure.text.into_owned(),
        };
        OpenAiError::field(failure.reason, "model", text)
    })
}
