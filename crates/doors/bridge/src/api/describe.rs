//! Parts of the API's description beyond the handlers: authentication of the platform, error responses, and
//! the events of a stream. Responses are described by the types that write them; bodies, which are read field
//! by field, in [`bodies`].

use std::borrow::Cow;

use jackfield_kit::api::{self, ResponseMap};
use jackfield_wire::bridge::{Attachment, BridgeErrorCode};
use utoipa::{
    IntoResponses, Modify, PartialSchema, ToSchema,
    openapi::{
        Content, ObjectBuilder, OpenApi, Ref, RefOr, ResponseBuilder, Schema,
        schema::Type,
        security::{ApiKey, ApiKeyValue, SecurityScheme},
    },
};

use crate::wire::response::{RelayAccepted, RelayErrorBody};

pub(crate) mod bodies;

/// Start of the description; the routes add themselves.
#[derive(Debug, utoipa::OpenApi)]
#[openapi(
    paths(super::health),
    components(schemas(RelayErrorBody<'_>, RelayFrame, RelayAccepted<'_>)),
    modifiers(&PlatformSecretScheme),
)]
pub(crate) struct RelayDescription;

struct PlatformSecretScheme;

impl Modify for PlatformSecretScheme {
    fn modify(&self, api: &mut OpenApi) {
        let about = "The platform's secret; `jackfield token show platform` prints it";
        let key = ApiKeyValue::with_description("X-Platform-Secret", about);
        let components = api.components.get_or_insert_default();
        let scheme = SecurityScheme::ApiKey(ApiKey::Header(key));
        components.add_security_scheme("platform_secret", scheme);
    }
}

/// Error responses for the platform, by HTTP status.
const ERRORS: [(&str, &str); 8] = [
    (
        "400",
        "Something is missing or wrong: invalid_message, invalid_agent_id, invalid_request",
    ),
    ("401", "The secret is missing or wrong: auth_failed"),
    (
        "404",
        "The agent is not connected, or there is no such conversation: agent_offline, session_not_found",
    ),
    ("409", "The request is open already: invalid_message"),
    ("413", "The body is too large: payload_too_large"),
    (
        "429",
        "Too much is open, or calls between agents are limited: agent_busy, rate_limited",
    ),
    ("500", "A fault of the hub: internal_error"),
    (
        "502",
        "The agent has just left, or the hub is stopping: agent_offline",
    ),
];

fn content(name: impl Into<String>) -> Content {
    Content::new(Some(Ref::from_schema_name(name.into())))
}

fn errors(wanted: &[&str]) -> ResponseMap {
    let wanted = ERRORS.iter().filter(|(code, _)| wanted.contains(code));
    api::errors(&RelayErrorBody::name(), wanted)
}

/// Error responses of every route with a query or a path.
#[derive(Debug)]
pub(crate) struct QueryErrors;

/// Error responses of every route that reads a body.
#[derive(Debug)]
pub(crate) struct BodyErrors;

/// Responses of the routes that call an agent: a stream, or an error.
#[derive(Debug)]
pub(crate) struct AgentCallResponses;

/// Responses of a relay: like other calls, or an acceptance.
#[derive(Debug)]
pub(crate) struct RelayResponses;

impl IntoResponses for QueryErrors {
    fn responses() -> ResponseMap {
        errors(&["400", "401"])
    }
}

impl IntoResponses for BodyErrors {
    fn responses() -> ResponseMap {
        errors(&["400", "401", "413"])
    }
}

impl IntoResponses for AgentCallResponses {
    fn responses() -> ResponseMap {
        let mut responses = errors(&ERRORS.map(|(code, _)| code));
        let stream = ResponseBuilder::new()
            .description("The answer, as a stream of events")
            .content("text/event-stream", content(RelayFrame::name()));
        responses.insert("200".to_owned(), stream.build().into());
        responses
    }
}

impl IntoResponses for RelayResponses {
    fn responses() -> ResponseMap {
        let mut responses = AgentCallResponses::responses();
        let accepted = ResponseBuilder::new()
            .description("With `mode: \"async\"`: it is on disk, and the callback will come")
            .content("application/json", content(RelayAccepted::name()));
        responses.insert("202".to_owned(), accepted.build().into());
        responses
    }
}

/// One event of a relay's stream, on the wire.
#[derive(Debug)]
pub(crate) struct RelayFrame;

impl PartialSchema for RelayFrame {
    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let id = text().description(Some("Where a reader goes on, of kept streams"));
        let data = text()
            .content_media_type("application/json")
            .content_schema(Some(Ref::from_schema_name(RelayEvent::name())));
        let frame = ObjectBuilder::new().property("id", id);
        frame.property("data", data).required("data").into()
    }
}

impl ToSchema for RelayFrame {
    fn name() -> Cow<'static, str> {
        "RelayFrame".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((RelayEvent::name().into_owned(), RelayEvent::schema()));
        RelayEvent::schemas(schemas);
    }
}

/// The content of an event of a relay's stream.
#[derive(Debug, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(dead_code, reason = "describes what `renderer.rs` writes")]
enum RelayEvent {
    /// A piece of the answer.
    Chunk {
        /// Text of the piece.
        delta: String,
        /// Kind of the piece, if not text of the answer: `thinking`, `tool_start`, `tool_input`,
        /// `tool_result` or `status`.
        #[schema(nullable = false)]
        kind: Option<String>,
        /// Name of the tool.
        #[schema(nullable = false)]
        tool_name: Option<String>,
        /// Id of the tool call.
        #[schema(nullable = false)]
        tool_call_id: Option<String>,
    },
    /// The end of the answer.
    Done {
        /// Files created by the agent.
        #[schema(nullable = false)]
        attachments: Option<Vec<Attachment<'static>>>,
        /// Offer of a transfer between peers.
        file_transfer_offer: Option<serde_json::Value>,
        /// Full answer, on durable streams only.
        #[schema(nullable = false)]
        result: Option<String>,
    },
    /// The end without an answer.
    Error {
        /// Error code, for programs.
        code: RelayErrorCode,
        /// Error text, for people.
        message: String,
    },
    /// No event occurred for a while.
    Keepalive,
    /// Some events of a durable stream are no longer available.
    Gap {
        /// Id of the next event.
        next: String,
    },
}

/// Code of a failed call: an [`BridgeErrorCode`] of the protocol, or the agent's own.
#[derive(Debug)]
struct RelayErrorCode;

impl PartialSchema for RelayErrorCode {
    fn schema() -> RefOr<Schema> {
        let names = BridgeErrorCode::ALL.map(BridgeErrorCode::name).join(", ");
        let text = format!("One of {names}, or the agent's own");
        let code = ObjectBuilder::new().schema_type(Type::String);
        code.description(Some(text)).into()
    }
}

impl ToSchema for RelayErrorCode {
    fn name() -> Cow<'static, str> {
        "RelayErrorCode".into()
    }
}

#[cfg(test)]
mod tests {
    use jackfield_model::Reason;

    use super::*;
    use crate::failure::{code, status};

    #[test]
    fn every_refusal_of_a_call_is_in_the_description() {
        let described = AgentCallResponses::responses();
        for name in [
            "invalid",
            "unsupported",
            "too_large",
            "unauthorized",
            "not_found",
            "offline",
            "stopping",
            "busy",
            "rate_limited",
            "loop",
            "conflict",
            "session_unknown",
            "internal",
        ] {
            let reason = Reason::from_name(name);
            let response = &described[status(&reason).as_str()];
            let RefOr::T(response) = response else {
                panic!("{name} is described elsewhere")
            };
            let code = match reason {
                Reason::TooLarge => "payload_too_large",
                _ => code(&reason),
            };
            assert!(response.description.contains(code), "{name}: {code}");
        }
    }
}
