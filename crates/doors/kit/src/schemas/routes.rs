//! The routes of the schemas: an index at `/schemas`, and the documents below it. They need a token wherever
//! `/openapi.json` needs one.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json, Router,
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderMap, header::CONTENT_TYPE};
use jackfield_model::{Failure, Reason};
use serde::Serialize;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{OpenApi, external_docs::ExternalDocsBuilder, path::PathItem},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{MessageSchemas, MessageSender, MessageTransport, SchemaDocument, documents};
use crate::{
    api::{ApiError, ErrorResponses, ResponseMap, errors, wrong_method},
    auth::{Gatekeeper, Ingress, bearer},
};

/// Media type of a schema.
const MEDIA_TYPE: &str = "application/schema+json";

/// Schemas of a hub.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct SchemaIndex {
    /// Groups of messages, by protocol.
    groups: Vec<SchemaGroup>,
}

/// Messages of one protocol that one side sends.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct SchemaGroup {
    /// Protocol of the messages.
    protocol: &'static str,
    /// Name of the group.
    group: &'static str,
    /// How the messages are sent.
    transport: MessageTransport,
    /// Who sends the messages.
    sender: MessageSender,
    /// Routes that carry the messages.
    #[schema(value_type = Vec<String>)]
    routes: &'static [&'static str],
    /// Address of the schema that every message of the group fits.
    url: String,
    /// The messages.
    messages: Vec<SchemaEntry>,
}

/// A message that has a schema.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct SchemaEntry {
    /// Name of the message: its member `type`, where it has one.
    name: String,
    /// Address of the schema.
    url: String,
}

#[derive(Debug, Clone)]
struct SchemaRoutes {
    gatekeeper: Gatekeeper,
    index: Arc<SchemaIndex>,
    files: Arc<BTreeMap<String, Bytes>>,
}

struct NoSuchSchema;

impl IntoResponses for NoSuchSchema {
    fn responses() -> ResponseMap {
        errors("Error", &[("404", "No such schema: not_found")])
    }
}

/// Returns the routes for the schemas of all doors, with their description. `base` is the public URL of the hub.
pub fn router(
    gatekeeper: Gatekeeper,
    groups: &[MessageSchemas],
    base: Option<&str>,
) -> (Router, OpenApi) {
    let mut files = BTreeMap::new();
    let mut index = Vec::new();
    for group in groups {
        let all = documents(group, base);
        index.push(entry(group, &all));
        let all = all.into_iter();
        files.extend(all.map(|it| (it.path, Bytes::from(it.schema.to_string()))));
    }
    let served = SchemaRoutes {
        gatekeeper,
        index: Arc::new(SchemaIndex { groups: index }),
        files: Arc::new(files),
    };
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(schema))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .with_state(served);
    (router, api)
}

/// Links the schemas from the operations that carry the messages. The description must have these operations.
pub fn link(groups: &[MessageSchemas], api: &mut OpenApi) {
    let streams = groups
        .iter()
        .filter(|group| group.transport == MessageTransport::Sse);
    for group in streams {
        for route in group.routes {
            let Some((method, path)) = route.split_once(' ') else {
                continue;
            };
            let Some(item) = api.paths.paths.get_mut(path) else {
                continue;
            };
            if let Some(operation) = operation(item, method) {
                let docs = ExternalDocsBuilder::new()
                    .url(format!("/schemas/{}/{}.json", group.protocol, group.group))
                    .description(Some("JSON Schema of the events"));
                operation.external_docs = Some(docs.build());
            }
        }
    }
    let docs = ExternalDocsBuilder::new().url("/schemas").description(Some(
        "JSON Schemas of all WebSocket frames and stream events",
    ));
    api.external_docs = Some(docs.build());
}

fn operation<'a>(
    item: &'a mut PathItem,
    method: &str,
) -> Option<&'a mut utoipa::openapi::path::Operation> {
    match method {
        "GET" => item.get.as_mut(),
        "POST" => item.post.as_mut(),
        _ => None,
    }
}

fn entry(group: &MessageSchemas, documents: &[SchemaDocument]) -> SchemaGroup {
    let url = |it: &SchemaDocument| it.path.clone();
    let messages = documents.iter().filter_map(|it| {
        let name = it.name.clone()?;
        Some(SchemaEntry { name, url: url(it) })
    });
    SchemaGroup {
        protocol: group.protocol,
        group: group.group,
        transport: group.transport,
        sender: group.sender,
        routes: group.routes,
        url: documents.first().map(url).unwrap_or_default(),
        messages: messages.collect(),
    }
}

/// Lists the JSON Schemas of all WebSocket frames and stream events.
#[utoipa::path(
    get,
    path = "/schemas",
    tag = "health",
    responses((status = 200, description = "The schemas, by protocol", body = SchemaIndex), ErrorResponses),
)]
async fn list(
    State(served): State<SchemaRoutes>,
    came: Ingress,
    headers: HeaderMap,
) -> Result<Json<SchemaIndex>, ApiError> {
    served.gatekeeper.admit(bearer(&headers), &came)?;
    Ok(Json(SchemaIndex::clone(&served.index)))
}

/// Returns the JSON Schema of a message, or of a group of messages.
#[utoipa::path(
    get,
    path = "/schemas/{protocol}/{name}",
    tag = "health",
    params(
        ("protocol" = String, Path, description = "The protocol"),
        ("name" = String, Path, description = "`GROUP.json`, or `GROUP.MESSAGE.json`"),
    ),
    responses(
        (status = 200, description = "The schema, in JSON Schema 2020-12", body = serde_json::Value, content_type = "application/schema+json"),
        ErrorResponses,
        NoSuchSchema,
    ),
)]
async fn schema(
    State(served): State<SchemaRoutes>,
    Path((protocol, name)): Path<(String, String)>,
    came: Ingress,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    served.gatekeeper.admit(bearer(&headers), &came)?;
    match served.files.get(&format!("/schemas/{protocol}/{name}")) {
        Some(text) => Ok(([(CONTENT_TYPE, MEDIA_TYPE)], text.clone()).into_response()),
        None => {
            let text = "there is no such schema; /schemas lists them";
            Err(Failure::new(Reason::NotFound, text).into())
        }
    }
}
