//! The API's description, where it must say more than types do: how one proves who one is, that parameters are given
//! or not but never null, which objects are closed, of which fields one is needed, and what an event of a stream is.

use std::borrow::Cow;

use utoipa::{
    Modify, PartialSchema, ToSchema,
    openapi::{
        AllOfBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Schema,
        path::{Operation, Parameter, PathItem},
        schema::{AdditionalProperties, AnyOfBuilder, SchemaType, Type},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

use crate::{
    failure::ErrorView,
    translate::{event::CallEvent, watch::WatchEvent},
};

/// What the description begins with; the routes add themselves.
#[derive(Debug, utoipa::OpenApi)]
#[openapi(
    info(
        title = "Jackfield",
        description = "The hub's own API. On loopback no token is needed.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(ErrorView)),
    modifiers(&Bearer),
    security((), ("bearer" = [])),
)]
pub(crate) struct Description;

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

/// One event of a call's stream, on the wire.
#[derive(Debug)]
pub(crate) struct CallFrame;

/// One event of an observer's stream, on the wire.
#[derive(Debug)]
pub(crate) struct WatchFrame;

/// An event of a stream: its name, its id, and its data, which is JSON.
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

/// Says precisely what the routes take.
pub(crate) fn sharpen(api: &mut OpenApi) {
    for item in api.paths.paths.values_mut() {
        for parameter in operations(item).flat_map(|it| &mut it.parameters).flatten() {
            if let RefOr::T(parameter) = parameter {
                take_null_away(parameter);
            }
        }
    }
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

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.post,
        &mut item.patch,
        &mut item.delete,
    ]
    .into_iter()
    .flatten()
}

/// A parameter that may be left out is described as one that may be null.
fn take_null_away(parameter: &mut Parameter) {
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

/// An object that has the properties it is described with and no others.
fn close(schema: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(object)) = schema
        && object.schema_type == SchemaType::Type(Type::Object)
    {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
}

/// An object of which one of these fields is needed.
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
