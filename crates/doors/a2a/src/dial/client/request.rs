//! Requests to a server: method, URL and body.

use axum::body::Bytes;
use http::Method;
use jackfield_kit::outbound::Url;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use uuid::Uuid;

use super::call_error::RemoteCallError;
use crate::dial::endpoint::{Dialect, RemoteEndpoint};
use crate::wire::{
    card::Binding,
    official::{
        A2aVersion,
        error::{A2aError, A2aErrorKind},
        method,
        model::{GetParams, SendParams, TaskParams},
        rpc,
        v03_proto::{self, FileBytes},
    },
    write::to_json,
};

/// Characters to escape in a path segment: all except letters, digits and the unreserved marks.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Accepted media type of complete answers.
const JSON: &str = "application/json";

/// Accepted media types of streams; an error may come as JSON.
const EVENTS: &str = "text/event-stream, application/json";

/// Operation that the hub requests from a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientOperation {
    /// Send a message and wait for the answer.
    Send,
    /// Send a message and stream the updates.
    Stream,
    /// Fetch a task.
    Get,
    /// Cancel a task.
    Cancel,
    /// Subscribe to a running task.
    Subscribe,
}

/// HTTP request to a remote.
#[derive(Debug)]
pub(super) struct ClientRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) body: Bytes,
    /// Value of the `Accept` header.
    pub(super) accept: &'static str,
    /// Id of the JSON-RPC request; `None` for REST.
    pub(super) id: Option<String>,
    /// True if the request names a task that the server should know.
    pub(super) names_task: bool,
}

impl ClientRequest {
    /// Returns true if the endpoint uses the JSON form of the gRPC messages of 0.3.
    pub(super) fn is_proto(place: &RemoteEndpoint) -> bool {
        place.binding == Binding::HttpJson && place.version == A2aVersion::V03
    }

    /// Builds a send request, plain or streaming.
    pub(super) fn send(
        place: &RemoteEndpoint,
        operation: ClientOperation,
        params: &SendParams,
        files: FileBytes,
    ) -> Result<Self, RemoteCallError> {
        let with_tenant;
        let params = if params.tenant == place.tenant {
            params
        } else {
            with_tenant = SendParams {
                tenant: place.tenant.clone(),
                ..params.clone()
            };
            &with_tenant
        };
        let names_task = params.message.task_id.is_some();
        let write = |out: &mut String| {
            if Self::is_proto(place) {
                v03_proto::write_send_params(files, params, out);
            } else {
                place.version.write_send_params(params, out);
            }
        };
        let request = Self::new(place, operation, None, write)?;
        Ok(Self {
            names_task,
            ..request
        })
    }

    /// Builds a request about a task: get, cancel or subscribe.
    pub(super) fn task(
        place: &RemoteEndpoint,
        operation: ClientOperation,
        task: &str,
        context: Option<&str>,
    ) -> Result<Self, RemoteCallError> {
        let (tenant, id) = (place.tenant.clone(), task.to_owned());
        let write = |out: &mut String| match (place.dialect, operation) {
            (Dialect::Agno, _) => {
                #[derive(Serialize)]
                #[serde(rename_all = "camelCase")]
                struct AgnoTaskParams<'a> {
                    id: &'a str,
                    #[serde(skip_serializing_if = "Option::is_none")]
                    context_id: Option<&'a str>,
                }
                let params = AgnoTaskParams {
                    id: task,
                    context_id: context,
                };
                out.push_str(&to_json(&params));
            }
            (Dialect::Official, ClientOperation::Get) => {
                let history_length = None;
                let params = GetParams {
                    tenant,
                    id,
                    history_length,
                };
                place.version.write_get_params(&params, out);
            }
            (Dialect::Official, _) => {
                let metadata = None;
                let params = TaskParams {
                    tenant,
                    id,
                    metadata,
                };
                place.version.write_task_params(&params, out);
            }
        };
        Self::new(place, operation, Some(task), write)
    }

    /// Builds a request for the REST card of authenticated callers.
    pub(super) fn card(place: &RemoteEndpoint) -> Result<Self, RemoteCallError> {
        let mut url = parse(&place.url)?;
        extend(&mut url, &prefix(place));
        extend(&mut url, "/card");
        Ok(Self {
            method: Method::GET,
            url,
            body: Bytes::new(),
            accept: JSON,
            id: None,
            names_task: false,
        })
    }

    fn new(
        place: &RemoteEndpoint,
        operation: ClientOperation,
        task: Option<&str>,
        params: impl FnOnce(&mut String),
    ) -> Result<Self, RemoteCallError> {
        let is_stream = matches!(
            operation,
            ClientOperation::Stream | ClientOperation::Subscribe
        );
        let mut request = Self {
            method: Method::POST,
            url: parse(&place.url)?,
            body: Bytes::new(),
            accept: if is_stream { EVENTS } else { JSON },
            id: None,
            names_task: task.is_some(),
        };
        match (place.binding, place.dialect) {
            (Binding::JsonRpc, dialect) => {
                if dialect == Dialect::Agno {
                    extend(&mut request.url, operation.agno()?);
                }
                let id = Uuid::new_v4().to_string();
                let body = rpc::write_call(&id, operation.name(place.version), params);
                request.body = body.into();
                request.id = Some(id);
            }
            (Binding::HttpJson, _) => {
                let (method, path) = operation.rest(task.unwrap_or_default());
                extend(&mut request.url, &prefix(place));
                extend(&mut request.url, &path);
                if method == Method::POST {
                    let mut body = String::new();
                    params(&mut body);
                    request.body = body.into();
                }
                request.method = method;
            }
            (Binding::Grpc, _) => {
                let why = "it is called by gRPC, which the hub does not dial";
                return Err(RemoteCallError::Unreachable(why.to_owned()));
            }
        }
        Ok(request)
    }
}

fn parse(url: &str) -> Result<Url, RemoteCallError> {
    Url::parse(url)
        .map_err(|error| RemoteCallError::Unreachable(format!("its URL is no URL: {error}")))
}

/// Appends to the path of a URL; a query stays after the path.
fn extend(url: &mut Url, path: &str) {
    let path = format!("{}{path}", url.path().trim_end_matches('/'));
    url.set_path(&path);
}

/// Returns the prefix of REST paths.
fn prefix(place: &RemoteEndpoint) -> String {
    match (place.version, &place.tenant) {
        (A2aVersion::V03, _) => "/v1".to_owned(),
        (A2aVersion::V10, Some(tenant)) => format!("/{}", utf8_percent_encode(tenant, SEGMENT)),
        (A2aVersion::V10, None) => String::new(),
    }
}

impl ClientOperation {
    /// Returns the JSON-RPC method name.
    fn name(self, version: A2aVersion) -> &'static str {
        let operation = match self {
            Self::Send => method::Operation::Send,
            Self::Stream => method::Operation::Stream,
            Self::Get => method::Operation::Get,
            Self::Cancel => method::Operation::Cancel,
            Self::Subscribe => method::Operation::Subscribe,
        };
        operation.name(version)
    }

    /// Returns the REST method and path. The specification's text defines subscribe as POST, its tables as
    /// GET; all servers support GET.
    fn rest(self, task: &str) -> (Method, String) {
        let task = utf8_percent_encode(task, SEGMENT);
        match self {
            Self::Send => (Method::POST, "/message:send".to_owned()),
            Self::Stream => (Method::POST, "/message:stream".to_owned()),
            Self::Get => (Method::GET, format!("/tasks/{task}")),
            Self::Cancel => (Method::POST, format!("/tasks/{task}:cancel")),
            Self::Subscribe => (Method::GET, format!("/tasks/{task}:subscribe")),
        }
    }

    /// Returns the path in Agno's dialect.
    fn agno(self) -> Result<&'static str, RemoteCallError> {
        match self {
            Self::Send => Ok("/v1/message:send"),
            Self::Stream => Ok("/v1/message:stream"),
            Self::Get => Ok("/v1/tasks:get"),
            Self::Cancel => Ok("/v1/tasks:cancel"),
            Self::Subscribe => {
                let why = "Agno's servers have no way to follow a task again";
                Err(RemoteCallError::Refused(A2aError::new(
                    A2aErrorKind::Unsupported,
                    why,
                )))
            }
        }
    }
}
