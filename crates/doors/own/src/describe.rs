//! Parts of the API description beyond the types: authentication, optional parameters that are never null,
//! closed objects, alternatives of required fields, and the format of stream events.

use std::{borrow::Cow, collections::BTreeMap};

use jackfield_kit::api::{ApiErrorBody, CallErrorResponses, errors};
use utoipa::{
    IntoResponses, Modify, PartialSchema, ToSchema,
    openapi::{
        AllOfBuilder, Content, ObjectBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder,
        Schema,
        path::{Operation, Parameter, PathItem},
        schema::{AdditionalProperties, AnyOfBuilder, SchemaType, Type},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use crate::translate::{
    event::CallEvent,
    task::{CallResult, Detached},
    watch::WatchEvent,
};

/// Start of the API description; the routes add themselves.
#[derive(Debug, utoipa::OpenApi)]
#[openapi(
    info(
        title = "Jackfield",
        description = "The HTTP API of a hub. Below `/v1` no token is needed on loopback; `/api` is for the platform.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(ApiErrorBody, CallFrame, CallResult, Detached)),
    modifiers(&Bearer),
    security((), ("bearer" = [])),
)]
pub(crate) struct ApiDescription;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, api: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token of this hub; see `jackfield token create`"))
            .build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

/// [`CallEvent`] of a call's stream, on the wire.
#[derive(Debug)]
pub(crate) struct CallFrame;

/// [`WatchEvent`] of an observer's stream, on the wire.
#[derive(Debug)]
pub(crate) struct WatchFrame;

/// Returns the schema of a stream event: name, id, and JSON data of type `T`.
fn frame_of<T: ToSchema>() -> RefOr<Schema> {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let event = text().description(Some("The `type` of the data"));
    let id = text().description(Some("Where a reader goes on, on what is kept"));
    let data = text()
        .content_media_type("application/json")
        .content_schema(Some(Ref::from_schema_name(T::name())));
    ObjectBuilder::new()
        .property("event", event)
        .property("id", id)
        .property("data", data)
        .required("event")
        .required("data")
        .into()
}

type Schemas = Vec<(String, RefOr<Schema>)>;

fn schemas_of<T: ToSchema>(schemas: &mut Schemas) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

impl PartialSchema for CallFrame {
    fn schema() -> RefOr<Schema> {
        frame_of::<CallEvent>()
    }
}

impl ToSchema for CallFrame {
    fn name() -> Cow<'static, str> {
        "CallFrame".into()
    }

    fn schemas(schemas: &mut Schemas) {
        schemas_of::<CallEvent>(schemas);
    }
}

impl PartialSchema for WatchFrame {
    fn schema() -> RefOr<Schema> {
        frame_of::<WatchEvent>()
    }
}

impl ToSchema for WatchFrame {
    fn name() -> Cow<'static, str> {
        "WatchFrame".into()
    }

    fn schemas(schemas: &mut Schemas) {
        schemas_of::<WatchEvent>(schemas);
    }
}

/// Responses to a call, and to a further message of a task.
#[derive(Debug)]
pub(crate) struct CallResponses;

impl IntoResponses for CallResponses {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let content = |name| Content::new(Some(Ref::from_schema_name(name)));
        let answer = ResponseBuilder::new()
            .description("The answer: a stream of events, or with `stream: false` all at once")
            .content("text/event-stream", content(CallFrame::name()))
            .content("application/json", content(CallResult::name()));
        let detached = ResponseBuilder::new()
            .description("With `detach: true`: the call is kept and goes on by itself")
            .content("application/json", content(Detached::name()));
        let mut responses = CallErrorResponses::responses();
        responses.insert("200".to_owned(), answer.build().into());
        responses.insert("202".to_owned(), detached.build().into());
        responses
    }
}

/// Response of the hub's guard to a body type that a web page could send.
const NOT_JSON: (&str, &str) = (
    "415",
    "The type of the body is not JSON: unsupported_media_type",
);

/// Gives every operation a unique name, and describes optional parameters as never null.
pub(crate) fn sharpen_operations(api: &mut OpenApi) {
    for (path, item) in &mut api.paths.paths {
        for (method, operation) in operations(item) {
            // Handlers in different modules share names.
            let words = path.split(|letter: char| !letter.is_ascii_alphanumeric());
            let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
            operation.operation_id = Some(format!("{method}_{}", words.join("_")));
            // Uploads use PUT and accept any type.
            if operation.request_body.is_some() && method != "put" {
                operation
                    .responses
                    .responses
                    .extend(errors("Error", &[NOT_JSON]));
            }
            for parameter in operation.parameters.iter_mut().flatten() {
                if let RefOr::T(parameter) = parameter {
                    remove_null(parameter);
                }
            }
        }
    }
}

/// Describes the request bodies of the API precisely.
pub(crate) fn sharpen_bodies(api: &mut OpenApi) {
    let Some(components) = &mut api.components else {
        return;
    };
    for name in ["File", "Part", "Share"] {
        if let Some(RefOr::T(Schema::OneOf(one_of))) = components.schemas.get_mut(name) {
            one_of.items.iter_mut().for_each(close);
        }
    }
    let text = ("text", Type::String);
    let parts = ("parts", Type::Array);
    let content = ("content", Type::String);
    let approved = ("approved", Type::Boolean);
    for (name, fields) in [
        ("NewCall", &[text, parts.clone()][..]),
        ("Answer", &[content, parts, approved]),
    ] {
        if let Some(schema) = components.schemas.get_mut(name) {
            *schema = with_any_of(schema.clone(), fields);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let operations = [
        ("get", &mut item.get),
        ("post", &mut item.post),
        ("put", &mut item.put),
        ("patch", &mut item.patch),
        ("delete", &mut item.delete),
    ];
    operations
        .into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// Removes `null` from the schema of an optional parameter. utoipa describes optional parameters as nullable.
fn remove_null(parameter: &mut Parameter) {
    match &mut parameter.schema {
        Some(RefOr::T(Schema::Object(object))) => without_null(&mut object.schema_type),
        Some(RefOr::T(Schema::Array(array))) => without_null(&mut array.schema_type),
        Some(RefOr::T(Schema::OneOf(one_of))) => {
            let is_null = |schema: &RefOr<Schema>| match schema {
                RefOr::T(Schema::Object(object)) => {
                    object.schema_type == SchemaType::Type(Type::Null)
                }
                _ => false,
            };
            one_of.items.retain(|schema| !is_null(schema));
        }
        _ => {}
    }
}

fn without_null(schema: &mut SchemaType) {
    if let SchemaType::Array(types) = schema {
        types.retain(|it| *it != Type::Null);
        if let [only] = types.as_slice() {
            *schema = SchemaType::Type(only.clone());
        }
    }
}

/// Forbids properties beyond the described properties of an object.
fn close(schema: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(object)) = schema
        && object.schema_type == SchemaType::Type(Type::Object)
    {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
}

/// Requires at least one of the given fields.
fn with_any_of(schema: RefOr<Schema>, fields: &[(&str, Type)]) -> RefOr<Schema> {
    let needed = fields
        .iter()
        .fold(AnyOfBuilder::new(), |any_of, (name, kind)| {
            let field = ObjectBuilder::new().schema_type(kind.clone());
            let object = ObjectBuilder::new().property(*name, field).required(*name);
            any_of.item(object)
        });
    AllOfBuilder::new().item(schema).item(needed).into()
}
