//! JSON Schema 2020-12 documents of messages: one for each message, and one for each group, which a message fits if
//! it fits one of the group. Each document is complete by itself.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{MessageSchema, MessageSchemas};

/// The dialect of the documents.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Where utoipa's references lead, and where they lead in a document of its own.
const OPENAPI_PARTS: &str = "#/components/schemas/";
const OWN_PARTS: &str = "#/$defs/";

/// A schema with its address.
#[derive(Debug, Clone)]
pub struct SchemaDocument {
    /// Protocol of the message.
    pub protocol: &'static str,
    /// Group of the message.
    pub group: &'static str,
    /// Name of the message; `None` for the document of the whole group.
    pub name: Option<String>,
    /// Path of the document on the hub.
    pub path: String,
    /// The document.
    pub schema: Value,
}

/// Makes the documents of a group. Their ids begin with `base`, the public URL of the hub; without one they are
/// relative to the address that a document was fetched from.
pub fn documents(group: &MessageSchemas, base: Option<&str>) -> Vec<SchemaDocument> {
    let mut all: Vec<_> = group
        .messages
        .iter()
        .map(|message| of_message(group, message, base))
        .collect();
    all.insert(0, of_group(group, base));
    all
}

/// Returns the path of a document.
fn path(group: &MessageSchemas, name: Option<&str>) -> String {
    let MessageSchemas {
        protocol, group, ..
    } = group;
    match name {
        Some(name) => format!("/schemas/{protocol}/{group}.{name}.json"),
        None => format!("/schemas/{protocol}/{group}.json"),
    }
}

fn document(
    group: &MessageSchemas,
    name: Option<&str>,
    base: Option<&str>,
    schema: Map<String, Value>,
) -> SchemaDocument {
    let path = path(group, name);
    let id = format!("{}{path}", base.unwrap_or_default().trim_end_matches('/'));
    let title = match name {
        Some(name) => format!("{} {} {name}", group.protocol, group.group),
        None => format!("{} {}", group.protocol, group.group),
    };
    let mut whole = Map::new();
    whole.insert("$schema".to_owned(), json!(DIALECT));
    whole.insert("$id".to_owned(), json!(id));
    whole.insert("title".to_owned(), json!(title));
    whole.extend(schema);
    SchemaDocument {
        protocol: group.protocol,
        group: group.group,
        name: name.map(str::to_owned),
        path,
        schema: Value::Object(whole),
    }
}

fn of_message(
    group: &MessageSchemas,
    message: &MessageSchema,
    base: Option<&str>,
) -> SchemaDocument {
    let mut schema = object(json!(message.schema));
    let parts = message.parts.iter();
    let parts: Map<_, _> = parts
        .map(|(name, part)| (name.clone(), json!(part)))
        .collect();
    let used = used_parts(&schema, &parts);
    if !used.is_empty() {
        let parts = parts.into_iter().filter(|(name, _)| used.contains(name));
        schema.insert("$defs".to_owned(), Value::Object(parts.collect()));
    }
    let mut whole = Value::Object(schema);
    rewrite(&mut whole);
    document(group, Some(&message.name), base, object(whole))
}

/// Returns the names of the parts that a schema refers to, directly or through others.
fn used_parts(schema: &Map<String, Value>, parts: &Map<String, Value>) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    schema
        .values()
        .for_each(|value| references(value, &mut found));
    while let Some(name) = found.pop() {
        if let Some(part) = parts.get(&name).filter(|_| used.insert(name.clone())) {
            references(part, &mut found);
        }
    }
    used
}

/// Collects the names of the parts that a value refers to.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let to = members.get("$ref").and_then(Value::as_str);
            found.extend(
                to.and_then(|to| to.strip_prefix(OPENAPI_PARTS))
                    .map(str::to_owned),
            );
            members
                .values()
                .for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Lets references lead to the parts of the document.
fn rewrite(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get_mut("$ref")
                && let Some(name) = to.strip_prefix(OPENAPI_PARTS)
            {
                *to = format!("{OWN_PARTS}{name}");
            }
            members.values_mut().for_each(rewrite);
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        _ => {}
    }
}

/// Returns the document of a group. It contains the documents of its messages, so that nothing has to be fetched.
fn of_group(group: &MessageSchemas, base: Option<&str>) -> SchemaDocument {
    let documents = group.messages.iter();
    let documents = documents.map(|message| of_message(group, message, base));
    let (mut any_of, mut parts) = (Vec::new(), Map::new());
    for document in documents {
        any_of.push(json!({ "$ref": document.schema["$id"] }));
        parts.insert(document.name.unwrap_or_default(), document.schema);
    }
    let schema = object(json!({ "anyOf": any_of, "$defs": parts }));
    self::document(group, None, base, schema)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
