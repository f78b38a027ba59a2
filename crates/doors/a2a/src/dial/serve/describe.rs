//! Parts of the routes' OpenAPI description that the types do not express. The description is merged into the
//! hub's own, which defines the schemas `Error` and `Share`.

use std::borrow::Cow;

use jackfield_kit::api::{ResponseMap, errors};

use utoipa::{
    IntoResponses, PartialSchema, ToSchema,
    openapi::{ObjectBuilder, Ref, RefOr, Schema, schema::Type},
};

/// Error responses of routes for a single remote.
pub(super) struct RemoteNotFound;

impl IntoResponses for RemoteNotFound {
    fn responses() -> ResponseMap {
        let list = [("404", "No such remote, or none of yours: not_found")];
        errors("Error", &list)
    }
}

/// Returns the schema for sharing an agent.
pub(in crate::dial) fn share() -> RefOr<Schema> {
    Ref::from_schema_name("Share").into()
}

/// Returns the schema for a duration.
pub(in crate::dial) fn span() -> RefOr<Schema> {
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
