//! Descriptions of the error responses of [`Problem`](super::Problem) for OpenAPI.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses,
    openapi::{Content, RefOr, ResponseBuilder, ResponsesBuilder},
};

/// The error responses of every route.
#[derive(Debug)]
pub struct ErrorResponses;

/// The error responses of a route that reads a body or gives work to an agent.
#[derive(Debug)]
pub struct CallErrorResponses;

/// Responses by HTTP status code.
pub type ResponseMap = BTreeMap<String, RefOr<utoipa::openapi::response::Response>>;

/// Describes error responses with the given schema, each by its status code and meaning.
pub fn errors<'a>(
    schema: &str,
    list: impl IntoIterator<Item = &'a (&'a str, &'a str)>,
) -> ResponseMap {
    let response = |description: &str| {
        let content = Content::new(Some(utoipa::openapi::Ref::from_schema_name(schema)));
        ResponseBuilder::new()
            .description(description)
            .content("application/json", content)
            .build()
    };
    let list = list
        .into_iter()
        .map(|(code, description)| ((*code).to_owned(), response(description)));
    ResponsesBuilder::new()
        .responses_from_iter(list)
        .build()
        .into()
}

const REFUSED: [(&str, &str); 3] = [
    (
        "400",
        "The request is malformed, or cannot be done: invalid, unsupported",
    ),
    (
        "401",
        "A token is needed, or this one may not do it: unauthorized",
    ),
    ("500", "A fault of the hub: internal"),
];

const CALL_REFUSED: [(&str, &str); 6] = [
    ("404", "No such thing, or none of yours: not_found"),
    ("409", "The id is in use, or it is done already: conflict"),
    ("413", "The message or the answer is too large: too_large"),
    (
        "429",
        "Too much is open, or the agents would call in a loop: busy, rate_limited, loop",
    ),
    (
        "502",
        "The agent is offline or failed, or the hub is stopping: offline, crashed, stopping, the agent's own code",
    ),
    ("504", "A clock ran out: timeout"),
];

impl IntoResponses for ErrorResponses {
    fn responses() -> ResponseMap {
        errors("Error", &REFUSED)
    }
}

impl IntoResponses for CallErrorResponses {
    fn responses() -> ResponseMap {
        errors("Error", REFUSED.iter().chain(&CALL_REFUSED))
    }
}

#[cfg(test)]
mod tests {
    use jackfield_model::Reason;

    use super::{super::status, *};

    #[test]
    fn every_code_a_failure_can_have_is_in_the_description() {
        let described = CallErrorResponses::responses();
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
            "timeout",
            "cancelled",
            "session_unknown",
            "crashed",
            "slow_reader",
            "internal",
            "an_agents_own",
        ] {
            let code = status(&Reason::from_name(name));
            assert!(described.contains_key(code.as_str()), "{name}: {code}");
        }
    }
}
