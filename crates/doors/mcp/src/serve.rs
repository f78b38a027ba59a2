//! `POST /mcp`: authenticates the caller, checks the body like every route, and passes the request to `rmcp`.
//! `rmcp` forgets each request after its response and cannot handle `notifications/cancelled`, so the door
//! does.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::Full;
use jackfield_core::{hub::Request as CallRequest, principal::Principal};
use jackfield_kit::{
    api::{Actor, ActsAsHeader, ApiError, ErrorResponses, header},
    body, json, trace,
};
use jackfield_model::{AgentId, Failure, Message};
use rmcp::{
    model::RequestId,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
    },
};
use serde::Deserialize;

use crate::{
    DOOR, McpState,
    door::McpRoute,
    handler::McpHandler,
    running::RunningRequest,
    session::{self, SessionUser, UserAnswer, asks_user},
};

/// Header with the client's session id.
pub(crate) const SESSION: &str = "mcp-session-id";

/// MCP server of the `rmcp` crate with the door's [`McpHandler`].
pub(crate) type McpService = StreamableHttpService<McpHandler, NeverSessionManager>;

/// Caller and headers of a request. The [`McpHandler`] finds them in the request's extensions.
#[derive(Debug, Clone)]
pub(crate) struct RequestCaller {
    pub(crate) principal: Principal,
    pub(crate) headers: HeaderMap,
    /// Registered before any response, so a following cancel notification finds the request.
    pub(crate) open: Arc<RunningRequest>,
    /// The client's user, if the client's session lets the door ask in the middle of a request.
    pub(crate) user: Option<SessionUser>,
}

impl RequestCaller {
    /// Builds a [`CallRequest`] to an agent. The parent and the trace are those of the headers.
    pub(crate) fn request(&self, agent: AgentId, message: Message) -> Result<CallRequest, Failure> {
        let mut request = CallRequest::new(self.principal.clone(), DOOR, agent, message);
        trace::set_origin(&mut request, &self.headers)?;
        Ok(request)
    }
}

/// Fields of a message that the door reads itself.
#[derive(Debug, Default, Deserialize)]
struct MessageHead {
    #[serde(default)]
    method: String,
    id: Option<RequestId>,
}

#[derive(Debug, Deserialize)]
struct CancelNotification {
    params: CancelledParams,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelledParams {
    request_id: RequestId,
}

/// Builds the MCP server without sessions. The guard of the whole router checks `Host` and `Origin`.
pub(crate) fn service(mcp: &McpState) -> McpService {
    let limits = mcp.hub.limits();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_sse_keep_alive(Some(limits.keepalive.0))
        .with_sse_retry(None)
        .with_max_request_body_bytes(limits.message.0)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let handler = McpHandler::new(mcp.clone());
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(move || Ok(handler.clone()), sessions, config)
}

/// MCP over streamable HTTP: the agents of the hub as tools (`find_agents`, `call_agent`, `task`, `cancel`).
///
/// The body is a JSON-RPC message of the Model Context Protocol; see the specification of the protocol. The
/// response to a request is a stream of progress notifications and the result.
#[utoipa::path(
    post,
    path = "/mcp",
    tag = "mcp",
    params(
        ActsAsHeader,
        ("Jackfield-Call" = Option<String>, Header, description = "The call for which tools call agents: it passes on its deadline and its cancel", format = "uuid"),
        ("traceparent" = Option<String>, Header, description = "The caller's trace, passed on"),
    ),
    request_body(content = Object, description = "A JSON-RPC message"),
    responses(
        (status = 200, description = "JSON-RPC messages, the last one the response", content_type = "text/event-stream", body = String),
        (status = 202, description = "A notification was taken"),
        ErrorResponses,
    ),
)]
pub(crate) async fn post(
    State(door): State<McpRoute>,
    Actor(principal): Actor,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let limits = door.mcp.hub.limits();
    let text = body::read(body, limits.message, limits.write_stuck).await?;
    json::check_depth(&text, limits.json_depth)?;
    // `rmcp` refuses unreadable messages.
    let glance: MessageHead = serde_json::from_slice(&text).unwrap_or_default();
    let session = header(&parts.headers, SESSION)?.map(str::to_owned);
    if glance.method.is_empty()
        && let Some(answer) = UserAnswer::read(&text)
    {
        let open = door.cancels.open(&principal, None, None);
        let asker = RequestCaller {
            principal,
            headers: parts.headers,
            open: Arc::new(open),
            user: None,
        };
        answer.pass_on(&door.mcp.hub, &asker).await?;
        return Ok(StatusCode::ACCEPTED.into_response());
    }
    if glance.method == "notifications/cancelled" {
        cancel(&door, &principal, session.as_deref(), &text);
    }
    let asks_user = glance.method == "tools/call" && session.as_deref().is_some_and(asks_user);
    let (user, questions) = asks_user.then(SessionUser::channel).unzip();
    let open = door.cancels.open(&principal, session.as_deref(), glance.id);
    parts.extensions.insert(RequestCaller {
        principal,
        headers: parts.headers.clone(),
        open: Arc::new(open),
        user,
    });
    let is_greeting = glance.method == "initialize";
    let name = is_greeting.then(|| session::name(&text));
    let request = Request::from_parts(parts, Full::new(text));
    let mut response = door.service.handle(request).await;
    if let Some(name) = name.filter(|_| response.status().is_success())
        && let Ok(name) = HeaderValue::from_str(&name)
    {
        response.headers_mut().insert(SESSION, name);
    }
    Ok(match questions {
        Some(questions) => response.map(|body| session::with_questions(body, questions)),
        None => response.map(Body::new),
    })
}

fn cancel(door: &McpRoute, principal: &Principal, session: Option<&str>, text: &Bytes) {
    if let Some(session) = session
        && let Ok(cancelled) = serde_json::from_slice::<CancelNotification>(text)
    {
        let id = cancelled.params.request_id;
        door.cancels.cancel(principal, session, id);
    }
}
