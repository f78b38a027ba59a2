//! Parts of the routes' OpenAPI description that the types do not express. The description is merged into the
//! hub's own, which defines the schemas `Error` and `Share`.

use std::{borrow::Cow, collections::BTreeMap};

use utoipa::{
    IntoResponses, PartialSchema, ToSchema,
    openapi::{
        Content, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Schema, schema::Type,
    },
};

type Responses = BTreeMap<String, RefOr<Response>>;

fn errors(list: &[(&str, &str)]) -> Responses {
    let response = |description: &str| {
        let content = Content::new(Some(Ref::from_schema_name("Error")));
        ResponseBuilder::new()
            .description(description)
            .content("application/json", content)
            .build()
    };
    list.iter()
        .map(|(code, description)| ((*code).to_owned(), response(description).into()))
        .collect()
}

/// Error responses of every route.
pub(super) struct CommonErrors;

/// Error responses of adding a remote.
pub(super) struct AddErrors;

/// Error responses of routes for a single remote.
pub(super) struct RemoteNotFound;

/// Error response of removing a configured remote.
pub(super) struct RemoteConfigured;

const REFUSED: [(&str, &str); 3] = [
    ("400", "The request is malformed: invalid"),
    (
        "401",
        "A token is needed, or this one may not do it: unauthorized",
    ),
    ("500", "A fault of the hub: internal"),
];

const REFUSED_ADDING: [(&str, &str); 4] = [
    ("409", "There is an agent of that id already: conflict"),
    ("413", "The body is too large: too_large"),
    ("429", "You hold as many agents as one may: busy"),
    (
        "502",
        "The server cannot be reached, or is no A2A server: offline, stopping",
    ),
];

impl IntoResponses for CommonErrors {
    fn responses() -> Responses {
        errors(&REFUSED)
    }
}

impl IntoResponses for AddErrors {
    fn responses() -> Responses {
        errors(&[&REFUSED[..], &REFUSED_ADDING[..]].concat())
    }
}

impl IntoResponses for RemoteNotFound {
    fn responses() -> Responses {
        errors(&[("404", "No such remote, or none of yours: not_found")])
    }
}

impl IntoResponses for RemoteConfigured {
    fn responses() -> Responses {
        errors(&[("409", "It stands in the configuration file: conflict")])
    }
}

/// Returns the schema for sharing an agent.
pub(super) fn share() -> RefOr<Schema> {
    Ref::from_schema_name("Share").into()
}

/// Returns the schema for a duration.
pub(super) fn span() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(
            "^[1-9][0-9]{0,6}(ms|s)$|^[1-9][0-9]{0,3}m$|^[1-9][0-9]?[hd]$",
        ))
        .description(Some("A whole number with ms, s, m, h or d"))
        .into()
}

/// Schema of an object that the hub does not validate.
pub(super) struct ForeignCardSchema;

impl PartialSchema for ForeignCardSchema {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Object).into()
    }
}

impl ToSchema for ForeignCardSchema {
    fn name() -> Cow<'static, str> {
        "ForeignCard".into()
    }
}
