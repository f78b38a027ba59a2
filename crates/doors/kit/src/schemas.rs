//! JSON Schemas of the messages that the OpenAPI description does not cover: every frame of every WebSocket, and
//! every event of every stream. A door makes them from its wire types and gives them to the hub as
//! [`OpenedDoor::schemas`](crate::door::OpenedDoor::schemas).
//!
//! - [`MessageSchemas`] holds the messages of one direction, [`documents`] makes JSON Schema 2020-12 of them
//! - [`routes`] serves them below `/schemas`, and links them from the description of the API

mod document;
pub mod routes;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{AllOfBuilder, ObjectBuilder, Type},
    },
};

pub use self::document::{SchemaDocument, documents};

/// Transport of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageTransport {
    /// Text frames of a WebSocket.
    WebSocket,
    /// Data of server-sent events.
    Sse,
}

/// Sender of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageSender {
    /// The hub.
    Hub,
    /// The program at the other end: an agent, a viewer or a publisher.
    Client,
}

/// The schemas of all messages that one side sends in one protocol.
#[derive(Debug, Clone)]
pub struct MessageSchemas {
    protocol: &'static str,
    group: &'static str,
    transport: MessageTransport,
    sender: MessageSender,
    routes: &'static [&'static str],
    messages: Vec<MessageSchema>,
}

/// The schema of one message.
#[derive(Clone)]
struct MessageSchema {
    name: String,
    schema: RefOr<Schema>,
    /// Schemas that the message refers to, by name.
    parts: Vec<(String, RefOr<Schema>)>,
}

impl fmt::Debug for MessageSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageSchema")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl MessageSchemas {
    /// Creates a group without messages. The name of the group stands in the addresses of its schemas.
    pub fn new(
        protocol: &'static str,
        group: &'static str,
        transport: MessageTransport,
        sender: MessageSender,
    ) -> Self {
        Self {
            protocol,
            group,
            transport,
            sender,
            routes: &[],
            messages: Vec::new(),
        }
    }

    /// Names the routes that carry the messages, such as `GET /v1/events`.
    #[must_use]
    pub fn at(self, routes: &'static [&'static str]) -> Self {
        Self { routes, ..self }
    }

    /// Adds a message whose member `type` is `name`, and whose other members are those of `T`.
    #[must_use]
    pub fn typed<T: ToSchema>(self, name: &str) -> Self {
        self.typed_as::<T>(name, name)
    }

    /// Adds a message like [`typed`](Self::typed), for one of several messages of the same type.
    #[must_use]
    pub fn typed_as<T: ToSchema>(self, name: &str, message_type: &str) -> Self {
        let tagged = AllOfBuilder::new()
            .item(tag(message_type))
            .item(T::schema());
        self.message::<T>(name, tagged.into())
    }

    /// Adds a message whose members are those of `A` and of `B`, besides the member `type`.
    #[must_use]
    pub fn typed_pair<A: ToSchema, B: ToSchema>(self, name: &str) -> Self {
        let tagged = AllOfBuilder::new()
            .item(tag(name))
            .item(A::schema())
            .item(B::schema());
        self.message::<A>(name, tagged.into()).with_parts::<B>()
    }

    /// Adds a message whose member `type` is `name`, with further members by a schema that refers to the parts of `T`.
    #[must_use]
    pub fn typed_with<T: ToSchema>(self, name: &str, schema: RefOr<Schema>) -> Self {
        let tagged = AllOfBuilder::new().item(tag(name)).item(schema);
        self.message::<T>(name, tagged.into())
    }

    /// Adds a message with nothing but the member `type`.
    #[must_use]
    pub fn bare(mut self, name: &str) -> Self {
        self.messages.push(MessageSchema {
            name: name.to_owned(),
            schema: tag(name),
            parts: Vec::new(),
        });
        self
    }

    /// Adds a message that is a `T`.
    #[must_use]
    pub fn whole<T: ToSchema>(self, name: &str) -> Self {
        self.message::<T>(name, T::schema())
    }

    /// Adds a message for each variant of `T`, an enum that serde tags by the member `type`. So a new variant has a
    /// schema from the start.
    #[must_use]
    pub fn variants<T: ToSchema>(mut self) -> Self {
        let variants = match T::schema() {
            RefOr::T(Schema::OneOf(union)) => union.items,
            other => vec![other],
        };
        for schema in variants {
            let name = name_of(&schema).unwrap_or_else(|| T::name().into_owned());
            self = self.message::<T>(&name, schema);
        }
        self
    }

    /// Adds a message for each variant of `V`, like [`variants`](Self::variants). Each is a `T` with this variant.
    #[must_use]
    pub fn variants_in<V: ToSchema, T: ToSchema>(mut self) -> Self {
        let from = self.messages.len();
        self = self.variants::<V>();
        for message in &mut self.messages[from..] {
            let variant = std::mem::replace(&mut message.schema, T::schema());
            let both = AllOfBuilder::new().item(variant).item(T::schema());
            message.schema = both.into();
            T::schemas(&mut message.parts);
        }
        self
    }

    /// Adds a message whose member `type` is `name`, and whose member `payload` has the members of all `payload`.
    /// References lead to the parts of `T`.
    #[must_use]
    pub fn payload<T: ToSchema>(
        self,
        name: &str,
        payload: impl IntoIterator<Item = RefOr<Schema>>,
    ) -> Self {
        self.payload_as::<T>(name, name, payload)
    }

    /// Adds a message like [`payload`](Self::payload), for one of several messages of the same type.
    #[must_use]
    pub fn payload_as<T: ToSchema>(
        self,
        name: &str,
        message_type: &str,
        payload: impl IntoIterator<Item = RefOr<Schema>>,
    ) -> Self {
        let mut all = AllOfBuilder::new();
        for part in payload {
            all = all.item(part);
        }
        let body = ObjectBuilder::new()
            .property("payload", all)
            .required("payload");
        let whole = AllOfBuilder::new().item(tag(message_type)).item(body);
        self.message::<T>(name, whole.into())
    }

    /// Adds a message with a schema that refers to the parts of `T`.
    #[must_use]
    pub fn message<T: ToSchema>(mut self, name: &str, schema: RefOr<Schema>) -> Self {
        // A type may refer to itself.
        let mut parts = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut parts);
        self.messages.push(MessageSchema {
            name: name.to_owned(),
            schema,
            parts,
        });
        self
    }

    /// Adds `T` and the parts that it refers to, to the last message.
    #[must_use]
    pub fn with_parts<T: ToSchema>(mut self) -> Self {
        if let Some(message) = self.messages.last_mut() {
            message.parts.push((T::name().into_owned(), T::schema()));
            T::schemas(&mut message.parts);
        }
        self
    }

    /// Returns whether these messages are sent this way at a path, such as `/v1/events`.
    pub fn are_sent(&self, transport: MessageTransport, sender: MessageSender, path: &str) -> bool {
        let fits = |route: &&str| {
            let template = route.split_once(' ').map_or("", |(_, path)| path);
            let (wanted, got) = (template.split('/'), path.split('/'));
            wanted.clone().count() == got.clone().count()
                && wanted
                    .zip(got)
                    .all(|(wanted, got)| wanted == got || wanted.starts_with('{'))
        };
        (self.transport, self.sender) == (transport, sender) && self.routes.iter().any(fits)
    }

    /// Returns the protocol and the name of the group.
    pub fn title(&self) -> String {
        format!("{} {}", self.protocol, self.group)
    }

    /// Returns the names of the messages.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(|message| message.name.as_str())
    }
}

/// Returns the schema of an object whose member `type` has one possible value.
fn tag(name: &str) -> RefOr<Schema> {
    let only = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([name]));
    ObjectBuilder::new()
        .property("type", only)
        .required("type")
        .into()
}

/// Returns the only value of a variant's member `type`.
fn name_of(schema: &RefOr<Schema>) -> Option<String> {
    fn find(schema: &Value) -> Option<&str> {
        let own = schema.pointer("/properties/type/enum/0");
        let own = own.or_else(|| schema.pointer("/properties/type/const"));
        if let Some(name) = own.and_then(Value::as_str) {
            return Some(name);
        }
        schema["allOf"].as_array()?.iter().find_map(find)
    }
    let schema = serde_json::to_value(schema).ok()?;
    find(&schema).map(str::to_owned)
}
